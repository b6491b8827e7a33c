# SPDX-FileCopyrightText: 2026 The WebLocks for D-Bus authors
# SPDX-License-Identifier: LGPL-2.1-or-later

"""What the tests of state share: a state directory, services that are killed and restarted, and a
comparison of all locks."""

import os
import shutil
import tempfile

from harness import BusTestCase, owner_of, wait_for

# The error of a call when the service has ended: the bus sends one of these.
GONE = ('NoReply', 'ServiceUnknown', 'NameHasNoOwner', 'Disconnected')


def bus_id(client):
    """The id of the bus."""
    return client._driver('GetId')[0]


def mode_of(path):
    return os.stat(path, follow_symlinks=False).st_mode & 0o7777


def without(entry, *keys):
    return {key: value for key, value in entry.items() if key not in keys}


class StateCase(BusTestCase):
    """Each case starts its services, with a separate state directory."""

    service = False

    def setUp(self):
        super().setUp()
        self.directory = tempfile.mkdtemp(prefix='weblocks-state-')
        self.addCleanup(shutil.rmtree, self.directory, ignore_errors=True)
        self.started = []
        self.addCleanup(self.end_all)
        self.current = None

    def end_all(self):
        for service in self.started:
            service.end()
        self.wait_free()

    def wait_free(self):
        wait_for(lambda: owner_of(self.control) is None, what='free name', every=0.002)

    def start(self, *arguments, state=True, ready=True, **kw):
        """A service on this case's directory; it becomes the current one. If it is `ready`, it owns the
        name and, unless it may have to wait for another one, it has restored the state."""
        options = [f'--state-dir={self.directory}'] if state else []
        service = self.start_service(*options, *arguments, ready=ready, **kw)
        self.started.append(service)
        self.current = service
        if ready and '--replace' not in arguments:
            self.control.query()
        return service

    def crash(self):
        """Kills the service, and waits until the bus has noticed."""
        self.current.end()
        self.wait_free()

    def restart(self, *arguments, **kw):
        self.crash()
        return self.start(*arguments, **kw)

    def path(self, suffix='state'):
        return os.path.join(self.directory, f'{bus_id(self.control)}.{suffix}')

    def files(self):
        """The files in the directory, without the bus's id; on a tmpfs there is one for cells, too."""
        return sorted(name.replace(bus_id(self.control), 'BUS')
                      for name in os.listdir(self.directory) if not name.endswith('.cells'))

    def see(self, clients, buckets):
        """Everything that these clients can see in these buckets, except ages, and the names of
        processes, which are not stored."""
        seen = {}
        for client in clients:
            seen[client.name] = client.resync()
            for bucket in buckets:
                entries, more = client.inspect(bucket)
                self.assertFalse(more)
                seen[client.name, bucket] = (client.query(bucket), [
                    without(entry, 'age', 'process') for entry in entries])
            seen[client.name, 'buckets'] = client.buckets()
        return seen

    def see_resync(self, client):
        """Resync without the time left and `wanted`, as {id: (bucket, key, name, mode, token)}."""
        return {id_: (bucket, key, name, mode, token)
                for bucket, id_, key, name, mode, token, _, _ in client.resync()}

    def assert_same(self, before, after):
        """As assertEqual, for results of see(); remaining times are compared separately."""
        self.assertEqual(set(before), set(after))
        for key, value in before.items():
            if isinstance(key, str):
                self.assertEqual([(*line[:6], line[7]) for line in value],
                                 [(*line[:6], line[7]) for line in after[key]], f'Resync of {key}')
                for old, new in zip(value, after[key]):
                    self.assertEqual(old[6] == 0, new[6] == 0, (old, new))
                    self.assertLessEqual(new[6], old[6], (old, new))
            else:
                self.assertEqual(value, after[key], key)

    def wait_granted(self, client, id_):
        return client.wait_granted(id_).args[4]
