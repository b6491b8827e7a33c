# SPDX-FileCopyrightText: 2026 The WebLocks for D-Bus authors
# SPDX-License-Identifier: LGPL-2.1-or-later

"""What the tests of the service inside its unit share; as_unit.py replaces systemd."""

import importlib.util
import os
import re
import shutil
import sys
import unittest

from calls import DBusError
from harness import owner_of, wait_for
from sockets import LockError
from systembus import HERE, SystemCase, UserService, unit_path


def need():
    """At the top of a test module: skips it if the unit can't be tested here."""
    if importlib.util.find_spec('seccomp') is None:
        raise unittest.SkipTest('no python3-seccomp')
    if shutil.which('systemd-analyze') is None:
        raise unittest.SkipTest('no systemd-analyze')
    if os.environ.get('WEBLOCKS_SANITIZED'):
        raise unittest.SkipTest('sanitizers do what the unit forbids')


def size(text):
    return int(text[:-1]) * {'K': 1 << 10, 'M': 1 << 20, 'G': 1 << 30}[text[-1]]


def ask_for_long_names(sock, count):
    """Returns how many of `count` requests the client of this lock socket got, each in another
    bucket."""
    starts = [f'{id(sock)}.{number:08}.' for number in range(count)]
    calls = [sock.encode_request(start.ljust(1024, 'n'), start.ljust(255, 'b'), why='w' * 256)
             for start in starts]
    sock.send_all(data for data, _, _ in calls)
    served = 0
    for _, serial, _ in calls:
        try:
            sock.answer(serial)
            served += 1
        except LockError as error:
            if error.short != 'LimitsExceeded':
                raise
    return served


class ContractChecks:
    """The functions of a service, wherever it runs."""

    def check_contract(self, first, second):
        second.watch()
        held, token = first.request('x', why='to see')
        self.assertGreater(token, 0)
        waits, _ = second.request('x')
        shared, _ = second.request('x', mode='shared')
        expires, _ = second.request('x', timeout=1)
        self.assertEqual(first.request('x', ifAvailable=True), (0, 0))
        wait_for(lambda: self.has_event(second, 'Released', expires, 'timeout'), what='time-out')
        self.assertEqual([len(part) for part in first.query()], [1, 2])
        entry = first.inspect(state='held')[0][0]
        self.assertEqual((entry['pid'], entry['why']), (first.pid, 'to see'))
        self.assertTrue(second.abort(shared))
        first.release(held)
        wait_for(lambda: self.has_event(second, 'Granted', waits), what='Granted')
        stolen, _ = first.steal('x')
        wait_for(lambda: self.has_event(second, 'Released', waits, 'stolen'), what='steal')
        self.assertEqual(first.buckets(), ['default'])
        # Its id or, on a socket, its key.
        line, = first.resync()
        self.assertIn(stolen, line[1:3])
        second.watch(False)
        first.release(stolen)
        with self.assertRaises((DBusError, LockError)) as caught:
            first.release(stolen)
        self.assertEqual(caught.exception.short, 'NotHeld')
        self.assertIn('org.w3.WebLocks', first.introspect('/org/w3/WebLocks'))
        self.assertIn('requestsPerClient', first.get_property('Limits'))
        first.close()
        second.close()

    @staticmethod
    def has_event(client, signal_, id_, reason=None):
        return any(event.signal == signal_ and event.args[0] == id_ and
                   event.args[3] == client.name and reason in (None, event.args[-1])
                   for event in client.events())


class UnitService(UserService):
    """A service with the settings of the installed unit; the program finds its bus and its
    directory at the default paths."""

    kind, bus_option = 'system', '--system'

    def make_command(self, program, arguments, uid):
        return [sys.executable, os.path.join(HERE, 'as_unit.py'), unit_path(self.kind), str(uid),
                self.bus.socket, self.directory, program, self.bus_option, *arguments]

    def options(self, _uid):
        return {}


class SessionUnitService(UnitService):
    """The same for the unit of a user's session. The bus is still the system's, which has other
    users."""

    kind, bus_option = 'user', '--session'


class UnitCase(SystemCase):
    """Each case has a separate service."""

    service = False
    service_class = UnitService

    def setUp(self):
        super().setUp()
        self.current = None
        self.addCleanup(self.end_service)

    def end_service(self):
        """It must still be running: a denied system call would have killed it."""
        for service in self.services:
            if service is self.current:
                self.assertEqual(service.stop(), 0, service.stderr())
            service.end()
        for name in os.listdir(self.directory):
            os.unlink(os.path.join(self.directory, name))
        wait_for(lambda: owner_of(self.control) is None, what='free name', every=0.002)

    def start(self, *arguments, **kw):
        self.current = self.start_service(*arguments, **kw)
        return self.current

    def setting(self, key):
        """The value in the unit."""
        with open(unit_path(self.service_class.kind), encoding='utf-8') as file:
            return re.search(rf'(?m)^{key}=(.*)$', file.read())[1]

    def unit_options(self):
        """The options in the unit, except that of the bus."""
        return [word for word in self.setting('ExecStart').split()[1:]
                if word != self.service_class.bus_option]

    def status(self, field):
        """A size in the status of its process, in bytes."""
        with open(f'/proc/{self.current.process.pid}/status', encoding='utf-8') as file:
            return int(re.search(rf'(?m)^{field}:\s+(\d+)', file.read())[1]) * 1024
