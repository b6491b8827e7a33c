# SPDX-FileCopyrightText: 2026 The WebLocks for D-Bus authors
# SPDX-License-Identifier: LGPL-2.1-or-later

"""The installed units in the hands of systemd, on a machine of its own with its buses: what they
say is so, and everything works."""

import os
import re
import signal
import threading

from harness import diagnostic, wait_for
from machinecase import ALICE, BOB, UNIT, MachineCase, main
from unitcase import ContractChecks, ask_for_long_names, size

# What a filter of system calls refuses ends the service, so that none goes unnoticed.
KILL = 'SystemCallErrorNumber=kill'


def read_status(pid):
    with open(f'/proc/{pid}/status', encoding='utf-8') as file:
        return dict(re.findall(r'(?m)^(\w+):[ \t]*(.*)$', file.read()))


def service_section(path):
    """[Service] as a list of (key, value)."""
    with open(path, encoding='utf-8') as file:
        lines = file.read().partition('[Service]\n')[2].splitlines()
    return [tuple(line.split('=', 1)) for line in lines if re.match(r'\w+=', line)]


class Group:
    """The control group of a unit, by what the kernel says of it."""

    def __init__(self, path):
        self.path = path

    def read(self, controller, name_1, name_2):
        """What a file says, by its name in either version; None if there is no such controller."""
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


class SystemUnit(ContractChecks, MachineCase):
    """On the system bus, for several users."""

    otherwise = KILL
    users = (ALICE, BOB, 0)
    directory = '/run/weblocks'
    program_uid = property(lambda self: self.uid_of('weblocks'))

    @staticmethod
    def uid_of(name):
        with open('/etc/passwd', encoding='utf-8') as file:
            return next(int(line.split(':')[2]) for line in file if line.startswith(f'{name}:'))

    def begin(self):
        """The first call starts it. Its process."""
        self.assertFalse(self.unit.is_active())
        self.control.ping()
        self.assertTrue(self.unit.is_active())
        return self.unit.pid()

    def group(self):
        return Group(self.unit.get('ControlGroup')[0])

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
        """The calls and signals, by the bus and by a private socket."""
        for uid in self.users:
            for peer in (False, True):
                with self.subTest(uid=uid, peer=peer):
                    self.check_contract(self.user(uid, peer=peer), self.user(uid))

    # ---- what it ends by

    def check_kept(self, disturb):
        """Locks, and the queue, are there after that; those who have them are not told a thing."""
        holder, waiter = self.user(self.users[0]), self.user(self.users[0], peer=True)
        held = holder.request('x', key=1)
        self.assertGreater(held[1], 0)
        waits, token = waiter.request('x', key=1)
        self.assertEqual(token, 0)
        told = holder.told()
        disturb(self.unit.pid())
        self.check_directory()
        self.assertEqual(holder.request('x', key=1), held)
        later = self.user(self.users[0])
        self.assertEqual(later.query(), ([('x', 'exclusive', holder.name)],
                                         [('x', 'exclusive', waiter.name)]))
        self.assertEqual([event for event in holder.told() if event not in told], [])
        waiter = self.again(waiter, waits)
        holder.release(held[0])
        wait_for(lambda: self.told(waiter, 'Granted', waits), what='Granted')

    def again(self, waiter, waits):
        """Its private socket ended with the service: it goes on by the bus, as the library does."""
        self.assertTrue(waiter.leave_socket())
        self.assertEqual([line[1] for line in waiter.resync()], [waits])
        return waiter

    def check_directory(self):
        status = os.stat(self.directory)
        self.assertEqual((status.st_mode & 0o7777, status.st_uid), (0o700, self.program_uid))

    def test_a_kill(self):
        self.expected_failures = 1

        def kill(pid):
            os.kill(pid, signal.SIGKILL)
            wait_for(lambda: self.unit.is_active() and self.unit.pid() != pid, every=0.02,
                     what='next service')
            self.assertEqual(self.unit.get('NRestarts'), ['1'])
        self.check_kept(kill)

    def test_a_restart(self):
        self.check_kept(lambda pid: self.unit.systemctl('restart', UNIT))

    def test_a_stop(self):
        """The next call starts it again."""
        self.check_kept(lambda pid: self.unit.systemctl('stop', UNIT))

    def test_the_idle_exit(self):
        """With a lock, it stays; without, it ends well, and is there again for the next."""
        self.unit.change(f'{KILL}\nExecStart=\n' + self.start_line('0.2'))
        self.addCleanup(self.unit.change, self.otherwise)
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

    # ---- what it may

    # What systemctl says in other words than the file.
    SAID = {'512M': str(512 << 20), 'yes': 'yes', 'EPERM': '1'}
    NOT_SAID = {'ExecStart', 'SystemCallFilter', 'SystemCallErrorNumber', 'IPAddressDeny',
                'CapabilityBoundingSet', 'RestrictNamespaces', 'RestartSec'}

    def test_settings(self):
        """The manager has understood each line."""
        shown = self.unit.show()
        for key, value in service_section(os.path.join(self.unit.directory, UNIT)):
            if key not in self.NOT_SAID:
                with self.subTest(key):
                    self.assertEqual(shown[key], self.SAID.get(value, value))
        calls = set(shown['SystemCallFilter'].split())
        self.assertIn('read', calls)
        self.assertEqual(calls & {'ptrace', 'mount', 'io_uring_setup', 'userfaultfd', 'vmsplice',
                                  'setuid', 'chown', 'setrlimit', 'bpf', 'reboot', 'mlock'}, set())
        self.assertEqual((shown['RestrictNamespaces'], shown['RestartUSec']), ('yes', '0'))
        self.assertNotRegex(self.unit.journal(), r'Unknown|ignoring|Failed to')

    def test_the_process(self):
        """What the kernel says."""
        pid = self.begin()
        status = read_status(pid)
        self.assertEqual(status['Uid'].split(), [str(self.program_uid)] * 4)
        self.assertEqual((status['NoNewPrivs'], status['Seccomp']), ('1', '2'))
        for kind in ('Inh', 'Prm', 'Eff', 'Amb', *self.BOUND):
            self.assertEqual(int(status[f'Cap{kind}'], 16), 0, kind)
        with open(f'/proc/{pid}/limits', encoding='utf-8') as file:
            limits = file.read()
        self.assertRegex(limits, rf"Max open files +\d+ +{self.unit.setting('LimitNOFILE')} ")
        own = {kind for kind in ('mnt', 'net', 'ipc', 'user', 'uts') if
               os.readlink(f'/proc/{pid}/ns/{kind}') != os.readlink(f'/proc/1/ns/{kind}')}
        self.assertEqual(own, self.NAMESPACES)
        self.check_directory()

    BOUND = ('Bnd',)
    NAMESPACES = {'mnt', 'net', 'user', 'uts'}

    def test_the_control_group(self):
        self.begin()
        group = self.group()
        limits = (group.memory_limit(), group.tasks_limit())
        if None in limits:
            self.skipTest('this manager has no such controllers here')
        self.assertEqual(limits, (str(size(self.unit.setting('MemoryMax'))),
                                  self.unit.setting('TasksMax')))

    def test_a_full_share(self):
        """As much as one user may have, with the longest names."""
        self.begin()
        limits = self.control.get_property('Limits')
        clients, asked = [], 0
        while asked == len(clients) * limits['requestsPerClient']:
            clients.append(self.raw_client(uid=self.users[0], descriptors=True))
            asked += ask_for_long_names(self.private_socket(clients[-1]),
                                        limits['requestsPerClient'])
        before = clients[0].resync()
        self.unit.systemctl('restart', UNIT)
        self.assertEqual(clients[0].resync(), before)
        group = self.group()
        if group.memory_peak() is None:
            diagnostic(f'{asked} requests; no limit of memory to be tried here')
            return
        diagnostic(f'{asked} requests: {int(group.memory_peak()) >> 20} MiB in the control group')
        self.assertLess(int(group.memory_peak()), size(self.unit.setting('MemoryMax')) // 2)
        self.assertEqual((group.killed(), group.tasks_refused()), (0, 0))


class UserUnit(SystemUnit):
    """On the bus of a session."""

    owner = ALICE
    users = (ALICE,)
    directory = f'/run/user/{ALICE}/weblocks'
    program_uid = ALICE
    BOUND = ()
    NAMESPACES = set()


if __name__ == '__main__':
    main()
