# SPDX-FileCopyrightText: 2026 The WebLocks for D-Bus authors
# SPDX-License-Identifier: LGPL-2.1-or-later

"""A file system without space for state: what is stored remains and can end; new requests are refused.

The file system is a small tmpfs in a private mount namespace. One that is filled and emptied while clients work is
in ../storm.
"""

import os
import random
import resource
import tempfile

from harness import DBusError, diagnostic
from smallfs import SmallFileSystem, has_own_mounts, take_own_mounts
from statecase import StateCase, without

take_own_mounts()


class FullCase(StateCase):
    SIZE = '2m'

    def setUp(self):
        if not has_own_mounts():
            self.skipTest('needs a mount namespace: unshare(1), and root or user namespaces')
        super().setUp()
        self.mount = tempfile.mkdtemp(prefix='weblocks-full-')
        self.addCleanup(os.rmdir, self.mount)
        small = SmallFileSystem(self.mount, self.SIZE)
        self.addCleanup(small.close)
        self.fill, self.empty = small.fill, small.empty
        self.directory = os.path.join(self.mount, 'state')

    def see_all(self):
        seen = {client.name: self.see_resync(client) for client in self.clients}
        seen['query'] = self.control.query()
        seen['inspect'] = [without(entry, 'age', 'process')
                           for entry in self.control.inspect(limit=4096)[0]]
        return seen

    def ask_until_refused(self, most=30000):
        """Returns the number of granted requests."""
        for number in range(most):
            client = self.clients[number % len(self.clients)]
            try:
                client.request(f'more {number}' + 'n' * 200)
            except DBusError as error:
                self.assertEqual(error.short, 'LimitsExceeded', error)
                return number
        self.fail(f'{most} requests, and it was never full')


class FileSize(StateCase):
    def test_at_the_start(self):
        """A limit on the size of files (ulimit -f) means no space; it doesn't kill the service. The service writes
        no coverage data: the limit would truncate the files."""
        before = resource.getrlimit(resource.RLIMIT_FSIZE)
        self.addCleanup(resource.setrlimit, resource.RLIMIT_FSIZE, before)
        for size in (0, 4, 4096, 50000):
            with self.subTest(size):
                resource.setrlimit(resource.RLIMIT_FSIZE, (size, before[1]))
                service = self.start(ready=False, env={'GCOV_PREFIX': os.devnull})
                self.assertEqual(service.wait_exit(), 1)
                # Its messages go to a file with the same limit.
                if size >= 4096:
                    self.assertIn('no space for the state', service.stderr())
                    self.assertIn(self.directory, service.stderr())


class Refused(StateCase):
    def test_no_space_is_allocated(self):
        """For a request that a limit refuses, however long its strings are."""
        self.start('--limit', 'nameBytes=100000000', '--limit', 'textBytesPerUid=1000000')
        client = self.raw_client()
        client.request('held')
        before = os.stat(self.path())
        long = 'n' * (2 << 20)
        self.assert_error('LimitsExceeded', client.request, 'x', why=long)
        self.assert_error('LimitsExceeded', client.request, long)
        after = os.stat(self.path())
        self.assertEqual((after.st_size, after.st_blocks), (before.st_size, before.st_blocks))


class Full(FullCase):
    LIMITS = ('--limit', 'requestsPerClient=65536', '--limit', 'requestsPerUid=65536')

    def begin(self):
        self.start(*self.LIMITS)
        self.clients = [self.raw_client() for _ in range(5)]
        for number in range(40):
            for client in self.clients:
                client.request(f'{number}', why='it is there')
        self.fill()
        diagnostic(f'{self.ask_until_refused()} more before it is full')

    def refusals(self):
        """Each way to make a request; nothing changes, also for holders of stolen locks."""
        client, before = self.clients[0], self.see_all()
        for name in ('new', '0', 'n' * 1024, ''):
            for how in (dict(mode='shared'), dict(timeout=1000), dict(key=77), dict()):
                self.assert_error('LimitsExceeded', client.request, name + 'f' * 600, **how)
                self.assert_error('LimitsExceeded', client.request, name, 'x' * 200,
                                  why='w' * 256, **how)
        self.assert_error('LimitsExceeded', client.steal, '0', why='w' * 256)
        self.assert_error('LimitsExceeded', client.steal, 'new' + 'f' * 600)
        for other in self.clients:
            other.ping()
            self.assertEqual(other.events, [])
        self.assertEqual(self.see_all(), before)

    def test_refused_requests_change_nothing(self):
        self.begin()
        self.refusals()
        for _ in range(3):
            before = self.see_all()
            self.restart(*self.LIMITS)
            self.assertEqual(self.see_all(), before)
        self.ask_until_refused()
        before = self.see_all()
        service = self.current
        self.assertEqual(service.stop(), 0, service.stderr())
        self.start(*self.LIMITS)
        self.assertEqual(self.see_all(), before)
        self.empty()
        for number in range(200):
            self.clients[0].request(f'again {number}' + 'n' * 500)

    def test_all_stored_requests_can_end(self):
        """Releases, aborts, time-outs and deaths, one by one, with every grant that follows, and
        the service killed in between."""
        self.begin()
        chance = random.Random(3)
        rest = [(client, id_) for client in self.clients for id_ in self.see_resync(client)]
        chance.shuffle(rest)
        total = len(rest)
        dying = self.clients[-1]
        for number, (client, id_) in enumerate(rest):
            if number == total // 2:
                dying.close()
                self.clients.remove(dying)
            if client is dying and number >= total // 2:
                continue
            if not client.abort(id_):
                client.release(id_)
            if number % (total // 5 + 1) == 0:
                before = self.see_all()
                self.restart(*self.LIMITS)
                self.assertEqual(self.see_all(), before)
        self.assertEqual(self.control.query(), ([], []))
        for client in self.clients:
            self.assertEqual(client.resync(), [])
        diagnostic(f'{total} have ended, {self.ask_until_refused()} have come where they were')
        self.empty()
        self.assertNotEqual(self.clients[0].request('again')[1], 0)

    def test_repeats_are_no_requests(self):
        """Repeated requests get their state, and refused ones can be sent again with the same key."""
        self.start(*self.LIMITS)
        self.clients = [self.raw_client()]
        held = self.clients[0].request('x', key=1)
        self.fill()
        self.ask_until_refused()
        self.assertEqual(self.clients[0].request('x', key=1), held)
        self.assert_error('LimitsExceeded', self.clients[0].request, 'n' * 1000, key=2)
        # On a lock socket the error has no limit.
        sock = self.lock_socket()
        error = self.assert_error('LimitsExceeded', sock.request, 'n' * 1000)
        self.assertEqual(error.message, '')
        sock.sync()
        self.empty()
        self.assertNotEqual(self.clients[0].request('y', key=2)[1], 0)

    def test_from_the_beginning(self):
        """Without space for its state it doesn't serve."""
        self.fill()
        service = self.start(ready=False)
        self.assertEqual(service.wait_exit(), 1, service.stderr())
        self.assertIn(self.directory, service.stderr())
        self.wait_free()
        self.empty()
        self.start()
        self.control.release(self.control.request('x')[0])

    def test_damaged_and_full(self):
        self.start()
        self.control.release(self.control.request('x')[0])
        self.crash()
        with open(self.path(), 'r+b') as file:
            file.write(b'x' * 8192)
        self.fill()
        service = self.start(ready=False)
        self.assertEqual(service.wait_exit(), 1, service.stderr())
        self.empty()
        self.start()
        self.assertEqual(self.control.query(), ([], []))
