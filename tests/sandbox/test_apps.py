# SPDX-FileCopyrightText: 2026 The WebLocks for D-Bus authors
# SPDX-License-Identifier: LGPL-2.1-or-later

"""Real sandboxes: applications are isolated from each other and the host; instances of one share."""

import fcntl
import os
import signal
import socket
import stat
import unittest
import unittest.mock

from buses import why_no_other_users, write_bytes
from calls import DBusError
from sockets import LockSocket, open_socket_call
from sandboxcase import APP, OTHER_APP, AppProcess, SandboxCase, info


class Apart(SandboxCase):
    """The same names in the same buckets, by applications and the host."""

    def check_apart(self, one, two, host):
        """Three clients of different principals."""
        first, second = self.unique('bucket'), self.unique('bucket')
        clients = {'one': one, 'two': two, 'host': host}
        held = {}
        for role, client in clients.items():
            for bucket in (first, second):
                held[role, bucket] = client.call('request', 'n', bucket)
                self.assertNotEqual(held[role, bucket][1], 0, f'{role} has to wait in {bucket}')
        waiting = one.call('request', 'n', first)
        self.assertEqual(waiting[1], 0)

        for role, client in clients.items():
            pending = [['n', 'exclusive', client.name]] if role == 'one' else []
            self.assertEqual(client.call('query', first), [[['n', 'exclusive', client.name]],
                                                          pending], role)
            self.assertEqual(client.clients(first), [client.name] * (1 + len(pending)))
            self.assertEqual(client.call('buckets'), sorted((first, second)))
        two.call('steal', 'n', first)
        one.sync()
        self.assertEqual(one.signals('Released'), [], 'a steal has ended a lock of another client')

        # For an id of another principal the reply is the same as for an unused id.
        foreign = one.call('request', 'more', first)[0]
        for client in (two, host):
            for member in ('release', 'abort', 'downgrade'):
                self.assertEqual(self.answer(client, member, foreign, first),
                                 self.answer(client, member, 1 << 40, first))
        for client in (one, two, host):
            self.assertEqual([entry[1] for entry in client.call('resync') if entry[0] == second],
                             [held[self.role_of(clients, client), second][0]])

    @staticmethod
    def role_of(clients, client):
        return next(role for role, candidate in clients.items() if candidate is client)

    @staticmethod
    def answer(client, *arguments):
        try:
            return client.call(*arguments)
        except DBusError as error:
            return (error.name, error.message)

    def host(self):
        return self._adopt(AppProcess(self.bus.address, self.bus.environment()))

    def test_direct(self):
        self.check_apart(self.app(APP), self.app(OTHER_APP), self.host())

    def test_behind_proxies(self):
        self.check_apart(self.proxied_app(APP), self.proxied_app(OTHER_APP), self.host())

    def test_watchers(self):
        """No client is notified of another's locks."""
        app, other, host = self.app(APP), self.proxied_app(OTHER_APP), self.host()
        for client in (app, other, host):
            client.call('watch')
        for client in (app, other, host):
            client.call('request', 'n')
        for client in (app, other, host):
            client.sync()
            self.assertEqual([event.args[3] for event in client.signals('Granted')],
                             [client.name])

    def test_another_user(self):
        """The same application of another user."""
        if why_no_other_users():
            self.skipTest(why_no_other_users())
        app, other = self.app(APP), self.app(APP, uid=65534)
        for client in (app, other):
            self.assertNotEqual(client.call('request', 'n')[1], 0)
            self.assertEqual(client.clients(), [client.name])

    def test_a_runtime(self):
        """A runtime that is run without an application counts as an application."""
        runtime, app = self.app(info('org.example.Platform', 'Runtime')), self.app(APP)
        again = self.app('org.example.Platform')
        self.assertNotEqual(runtime.call('request', 'n')[1], 0)
        self.assertNotEqual(app.call('request', 'n')[1], 0)
        self.assertEqual(again.call('request', 'n')[1], 0)


class Together(SandboxCase):
    """Clients of one principal."""

    def check_together(self, one, two):
        first = one.call('request', 'n')
        second = two.call('request', 'n')
        self.assertNotEqual(first[1], 0)
        self.assertEqual(second[1], 0)
        self.assertEqual(one.call('query'), [[['n', 'exclusive', one.name]],
                                             [['n', 'exclusive', two.name]]])
        one.call('release', first[0])
        two.wait_for(lambda: two.granted(second[0]), what='Granted')
        self.assertEqual(one.clients(), [two.name])

    def test_two_instances(self):
        self.check_together(self.app(APP), self.app(APP))

    def test_two_instances_behind_proxies(self):
        self.check_together(self.proxied_app(APP), self.proxied_app(APP))

    def test_with_proxy_and_without(self):
        self.check_together(self.app(APP), self.proxied_app(APP))

    def test_sandbox_without_an_app(self):
        """bubblewrap alone doesn't make an application: such a client is unsandboxed."""
        app = self.app_in()
        app.call('request', 'n')
        self.assertEqual([entry[2] for entry in self.control.query()[0]], [app.name])

    def test_pid(self):
        """The pid in the bus's namespace, not in the sandbox's."""
        app = self.app(APP)
        app.call('request', 'n')
        entry = app.call('inspect')[0][0]
        self.assertEqual(entry['pid'], self.pid_on_bus(app))


class BadFiles(SandboxCase):
    """Other objects in place of the file: the client can't be identified."""

    def bad(self, *arguments, **kw):
        app = self.app_in(*arguments, **kw)
        self.assert_refused(app)
        # Only because of the file.
        self.app(APP).call('request', 'n')

    def test_contents(self):
        for data in (b'', b'\n', b'[Application]\n', info(''), info('App'), info('../..'),
                     info('org/example/App'), info('org.example.\0App'), info('org.example.A\0'),
                     info('org.example.App Two'), info(':1.1'), info('org.ex\u00e4mple.App'),
                     b'[Application]\nname=org.example.\xff\xfe\n', b'\0' * 4096,
                     info(APP) + b'#' * 65536, info(APP) + info(APP, 'Runtime')):
            with self.subTest(data=data[:60]):
                self.assert_refused(self.app(data))

    def test_symlink(self):
        path = os.path.join(self.shared, 'good')
        write_bytes(path, info(APP))
        self.bad('--symlink', path, '/.flatpak-info')

    def test_symlink_to_nothing(self):
        self.bad('--symlink', '/nowhere', '/.flatpak-info')

    def test_directory(self):
        self.bad('--dir', '/.flatpak-info')

    def test_fifo(self):
        path = os.path.join(self.shared, 'fifo')
        os.mkfifo(path, 0o666)
        self.bad('--bind', path, '/.flatpak-info')

    def test_socket(self):
        path = os.path.join(self.shared, 'socket')
        with socket.socket(socket.AF_UNIX) as bound:
            bound.bind(path)
            self.bad('--bind', path, '/.flatpak-info')

    def test_size(self):
        """64 KiB are read, and a larger file is not."""
        data = info(APP).ljust(1 << 16, b'#')
        self.assert_together(self.app(data), self.app(APP))
        self.assert_refused(self.app(data + b'#'))
        path = os.path.join(self.shared, 'huge')
        write_bytes(path, info(APP))
        os.truncate(path, 1 << 30)
        self.bad('--bind', path, '/.flatpak-info')

    def test_lease(self):
        """To open the file would break it, which takes up to 45 seconds."""
        path = os.path.join(self.shared, 'leased')
        write_bytes(path, info(APP))
        app = self.app_in('--bind', path, '/.flatpak-info')
        self.addCleanup(signal.signal, signal.SIGIO, signal.signal(signal.SIGIO, signal.SIG_IGN))
        with open(path, 'r+b') as file:
            fcntl.fcntl(file, fcntl.F_SETLEASE, fcntl.F_WRLCK)
            self.assert_refused(app)

    def test_endless(self):
        self.bad('--dev-bind', '/dev/zero', '/.flatpak-info')

    def test_file_system_that_never_replies(self):
        """Other clients are served meanwhile."""
        if os.geteuid() != 0 or not os.path.exists('/dev/fuse'):
            self.skipTest('needs root and /dev/fuse')
        self.assertTrue(stat.S_ISCHR(os.stat('/dev/fuse').st_mode))
        path = os.path.join(self.shared, 'plain')
        write_bytes(path, info(APP))
        app = self.app_in('--bind', path, '/.flatpak-info', '--dev-bind', '/dev/fuse', '/dev/fuse',
                          '--cap-add', 'ALL', user_namespace=False)
        # The service hasn't identified it yet: that happens at its first call.
        problem = app.ask('hang', path='/.flatpak-info')
        if problem:
            self.skipTest(f'FUSE can\'t be mounted here: {problem}')
        self.assert_refused(app)
        self.raw_client().ping()


class Chroots(SandboxCase):
    """The service has a private mount namespace, and clients may have one."""

    @classmethod
    def start(cls):
        wrapper = 'unshare --mount ' + os.environ.get('WEBLOCKS_TEST_WRAPPER', '')
        with unittest.mock.patch.dict(os.environ, WEBLOCKS_TEST_WRAPPER=wrapper):
            return super().start()

    @classmethod
    def setUpClass(cls):
        if os.geteuid() != 0:
            raise unittest.SkipTest('needs root, to have other roots')
        super().setUpClass()
        cls.with_service = ('nsenter', f'--mount=/proc/{cls.daemon.process.pid}/ns/mnt')

    def setUp(self):
        super().setUp()
        self.root = os.path.join(self.shared, self._testMethodName)
        os.mkdir(self.root)

    def chrooted(self, *command):
        app = self.plain(command=command)
        app.ask('chroot', path=self.root)
        return app

    def test_in_a_mount_of_the_service(self):
        app = self.chrooted(*self.with_service)
        app.call('request', 'n')
        self.assertEqual([entry[2] for entry in self.control.query()[0]], [app.name])

    def test_of_an_app(self):
        write_bytes(os.path.join(self.root, '.flatpak-info'), info(APP))
        self.assert_together(self.chrooted(*self.with_service), self.app(APP))

    def test_in_an_unknown_mount(self):
        self.assert_refused(self.chrooted('unshare', '--mount'))

    def test_on_a_mount_of_its_own(self):
        app = self.chrooted('unshare', '--mount', 'sh', '-c',
                            'mount --bind "$0" "$0" && exec "$@"', self.root)
        app.call('request', 'n')
        self.assertEqual([entry[2] for entry in self.control.query()[0]], [app.name])

    def check_that_never_replies(self, *command):
        app = self.plain(command=command)
        problem = app.ask('hang_around', path=self.root)
        if problem:
            self.skipTest(f'FUSE can\'t be mounted here: {problem}')
        self.assert_refused(app)
        self.raw_client().ping()

    def test_in_a_mount_that_never_replies(self):
        self.check_that_never_replies(*self.with_service)

    def test_in_an_unknown_mount_that_never_replies(self):
        self.check_that_never_replies('unshare', '--mount')


class LockSockets(SandboxCase):
    """A process with the socket acts for the client that opened it."""

    def test_socket_of_an_app_used_by_the_host(self):
        app, twin = self.app(APP), self.app(APP)
        sock = LockSocket(self.descriptor_of(app, 'give_socket'))
        self.addCleanup(sock.close)
        self.monitor.position()

        self.assertNotEqual(sock.request('n')[1], 0)
        self.assertEqual(app.query(), [[['n', 'exclusive', app.name]], []])
        self.assertEqual(twin.clients(), [app.name])
        self.assertEqual(self.control.query(), ([], []), 'the host sees it')
        waiting = twin.call('request', 'n')
        self.assertEqual(waiting[1], 0)

        self.kill_and_wait(app)
        sock.read_to_end(5)
        twin.wait_for(lambda: twin.granted(waiting[0]), what='Granted')

    def test_socket_of_the_host_used_by_an_app(self):
        path, sock = self.listen()
        app = self.app(APP)
        host = self.raw_client(descriptors=True)
        host.result(host.send(open_socket_call()))
        app.send_command('take_socket', path=path)
        connection, _ = sock.accept()
        descriptor = host.descriptors.pop()
        socket.send_fds(connection, [b'x'], [descriptor])
        os.close(descriptor)
        connection.close()
        app._answer()
        self.assertNotEqual(app.ask('by_socket', arguments=['request', 'n'])[1], 0)
        self.assertEqual([entry[2] for entry in self.control.query()[0]], [host.name])
        self.assertEqual(app.clients(), [], 'its calls on the bus are still its own')


class Restored(SandboxCase):
    """The service is killed: all clients keep their identity, and are not identified again."""

    @classmethod
    def start(cls):
        cls.options = (f'--state-dir={cls.shared}/state',)
        return super().start()

    def test_kill(self):
        app, twin, proxied = self.app(APP), self.app(APP), self.proxied_app(OTHER_APP)
        host = self.raw_client()
        held = app.call('request', 'n')
        waiting = twin.call('request', 'n')
        proxied.call('request', 'n')
        host.request('n')
        self.daemon.end()
        begin = self.monitor.position()
        type(self).daemon = self.start()
        for client, seen in ((app, [app.name, twin.name]), (proxied, [proxied.name])):
            self.assertEqual(client.clients(), sorted(seen))
        self.assertEqual([entry[2] for entry in host.query()[0]], [host.name])
        app.call('release', held[0])
        twin.wait_for(lambda: twin.granted(waiting[0]), what='Granted')
        asked = [message.get_arg0()
                 for message in self.monitor.messages(begin, self.monitor.position())
                 if message.get_member() == 'GetConnectionCredentials']
        self.assertEqual(set(asked) & {app.name, twin.name, proxied.name, host.name}, set())
