# SPDX-FileCopyrightText: 2026 The WebLocks for D-Bus authors
# SPDX-License-Identifier: LGPL-2.1-or-later

"""A private system bus: the distribution's rules, the installed policy, and real users. The service
on it runs as a separate user. Needs root.

The users exist only on that bus, not on the machine."""

import functools
import multiprocessing
import os
import shutil
import socket
import subprocess
import sys
import tempfile
import threading
import unittest
import xml.etree.ElementTree as ElementTree

import buses
from buses import (Bus, environment, read_lines, read_text, spawn,
                   why_no_other_users, write_text)
from harness import BusTestCase, RawClient, Service
from installation import Installation
from smallfs import namespace
from sockets import SocketClient

HERE = os.path.dirname(os.path.abspath(__file__))
STOCK_RULES = '/usr/share/dbus-1/system.conf'
POLICY = 'share/dbus-1/system.d/org.w3.WebLocks.conf'

# Different for each process, since a user's limits include the processes of other tests.
SERVICE_UID = 60000 + os.getpid() % 4000
ALICE, BOB = 64001, 64002
# Greater than a signed 32-bit number; and the greatest uid.
BIG, LAST = 4000000000, 4294967294
MANY_USERS = range(64100, 64108)

# Only the rules of the distribution's file are used, not its addresses and service directories.
_NOT_WANTED = {'listen', 'user', 'fork', 'pidfile', 'syslog', 'servicehelper', 'include',
               'includedir', 'standard_system_servicedirs'}
_TO_BE_FORMATTED = '{socket}'


def system_config(policy):
    """The configuration of a system bus with this policy file, without its socket."""
    root = ElementTree.parse(STOCK_RULES).getroot()
    for element in [element for element in root if element.tag in _NOT_WANTED]:
        root.remove(element)
    ElementTree.SubElement(root, 'listen').text = f'unix:path={_TO_BE_FORMATTED}'
    ElementTree.SubElement(root, 'include').text = policy
    return ('<!DOCTYPE busconfig PUBLIC "-//freedesktop//DTD D-Bus Bus Configuration 1.0//EN"\n'
            ' "http://www.freedesktop.org/standards/dbus/1.0/busconfig.dtd">\n'
            + ElementTree.tostring(root, encoding='unicode'))


@functools.cache
def staged():
    """The build under test, installed as for a package."""
    root = tempfile.mkdtemp(prefix='weblocks-stage-')
    unittest.addModuleCleanup(shutil.rmtree, root, ignore_errors=True)
    os.chmod(root, 0o755)
    return Installation(environment('WEBLOCKS_BUILD_DIR'), root).install()


def unit_path(kind='system'):
    """The installed unit of the system's service, or of a user's."""
    path, = (path for path in staged().files() if path.endswith(f'/{kind}/weblocksd.service'))
    return path


class SystemBus(Bus):
    """Unlike in the base class, both kinds read the same configuration file."""

    def __init__(self, policy):
        super().__init__(config=system_config(policy))
        self._passwd = os.path.join(self.directory, 'passwd')
        users = read_text('/etc/passwd')
        own = {staged().options['system_user']: SERVICE_UID, 'alice': ALICE, 'bob': BOB,
               'big': BIG, 'last': LAST, **{f'user-{uid}': uid for uid in MANY_USERS}}
        users += ''.join(f'{name}:x:{uid}:{uid}::/nonexistent:/bin/false\n'
                         for name, uid in own.items())
        write_text(self._passwd, users)
        self._journal = None

    def _launch(self, *command, **options):
        config = os.path.join(self.directory, 'bus.conf')
        write_text(config, self.config.format(socket=self.socket))
        self.process = spawn([sys.executable, os.path.join(HERE, 'launch_bus.py'), self._passwd,
                              *command, f'--config-file={config}'],
                             stdin=subprocess.DEVNULL, stderr=self._log, bufsize=0, **options)
        self.pid = self.process.pid

    def _start_daemon(self):
        self._launch('dbus-daemon', '--nofork', '--nopidfile', '--print-address=1',
                     stdout=subprocess.PIPE, env=self.environment())
        self.address = read_lines(self.process, 1)[0]

    def _start_broker(self):
        listener = socket.socket(socket.AF_UNIX)
        listener.bind(self.socket)
        os.chmod(self.socket, 0o666)
        listener.listen(1024)
        self.address = f'unix:path={self.socket}'
        self._journal = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
        fds = (listener.fileno(), self._journal.fileno())
        self._launch(*map(str, fds), 'dbus-broker-launch', '--scope=system', pass_fds=fds,
                     env={**self.environment(), 'DBUS_SYSTEM_BUS_ADDRESS': self.address})
        listener.close()
        threading.Thread(target=self._keep_journal, daemon=True).start()

    def _keep_journal(self):
        """Reads the journal, since the bus would block if it were full."""
        while entry := self._journal.recv(1 << 16):
            if not self._log.closed:
                self._log.write(entry)
                self._log.flush()

    def stop(self):
        buses.end(self.process)
        if self._journal is not None:
            self._journal.shutdown(socket.SHUT_RDWR)
        super().stop()


class UserClient:
    """A client of another user. With `by_socket` its lock operations use a lock socket. `groups` are its supplementary
    ones."""

    def __init__(self, address, uid, by_socket=False, groups=()):
        self.uid, self.pid = uid, os.getpid()
        client = RawClient(address, uid=uid, descriptors=True, groups=groups)
        self.client = SocketClient(client) if by_socket else client

    def __getattr__(self, name):
        return getattr(self.client, name)

    def events(self):
        """All signals of the service so far, and events on a lock socket."""
        if isinstance(self.client, SocketClient):
            self.client.socket.sync()
        self.client.ping()
        return list(self.client.events)

    def received(self):
        """All messages so far, as text."""
        self.client.ping()
        return '\n'.join(str(message) for message in self.client.log)

    def reopen(self):
        """Opens another lock socket when the first was closed. Returns the keys of live requests."""
        self.client.socket.read_to_end()
        return [entry.key for entry in self.client.reopen()]

    def run(self, function, *args):
        """Runs a function of a module in a process of this user."""
        with multiprocessing.get_context('fork').Pool(1, become, (self.uid,)) as pool:
            return pool.apply(function, args)


def become(uid):
    os.setgroups([])
    os.setresgid(uid, uid, uid)
    os.setresuid(uid, uid, uid)


class UserService(Service):
    """weblocksd as a separate user, with a state directory as created by systemd."""

    def __init__(self, bus, arguments=(), *, uid=SERVICE_UID, directory=None, program=None):
        self.bus = bus
        self.directory = directory
        self.command = self.make_command(program or environment('WEBLOCKSD'), list(arguments), uid)
        self._stderr = tempfile.TemporaryFile()
        self.process = spawn(self.command, stdin=subprocess.DEVNULL, stdout=self._stderr,
                             stderr=self._stderr, **self.options(uid))
        self.name = None

    def make_command(self, program, arguments, _uid):
        return [program, f'--address={self.bus.address}', *arguments]

    def options(self, uid):
        env = {'PATH': os.defpath, 'RUNTIME_DIRECTORY': self.directory}
        return {'user': uid, 'group': uid, 'extra_groups': [], 'env': env}


@unittest.skipIf(why_no_other_users(), why_no_other_users())
@unittest.skipUnless(namespace(), 'no mount namespaces here')
class SystemCase(BusTestCase):
    """For each class a system bus, and the service as its user on it."""

    service_class = UserService

    @classmethod
    def make_bus(cls):
        if not os.path.exists(STOCK_RULES):
            raise unittest.SkipTest(f'no {STOCK_RULES}')
        if environment('WEBLOCKS_TEST_BUS') == 'dbus-broker' and \
                not shutil.which('dbus-broker-launch'):
            raise unittest.SkipTest('no dbus-broker-launch')
        bus = SystemBus(cls.policy())
        # As for RuntimeDirectory=: /run is in memory.
        cls.directory = os.path.join(bus.runtime, 'state')
        os.chmod(bus.runtime, 0o755)
        os.mkdir(cls.directory, 0o700)
        os.chown(cls.directory, SERVICE_UID, SERVICE_UID)
        return bus

    @classmethod
    def policy(cls):
        return staged().path(POLICY)

    @classmethod
    def start_service(cls, *arguments, ready=True, **kw):
        service = cls.service_class(cls.bus, arguments, **{'directory': cls.directory, **kw})
        cls.services.append(service)
        return service.wait_ready(cls.control) if ready else service

    def user(self, uid, **kw):
        client = self._adopt(UserClient(self.bus.address, uid, **kw))
        self.monitor.position()  # see socket_client()
        return client
