# SPDX-FileCopyrightText: 2026 The WebLocks for D-Bus authors
# SPDX-License-Identifier: LGPL-2.1-or-later

"""What the sandbox tests share: clients in sandboxes that are made as Flatpak makes them.

An application's root is a tmpfs with /usr and other necessary directories, and /.flatpak-info, a file that
is mounted over itself, so that the application can't change it. The proxy by which it usually connects to
the bus has the host's directories, and the same file, but not mounted.
"""

import functools
import os
import shutil
import socket
import subprocess
import sys
import tempfile

import buses
from buses import die_with_parent, end, wait_exit
from flatpak import proxy_options
from harness import BusTestCase, ProcessClient, pid_of, wait_for

HERE = os.path.dirname(os.path.abspath(__file__))
TESTS = os.path.dirname(HERE)
# A service with a planted fault, for ../security/test_faults.py.
FAULT = os.environ.get('WEBLOCKS_TEST_FAULT')

APP, OTHER_APP = 'org.example.Editor', 'org.example.Viewer'


def info(app_id, group='Application'):
    return (f'[{group}]\nname={app_id}\nruntime=runtime/org.example.Platform/x86_64/1\n'
            '\n[Instance]\ninstance-id=1234\n').encode()


@functools.cache
def why_no_sandbox():
    """Returns why no sandbox can be created; '' if one can."""
    for tool in ('bwrap', 'xdg-dbus-proxy'):
        if shutil.which(tool) is None:
            return f'needs {tool}'
    tried = subprocess.run(['bwrap', '--unshare-user', '--unshare-pid', '--ro-bind', '/', '/',
                            'true'], capture_output=True, text=True, check=False)
    return '' if tried.returncode == 0 else f'bwrap can do nothing here: {tried.stderr.strip()}'


def memory_file(data):
    """Returns a descriptor to read the data from."""
    fd = os.memfd_create('data')
    os.write(fd, data)
    os.lseek(fd, 0, os.SEEK_SET)
    return fd


def links_and_binds():
    """The arguments of bwrap for the programs."""
    for name in ('bin', 'lib', 'lib32', 'lib64', 'sbin'):
        path = f'/{name}'
        if os.path.islink(path):
            yield from ('--symlink', os.readlink(path), path)
        elif os.path.isdir(path):
            yield from ('--ro-bind', path, path)


def as_user(uid):
    """For a new process, which becomes another user."""
    return {} if uid is None else {'user': uid, 'group': uid, 'extra_groups': []}


class AppProcess(ProcessClient):
    """appclient.py as the end of any command, with descriptors for it, optionally of another
    user."""

    def __init__(self, address, env, command=(), descriptors=(), uid=None):
        # pylint: disable=super-init-not-called
        env = {**env, 'PYTHONPATH': HERE, 'PYTHONDONTWRITEBYTECODE': '1'}
        process = subprocess.Popen(
            [*command, sys.executable, os.path.join(HERE, 'appclient.py'), address],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, env=env, bufsize=0,
            pass_fds=descriptors, preexec_fn=die_with_parent, **as_user(uid))
        for descriptor in descriptors:
            os.close(descriptor)
        self.begin(process)

    def sync(self):
        """A barrier: all signals that the service sent before are in `events`. The process writes
        signals after each reply, so these precede the second reply."""
        self.call('ping')
        self.call('ping')

    def query(self, bucket='default'):
        return self.call('query', bucket)

    def clients(self, bucket='default'):
        """The clients whose locks and requests it can see."""
        return sorted(entry['clientId'] for entry in self.call('inspect', bucket)[0])


class Sandboxes:
    """Creates sandboxed clients, for a case with a bus."""

    # A directory shared by them and the host, beside the bus's.
    shared = None

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.shared = tempfile.mkdtemp(prefix='weblocks-sandbox-')
        os.chmod(cls.shared, 0o777)
        cls.addClassCleanup(shutil.rmtree, cls.shared, ignore_errors=True)

    def setUp(self):
        super().setUp()
        if why_no_sandbox():
            self.skipTest(why_no_sandbox())

    def bwrap(self, *more, user_namespace=True):
        command = ['bwrap', '--die-with-parent', '--unshare-pid', '--proc', '/proc',
                   '--dev', '/dev', '--ro-bind', '/usr', '/usr', '--ro-bind', '/etc', '/etc',
                   *links_and_binds(), '--ro-bind', TESTS, TESTS,
                   '--bind', self.bus.directory, self.bus.directory,
                   '--bind', self.shared, self.shared]
        if user_namespace:
            command.append('--unshare-user')
        return [*command, *more]

    def app_in(self, *more, address=None, descriptors=(), uid=None, **kw):
        """A client in a sandbox with these additional mounts."""
        app = AppProcess(address or self.bus.address, self.bus.environment(),
                         self.bwrap(*more, **kw), descriptors, uid)
        return self._adopt(app)

    @staticmethod
    def info_mounts(data):
        """The arguments of bwrap for /.flatpak-info with this content, and the descriptors they name."""
        one, two = memory_file(data), memory_file(data)
        return ('--perms', '0600', '--file', str(one), '/.flatpak-info',
                '--ro-bind-data', str(two), '/.flatpak-info'), (one, two)

    def app(self, data=info(APP), **kw):
        """A client in a sandbox as Flatpak makes it, with this file; data can be an application id."""
        mounts, descriptors = self.info_mounts(info(data) if isinstance(data, str) else data)
        return self.app_in(*mounts, descriptors=descriptors, **kw)

    def proxy(self, data, uid=None):
        """Returns the address of a proxy in a sandbox, as Flatpak starts it; optionally of another user."""
        data_fd = memory_file(data)
        self._counter += 1
        path = os.path.join(self.shared, f'{self._testMethodName}.{self._counter}')
        reader, writer = os.pipe()
        command = ['bwrap', '--die-with-parent']
        for name in sorted(os.listdir('/')):
            if os.path.islink(f'/{name}'):
                command += ['--symlink', os.readlink(f'/{name}'), f'/{name}']
            elif os.path.isdir(f'/{name}'):
                bind = '--bind' if name in ('tmp', 'var', 'run') else '--ro-bind'
                command += [bind, f'/{name}', f'/{name}']
        command += ['--perms', '0600', '--file', str(data_fd), '/.flatpak-info', '--',
                    'xdg-dbus-proxy', f'--fd={writer}', self.bus.address, path, '--filter',
                    *proxy_options()]
        process = subprocess.Popen(command, pass_fds=(data_fd, writer), stdin=subprocess.DEVNULL,
                                   env=self.bus.environment(), preexec_fn=die_with_parent,
                                   **as_user(uid))
        self.addCleanup(end, process)
        os.close(data_fd)
        os.close(writer)
        # It reports when it listens.
        self.assertTrue(buses.readable(reader, buses.PATIENCE), 'the proxy does not begin')
        self.assertEqual(os.read(reader, 1), b'x')
        self.addCleanup(os.close, reader)
        return f'unix:path={path}'

    def proxied_app(self, app_id=APP, uid=None, **kw):
        """A client in a sandbox behind its proxy."""
        return self.app(app_id, address=self.proxy(info(app_id), uid), uid=uid, **kw)

    def plain(self, uid=None, command=()):
        """An unsandboxed client of a user."""
        return self._adopt(AppProcess(self.bus.address, self.bus.environment(), command, uid=uid))

    def listen(self):
        """A path that is visible in a sandbox, with a listening socket of this process."""
        path = os.path.join(self.shared, self.unique('socket'))
        sock = socket.socket(socket.AF_UNIX)
        sock.bind(path)
        sock.listen()
        sock.settimeout(buses.PATIENCE)
        self.addCleanup(sock.close)
        return path, sock

    def descriptor_of(self, app, command):
        """Returns the descriptor that the application sends after this command."""
        path, sock = self.listen()
        app.send_command(command, path=path)
        connection, _ = sock.accept()
        with connection:
            _, descriptors, _, _ = socket.recv_fds(connection, 1, 1)
        app._answer()
        return descriptors[0]

    def pid_on_bus(self, client):
        return pid_of(self.control, client.name)

    def kill_and_wait(self, app):
        """Kills the process that is connected to the bus, and waits until its sandbox has ended."""
        pid = self.pid_on_bus(app)
        pidfd = os.pidfd_open(pid)
        os.kill(pid, 9)
        self.assertTrue(buses.readable(pidfd, buses.PATIENCE))
        os.close(pidfd)
        wait_exit(app.process)
        wait_for(lambda: not os.path.exists(f'/proc/{pid}'), what='end of the process')

    def assert_refused(self, app):
        """Every call is refused, each time."""
        for member, *arguments in (('request', 'x'), ('query',), ('inspect',), ('buckets',),
                                   ('resync',), ('release', 1), ('watch',), ('request', 'x')):
            self.assert_error('Security', app.call, member, *arguments)
        self.assert_error('Security', app.ask, 'open_socket')

    def assert_together(self, one, two):
        """Checks that they see each other."""
        lock = one.call('request', 'n')
        self.assertNotEqual(lock[1], 0)
        self.assertEqual(two.clients(), [one.name])
        one.call('release', lock[0])

    def assert_apart(self, *clients):
        for client in clients:
            self.assertNotEqual(client.call('request', 'n')[1], 0)
        for client in clients:
            self.assertEqual(client.clients(), [client.name])


class SandboxCase(Sandboxes, BusTestCase):
    """One service for a class."""

    service = False
    options = ('--no-state',)
    environment = {}

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.daemon = cls.start()

    @classmethod
    def start(cls):
        return cls.start_service(*cls.options, env=cls.environment)

    def descriptors(self):
        return self.daemon.count_descriptors()


class StoredState:
    """Before a SandboxCase: its service stores its state, and can be killed and started again."""

    @classmethod
    def start(cls):
        cls.state = tempfile.mkdtemp(prefix='weblocks-state-')
        cls.addClassCleanup(subprocess.run, ['rm', '-r', cls.state], check=False)
        return cls.start_service(f'--state-dir={cls.state}')

    def restart(self):
        type(self).kill_and_restart(f'--state-dir={self.state}')
