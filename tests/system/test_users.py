# SPDX-FileCopyrightText: 2026 The WebLocks for D-Bus authors
# SPDX-License-Identifier: LGPL-2.1-or-later

"""Several users on a system bus: they are isolated, other users can't own the name, and can't
access the service."""

import ctypes
import os
import re
import signal
import stat
import subprocess

from gi.repository import Gio, GLib

from calls import ADMIN, LOCKS, PROPERTIES, ROOT, SERVICE, DBusError, bucket_path
from harness import DRIVER, DRIVER_PATH, service_with
from rawbus import method_call
from systembus import ALICE, BIG, BOB, LAST, SERVICE_UID, SystemCase, staged

DENIED = 'org.freedesktop.DBus.Error.AccessDenied'
STATISTICS = 'org.freedesktop.DBus.Debug.Stats'
CANARY = 'canary'
PTRACE_SEIZE = 0x4206


def errno_of(function, *args):
    """The error number with which it fails, 0 if it succeeds."""
    try:
        function(*args)
    except OSError as error:
        return error.errno
    return 0


def attack(pid, files):
    """Operations that a user can try on a process and its files: {operation: error number}, 0 if it
    succeeds."""
    libc = ctypes.CDLL(None, use_errno=True)

    def ptrace(request):
        if libc.ptrace(request, pid, None, None) < 0:
            raise OSError(ctypes.get_errno(), 'ptrace')

    pidfd = os.pidfd_open(pid)
    tried = {}
    tried['priority'] = errno_of(os.setpriority, os.PRIO_PROCESS, pid, 19)
    for name in ('mem', 'environ', 'maps', 'auxv', 'stack', 'syscall'):
        tried[name] = errno_of(os.open, f'/proc/{pid}/{name}', os.O_RDONLY)
    for name in ('exe', 'cwd', 'root'):
        tried[name] = errno_of(os.readlink, f'/proc/{pid}/{name}')
    for name in ('fd', 'map_files'):
        tried[name] = errno_of(os.listdir, f'/proc/{pid}/{name}')
    for path in files:
        tried[path] = errno_of(os.open, path, os.O_RDONLY)
    tried['ptrace'] = errno_of(ptrace, PTRACE_SEIZE)
    tried['signal by pidfd'] = errno_of(signal.pidfd_send_signal, pidfd, signal.SIGSTOP)
    for number in (0, signal.SIGTERM, signal.SIGKILL):
        tried[f'signal {number}'] = errno_of(os.kill, pid, number)
    return tried


class UsersCase(SystemCase):
    def check_nothing_is_visible(self, client):
        for bucket in ('default', CANARY):
            self.assertEqual(client.query(bucket), ([], []))
            self.assertEqual(client.inspect(bucket), ([], False))
        self.assertEqual(client.buckets(), [])
        self.assertEqual(client.resync(), [])
        self.assertNotIn(CANARY, client.introspect(f'{ROOT}/bucket'))


class OneUser(UsersCase):
    """A service that takes all users for one: the checks of this file detect it."""

    service = False

    def test_it_is_detected(self):
        self.start_service(program=service_with('users-are-one'))
        self.user(ALICE).request(CANARY)
        with self.assertRaises(AssertionError):
            self.check_nothing_is_visible(self.user(BOB))


class Users(UsersCase):
    """Operations of one user are neither visible to another one nor do they disturb it."""

    def setUp(self):
        super().setUp()
        self.alice = self.user(ALICE)

    def others(self):
        return [self.user(uid) for uid in (BOB, 0, BIG, LAST)]

    def test_users_are_those_of_the_kernel(self):
        for uid in (ALICE, BIG, LAST, SERVICE_UID):
            client = self.user(uid)
            answer = self.control.call(DRIVER_PATH, DRIVER, 'GetConnectionUnixUser',
                                       GLib.Variant('(s)', (client.name,)), destination=DRIVER)
            self.assertEqual(answer, (uid,))
            id_, token = client.request('x')
            self.assertGreater(token, 0)
            entry, = client.inspect()[0]
            self.assertEqual((entry['pid'], entry['clientId']), (client.pid, client.name))
            client.release(id_)

    def test_nothing_of_another_user_is_visible(self):
        others = self.others()
        for other in others:
            for bucket in ('default', CANARY):
                other.watch(bucket=bucket)
        held, _ = self.alice.request(f'{CANARY}.held', CANARY, why=CANARY)
        waits, token = self.alice.request(f'{CANARY}.held', CANARY, why=CANARY)
        self.assertEqual(token, 0)
        self.alice.request(f'{CANARY}.default', why=CANARY)
        for other in others:
            with self.subTest(uid=other.uid):
                self.check_nothing_is_visible(other)
        self.alice.release(held, CANARY)
        self.alice.abort(waits, CANARY)
        self.alice.steal(f'{CANARY}.held', CANARY)
        self.alice.close()
        self.wait_gone(self.alice.name)
        for other in others:
            with self.subTest(uid=other.uid):
                self.assertEqual(other.events(), [])
                text = other.received()
                for foreign in (CANARY, self.alice.name + "'"):
                    self.assertNotIn(foreign, text)

    def test_the_same_name_is_another_lock(self):
        held, token = self.alice.request('x')
        ids = [(other, *other.request('x')) for other in self.others()]
        self.assertEqual({token for _, _, token in ids} & {0}, set())
        for other, _, _ in ids:
            other.steal('x')
        self.assertEqual(self.alice.events(), [])
        self.alice.release(held)
        self.assertGreater(token, 0)

    def test_lock_sockets_are_as_private(self):
        self.alice.request(CANARY)
        for uid in (BOB, 0, BIG, LAST):
            with self.subTest(uid=uid):
                other = self.user(uid, by_socket=True)
                self.assertEqual(other.query(), ([], []))
                self.assertEqual(other.buckets(), [])
                self.assertEqual(other.resync(), [])
                id_, token = other.request(CANARY)
                self.assertGreater(token, 0)
                other.release(id_)
                self.assertNotIn(self.alice.name + "'", other.received())

    def test_own_locks_are_visible(self):
        """The same checks as above find the data when it is visible."""
        held, _ = self.alice.request(CANARY)
        again = self.user(ALICE)
        again.watch()
        self.assertEqual(again.query(), ([(CANARY, 'exclusive', self.alice.name)], []))
        self.alice.release(held)
        self.assertEqual([event.args[0] for event in again.events()], [held])


class Service(SystemCase):
    """What the bus, the kernel and the file system deny to others."""

    def setUp(self):
        super().setUp()
        self.alice, self.bob = self.user(ALICE), self.user(BOB)

    def refused(self, uid, path, interface, member, body=None, destination=SERVICE):
        client = self.raw_client(uid=uid)
        with self.assertRaises(DBusError) as caught:
            client.call(path, interface, member, body, destination=destination)
        self.assertEqual(caught.exception.name, DENIED)

    def test_other_users_cannot_own_the_name(self):
        for uid in (ALICE, 0, BIG, LAST):
            # Immediately, queued, by replacement, and permitting replacement.
            for flags in range(8):
                with self.subTest(uid=uid, flags=flags):
                    self.refused(uid, DRIVER_PATH, DRIVER, 'RequestName',
                                 GLib.Variant('(su)', (SERVICE, flags)), DRIVER)
        queue = self.control.call(DRIVER_PATH, DRIVER, 'ListQueuedOwners',
                                  GLib.Variant('(s)', (SERVICE,)), destination=DRIVER)[0]
        self.assertEqual(queue, [self.daemon.name])

    def test_another_users_service_exits(self):
        directory = self.make_directory(ALICE)
        for arguments in [], ['--replace']:
            with self.subTest(arguments):
                other = self.start_service(*arguments, ready=False, uid=ALICE, directory=directory)
                self.assertEqual(other.wait_exit(), 1)
                self.assertIn('Permission denied', other.stderr())

    def make_directory(self, uid):
        path = os.path.join(self.bus.runtime, f'of-{uid}')
        os.mkdir(path, 0o700)
        os.chown(path, uid, uid)
        return path

    def test_only_our_interfaces_can_be_called(self):
        for destination in (SERVICE, self.daemon.name):
            for interface, member in (
                    ('org.example.Other', 'Do'), ('org.freedesktop.DBus.ObjectManager',
                                                  'GetManagedObjects'),
                    ('org.freedesktop.DBus.Monitoring', 'BecomeMonitor'), (None, 'Query')):
                with self.subTest(destination=destination, interface=interface):
                    self.refused(ALICE, bucket_path('default'), interface, member,
                                 destination=destination)
            for path, interface, member, body in (
                    (bucket_path('default'), LOCKS, 'Query', None), (ROOT, ADMIN, 'Buckets', None),
                    (ROOT, PROPERTIES, 'GetAll', GLib.Variant('(s)', (ADMIN,))),
                    (ROOT, 'org.freedesktop.DBus.Introspectable', 'Introspect', None),
                    (ROOT, 'org.freedesktop.DBus.Peer', 'Ping', None)):
                with self.subTest(destination=destination, interface=interface):
                    self.raw_client(uid=ALICE).call(path, interface, member, body,
                                                    destination=destination)

    def test_a_forged_signal_has_its_real_sender(self):
        """Any client may send signals, but not with another sender."""
        forger = self.raw_client(uid=ALICE)
        receiver = self.raw_client(uid=BOB)
        for sender in (SERVICE, self.daemon.name, None):
            signal_ = Gio.DBusMessage.new_signal(bucket_path('default'), LOCKS, 'Granted')
            signal_.set_destination(receiver.name)
            signal_.set_sender(sender)
            signal_.set_body(GLib.Variant('(tssst)', (1, 'x', 'exclusive', receiver.name, 1)))
            forger.send(signal_)
        forger.ping_the_bus()
        receiver.ping_the_bus()
        self.assertNotIn(self.daemon.name, {event.sender for event in receiver.events})
        self.assertNotIn(SERVICE, {event.sender for event in receiver.events})

    def test_the_service_may_only_call_ping(self):
        """An attacker who controls the service has no other rights on the bus than anybody else."""
        client = self.raw_client(uid=SERVICE_UID)
        receiver = self.raw_client(uid=BOB)
        for interface, member in (
                ('org.example.Other', 'Do'), ('org.freedesktop.DBus.Introspectable', 'Introspect'),
                ('org.freedesktop.DBus.Peer', 'GetMachineId'), (None, 'Ping')):
            with self.subTest(interface=interface, member=member):
                self.refused(SERVICE_UID, '/', interface, member, destination=receiver.name)
        client.send(method_call(receiver.name, '/', 'org.freedesktop.DBus.Peer', 'Ping'))
        receiver.wait_for(receiver.pings, what='Ping')
        # It may call one method of the bus, which has two names.
        self.refused(SERVICE_UID, DRIVER_PATH, STATISTICS, 'GetAllMatchRules', destination=DRIVER)
        name = GLib.Variant('(s)', (receiver.name,))
        if self.bus.kind == 'dbus-daemon':
            stats, = client.call(DRIVER_PATH, STATISTICS, 'GetConnectionStats', name,
                                 destination=DRIVER)
            self.assertIn('OutgoingBytes', stats)
        else:
            client.call(DRIVER_PATH, STATISTICS, 'GetStats', destination=DRIVER)
        # Other clients may not even call Ping.
        self.refused(ALICE, '/', 'org.freedesktop.DBus.Peer', 'Ping', destination=receiver.name)
        self.refused(ALICE, DRIVER_PATH, STATISTICS, 'GetConnectionStats', name, DRIVER)
        self.refused(ALICE, DRIVER_PATH, STATISTICS, 'GetStats', destination=DRIVER)

    def test_a_client_that_replies_to_no_ping_is_served(self):
        """Since it reads, according to the bus."""
        client = self.raw_client(uid=BIG)
        client.answers_pings = False
        for _ in range(1000):
            client.release(client.request('blocking')[0])
        self.assertEqual(len(client.pings()), 1)

    def test_its_own_ping_arrives(self):
        """A watcher with many signals gets a Ping."""
        watcher, other = self.raw_client(uid=BIG), self.user(BIG)
        watcher.watch()
        for _ in range(300):
            other.release(other.request('x')[0])
        watcher.wait_for(watcher.pings, what='Ping')
        self.assertEqual(watcher.pings()[0].get_sender(), self.daemon.name)

    def test_other_names_of_the_service_cannot_be_owned(self):
        for uid in (SERVICE_UID, ALICE, 0):
            for name in ('org.example.Other', 'org.w3.WebLock', 'org.w3'):
                with self.subTest(uid=uid, name=name):
                    self.refused(uid, DRIVER_PATH, DRIVER, 'RequestName',
                                 GLib.Variant('(su)', (name, 0)), DRIVER)

    def files(self):
        return [os.path.join(self.directory, name) for name in os.listdir(self.directory)]

    def test_another_user_cannot_access_it(self):
        self.alice.request(CANARY)
        self.assertGreaterEqual(len(self.files()), 2)
        for client in (self.alice, self.user(BIG)):
            tried = client.run(attack, self.daemon.process.pid,
                               [self.directory, *self.files()])
            self.assertEqual({what: error for what, error in tried.items() if error == 0}, {})
        # On a process of the same user everything succeeds, except what only root may do.
        own = self.bob.run(attack_a_child)
        self.assertLessEqual({what for what, error in own.items() if error}, {'stack'})
        self.alice.request('still there')

    def test_state_is_the_services_own(self):
        self.alice.request(CANARY)
        self.assertEqual(owner_and_mode(self.directory), (SERVICE_UID, SERVICE_UID, 0o700))
        for path in self.files():
            # The directory is that of the pages of cells.
            mode = 0o700 if os.path.isdir(path) else 0o600
            self.assertEqual(owner_and_mode(path), (SERVICE_UID, SERVICE_UID, mode), path)

    def test_the_log_has_no_names(self):
        held, _ = self.alice.request(CANARY, CANARY, why=CANARY)
        self.alice.release(held, CANARY)
        for wrong in (lambda: self.alice.release(held, CANARY),
                      lambda: self.alice.request('-' + CANARY),
                      lambda: self.alice.request(CANARY, mode=CANARY)):
            self.assertRaises(DBusError, wrong)
        self.alice.ping()
        self.assertNotIn(CANARY, self.daemon.stderr())


def attack_a_child():
    with subprocess.Popen(['cat'], cwd='/', stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                          bufsize=0) as child:
        try:
            # When it replies, it has executed the program, and belongs to its user.
            child.stdin.write(b'x')
            child.stdout.read(1)
            return attack(child.pid, [])
        finally:
            child.kill()


def owner_and_mode(path):
    status = os.stat(path)
    return status.st_uid, status.st_gid, stat.S_IMODE(status.st_mode)


class OpenPolicy(SystemCase):
    """Without the rules of the installed policy, these operations succeed: so the cases above test
    the policy."""

    service = False

    @classmethod
    def policy(cls):
        path = os.path.join(staged().root, 'open.conf')
        with open(super().policy(), encoding='utf-8') as file:
            text = re.sub(r'policy user="[^"]+"', 'policy context="default"', file.read())
        with open(path, 'w', encoding='utf-8') as file:
            file.write(text)
        return path

    def test_any_user_can_own_the_name(self):
        client = self.raw_client(uid=ALICE)
        self.assertEqual(client.call(DRIVER_PATH, DRIVER, 'RequestName',
                                     GLib.Variant('(su)', (SERVICE, 4)), destination=DRIVER), (1,))
