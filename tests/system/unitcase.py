# SPDX-FileCopyrightText: 2026 The WebLocks for D-Bus authors
# SPDX-License-Identifier: LGPL-2.1-or-later

"""What the tests of the service inside its unit share; as_unit.py is what stands for systemd."""

import importlib.util
import os
import re
import shutil
import sys
import unittest

from harness import owner_of, wait_for
from systembus import HERE, SystemCase, UserService, unit_path


def need():
    """For the module of a test: skips it where the unit can't be tried."""
    if importlib.util.find_spec('seccomp') is None:
        raise unittest.SkipTest('no python3-seccomp')
    if shutil.which('systemd-analyze') is None:
        raise unittest.SkipTest('no systemd-analyze')
    if os.environ.get('WEBLOCKS_SANITIZED'):
        raise unittest.SkipTest('sanitizers do what the unit forbids')


def size(text):
    return int(text[:-1]) * {'K': 1 << 10, 'M': 1 << 20, 'G': 1 << 30}[text[-1]]


class UnitService(UserService):
    """A service as the installed unit says; the program finds its bus and its directory where they
    always are."""

    kind, bus_option = 'system', '--system'

    def make_command(self, program, arguments, uid):
        return [sys.executable, os.path.join(HERE, 'as_unit.py'), unit_path(self.kind), str(uid),
                self.bus.socket, self.directory, program, self.bus_option, *arguments]

    def options(self, _uid):
        return {}


class SessionUnitService(UnitService):
    """The same of the unit for a user's session. The bus is still the system's, where there are
    others."""

    kind, bus_option = 'user', '--session'


class UnitCase(SystemCase):
    """Each case has a service of its own."""

    service = False
    service_class = UnitService

    def setUp(self):
        super().setUp()
        self.current = None
        self.addCleanup(self.end_service)

    def end_service(self):
        """It must still be there: what a filter refuses kills it."""
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
        """What the unit says."""
        with open(unit_path(self.service_class.kind), encoding='utf-8') as file:
            return re.search(rf'(?m)^{key}=(.*)$', file.read())[1]

    def unit_options(self):
        """How it is started there, but for the bus."""
        return [word for word in self.setting('ExecStart').split()[1:]
                if word != self.service_class.bus_option]

    def status(self, field):
        """A size in the status of its process, in bytes."""
        with open(f'/proc/{self.current.process.pid}/status', encoding='utf-8') as file:
            return int(re.search(rf'(?m)^{field}:\s+(\d+)', file.read())[1]) * 1024
