# SPDX-FileCopyrightText: 2026 The WebLocks for D-Bus authors
# SPDX-License-Identifier: LGPL-2.1-or-later

"""The installed units with systemd, in a separate machine with its buses: all settings take effect,
and all functions work."""

import os
import re
import signal
import subprocess
import threading

from buses import end, read_lines, read_text, readable, spawn
from harness import diagnostic, wait_exit, wait_for
from machinecase import ALICE, BOB, KILL, UNIT, MachineCase, UnitChecks, main, of_user
from sandboxcase import APP, OTHER_APP, Sandboxes
from statecase import bus_id
from unitcase import ask_for_long_names, size


def read_status(pid):
    return dict(re.findall(r'(?m)^(\w+):[ \t]*(.*)$', read_text(f'/proc/{pid}/status')))


def service_section(path):
    """[Service] as a list of (key, value)."""
    lines = read_text(path).partition('[Service]\n')[2].splitlines()
    return [tuple(line.split('=', 1)) for line in lines if re.match(r'\w+=', line)]


class SystemUnit(UnitChecks):
    """On the system bus, for several users."""

    # ---- activation

    def test_two_at_the_same_moment(self):
        clients = [self.user(uid) for uid in (self.users[0], self.users[-1])]
        begin = self.monitor.position()
        results = {}
        threads = [threading.Thread(target=lambda client=client: results.setdefault(
            client.name, client.request('x'))) for client in clients]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        self.assertEqual(len(results), 2)
        self.assertEqual(sum(token > 0 for _, token in results.values()),
                         len({client.uid for client in clients}))
        started = [message for message in self.monitor.messages(begin, self.monitor.position())
                   if message.get_member() == 'RequestName']
        self.assertEqual(len(started), 1)

    def test_the_contract(self):
        """The calls and signals, on the bus and on a lock socket."""
        for uid in self.users:
            for by_socket in (False, True):
                with self.subTest(uid=uid, by_socket=by_socket):
                    self.check_contract(self.user(uid, by_socket=by_socket), self.user(uid))

    # ---- ends of the service

    def kill(self, pid):
        self.expected_failures += 1
        os.kill(pid, signal.SIGKILL)
        wait_for(lambda: self.unit.is_active() and self.unit.pid() != pid, every=0.1,
                 what='next service')

    def test_a_kill(self):
        self.check_preserved(self.kill)
        self.assertEqual(self.unit.get('NRestarts'), ['1'])

    def restart(self, _pid):
        self.unit.systemctl('restart', UNIT)

    def test_a_restart(self):
        self.check_preserved(self.restart)

    def stop(self, pid):
        try:
            self.unit.systemctl('stop', UNIT)
        except AssertionError as error:
            # A client of the service starts it again, and may call before it has ended.
            self.assertIn('canceled', str(error))
        wait_for(lambda: not os.path.exists(f'/proc/{pid}'), every=0.01, what='end')

    def test_a_stop(self):
        """The next call starts it again."""
        self.check_preserved(self.stop)

    def test_a_damaged_file(self):
        """It is renamed, and the service starts without it."""
        self.begin()
        self.assertGreater(self.user(self.users[0]).request('x')[1], 0)
        self.unit.systemctl('stop', UNIT)
        path = os.path.join(self.directory, bus_id(self.control) + '.state')
        with open(path, 'r+b') as file:
            file.write(b'x' * 8192)
        self.assertGreater(self.user(self.users[0]).request('x')[1], 0)
        self.assertTrue(os.path.exists(path + '.aside'))

    def test_running_commands(self):
        """One `weblocks run` holds a lock, and another waits for it, during all of these."""
        client = self.user(self.users[0])  # First, or it would inherit the end of a pipe.
        holder = self.weblocks_run('sh', '-c', 'echo held; exec cat')
        self.assertEqual(read_lines(holder, 1), ['held'])
        waiter = self.weblocks_run('echo', 'next')
        wait_for(lambda: client.query()[1], what='request')
        for disturb in (self.kill, self.restart, self.stop):
            disturb(self.unit.pid())
            self.assertEqual([len(part) for part in client.query()], [1, 1])
        self.assertFalse(readable(waiter.stdout, 0))
        holder.stdin.close()
        self.assertEqual(read_lines(waiter, 1), ['next'])
        self.assertEqual((wait_exit(holder), wait_exit(waiter)), (0, 0))

    def weblocks_run(self, *command):
        """In a process of the first user."""
        bus = ['--system'] if self.owner is None else []
        process = spawn(['weblocks', 'run', *bus, 'x', '--', *command], bufsize=0,
                        stdin=subprocess.PIPE, stdout=subprocess.PIPE, **of_user(self.users[0]))
        self.addCleanup(end, process)
        return process

    def test_the_idle_exit(self):
        """With a lock, it stays; without, it exits successfully, and is started again by the next
        call."""
        self.unit.change(f'{KILL}\nExecStart=\n' + self.start_line('0.2'))
        self.addCleanup(self.unit.change, self.drop_in)
        client = self.user(self.users[0])
        held, _ = client.request('x')
        pid = self.unit.pid()
        client.release(held)
        self.unit.wait_inactive()
        self.assertEqual(self.unit.get('Result', 'ExecMainStatus', 'MainPID'),
                         ['success', '0', '0'])
        again, token = client.request('x')
        self.assertGreater(token, 0)
        self.assertGreater(again, held)
        self.assertNotEqual(self.unit.pid(), pid)

    def start_line(self, idle_exit):
        return 'ExecStart=' + re.sub(r'--idle-exit=\d+', f'--idle-exit={idle_exit}',
                                     self.unit.setting('ExecStart'))

    # ---- restrictions

    # Values that systemctl shows in another form than the file.
    SHOWN_AS = {'512M': str(512 << 20), '1G': str(1 << 30), 'yes': 'yes', 'EPERM': '1'}
    NOT_SHOWN = {'ExecStart', 'SystemCallFilter', 'SystemCallErrorNumber', 'IPAddressDeny',
                'CapabilityBoundingSet', 'RestrictNamespaces', 'RestartSec'}
    START_LIMIT = {'StartLimitIntervalUSec': '10s', 'StartLimitBurst': '20'}

    def test_settings(self):
        """The manager has parsed each line."""
        shown = self.unit.show()
        for key, value in service_section(os.path.join(self.unit.directory, UNIT)):
            if key not in self.NOT_SHOWN:
                with self.subTest(key):
                    self.assertEqual(shown[key], self.SHOWN_AS.get(value, value))
        calls = set(shown['SystemCallFilter'].split())
        self.assertIn('read', calls)
        self.assertEqual(calls & {'ptrace', 'mount', 'io_uring_setup', 'memfd_create', 'userfaultfd',
                                  'vmsplice', 'setuid', 'chown', 'setrlimit', 'bpf', 'reboot', 'mlock'}, set())
        expected = {'RestrictNamespaces': 'yes', 'RestartUSec': '0', **self.START_LIMIT}
        self.assertEqual({key: shown[key] for key in expected}, expected)
        self.assertNotRegex(self.unit.journal(), 'ignoring')

    def test_the_process(self):
        """As reported by the kernel."""
        pid = self.begin()
        status = read_status(pid)
        self.assertEqual(status['Uid'].split(), [str(self.program_uid)] * 4)
        self.assertEqual((status['NoNewPrivs'], status['Seccomp']), ('1', '2'))
        for kind in ('Inh', 'Prm', 'Eff', 'Amb', *self.BOUND):
            self.assertEqual(int(status[f'Cap{kind}'], 16), 0, kind)
        limits = read_text(f'/proc/{pid}/limits')
        self.assertRegex(limits, rf"Max open files +\d+ +{self.unit.setting('LimitNOFILE')} ")
        if self.owner is None:
            self.assertRegex(limits, r'Max core file size +0 +0 ')
        own = {kind for kind in ('mnt', 'net', 'ipc', 'user', 'uts') if
               os.readlink(f'/proc/{pid}/ns/{kind}') != os.readlink(f'/proc/1/ns/{kind}')}
        self.assertEqual(own, self.NAMESPACES)
        self.check_directory()
        self.check_mounts(pid)

    def check_mounts(self, pid):
        with open(f'/proc/{pid}/mountinfo', encoding='utf-8') as file:
            points = {line.split()[4]: line.split()[5].split(',') for line in file}
        writable = {point for point, flags in points.items() if 'rw' in flags}
        self.assertEqual(writable, {'/run/weblocks', '/tmp', '/var/tmp', '/proc', '/dev/pts'})
        self.assertEqual([point for point in writable if 'noexec' not in points[point]], [])

    BOUND = ('Bnd',)
    NAMESPACES = {'mnt', 'net', 'user', 'uts'}
    CLIENTS = 'clientsTotal'

    def test_descriptors(self):
        """Lock sockets of about as many clients as a bus lets a user have, of each user; and five eighths of
        the descriptors are enough for those of the maximum number of clients."""
        pid = self.begin()
        for uid in self.users[:2]:
            for _ in range(200):
                self.lock_socket(self.raw_client(uid=uid, descriptors=True))
        self.assertGreater(len(os.listdir(f'/proc/{pid}/fd')), 200 * len(self.users[:2]))
        limits = self.control.get_property('Limits')
        self.assertGreaterEqual(int(self.unit.setting('LimitNOFILE')) * 5 // 8, limits[self.CLIENTS])

    def test_the_control_group(self):
        self.begin()
        group = self.group()
        limits = (group.memory_limit(), group.tasks_limit())
        if None in limits:
            self.skipTest('this manager has no such controllers here')
        self.assertEqual(limits, (str(size(self.unit.setting('MemoryMax'))),
                                  self.unit.setting('TasksMax')))

    def test_a_full_share(self):
        """As many requests as one user may have, with names of maximum length."""
        self.begin()
        limits = self.control.get_property('Limits')
        clients, asked = [], 0
        while asked == len(clients) * limits['requestsPerClient']:
            clients.append(self.raw_client(uid=self.users[0], descriptors=True))
            asked += ask_for_long_names(self.lock_socket(clients[-1]),
                                        limits['requestsPerClient'])
        before = clients[0].resync()
        full = self.check_group()
        self.unit.systemctl('restart', UNIT)
        self.assertEqual(clients[0].resync(), before)
        diagnostic(f'{asked} requests: {full} in the control group, and {self.check_group()} after '
                   'a restart')

    def check_group(self):
        """Usage is far below the limits. Returns the maximum usage as text."""
        group = self.group()
        peak = group.memory_peak()
        if peak is None:
            return 'unknown'
        self.assertLess(int(peak), size(self.unit.setting('MemoryMax')) // 4)
        self.assertEqual((group.killed(), group.tasks_refused()), (0, 0))
        return f'{int(peak) >> 20} MiB'


class UserUnit(SystemUnit):
    """On the bus of a session."""

    owner = ALICE
    users = (ALICE,)
    directory = f'/run/user/{ALICE}/weblocks'
    program_uid = ALICE
    BOUND = ()
    NAMESPACES = set()
    CLIENTS = 'clientsPerUid'

    def check_mounts(self, pid):
        """They are the user's."""


class SystemSandboxes(Sandboxes, MachineCase):
    """Sandboxed clients are refused: they can't be identified, since processes of other users are
    not accessible."""

    def test_sandboxes(self):
        self.assert_apart(self.plain(ALICE), self.plain(BOB))
        self.assert_refused(self.app(APP, uid=ALICE))
        self.assert_refused(self.proxied_app(APP, uid=ALICE))
        self.assert_refused(self.app_in(uid=BOB))


class SessionSandboxes(Sandboxes, MachineCase):
    """Applications of the session's user are isolated from the user; other users are refused."""

    owner = ALICE

    def test_sandboxes(self):
        host = self.plain(ALICE)
        app, other = self.app(APP, uid=ALICE), self.proxied_app(OTHER_APP, uid=ALICE)
        self.assert_apart(host, app, other)
        twin = self.proxied_app(APP, uid=ALICE)
        self.assertEqual(twin.clients(), [app.name])
        # Another root directory doesn't make a client an application.
        self.assertEqual(self.app_in(uid=ALICE).clients(), [host.name])

    def test_documents(self):
        """The unit permits the system calls by which the service looks at a document."""
        path = os.path.join(self.bus.directory, self.unique('document'))
        with open(path, 'x', encoding='ascii'):
            os.chown(path, ALICE, ALICE)
        app = self.app(APP, uid=ALICE)
        bucket, name = app.ask('open_document', path=path)
        self.assertNotEqual(app.call('request', name, bucket)[1], 0)

    def test_another_user(self):
        """The bus itself refuses, not only its directory."""
        os.chmod(self.bus.directory, 0o711)
        self.addCleanup(os.chmod, self.bus.directory, 0o700)
        for uid in (BOB, 0):
            with self.assertRaises(ConnectionError):
                self.raw_client(uid=uid)


if __name__ == '__main__':
    main()
