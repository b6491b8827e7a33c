# SPDX-FileCopyrightText: 2026 The WebLocks for D-Bus authors
# SPDX-License-Identifier: LGPL-2.1-or-later

"""Out of memory: the n-th allocation of libsystemd fails, for many n, in a working service and in
one that starts. It may refuse, not reply, or abort as GLib does; it must not crash otherwise, lose
a lock, or grant one twice. See fail-malloc.c."""

import collections
import mmap
import os
import random
import signal
import struct
import tempfile

from calls import DBusError
from harness import FACTOR, GLib, LockError, diagnostic, environment, wait_for
from sockets import LockSocket, open_socket, open_socket_call
from statecase import StateCase

# The time limit for a reply that may be missing.
SHORT = 0.4 * FACTOR
# Permitted exit statuses of a process without memory.
ENDS = (-signal.SIGABRT, 1)


class Memory:
    """The memory that the service and the test share."""

    def __init__(self):
        self.file = tempfile.NamedTemporaryFile(prefix='weblocks-memory-')
        self.file.truncate(48)
        self.map = mmap.mmap(self.file.fileno(), 48)

    def environment(self):
        return {'LD_PRELOAD': environment('WEBLOCKS_FAIL_MALLOC'),
                'FAIL_MALLOC_FILE': self.file.name}

    def count(self):
        return struct.unpack_from('Q', self.map, 0)[0]

    def failed(self):
        return struct.unpack_from('Q', self.map, 24)[0]

    def fail(self, after, times=1):
        """Makes the n-th allocation from now on fail, and the following ones, `times` in total."""
        struct.pack_into('QQ', self.map, 8, self.count() + after + 1, times)

    def spare(self):
        struct.pack_into('Q', self.map, 8, 0)

    def fail_watches(self, fails):
        """Makes the kernel have no room to watch another descriptor, or again."""
        struct.pack_into('Q', self.map, 32, int(fails))

    def watches_failed(self):
        return struct.unpack_from('Q', self.map, 40)[0]

    def close(self):
        self.map.close()
        self.file.close()


class OutOfMemory(StateCase):
    """`keeper` holds a lock and `waiter` has a pending request for it, all the time."""

    time_limit = 240.0
    SAMPLES = 14

    def setUp(self):
        super().setUp()
        seed = int(os.environ.get('WEBLOCKS_TEST_SEED') or random.SystemRandom().randrange(1 << 32))
        diagnostic(f'WEBLOCKS_TEST_SEED={seed}')
        self.random = random.Random(seed)
        self.memory = Memory()
        self.addCleanup(self.memory.close)
        self.outcomes = collections.Counter()
        self.begin()
        self.keeper, self.waiter = self.raw_client(), self.raw_client()
        self.held = [self.keeper.request(f'held {number}')[0] for number in range(20)]
        self.wait, _ = self.waiter.request('held 0', key=5)
        self.before = self.see_resync(self.keeper), self.see_resync(self.waiter)

    def begin(self):
        self.start(env=self.memory.environment())

    def restart_if_ended(self):
        """If the service has ended, in one of the permitted ways, starts another one."""
        def has_outcome():
            return self.current.process.poll() is not None or self.answers()
        try:
            wait_for(has_outcome, what='service that answers or has ended')
        finally:
            self.memory.spare()
        # After its last reply an allocation may have failed, of which it is ending.
        wait_for(has_outcome, what='service that still answers or has ended')
        if self.current.process.poll() is not None:
            self.allow_end()
            self.wait_free()
            self.begin()

    def allow_end(self):
        code = self.current.process.returncode
        self.assertIn(code, ENDS, self.current.stderr())
        self.outcomes[f'ended with {code}'] += 1
        # The message of its assertion doesn't count as a complaint here.
        self.services.remove(self.current)

    def answers(self):
        try:
            self.control.call('/org/w3/WebLocks', 'org.freedesktop.DBus.Peer', 'Ping',
                              timeout=SHORT)
            return True
        except (DBusError, TimeoutError):
            return False

    def check(self):
        """No acknowledged lock is lost, and none was granted twice."""
        self.assertEqual((self.see_resync(self.keeper), self.see_resync(self.waiter)), self.before)
        self.assertEqual(self.waiter.events, [])
        self.assertEqual(self.keeper.events, [])
        for bucket in self.keeper.buckets():
            held, _ = self.keeper.query(bucket)
            exclusive = [name for name, mode, _ in held if mode == 'exclusive']
            self.assertEqual(len(exclusive), len(set(exclusive)), held)

    def quick(self, client):
        """Waits for a reply that may be missing."""
        call = client.call
        client.call = lambda *args, **kw: call(*args, **{'timeout': SHORT, **kw})
        return client

    # ---- the operations while memory fails; each with new clients, which are connected before

    def do_request(self, one, two):
        one.request('new', 'scene', why='why', timeout=60000, key=3)
        two.request('new', 'scene')

    def do_release_and_grant(self, one, two):
        id_, _ = one.request('new', 'scene')
        waiting, _ = two.request('new', 'scene')
        one.release(id_, 'scene')
        two.wait_for(lambda: two.granted(waiting), SHORT, 'grant')

    def do_steal(self, one, two):
        one.request('new', 'scene')
        two.steal('new', 'scene')

    def do_watch(self, one, two):
        one.watch(bucket='scene')
        id_, _ = two.request('new', 'scene')
        two.release(id_, 'scene')

    def do_look(self, one, two):
        one.query()
        two.inspect()
        one.resync()
        two.buckets()
        one.introspect('/org/w3/WebLocks')
        two.get_property('Limits')

    def do_nonsense(self, one, two):
        for body in (GLib.Variant('(t)', (999,)), GLib.Variant('(s)', ('x',))):
            try:
                one.locks('scene', 'Release', body)
            except DBusError:
                pass
        two.locks('scene', 'Request', GLib.Variant('(sa{sv})', ('x', {
            'nothing': GLib.Variant('b', True)})))

    def do_socket(self, one, two):
        for line in one.resync():
            one.release(line[1], line[0])
        one.result(one.send(open_socket_call()), SHORT)
        sock = LockSocket(one.descriptors.pop(), SHORT)
        self.addCleanup(sock.close)
        sock.read_live()
        held, _ = sock.request('new', 'scene')
        sock.request('new', 'scene', timeout=60000)
        one.query('scene')
        two.request('new', 'scene')
        sock.release(held)
        sock.wait_granted(held + 1)

    def do_first_call(self, one, two):
        fresh = self.quick(self.raw_client())
        try:
            fresh.request('new', 'scene')
        finally:
            fresh.close()

    def do_die(self, one, two):
        one.request('new', 'scene')
        two.request('new', 'scene')
        one.close()
        two.wait_for(lambda: two.signals('Granted'), SHORT, 'grant')

    def scene(self, do):
        """Makes the call. Returns the number of allocations."""
        pair = [self.raw_client(descriptors=True) for _ in range(2)]
        for client in pair:
            client.request('first', 'scene', mode='shared')
            self.quick(client)
        before = self.memory.count()
        self.arm()
        try:
            do(*pair)
            self.outcomes['no effect'] += 1
        except (DBusError, LockError) as error:
            self.outcomes[error.short] += 1
        except (TimeoutError, ConnectionError, RuntimeError, OSError) as error:
            self.outcomes[type(error).__name__] += 1
        taken = self.memory.count() - before
        self.restart_if_ended()
        for client in pair:
            client.close()
        return taken

    def check_all_gone(self):
        """Disconnected clients are removed."""
        try:
            wait_for(lambda: self.keeper.query('scene') == ([], []), what='end of their locks',
                     timeout=4 * SHORT)
        except TimeoutError:
            # A disconnect that was missed is noticed at the next start.
            self.outcomes['a missed disconnect'] += 1
            self.restart(env=self.memory.environment())
            self.assertEqual(self.keeper.query('scene'), ([], []))

    def sweep(self, do):
        self.arm = lambda: None
        taken = self.scene(do)
        self.check_all_gone()
        numbers = range(taken + 1)
        if len(numbers) > self.SAMPLES:
            numbers = sorted(self.random.sample(numbers, self.SAMPLES))
        failed = self.memory.failed()
        for number in numbers:
            times = self.random.choice((1, 4))
            with self.subTest(do.__name__, allocation=number, times=times):
                self.arm = lambda n=number, t=times: self.memory.fail(n, t)
                self.scene(do)
                self.check()
                self.check_all_gone()
        self.assertGreater(self.memory.failed(), failed, 'no allocation has failed')
        diagnostic(f'{do.__name__}: {taken} allocations, {self.memory.failed() - failed} failed')

    def tearDown(self):
        diagnostic(dict(self.outcomes))


class AtWork(OutOfMemory):
    def test_no_room_to_watch_sockets(self):
        """A sandboxed application can use up what the kernel has for its user. The sockets that are open
        work, and the gateway of a cluster would; there are no others meanwhile."""
        client, other = [self.raw_client(descriptors=True) for _ in range(2)]
        sock = open_socket(client)
        self.memory.fail_watches(True)
        held, _ = sock.request('new', 'scene')
        sock.release(held)
        with self.assertRaises(DBusError) as caught:
            open_socket(other)
        self.assertEqual(caught.exception.short, 'LimitsExceeded')
        sock.request('new', 'scene')
        self.assertGreater(self.memory.watches_failed(), 2)
        self.memory.fail_watches(False)
        self.assertNotEqual(open_socket(other).request('other', 'scene')[1], 0)
        self.assertIsNone(self.current.process.poll(), self.current.stderr())
        self.check()


def add_cases():
    for name in [name for name in dir(OutOfMemory) if name.startswith('do_')]:
        def test(self, name=name):
            self.sweep(getattr(self, name))
        setattr(AtWork, 'test_' + name.removeprefix('do_'), test)


add_cases()


class AtStart(OutOfMemory):
    SAMPLES = 40

    def test_start(self):
        """It starts with the whole state, or exits; then the next one does."""
        self.crash()
        before = self.memory.count()
        self.begin()
        numbers = range(self.memory.count() - before)
        self.check()
        for number in sorted(self.random.sample(numbers, self.SAMPLES)):
            with self.subTest(allocation=number):
                self.crash()
                self.memory.fail(number)
                self.start(env=self.memory.environment(), ready=False)
                # It can own the name, and then exit because it cannot read the bus's reply.
                self.restart_if_ended()
                self.check()
        diagnostic(f'{len(numbers)} allocations, {self.memory.failed()} failed')


del OutOfMemory
