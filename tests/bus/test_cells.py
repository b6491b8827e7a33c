# SPDX-FileCopyrightText: 2026 The WebLocks for D-Bus authors
# SPDX-License-Identifier: LGPL-2.1-or-later

"""Cells: locks that their client leaves and enters again without a message. Whatever looks at such a
lock, or wants it, finds it held or free as its client has left it."""

import fcntl
import os
import random
import shutil
import signal
import struct
import subprocess
import tempfile
import time

from buses import can_be_others
from calls import ROOT
from harness import diagnostic, service_with, wait_for
from packetclient import Cells, LockError
from sockets import open_socket_and_cells
from statecase import StateCase

TOKENS_AHEAD_US = 60_000_000


class Handle:
    """A client with a page, and one lock of it in a cell."""

    def __init__(self, case, raw=None):
        self.raw = raw or case.raw_client(descriptors=True)
        self.sock, self.cells = open_socket_and_cells(self.raw)
        case.addCleanup(self.close)
        self.key = self.token = None

    def close(self):
        self.sock.close()
        if self.cells is not None:
            self.cells.close()
            self.cells = None

    def request(self, name, cell=1, **options):
        """Returns whether the lock has got the cell."""
        self.key, self.token = self.sock.request(name, cell=cell, **options)
        return bool(self.key and self.token) and self.cells.is_held(cell, self.token, self.key)

    def request_for(self, n_tokens, name):
        """Requests until the cell has so many tokens, of which a service that has just begun has few."""
        def has_tokens():
            if self.request(name) and self.cells.get(1, Cells.LAST) >= self.token + n_tokens:
                return True
            self.sock.release(self.key)
            return False
        wait_for(has_tokens, what=f'a cell with {n_tokens} tokens')

    def leave(self, cell=1):
        return self.cells.leave(cell, self.token)

    def enter(self, cell=1):
        token = self.cells.enter(cell, self.key)
        self.token = token or self.token
        return token

    def park(self, name, cell=1, **options):
        """Requests and leaves."""
        if not self.request(name, cell, **options) or not self.leave(cell):
            raise AssertionError(f'{name!r} has no cell')


class TmpfsCase(StateCase):
    """A state directory on a tmpfs, as it usually is."""

    def use_directory_in(self, parent):
        self.directory = tempfile.mkdtemp(prefix='weblocks-state-', dir=parent)
        self.addCleanup(shutil.rmtree, self.directory, ignore_errors=True)

    def setUp(self):
        super().setUp()
        self.use_directory_in('/dev/shm')

    def stop(self):
        self.assertEqual(self.current.stop(), 0)
        self.wait_free()


class CellCase(TmpfsCase):
    """Each case has a service with cells, a client with a page and another one."""

    def setUp(self):
        super().setUp()
        self.start()
        self.handle, self.other = Handle(self), self.lock_socket()

    def n_pages(self):
        return len(os.listdir(self.path('cells')))

    def held(self, name=None):
        """What an observer sees: (name, clientId, token)."""
        return [(entry['name'], entry['clientId'], entry['token']) for entry in self.control.inspect()[0]
                if entry['state'] == 'held' and name in (None, entry['name'])]


class Local(CellCase):
    def test_entered_and_left_without_a_message(self):
        handle = self.handle
        handle.request_for(1_000, 'x')
        tokens, n_received = [handle.token], len(handle.sock.log)
        for _ in range(1000):
            self.assertTrue(handle.leave())
            tokens.append(handle.enter())
        self.assertEqual(tokens, list(range(tokens[0], tokens[0] + 1001)))
        self.assertEqual(len(handle.sock.log), n_received)
        self.assertEqual(self.held(), [('x', handle.raw.name, tokens[-1])])
        self.assertFalse(handle.leave(), 'it has been looked at')
        handle.sock.release(handle.key)
        self.assertEqual(self.held(), [])

    def test_parked_is_free_for_others(self):
        """For every kind of request."""
        for kind, options in (('plain', {}), ('bus', {}), ('shared', {'mode': 'shared'}), ('slots', {'slots': 3}),
                              ('ifAvailable', {'ifAvailable': True}), ('steal', {'steal': True})):
            with self.subTest(kind):
                self.handle.park(kind)
                self.handle.enter()
                self.assertTrue(self.handle.leave())
                client = self.raw_client() if kind == 'bus' else self.other
                id_, token = client.request(kind, **options)
                self.assertGreater(token, self.handle.token)
                self.assertIsNone(self.handle.enter())
                self.assertEqual(self.handle.sock.events, [], 'nobody is notified')
                self.assert_error('NotHeld', self.handle.sock.release, self.handle.key)
                self.assertEqual(self.held(kind)[0][2], token)
                client.release(id_)

    def test_held_makes_others_wait(self):
        self.handle.park('x')
        self.handle.enter()
        key, token = self.other.request('x')
        self.assertEqual(token, 0)
        self.handle.sock.wait_for(lambda: self.handle.sock.wanted, what='WANTED')
        self.assertEqual(self.handle.sock.wanted, [(self.handle.key, True)])
        self.assertFalse(self.handle.leave())
        self.handle.sock.release(self.handle.key)
        self.assertEqual(self.other.wait_granted(key), self.handle.token + 1)

    def test_break(self):
        self.handle.park('held', cell=1)
        held_key = self.handle.key
        self.assertIsNotNone(self.handle.enter(cell=1))
        self.handle.park('parked', cell=2)
        self.assertEqual(self.control.break_locks('parked'), 0)
        self.assertEqual(self.control.break_locks('held'), 1)
        self.assertEqual(self.handle.sock.wait_ended(held_key), 'stolen')
        self.assertEqual(self.held(), [])

    def test_each_cell_is_its_own_lock(self):
        keys = {}
        for cell in range(1, 64):
            self.assertTrue(self.handle.request(f'n{cell}', cell))
            keys[cell] = self.handle.key, self.handle.token
        for cell in range(1, 64, 2):
            self.assertTrue(self.handle.cells.leave(cell, keys[cell][1]))
        self.assertEqual([name for name, _, _ in self.held()], [f'n{cell}' for cell in range(2, 64, 2)])

    def test_the_same_key_again(self):
        """A client that has not got the answer asks again."""
        self.assertTrue(self.handle.request('x'))
        self.assertEqual(self.handle.sock.request('x', key=self.handle.key, cell=1)[1], self.handle.token)
        self.assertFalse(self.handle.cells.is_open(1))


class Looking(CellCase):
    """Whoever looks sees an ordinary lock."""

    def test_looking_closes(self):
        control = self.control
        for look in (control.query, control.inspect, control.buckets, control.observable, control.resync,
                     lambda: control.introspect(f'{ROOT}/bucket'), control.watch):
            for is_held in (True, False):
                name = self.unique()
                with self.subTest(look, is_held=is_held):
                    self.assertTrue(self.handle.request(name))
                    if not is_held:
                        self.assertTrue(self.handle.leave())
                    look()
                    self.assertFalse(self.handle.cells.is_open(1))
                    self.assertEqual(bool(self.held(name)), is_held)
                    if is_held:
                        self.handle.sock.release(self.handle.key)
                    control.watch(False)

    def test_calls_that_look_at_nothing_close_nothing(self):
        self.assertTrue(self.handle.request('x'))
        self.control.ping()
        self.other.request('y')
        self.other.sync()
        self.handle.sock.sync()
        self.assertTrue(self.handle.cells.is_open(1))
        self.assertTrue(self.handle.leave())

    def test_no_cell_while_somebody_watches(self):
        watcher = self.raw_client()
        for watch in (watcher.watch, watcher.watch_all):
            with self.subTest(watch.__name__):
                watch()
                self.assertFalse(self.handle.request('x'))
                self.assertFalse(self.handle.cells.is_open(1))
                self.handle.sock.release(self.handle.key)
                watch(False)
                self.assertTrue(self.handle.request('x'))
                self.handle.sock.release(self.handle.key)


class Ends(CellCase):
    def test_end_of_the_socket(self):
        """The page ends with it; what is held is in the list of the next one."""
        self.handle.park('parked', cell=1)
        self.assertTrue(self.handle.request('held', cell=2))
        self.assertEqual(self.n_pages(), 1)
        again = Handle(self, self.handle.raw)
        live, = again.sock.live
        self.assertEqual((live.key, live.token), (self.handle.key, self.handle.token))
        self.assertEqual(self.n_pages(), 1, 'that of the new socket')
        again.sock.close()
        wait_for(lambda: self.n_pages() == 0, what='end of the page')
        self.assertFalse(self.handle.cells.is_open(1) or self.handle.cells.is_open(2))
        self.assertEqual(self.held(), [('held', self.handle.raw.name, self.handle.token)])

    def test_end_of_the_client(self):
        parked, held = Handle(self), Handle(self)
        parked.park('parked')
        self.assertTrue(held.request('held'))
        key, _ = self.other.request('held')
        for handle in (parked, held):
            handle.raw.close()
            self.wait_gone(handle.raw.name)
            self.assertFalse(handle.cells.is_open(1))
        self.other.wait_granted(key)
        self.assertNotEqual(self.other.request('parked')[1], 0)

    def test_end_of_the_service(self):
        """It closes first, so the file has what was held, and nothing that was parked."""
        self.handle.park('parked', cell=1)
        self.assertTrue(self.handle.request('held', cell=2))
        self.assertEqual(self.current.stop(), 0)
        self.assertFalse(os.path.exists(self.path('cells')))
        self.assertFalse(self.handle.cells.is_open(1) or self.handle.cells.is_open(2))
        self.start()
        self.assertEqual(self.held(), [('held', self.handle.raw.name, self.handle.token)])

    def test_a_parked_lock_does_not_keep_the_service(self):
        self.stop()
        service = self.start('--idle-exit=0.3')
        handle = Handle(self)
        # The service may close the cell to see whether it is idle.
        while not (handle.request('x') and handle.leave()):
            handle.sock.release(handle.key)
        self.assertEqual(service.wait_exit(), 0)
        self.assertFalse(handle.cells.is_open(1))


class Killed(CellCase):
    """After kill -9 of the service its successor has what the page says."""

    def crash_and_start(self, *arguments):
        self.crash()
        self.start(*arguments)
        self.assertFalse(self.handle.cells.is_open(1))

    def test_held(self):
        self.handle.park('x')
        self.handle.enter()
        self.crash_and_start()
        self.assertEqual(self.held(), [('x', self.handle.raw.name, self.handle.token)])
        self.assertFalse(self.handle.leave())
        self.assertEqual(self.n_pages(), 0)
        again = Handle(self, self.handle.raw)
        self.assertEqual([(entry.key, entry.token) for entry in again.sock.live],
                         [(self.handle.key, self.handle.token)])
        again.sock.release(self.handle.key)
        self.assertGreater(again.sock.request('x')[1], self.handle.token)

    def test_parked(self):
        self.handle.park('x')
        self.crash_and_start()
        self.assertEqual(self.held(), [])
        self.assertEqual(Handle(self, self.handle.raw).sock.live, [])
        self.assertGreater(self.lock_socket().request('x')[1], self.handle.token)

    def test_entered_while_no_service_runs(self):
        self.handle.request_for(101, 'x')
        self.assertTrue(self.handle.leave())
        self.crash()
        for _ in range(100):
            self.assertIsNotNone(self.handle.enter())
            self.assertTrue(self.handle.leave())
        self.handle.enter()
        self.start()
        self.assertEqual(self.held(), [('x', self.handle.raw.name, self.handle.token)])

    def test_without_new_ones_they_are_closed_too(self):
        self.handle.park('parked', cell=2)
        self.handle.park('held', cell=1)
        self.handle.enter()
        self.crash_and_start('--no-cells')
        self.assertEqual(self.held(), [('held', self.handle.raw.name, self.handle.token)])
        self.assertFalse(os.path.exists(self.path('cells')))
        self.assertIsNone(Handle(self, self.handle.raw).cells)

    def test_without_the_page_it_is_held(self):
        self.handle.park('x')
        self.crash()
        shutil.rmtree(self.path('cells'))
        self.start()
        self.assertEqual([line[:2] for line in self.held()], [('x', self.handle.raw.name)])

    def test_a_cell_that_was_never_opened_is_held(self):
        """The service ended between the commit and the opening: the cell is that of another request."""
        self.handle.park('x')
        self.crash()
        self.handle.cells.set(1, self.handle.cells.get(1, Cells.REQUEST) + 1, Cells.REQUEST)
        self.start()
        self.assertEqual([line[:2] for line in self.held()], [('x', self.handle.raw.name)])

    def test_a_cell_that_was_opened_again_but_does_not_say_so(self):
        """The service ended between the two: an earlier lock of the cell, which is held, keeps its token."""
        self.assertTrue(self.handle.request('first'))
        identity = self.handle.cells.get(1, Cells.REQUEST)
        first = self.handle.token
        self.control.query()  # it is an ordinary one now
        self.assertTrue(self.handle.request('second'))
        self.crash()
        self.handle.cells.set(1, identity, Cells.REQUEST)
        self.start()
        self.assertEqual([(line[0], line[2]) for line in self.held()],
                         [('first', first), ('second', self.handle.token)])

    def test_links_are_not_followed(self):
        """Neither is closed, zeroed or removed what is no page of this directory."""
        elsewhere = tempfile.mkdtemp(dir=self.directory)
        for name in ('1', 'x'):
            with open(os.path.join(elsewhere, name), 'wb') as file:
                file.write(4096 * b'\xff')
        self.crash()
        os.mkdir(os.path.join(self.directory, 32 * 'b' + '.cells'))
        os.symlink(os.path.join(elsewhere, '1'), os.path.join(self.directory, 32 * 'b' + '.cells', '1'))
        os.symlink(elsewhere, os.path.join(self.directory, 32 * 'c' + '.cells'))
        shutil.rmtree(self.path('cells'))
        os.symlink(elsewhere, self.path('cells'))
        self.start()
        for name in ('1', 'x'):
            with open(os.path.join(elsewhere, name), 'rb') as file:
                self.assertEqual(file.read(), 4096 * b'\xff')
        self.assertIsNone(Handle(self).cells)

    def test_of_another_bus(self):
        """A client that has not noticed the end of its bus enters no more, unless its service still runs."""
        other_bus = os.path.join(self.directory, 32 * 'a')
        empty = os.path.join(self.directory, 32 * 'b' + '.cells')
        self.handle.park('x')
        self.crash()
        os.mkdir(empty)
        os.rename(self.path('cells'), other_bus + '.cells')
        with open(other_bus + '.lock', 'wb') as lock:
            whole_file = struct.pack('hhqqi', fcntl.F_WRLCK, os.SEEK_SET, 0, 0, 0)
            fcntl.fcntl(lock, fcntl.F_OFD_SETLK, whole_file)
            self.start()
            self.assertTrue(self.handle.cells.is_open(1))
        self.restart()
        self.assertFalse(self.handle.cells.is_open(1))
        self.assertEqual(len(os.listdir(other_bus + '.cells')), 1, 'its own successor needs the page')
        self.assertFalse(os.path.exists(empty))

    def test_all_pages_are_closed_whatever_the_file_says(self):
        self.handle.park('x')
        self.crash()
        os.unlink(self.path())
        self.start()
        self.assertFalse(self.handle.cells.is_open(1))
        self.assertEqual(self.n_pages(), 0)

    def test_a_file_that_is_cut_off_during_the_start(self):
        """SIGBUS counts as every crash of the start: the fourth one makes the pages zeros."""
        self.assertTrue(self.handle.request('x'))
        self.crash()
        # A sanitizer would end the process with a status of its own.
        sanitizer = os.environ.get('ASAN_OPTIONS', '') + ':handle_sigbus=0'
        for _ in range(3):
            service = self.start(ready=False, program=service_with('cells-cut-off'),
                                 env={'ASAN_OPTIONS': sanitizer})
            self.assertEqual(service.wait_exit(), -signal.SIGBUS, service.stderr())
            self.wait_free()
            page, = os.listdir(self.path('cells'))
            with open(os.path.join(self.path('cells'), page), 'wb') as file:
                file.write(4096 * b'\1')
        service = self.start(program=service_with('cells-cut-off'))
        self.assertIn('crashed the service three times', service.stderr())
        self.assertEqual(self.held(), [])


class Removed(CellCase):
    """Files that are removed while the service runs: a successor could not close what is open."""

    def check(self, remove):
        self.handle.park('parked', cell=1)
        self.assertTrue(self.handle.request('held', cell=2))
        held = [('held', self.handle.raw.name, self.handle.token)]
        remove()
        wait_for(lambda: not self.handle.cells.is_open(1), what='end of the cells')
        wait_for(lambda: os.path.exists(self.path('cells')), what='the next directory')
        self.assertFalse(self.handle.cells.is_open(2))
        self.assertEqual(self.held(), held)
        again = Handle(self, self.handle.raw)
        self.assertEqual([entry.key for entry in again.sock.live], [self.handle.key])
        again.park('x')
        self.restart()
        self.assertFalse(again.cells.is_open(1))
        self.assertEqual(self.held(), held)

    def test_the_directory(self):
        self.check(lambda: shutil.rmtree(self.directory))

    def test_the_pages(self):
        self.check(lambda: shutil.rmtree(self.path('cells')))


class Tokens(CellCase):
    def use_up(self):
        """As if the handle had been entered as often as it is permitted. Returns its last token."""
        for _ in range(200):
            if not self.handle.request('x'):
                break
            last = self.handle.cells.get(1, Cells.LAST)
            self.handle.cells.set(1, last << 2 | Cells.OPEN)
            if last < self.handle.token + 100_000:
                break
        return max(last, self.handle.token)

    def test_no_cell_far_ahead_of_the_clock(self):
        before_us = time.time_ns() // 1000
        token = self.use_up()
        self.assertGreater(token, before_us)
        self.assertLess(token, time.time_ns() // 1000 + TOKENS_AHEAD_US + 1_000)

    def test_lost_states(self):
        """Tokens grow whatever becomes of the state, and how often."""
        tokens = [self.use_up()]
        for _ in range(3):
            self.crash()
            os.unlink(self.path())
            shutil.rmtree(self.path('cells'))
            self.start()
            self.handle = Handle(self)
            tokens.append(self.handle.sock.request('x')[1])
            self.handle.sock.end()
            tokens.append(self.use_up())
        self.crash()
        self.start(state=False, env={'XDG_RUNTIME_DIR': ''})
        tokens.append(self.lock_socket().request('x')[1])
        self.crash()
        self.start()
        tokens.append(self.lock_socket().request('x')[1])
        self.assertEqual(tokens, sorted(set(tokens)))


class Hostile(CellCase):
    """A client can only lie about locks that it may hold."""

    def test_any_bytes_in_the_page(self):
        seed = random.randrange(1 << 32)
        generator = random.Random(seed)
        diagnostic(f'seed {seed}')
        for number in range(300):
            name, cell = self.unique(), generator.randint(1, 63)
            self.assertTrue(self.handle.request(name, cell), f'seed {seed}, {number}')
            first, ceiling = self.handle.token, self.handle.cells.get(cell, Cells.LAST)
            identity = (Cells.KEY, Cells.AGENT, Cells.REQUEST)
            request = tuple(self.handle.cells.get(cell, field) for field in identity)
            for field in range(8):
                if generator.random() < 0.8:
                    self.handle.cells.set(cell, generator.choice(
                        (0, 1, 2, 3, 2 ** 64 - 1, 2 ** 63, first << 2, first << 2 | 2, (first - 1) << 2 | 3,
                         ceiling + 5 << 2 | 3, generator.getrandbits(64))), field)
            word = self.handle.cells.get(cell)
            is_held, least, most = bool(word & 2), min(max(word >> 2, first), ceiling), ceiling
            if generator.random() < 0.1:
                if tuple(self.handle.cells.get(cell, field) for field in identity) != request:
                    is_held, least, most = True, first, first
                else:  # limited to what was reserved by all
                    most += 1_000
                self.restart()
                self.handle = Handle(self, self.handle.raw)
                self.other = self.lock_socket()
            seen = self.held(name)
            self.assertEqual(len(seen), int(is_held), f'seed {seed}, {number}: word {word:#x}')
            if is_held:
                self.assertTrue(least <= seen[0][2] <= most, f'seed {seed}, {number}: {seen}, word {word:#x}')
                entry = self.control.inspect(name=name)[0][0]
                self.assertLess(entry['age'], 120_000, f'seed {seed}, {number}')
            _, next_token = self.other.steal(name)
            self.assertGreater(next_token, seen[0][2] if is_held else first, f'seed {seed}, {number}')
            self.other.end()

    def test_the_numbers_of_another_request(self):
        """What a cell says of a request whose key it was not opened for does not count."""
        victim = Handle(self)
        victim.sock.key = 1 << 40
        self.assertTrue(victim.request('x'))
        self.handle.park('y')
        for field in (Cells.AGENT, Cells.REQUEST):
            self.handle.cells.set(1, victim.cells.get(1, field), field)
        victim.cells.set(1, 0, Cells.REQUEST)
        self.restart()
        self.assertIn(('x', victim.raw.name, victim.token), self.held())

    def test_refused(self):
        """InvalidArgs, and nothing changes."""
        sock = self.handle.sock
        for options in ({'cell': 0}, {'cell': 64}, {'cell': 2 ** 32 - 1}, {'cell': 1, 'mode': 'shared'}):
            with self.subTest(**options):
                self.assert_error('InvalidArgs', sock.request, 'x', **options)
        self.assert_error('InvalidArgs', self.lock_socket().request, 'x', cell=1)
        self.assertEqual(self.held(), [])
        self.assertTrue(self.handle.request('x'))


class Limits(CellCase):
    def test_parked_locks_are_no_reason_to_refuse(self):
        self.stop()
        for limit, other in (('requestsPerClient', False), ('requestsPerUid', True), ('requestsTotal', True)):
            with self.subTest(limit):
                self.start(f'--limit={limit}=10')
                handle = Handle(self)
                n_max = self.fill(handle.sock, limit)
                handle.sock.end()
                for number in range(n_max):
                    handle.park(f'n{number}', number + 1)
                sock = self.lock_socket() if other else handle.sock
                self.assertNotEqual(sock.request('x')[1], 0)
                self.assertEqual(self.fill(sock, limit), n_max - 1)
                sock.end()
                self.stop()

    def test_parked_locks_that_are_no_reason_stay(self):
        """A request that is refused for another reason, or for what another client has, closes no cell."""
        self.stop()
        self.start('--limit=requestsPerClient=10')
        handle, sock = Handle(self), self.lock_socket()
        handle.park('x')
        self.assertEqual(self.fill(sock, 'requestsPerClient'), 10)
        for limit, options in (('nameBytes', {'name': 'n' * 60_000}), ('whyBytes', {'name': 'y', 'why': 'w' * 60_000})):
            for client, cell in ((sock, {}), (handle.sock, {'cell': 1})):
                with self.assertRaises(LockError) as caught:
                    client.request(**options, **cell)
                self.assertEqual((caught.exception.short, caught.exception.message), ('LimitsExceeded', limit))
        self.assertTrue(handle.enter())

    def fill(self, sock, limit):
        """Returns how many requests are admitted."""
        for number in range(100):
            try:
                sock.request(f'{limit}{number}')
            except LockError as error:
                self.assertEqual((error.short, error.message), ('LimitsExceeded', limit))
                return number
        raise AssertionError('no limit')


class Offered(TmpfsCase):
    def cells(self, uid=None, **options):
        sock, cells = open_socket_and_cells(self.raw_client(uid=uid, descriptors=True), **options)
        self.addCleanup(sock.close)
        if cells is not None:
            self.addCleanup(cells.close)
        return cells

    def check_not(self, *arguments, **kw):
        self.start(*arguments, **kw)
        self.assertIsNone(self.cells())
        self.assertFalse(os.path.exists(self.path('cells')))

    def test_not_with_the_option(self):
        self.check_not('--no-cells')

    def test_not_unwatched(self):
        """That its files are removed would not be noticed."""
        self.check_not(program=service_with('files-unwatched'))

    def test_not_without_state(self):
        self.check_not(state=False, env={'XDG_RUNTIME_DIR': ''})

    def test_not_on_a_disk(self):
        """Only if the file system is no tmpfs, where room is only used up for good by removing the file."""
        self.use_directory_in(os.path.dirname(__file__))
        if subprocess.check_output(['stat', '-fc', '%T', self.directory], text=True).strip() == 'tmpfs':
            self.skipTest('the sources are on a tmpfs')
        self.check_not()

    def test_not_to_an_older_client_or_another_user(self):
        self.start()
        self.assertIsNone(self.cells(version=2))
        self.assertIsNotNone(self.cells())
        if not can_be_others():
            self.skipTest('needs root, to connect as another user')
        self.assertIsNone(self.cells(uid=65534))

    def test_the_file(self):
        self.start()
        cells = self.cells()
        name, = os.listdir(self.path('cells'))
        status = os.stat(os.path.join(self.path('cells'), name))
        self.assertEqual((status.st_mode & 0o7777, status.st_size, status.st_blocks * 512, status.st_ino),
                         (0o600, 4096, 4096, cells.inode))
        self.assertEqual(os.stat(self.path('cells')).st_mode & 0o7777, 0o700)
