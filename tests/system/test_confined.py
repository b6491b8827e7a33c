# SPDX-FileCopyrightText: 2026 The WebLocks for D-Bus authors
# SPDX-License-Identifier: LGPL-2.1-or-later

"""The service inside its unit: all functions work, and it makes no call that the unit denies.
as_unit.py replaces systemd."""

import json
import os
import re
import signal
import socket
import sys
import tempfile
import unittest

from buses import why_no_other_users
from harness import main, wait_for
from installation import run
from sandboxcase import APP, OTHER_APP, Sandboxes
from smallfs import namespace
from statecase import bus_id
from systembus import ALICE, BIG, BOB, HERE, LAST, SERVICE_UID, unit_path
from unitcase import ContractChecks, SessionUnitService, UnitCase, need

setUpModule = need


class Works(ContractChecks, UnitCase):
    """Inside the system's unit."""

    CLIENTS = 'clientsTotal'

    def test_the_contract(self):
        """The calls and signals, on the bus and on a lock socket, of several users."""
        self.start()
        for uid in (ALICE, BIG, LAST, 0):
            for by_socket in (False, True):
                with self.subTest(uid=uid, by_socket=by_socket):
                    self.check_contract(self.user(uid, by_socket=by_socket), self.user(uid))

    def test_state_after_a_kill(self):
        """The next service reads the state of the last one, in a child process."""
        self.start()
        alice, bob = self.user(ALICE), self.user(BOB, by_socket=True)
        held, token = alice.request('x', key=1)
        waits, _ = alice.request('x', key=2)
        other = bob.request('x', key=1)
        for _ in range(3):
            self.current.end()
            self.start()
            self.assertEqual(alice.request('x', key=1), (held, token))
            self.assertEqual(self.user(BOB).query()[0][0][2], bob.name)
        alice.release(held)
        wait_for(lambda: self.has_event(alice, 'Granted', waits), what='Granted')
        self.assertGreater(other[1], 0)

    def test_replacement(self):
        first = self.start('--replace')
        client = self.user(ALICE)
        held = client.request('x', key=1)
        self.start('--replace')
        self.assertEqual(first.wait_exit(), 0, first.stderr())
        self.assertEqual(client.request('x', key=1), held)

    def test_a_damaged_file(self):
        self.start()
        self.user(ALICE).request('x')
        self.current.end()
        path = os.path.join(self.directory, bus_id(self.control) + '.state')
        with open(path, 'r+b') as file:
            file.write(b'x' * 8192)
        self.start()
        wait_for(lambda: os.path.exists(path + '.aside'), what='the damaged file')
        self.assertGreater(self.user(ALICE).request('x')[1], 0)

    def test_the_idle_exit(self):
        service = self.start('--idle-exit=0.1', ready=False)
        self.assertEqual(service.wait_exit(), 0, service.stderr())

    def test_two_cannot_serve(self):
        self.start()
        other = self.start_service(ready=False)
        self.assertEqual(other.wait_exit(), 1, other.stderr())

    def test_descriptors(self):
        """As many lock sockets as clients that a bus lets a user have, of two users, and one more
        of a third."""
        self.start()
        limits = self.control.get_property('Limits')
        n_each = 200  # The bus itself allows a user 256 connections.
        self.assertGreater(limits['clientsPerUid'], n_each)
        for uid in (ALICE, BIG):
            for _ in range(n_each):
                self.lock_socket(self.raw_client(uid=uid, descriptors=True))
        client = self.user(BOB, by_socket=True)
        self.assertGreater(client.request('x')[1], 0)
        n_open = self.current.count_descriptors()
        self.assertGreater(n_open, 2 * n_each)
        # Five eighths of the descriptors are for lock sockets: the maximum number of clients.
        n_clients = limits[self.CLIENTS]
        self.assertGreaterEqual(int(self.setting('LimitNOFILE')) * 5 // 8, n_clients)


class WorksInSession(Works):
    """Inside the unit of a user's session."""

    service_class = SessionUnitService
    CLIENTS = 'clientsPerUid'


class InSandboxes(Sandboxes, UnitCase):
    """Clients in sandboxes, of a service inside the system's unit: it may not access processes of
    other users, and so refuses these clients."""

    def test_applications(self):
        self.start()
        self.assert_apart(self.plain(ALICE), self.plain(BOB), self.plain(BIG))
        self.assert_refused(self.app(APP, uid=ALICE))
        self.assert_refused(self.proxied_app(APP, uid=ALICE))
        self.assert_refused(self.proxied_app(APP))
        self.assert_refused(self.app_in(uid=BOB))


class InSandboxesOfSession(InSandboxes):
    """And inside the unit of a user's session: clients of its own user are identified."""

    service_class = SessionUnitService

    def test_its_own_users(self):
        self.start()
        host, app = self.plain(SERVICE_UID), self.app(APP, uid=SERVICE_UID)
        other = self.proxied_app(OTHER_APP, uid=SERVICE_UID)
        self.assert_apart(host, app, other, self.plain(ALICE))
        self.assertEqual(self.proxied_app(APP, uid=SERVICE_UID).clients(), [app.name])
        self.assertEqual(self.app_in(uid=SERVICE_UID).clients(), [host.name])


class Confined(UnitCase):
    """The process has the restrictions of the units, as reported by the kernel."""

    def test_the_system_unit(self):
        pid = self.start().process.pid
        with open(f'/proc/{pid}/status', encoding='utf-8') as file:
            status = dict(re.findall(r'(?m)^(\w+):[ \t]*(.*)$', file.read()))
        self.assertEqual(status['Uid'].split(), [str(SERVICE_UID)] * 4)
        self.assertEqual(status['Gid'].split(), [str(SERVICE_UID)] * 4)
        self.assertEqual(status['Groups'].split(), [])
        for kind in ('Inh', 'Prm', 'Eff', 'Bnd', 'Amb'):
            self.assertEqual(int(status[f'Cap{kind}'], 16), 0, kind)
        self.assertEqual((status['NoNewPrivs'], status['Seccomp']), ('1', '2'))
        for kind in ('mnt', 'net', 'ipc', 'user'):
            self.assertNotEqual(os.readlink(f'/proc/{pid}/ns/{kind}'),
                                os.readlink(f'/proc/self/ns/{kind}'), kind)
        with open(f'/proc/{pid}/limits', encoding='utf-8') as file:
            limits = file.read()
        self.assertRegex(limits, r'Max core file size +0 +0')
        with open(f'/proc/{pid}/mountinfo', encoding='utf-8') as file:
            points = {line.split()[4]: line.split()[5].split(',') for line in file}
        # The table also lists mounts that are covered by others, and not reachable.
        points = {point: flags for point, flags in points.items()
                  if os.path.lexists(f'/proc/{pid}/root{point}')}
        self.assertEqual({point for point, flags in points.items() if 'rw' in flags and
                          not point.startswith(('/proc', '/sys', '/dev'))}, {'/run/weblocks'})


# Each in a separate process, which it may terminate: prints the result.
TRIALS = '''
import ctypes, json, mmap, os, resource, socket, sys

def trial(code):
    pid = os.fork()
    if pid == 0:
        try:
            exec(code)
            os._exit(0)
        except (OSError, ValueError, MemoryError) as error:
            print(code, error, file=sys.stderr)
            os._exit(1)
        finally:
            os._exit(2)
    return os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])

def map_file(path, protection):
    with open(path, "wb+") as file:
        file.truncate(4096)
        mmap.mmap(file.fileno(), 4096, prot=protection)

libc = ctypes.CDLL(None)
print(json.dumps({code: trial(code) for code in json.loads(sys.argv[1])}))
'''


@unittest.skipIf(why_no_other_users(), why_no_other_users())
@unittest.skipUnless(namespace(), 'no mount namespaces here')
class Launcher(unittest.TestCase):
    """The replacement of systemd applies the restrictions: otherwise the cases above would test
    nothing."""

    KILLED = (
        'os.setuid(0)',
        'os.chown("/run/weblocks", 0, 0)',
        'os.chmod("/run/weblocks", 0o4700)',
        'os.chroot("/")',
        'os.nice(-1)',
        'os.sched_setscheduler(0, os.SCHED_FIFO, os.sched_param(1))',
        'socket.socket(socket.AF_INET)',
        'socket.socket(socket.AF_NETLINK)',
        'mmap.mmap(-1, 4096, prot=mmap.PROT_WRITE | mmap.PROT_EXEC)',
        'os.memfd_create("x")',
        'libc.unshare(0x10000000)',
        'libc.syscall(56, 0x10000011, 0, 0, 0, 0)' if os.uname().machine == 'x86_64' else
        'libc.setns(0, 0)',
        'libc.ptrace(0, 0, 0, 0)',
        'libc.mount(b"a", b"/", b"tmpfs", 0, None)',
        'libc.klogctl(3, None, 0)',
        'libc.personality(0x40000)',
    )
    REFUSED = (
        'open("/etc/weblocks", "w")',
        'open("/run/other", "w")',
        'open("/dev/shm/other", "w")',
        'resource.setrlimit(resource.RLIMIT_CORE, (1, 1))',
        'map_file("/run/weblocks/code", mmap.PROT_READ | mmap.PROT_EXEC)',
        '[os.dup(1) for _ in range(10000)]',
        'bytearray(1 << 40)',
        'os.listdir("/proc/1/fd")',
        'os.kill(1, 0)',
    )
    ALLOWED = (
        'open("/run/weblocks/file", "w")',
        'map_file("/run/weblocks/data", mmap.PROT_READ | mmap.PROT_WRITE)',
        'open("/proc/1/mountinfo").read()',
        'os.pidfd_open(1)',
        'socket.socketpair()',
    )

    def test_restrictions_are_applied(self):
        with tempfile.TemporaryDirectory(prefix='weblocks-unit-') as directory:
            state, place = os.path.join(directory, 'state'), os.path.join(directory, 'bus')
            os.mkdir(state)
            os.chown(state, SERVICE_UID, SERVICE_UID)
            with socket.socket(socket.AF_UNIX) as listener:
                listener.bind(place)
                text = run(sys.executable, os.path.join(HERE, 'as_unit.py'), unit_path(),
                           str(SERVICE_UID), place, state, '/usr/bin/python3', '-c', TRIALS,
                           json.dumps(self.KILLED + self.REFUSED + self.ALLOWED))
        results = json.loads(text.splitlines()[-1])
        for codes, expected in ((self.KILLED, -signal.SIGSYS), (self.REFUSED, 1),
                                (self.ALLOWED, 0)):
            for code in codes:
                with self.subTest(code):
                    self.assertEqual(results[code], expected, text)


if __name__ == '__main__':
    main()
