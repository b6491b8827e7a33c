# SPDX-FileCopyrightText: 2026 The WebLocks for D-Bus authors
# SPDX-License-Identifier: LGPL-2.1-or-later

"""What the tests in a machine of boot_systemd.py share: they run inside (see machine.py), with the
buses, users and units that systemd has started or will start."""

import os
import re
import shutil
import subprocess
import sys
import unittest

from calls import SERVICE
from harness import BusTestCase, wait_for
import installation
import tap
from machine import USERS, Machine, Refused, get_skip_reason
from sandboxcase import as_user
from systembus import UserClient, staged
from unitcase import ContractChecks

HERE = os.path.dirname(os.path.abspath(__file__))
TESTS = os.path.dirname(HERE)
DOCS = os.path.join(os.path.dirname(TESTS), 'docs')  # what a Flatpak may do: see flatpak.py
ALICE, BOB = USERS['alice'], USERS['bob']
UNIT = 'weblocksd.service'
# A system call that is denied kills the service, so that none goes unnoticed.
KILL = 'SystemCallErrorNumber=kill'
# Set for processes on the machine.
INSIDE = 'WEBLOCKS_MACHINE'


def main():
    """For a test program: starts a machine, and prints the output of its process there."""
    if os.environ.get(INSIDE):
        tap.main()
        return
    tap.take_signals()
    reason = get_skip_reason()
    if os.environ.get('WEBLOCKS_SANITIZED'):
        reason = 'sanitizers do what the unit forbids'
    kind = os.environ['WEBLOCKS_TEST_BUS']
    if shutil.which(kind) is None:
        reason = f'no {kind}'
    if reason:
        print(f'1..0 # SKIP {reason}')
        return
    try:
        machine = Machine(staged(), kind, [TESTS, DOCS])
    except Refused as error:
        print(f'1..0 # SKIP no separate machine: {error}')
        return
    try:
        options = machine.installation.options
        env = {**os.environ, INSIDE: '1', 'PYTHONDONTWRITEBYTECODE': '1',
               'PATH': f"{options['prefix']}/bin:{os.environ['PATH']}",
               'LD_LIBRARY_PATH': os.path.join(options['prefix'], options['libdir'])}
        done = subprocess.run(machine.command(sys.executable, os.path.abspath(sys.argv[0]),
                                              *sys.argv[1:]), check=False, env=env,
                              stdin=subprocess.DEVNULL)
    finally:
        machine.stop()
        unittest.doModuleCleanups()
    sys.exit(done.returncode)


def of_user(uid):
    """Options of subprocess for a process of a user; None: root."""
    env = {key: os.environ[key] for key in ('PATH', 'LD_LIBRARY_PATH')}
    env['LANG'] = 'C.UTF-8'
    if uid is not None:
        env.update(XDG_RUNTIME_DIR=f'/run/user/{uid}',
                   DBUS_SESSION_BUS_ADDRESS=f'unix:path=/run/user/{uid}/bus')
    return {'env': env, **as_user(uid)}


def run(*command, uid=None):
    """Runs a command, which must succeed. Returns its output."""
    return installation.run(*command, **of_user(uid))


class Unit:
    """The installed unit of the system's manager, or of a user's."""

    def __init__(self, uid=None):
        self.uid = uid
        self.scope = ['--system'] if uid is None else ['--user']
        self.directory = f"/etc/machine/{'system' if uid is None else 'user'}"

    def systemctl(self, *words):
        return run('systemctl', '--no-pager', *self.scope, *words, uid=self.uid)

    def show(self, unit=UNIT):
        """All properties of the unit."""
        return dict(line.split('=', 1) for line in self.systemctl('show', unit).splitlines())

    def get(self, *keys):
        values = dict(line.split('=', 1) for line in self.systemctl(
            'show', UNIT, *(f'--property={key}' for key in keys)).splitlines())
        return [values[key] for key in keys]

    def pid(self):
        return int(self.get('MainPID')[0])

    def is_active(self):
        return self.get('ActiveState', 'SubState') == ['active', 'running']

    def wait_inactive(self):
        wait_for(lambda: self.get('ActiveState')[0] in ('inactive', 'failed'), every=0.05,
                 what='end of the unit')

    def change(self, text):
        """Adds a drop-in file with [Service] and this text; with '' removes it."""
        path = os.path.join(self.directory, f'{UNIT}.d')
        shutil.rmtree(path, ignore_errors=True)
        if text:
            os.mkdir(path)
            with open(os.path.join(path, 'test.conf'), 'w', encoding='utf-8') as file:
                file.write(f'[Service]\n{text}\n')
        self.systemctl('daemon-reload')

    def setting(self, key):
        """The value in the installed file."""
        with open(os.path.join(self.directory, UNIT), encoding='utf-8') as file:
            return re.search(rf'(?m)^{key}=(.*)$', file.read())[1]

    def journal(self, since=''):
        """The log of its processes, and of the manager about it, since that position."""
        kind = 'UNIT' if self.uid is None else 'USER_UNIT'
        place = [f'--after-cursor={since}'] if since else []
        return run('journalctl', '--no-pager', '--output=short-monotonic', *place,
                   f'_SYSTEMD_{kind}={UNIT}', '+', f'{kind}={UNIT}')


class MachineBus:
    """The bus of the machine."""

    def __init__(self, uid=None):
        self.kind = os.environ['WEBLOCKS_TEST_BUS']
        self.uid = uid
        self.directory = '/run/dbus' if uid is None else f'/run/user/{uid}'
        self.address = f"unix:path={self.directory}/{'system_bus_socket' if uid is None else 'bus'}"
        self.runtime = '/run' if uid is None else self.directory

    def start(self):
        return self

    def stop(self):
        pass

    def environment(self):
        env = {key: value for key, value in os.environ.items()
               if not key.startswith(('DBUS_', 'XDG_', 'WEBLOCKS_'))}
        return {**env, 'HOME': '/tmp', 'XDG_RUNTIME_DIR': self.runtime,
                'DBUS_SESSION_BUS_ADDRESS': self.address}

    def log(self):
        if self.uid is None:
            return run('journalctl', '--no-pager', '--unit=dbus.service')
        return run('journalctl', '--no-pager', '_SYSTEMD_USER_UNIT=dbus.service')


class Group:
    """The control group of a unit, as the kernel reports it."""

    def __init__(self, path):
        self.path = path

    def read(self, controller, name_1, name_2):
        """The contents of a file, by its name in either version; None without the controller."""
        for root, name in ((f'/sys/fs/cgroup/{controller}', name_1), ('/sys/fs/cgroup', name_2)):
            try:
                with open(f'{root}{self.path}/{name}', encoding='ascii') as file:
                    return file.read().strip()
            except FileNotFoundError:
                pass
        return None

    def memory_limit(self):
        return self.read('memory', 'memory.limit_in_bytes', 'memory.max')

    def memory_peak(self):
        return self.read('memory', 'memory.max_usage_in_bytes', 'memory.peak')

    def killed(self):
        text = self.read('memory', 'memory.oom_control', 'memory.events')
        return None if text is None else int(re.search(r'(?m)^oom_kill (\d+)', text)[1])

    def tasks_limit(self):
        return self.read('pids', 'pids.max', 'pids.max')

    def tasks_refused(self):
        text = self.read('pids', 'pids.events', 'pids.events')
        return None if text is None else int(re.search(r'(?m)^max (\d+)', text)[1])


@unittest.skipUnless(os.environ.get(INSIDE), 'runs in a separate machine only')
class MachineCase(BusTestCase):
    """On the system bus. Each case starts without a running service, and without locks."""

    service = False
    # Text of a drop-in file for this class.
    drop_in = ''
    # systemd and others broadcast signals.
    others_broadcast = True

    # The user whose session bus is used; None: the system bus.
    owner = None

    @classmethod
    def setUpClass(cls):
        cls.unit = Unit(cls.owner)
        if cls.owner is not None:
            run('systemctl', 'start', f'user@{cls.owner}.service')
        cls.unit.change(cls.drop_in)
        cls.addClassCleanup(cls.unit.change, '')
        # The bus of a session only accepts its user.
        os.seteuid(cls.owner or 0)
        try:
            super().setUpClass()
        finally:
            os.seteuid(0)

    @classmethod
    def make_bus(cls):
        return MachineBus(cls.owner)

    @classmethod
    def tearDownClass(cls):
        cls.services = [Ended(name) for name in cls.names_of_services()]
        super().tearDownClass()

    @classmethod
    def names_of_services(cls):
        """The connections that requested the name."""
        cls.monitor.position()
        return {message.get_sender() for message in cls.monitor.messages()
                if message.get_member() == 'RequestName' and
                message.get_arg0() == SERVICE}

    def setUp(self):
        super().setUp()
        run('journalctl', '--sync')
        self.begin_of_journal = run('journalctl', '--lines=0', '--show-cursor').split()[-1]
        self.addCleanup(self.end_service)

    # How often the case makes the service fail.
    expected_failures = 0

    def end_service(self):
        """Checks that the service has failed exactly as often as the case expects."""
        self.unit.systemctl('stop', UNIT)
        run('journalctl', '--sync')
        log = self.unit.journal(self.begin_of_journal)
        self.assertEqual(log.count('Failed with result'), self.expected_failures, log)
        self.unit.systemctl('reset-failed')

    def user(self, uid, **kw):
        client = self._adopt(UserClient(self.bus.address, uid, **kw))
        self.monitor.position()  # see socket_client()
        return client

    def report(self):
        return (f'{self.unit.journal(self.begin_of_journal)}\nthe bus log:\n'
                f'{self.bus.log()[-2000:]}')


class Ended:
    """A service that systemd has stopped."""

    def __init__(self, name):
        self.name = name

    @staticmethod
    def complaints():
        return []

    @staticmethod
    def stderr():
        return ''

    @staticmethod
    def end():
        pass


class UnitChecks(ContractChecks, MachineCase):
    """Cases that several classes share."""

    drop_in = KILL
    users = (ALICE, BOB, 0)
    directory = '/run/weblocks'
    program_uid = property(lambda self: self.uid_of('weblocks'))

    @staticmethod
    def uid_of(name):
        with open('/etc/passwd', encoding='utf-8') as file:
            return next(int(line.split(':')[2]) for line in file if line.startswith(f'{name}:'))

    def begin(self):
        """The first call starts the service. Returns its pid."""
        self.assertFalse(self.unit.is_active())
        self.control.ping()
        self.assertTrue(self.unit.is_active())
        return self.unit.pid()

    def group(self):
        return Group(self.unit.get('ControlGroup')[0])

    def check_preserved(self, disturb):
        """Held and waiting requests are preserved; their clients get no signals."""
        holder, waiter = self.user(self.users[0]), self.user(self.users[0], by_socket=True)
        held = holder.request('x', key=1)
        self.assertGreater(held[1], 0)
        waits, token = waiter.request('x', key=1)
        self.assertEqual(token, 0)
        events = holder.events()
        disturb(self.unit.pid())
        self.check_directory()
        self.assertEqual(holder.request('x', key=1), held)
        later = self.user(self.users[0])
        self.assertEqual(later.query(), ([('x', 'exclusive', holder.name)],
                                         [('x', 'exclusive', waiter.name)]))
        self.assertEqual([event for event in holder.events() if event not in events], [])
        waiter = self.again(waiter, waits)
        holder.release(held[0])
        wait_for(lambda: self.has_event(waiter, 'Granted', waits), what='Granted')

    def again(self, waiter, waits):
        """Its lock socket was closed by the service: it opens another, as the library does."""
        self.assertEqual(waiter.reopen(), [waits])
        return waiter

    def check_directory(self):
        self.assertTrue(os.path.isdir(self.directory))
        status = os.stat(self.directory)
        self.assertEqual((status.st_mode & 0o7777, status.st_uid), (0o700, self.program_uid))


__all__ = ['ALICE', 'BOB', 'INSIDE', 'KILL', 'Group', 'MachineBus', 'MachineCase', 'UNIT', 'Unit',
           'UnitChecks', 'main', 'of_user', 'run']
