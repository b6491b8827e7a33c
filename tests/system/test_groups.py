# SPDX-FileCopyrightText: 2026 The WebLocks for D-Bus authors
# SPDX-License-Identifier: LGPL-2.1-or-later

"""Buckets of Unix groups on a system bus: several users share locks there."""

import grp
import os
import shutil
import subprocess
import tempfile

from buses import PATIENCE, end, environment, read_lines, spawn, write_text
from calls import bucket_path, other_path
from harness import service_with
from systembus import ALICE, BIG, BOB, LAST, SystemCase, UserService

SCANNER = 64200
BUCKET = f'group:{SCANNER}'
# By the group of its user, which has its number, and not by a supplementary group.
OF_BIG = f'group:{BIG}'


class OnSystemBus(UserService):
    """Started with --system, as its unit does."""

    def make_command(self, program, arguments, _uid):
        return [program, '--system', *arguments]

    def options(self, uid):
        options = super().options(uid)
        options['env']['DBUS_SYSTEM_BUS_ADDRESS'] = self.bus.address
        return options


class GroupCase(SystemCase):
    service_class = OnSystemBus

    def member(self, uid, **kw):
        return self.user(uid, groups=[SCANNER], **kw)


class Members(GroupCase):
    """What clients may do of whom the bus says that they are in the group, and root."""

    def setUp(self):
        super().setUp()
        self.alice, self.bob, self.root = self.member(ALICE), self.member(BOB), self.user(0)

    def check_excluded(self, first, second):
        name = self.unique()
        held, token = first.request(name, BUCKET)
        self.assertGreater(token, 0)
        waits, other = second.request(name, BUCKET)
        self.assertEqual(other, 0)
        self.assertEqual([entry['uid'] for entry in first.inspect(BUCKET, name=name)[0]],
                         [first.uid, second.uid])
        first.release(held, BUCKET)
        second.wait_granted(waits)
        second.release(waits, BUCKET)

    def test_users_exclude_each_other(self):
        for first, second in ((self.alice, self.bob), (self.bob, self.root),
                              (self.root, self.alice)):
            with self.subTest(first=first.uid, second=second.uid):
                self.check_excluded(first, second)

    def test_by_lock_sockets(self):
        alice, bob = (self.member(uid, by_socket=True) for uid in (ALICE, BOB))
        held = alice.request('by-socket', BUCKET)
        waits = bob.request('by-socket', BUCKET)
        self.assertGreater(held[1], 0)
        self.assertEqual(waits[1], 0)
        alice.release(held[0], BUCKET)
        bob.wait_granted(waits[0])
        self.assertGreater(bob.request('mine')[1], 0)
        self.assertGreater(alice.request('mine')[1], 0)  # its own bucket, as before
        self.assert_error('Security', self.user(BOB, by_socket=True).request, 'x', BUCKET)

    def test_an_own_bucket_is_another(self):
        self.assertGreater(self.alice.request('apart', BUCKET)[1], 0)
        self.assertGreater(self.alice.request('apart')[1], 0)
        self.assertGreater(self.member(ALICE).request('apart', 'other')[1], 0)

    def test_the_group_of_the_user(self):
        self.assertGreater(self.user(BIG).request('x', OF_BIG)[1], 0)
        self.assertEqual(self.root.request('x', OF_BIG)[1], 0)
        self.assert_error('Security', self.alice.request, 'x', OF_BIG)

    def test_lists(self):
        self.alice.request('listed', BUCKET)
        for member in (self.alice, self.bob, self.root):
            with self.subTest(uid=member.uid):
                self.assertIn(BUCKET, member.buckets())
                found, = (entry for path, entry in member.observable()
                          if path == bucket_path(BUCKET))
                self.assertEqual((found['kind'], found['bucket'], found['uid'], found['held']),
                                 ('group', BUCKET, member.uid, 1))
                self.assertEqual([name for name, _, _ in member.query(BUCKET)[0]], ['listed'])

    def test_watches(self):
        for member in (self.bob, self.root):
            member.watch_all()
        watcher = self.member(BOB)
        watcher.watch(bucket=BUCKET)
        stranger = self.user(BOB)
        stranger.watch_all()
        id_ = self.alice.request('watched', BUCKET)[0]
        for each in (self.bob, self.root, watcher):
            with self.subTest(uid=each.uid):
                event, = (event for event in each.events() if event.args[1] == 'watched')
                self.assertEqual((event.signal, event.path), ('Granted', bucket_path(BUCKET)))
        self.assertEqual(stranger.events(), [])
        self.alice.release(id_, BUCKET)

    def test_the_requester_is_charged(self):
        self.kill_and_restart('--limit=requestsPerUid=2')
        alice, bob = self.member(ALICE), self.member(BOB)
        alice.request('1', BUCKET)
        alice.request('2')
        self.assert_error('LimitsExceeded', alice.request, '3', BUCKET,
                          mentions='requestsPerUid')
        self.assertGreater(bob.request('3', BUCKET)[1], 0)


class Ends(GroupCase):
    """Who may end what another member holds."""

    def setUp(self):
        super().setUp()
        self.alice, self.bob, self.root = self.member(ALICE), self.member(BOB), self.user(0)
        self.lock = self.alice.request('x', BUCKET)[0]

    def test_of_another(self):
        self.assert_error('Security', self.bob.steal, 'x', BUCKET)
        self.assert_error('Security', self.bob.break_locks, 'x', BUCKET)
        self.assert_error('Security', self.bob.break_locks, 'x', BUCKET,
                          clientId=self.alice.name)
        self.alice.release(self.lock, BUCKET)

    def test_of_oneself(self):
        other = self.member(ALICE)
        self.assertGreater(other.steal('x', BUCKET)[1], 0)
        self.alice.wait_released(self.lock, 'stolen')
        self.assertEqual(self.alice.break_locks('x', BUCKET), 1)

    def test_of_oneself_while_another_waits(self):
        """A steal would be granted before those who wait."""
        waits = self.bob.request('x', BUCKET)[0]
        other = self.member(ALICE)
        self.assert_error('Security', other.steal, 'x', BUCKET)
        self.assert_error('Security', other.break_locks, 'x', BUCKET)
        self.assertEqual(other.break_locks('x', BUCKET, clientId=self.alice.name), 1)
        self.bob.wait_granted(waits)

    def test_shared(self):
        shared = self.alice.request('s', BUCKET, mode='shared')[0]
        self.bob.request('s', BUCKET, mode='shared')
        self.assert_error('Security', self.alice.steal, 's', BUCKET)
        self.assertEqual(self.alice.break_locks('s', BUCKET, clientId=self.alice.name), 1)
        self.alice.wait_released(shared, 'stolen')

    def test_by_root(self):
        self.bob.request('x', BUCKET)
        self.assertGreater(self.root.steal('x', BUCKET)[1], 0)
        self.alice.wait_released(self.lock, 'stolen')

    def test_break_by_root(self):
        self.assertEqual(self.root.break_locks('x', BUCKET), 1)
        self.alice.wait_released(self.lock, 'stolen')

    def test_by_lock_socket(self):
        self.assert_error('Security', self.member(BOB, by_socket=True).steal, 'x', BUCKET)
        self.assertGreater(self.member(ALICE, by_socket=True).steal('x', BUCKET)[1], 0)


class StrangersCase(GroupCase):
    def check_refused(self, client):
        for function, args in ((client.request, ('x', BUCKET)), (client.steal, ('x', BUCKET)),
                               (client.query, (BUCKET,)), (client.inspect, (BUCKET,)),
                               (client.watch, (True, BUCKET)),
                               (client.break_locks, ('x', BUCKET))):
            self.assert_error('Security', function, *args)
        self.assertNotIn(BUCKET, client.buckets())
        self.assertEqual(client.observable(), [])
        self.assert_error('NotHeld', client.release, 1, BUCKET)
        self.assert_error('NotHeld', client.downgrade, 1, BUCKET)


class Unchecked(StrangersCase):
    """A service that admits everybody: the checks of this file detect it."""

    service = False

    def test_it_is_detected(self):
        self.start_service(program=service_with('group-unchecked'))
        with self.assertRaises(AssertionError):
            self.check_refused(self.user(BOB))


class Strangers(StrangersCase):
    """Clients that are not in the group learn nothing, whether or not the bucket is in use."""

    def test_refused(self):
        bob, last = self.user(BOB), self.user(LAST)
        for client in (bob, last):
            self.check_refused(client)
        self.member(ALICE).request('x', BUCKET)
        for client in (bob, last):
            self.check_refused(client)
        self.assertEqual(bob.received().count('Granted'), 0)

    def test_names(self):
        """One name for each group, of at most 32 bits."""
        for client in (self.user(0), self.member(ALICE)):
            for name in ('', 'scanner', '01', '+1', '-1', '0x1', ' 1', '1 ', '4294967295', '1' * 40):
                with self.subTest(name=name, uid=client.uid):
                    self.assert_error('NotSupported', client.request, 'x', f'group:{name}')
                    self.assert_error('NotSupported', client.query, f'group:{name}')

    def test_paths_of_others(self):
        """A group has no application and no user: its bucket has one path."""
        self.member(ALICE).request('x', BUCKET)
        for path in (other_path(BUCKET, uid=ALICE), other_path(BUCKET, uid=0)):
            with self.subTest(path=path):
                self.assert_error('NotSupported', self.user(0).query, path)
                self.assert_error('Security', self.member(ALICE).query, path)


class Restarts(GroupCase):
    """After a restart, groups are those that the bus has for the connection: a database of users
    does not know that a program was started with another one."""

    def test_held_and_waiting(self):
        alice, bob = self.member(ALICE), self.member(BOB)
        held = alice.request('x', BUCKET)[0]
        waits = bob.request('x', BUCKET)[0]
        self.kill_and_restart()
        self.assertEqual([entry['state'] for entry in alice.inspect(BUCKET)[0]],
                         ['held', 'pending'])
        self.assert_error('Security', self.user(BOB).request, 'x', BUCKET)
        alice.release(held, BUCKET)
        bob.wait_granted(waits)
        self.assertEqual(bob.query(BUCKET)[0], [('x', 'exclusive', bob.name)])
        self.assertGreater(alice.request('y', BUCKET)[1], 0)
        bob.release(waits, BUCKET)


class Guide(GroupCase):
    """The commands of the guide for operators, as they are printed."""

    def setUp(self):
        super().setUp()
        with open(environment('WEBLOCKS_GUIDE'), encoding='utf-8') as file:
            commands = [line.strip() for line in file if ' --group ' in line]
        self.run_line, self.break_line = commands
        self.directory = tempfile.mkdtemp()
        self.addCleanup(shutil.rmtree, self.directory)
        os.chmod(self.directory, 0o755)
        # What a backup is here: it says that it runs, and goes on until its input ends.
        self.backup = os.path.join(self.directory, 'backup')
        write_text(self.backup, '#!/bin/sh\necho runs\ncat\n')
        os.chmod(self.backup, 0o755)
        os.symlink(environment('WEBLOCKS_CLI'), os.path.join(self.directory, 'weblocks'))

    def start(self, line, uid, groups):
        line = line.replace('/usr/local/sbin/backup', self.backup)
        env = {'PATH': f'{self.directory}:{os.defpath}', 'LC_ALL': 'C.UTF-8',
               'DBUS_SYSTEM_BUS_ADDRESS': self.bus.address}
        process = spawn(['sh', '-c', line], user=uid, group=uid, extra_groups=groups, env=env,
                        stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        self.addCleanup(end, process)
        return process

    def check_refused(self, process, status):
        _, err = process.communicate(timeout=PATIENCE)
        self.assertEqual((process.returncode, err), (status, b''))

    def test_a_backup_of_root_and_of_a_user(self):
        group = [grp.getgrnam('backup').gr_gid]
        for first, second in (((0, []), (ALICE, group)), ((ALICE, group), (0, [])),
                              ((ALICE, group), (BOB, group))):
            with self.subTest(first=first, second=second):
                runs = self.start(self.run_line, *first)
                self.assertEqual(read_lines(runs, 1), ['runs'])
                self.check_refused(self.start(self.run_line, *second), 1)
                runs.communicate(timeout=PATIENCE)
                self.assertEqual(runs.returncode, 0)

    def test_break(self):
        group = [grp.getgrnam('backup').gr_gid]
        runs = self.start(self.run_line, ALICE, group)
        self.assertEqual(read_lines(runs, 1), ['runs'])
        process = self.start(self.break_line, BOB, group)
        self.assertIn('other users hold this lock', process.communicate()[1].decode())
        self.assertNotEqual(process.returncode, 0)
        process = self.start(self.break_line, 0, [])
        self.assertIn(b'nightly-backup', process.communicate(timeout=PATIENCE)[0])
        self.assertEqual(process.returncode, 0)
        self.assertIn('stolen', runs.communicate(timeout=PATIENCE)[1].decode())

    def test_by_number_and_without_a_group(self):
        number = str(grp.getgrnam('backup').gr_gid)
        for value, said in (('no-such-group', "there is no group 'no-such-group'"),
                            (number, 'not permitted')):
            with self.subTest(group=value):
                line = self.run_line.replace('--group backup', f'--group {value}')
                process = self.start(line, BOB, [])
                self.assertIn(said, process.communicate(timeout=PATIENCE)[1].decode())
                self.assertNotEqual(process.returncode, 0)


class OtherBuses(SystemCase):
    """Only on the system bus."""

    def test_not_supported(self):
        for client in (self.user(0), self.user(ALICE, groups=[SCANNER])):
            self.assert_error('NotSupported', client.request, 'x', BUCKET)
            self.assert_error('NotSupported', client.inspect, BUCKET)
