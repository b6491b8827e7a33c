# SPDX-FileCopyrightText: 2026 The WebLocks for D-Bus authors
# SPDX-License-Identifier: LGPL-2.1-or-later

"""An application gets no information about another one of the same user. These are the cases of
isolationcases.py; in tests/bus/test_isolation.py the other principal is another user.

The connections are opened in sandboxes, by which the service identifies them, and then used in this
process, so that the messages to the application can be compared byte for byte."""

import socket

import isolationcases
from harness import full_size
from rawbus import PRINCIPALS
from sandboxcase import APP, OTHER_APP, SandboxCase


class TwoApps(SandboxCase):
    """Each application is one sandbox with many connections."""

    OWN_APP, OTHER = APP, OTHER_APP
    proxied = False
    # With fewer steps, the numbers of messages vary more.
    STEPS_FOR_MESSAGE, STEPS_FOR_SIGNAL = 4, 25

    def setUp(self):
        self.apps = {}
        super().setUp()

    def recorder_of(self, app_id):
        if app_id is None:
            return super().recorder()
        if app_id not in self.apps:
            self.apps[app_id] = (self.proxied_app if self.proxied else self.app)(app_id)
        sock = socket.socket(fileno=self.descriptor_of(self.apps[app_id], 'give_connection'))
        client = self.open(isolationcases.Recorder.on_socket(sock))
        PRINCIPALS[self.bus.address, client.name] = app_id
        return client

    def recorder(self):
        return self.recorder_of(self.OWN_APP)

    def other_client(self):
        return self.recorder_of(self.OTHER)


class Random(TwoApps, isolationcases.Random):
    STEPS = full_size(300, 1000)


class RandomBehindProxies(TwoApps, isolationcases.Random):
    """As with Flatpak; always with the full number of steps."""

    proxied = True


class RandomBesideTheHost(TwoApps, isolationcases.Random):
    OWN_APP, OTHER = APP, None
    STEPS = full_size(300, 1000)


class Guesses(TwoApps, isolationcases.Guesses):
    pass


class GuessesBehindProxies(TwoApps, isolationcases.Guesses):
    proxied = True


class Sessions(TwoApps, isolationcases.Sessions):
    """And the user, who may look at both applications."""

    def setUp(self):
        super().setUp()
        self.outsiders.append(self.recorder_of(None))
        self.outsiders[-1].watch_all()


class Walks(TwoApps, isolationcases.Walks):
    pass
