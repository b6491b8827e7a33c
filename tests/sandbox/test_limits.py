# SPDX-FileCopyrightText: 2026 The WebLocks for D-Bus authors
# SPDX-License-Identifier: LGPL-2.1-or-later

"""The limits of one application, for all its connections together. Other applications of its user
have separate limits, and unsandboxed programs of the user are not subject to them."""

from calls import DBusError
from harness import error_name
from sandboxcase import APP, OTHER_APP, SandboxCase

LIMITS = {'clientsPerApp': 3, 'requestsPerApp': 8, 'textBytesPerApp': 1000, 'watchesPerApp': 4}
# A name and a bucket whose lengths make five requests exceed the limit, and four not.
NAME, BUCKET = 'n' * 200, 'b' * 20

UNIQUE = object()


class Limits(SandboxCase):
    options = ('--no-state', *(word for name, value in LIMITS.items()
                               for word in ('--limit', f'{name}={value}')))

    def take(self, limit, clients, number, command, *arguments):
        """The clients in turn make one request more, `number` times. Returns how many were granted
        to each; a refusal must be by `limit`. UNIQUE is replaced by another text each time."""
        served = 0
        for index in range(number):
            own = [self.unique() if argument is UNIQUE else argument for argument in arguments]
            try:
                clients[index % len(clients)].ask(command, arguments=own)
                served += 1
            except DBusError as error:
                self.assertEqual(str(error), f'{error_name("LimitsExceeded")}: the limit {limit} '
                                             f'({LIMITS[limit]}) is reached')
        return served

    def check(self, limit, expected, *command):
        """One application uses its limit; another one gets as much, and the host more. A client
        that disconnects makes space for the rest of its application."""
        apps = [self.app(APP), self.proxied_app(APP)]
        more = 2 * expected + 2
        self.assertEqual(self.take(limit, apps, more, *command), expected)
        for app in apps:
            self.assertEqual(self.take(limit, [app], 1, *command), 0)
        self.assertEqual(self.take(limit, [self.app(OTHER_APP)], more, *command), expected)
        self.assertEqual(self.take(limit, [self.plain()], more, *command), more)
        self.kill_and_wait(apps[0])
        self.wait_gone(apps[0].name)
        self.assertEqual(self.take(limit, apps[1:], more, *command), (expected + 1) // 2)

    def test_requests(self):
        self.check('requestsPerApp', LIMITS['requestsPerApp'], 'call', 'request', 'x')

    def test_texts(self):
        self.check('textBytesPerApp', 4, 'call', 'request', NAME, BUCKET)

    def test_watches(self):
        self.check('watchesPerApp', LIMITS['watchesPerApp'], 'call', 'watch', True, UNIQUE)

    def test_lock_sockets(self):
        """As many sockets as clients are allowed, and one for each client."""
        def take(*clients):
            return self.take('clientsPerApp', clients, len(clients), 'open_socket')
        apps = [self.app(APP), self.proxied_app(APP), self.app(APP), self.app(APP)]
        self.assertEqual(take(*apps), LIMITS['clientsPerApp'])
        self.assertEqual(take(apps[-1]), 0)
        self.assertEqual(take(self.app(OTHER_APP)), 1)
        self.assertEqual(take(*(self.plain() for _ in apps)), len(apps))
        self.kill_and_wait(apps[0])
        self.wait_gone(apps[0].name)
        self.assertEqual(take(apps[-1]), 1)

    def test_clients(self):
        """Every connection that has made a call counts."""
        apps = [self.app(APP), self.proxied_app(APP), self.app(APP)]
        for app in apps:
            app.call('query')
        for app in apps:
            self.assertEqual(app.ask('again'), 'LimitsExceeded')
        other = self.app(OTHER_APP)
        other.call('query')
        self.assertEqual(other.ask('again'), '')
        for _ in range(LIMITS['clientsPerApp'] + 1):
            self.plain().call('query')
        self.kill_and_wait(apps[0])
        self.wait_gone(apps[0].name)
        self.assertEqual(apps[1].ask('again'), '')
