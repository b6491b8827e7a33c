# SPDX-FileCopyrightText: 2026 The WebLocks for D-Bus authors
# SPDX-License-Identifier: LGPL-2.1-or-later

"""A service with a damaged state file starts, with the whole state or without any, and renames a file that
it did not accept. tests/state/test-log.c has thousands of them, without a bus."""

import os
import random

from harness import diagnostic, main
from statecase import StateCase

PAGE = 4096
HEADS = 160  # the bytes of the heads of the file and of its first frame, and of the first record


class Damage(StateCase):
    def setUp(self):
        super().setUp()
        self.seed = int(os.environ.get('WEBLOCKS_TEST_SEED', random.randrange(1 << 32)))
        self.chance = random.Random(self.seed)
        self.counts = {'all': 0, 'nothing': 0}
        self.start()
        self.clients = [self.raw_client() for _ in range(4)]
        for number in range(60):
            client = self.clients[number % 4]
            client.request(f'{number % 20}', why=f'number {number}', key=number + 1)
        for client in self.clients:
            client.release(client.request('gone')[0])
        # Differences between the state before the last turns and this one.
        self.clients[0].release(self.clients[0].resync()[0][1])
        self.other_client = self.raw_client()
        self.buckets = ('default',)
        self.before = self.see([*self.clients, self.other_client], self.buckets)
        self.crash()
        with open(self.path(), 'rb') as file:
            self.good = file.read()
        self.used = len(self.good.rstrip(b'\0'))

    def tearDown(self):
        diagnostic(f'WEBLOCKS_TEST_SEED={self.seed}: {self.counts["all"]} times all was there, '
                   f'{self.counts["nothing"]} times nothing')

    def check(self, what, data):
        with self.subTest(what):
            with open(self.path(), 'wb') as file:
                file.write(data)
            if os.path.lexists(self.path('state.aside')):
                os.unlink(self.path('state.aside'))
            service = self.start()
            self.assertEqual(service.complaints(), [])
            self.assertLessEqual(len(service.stderr().split('\n\n')), 3, service.stderr())
            seen = self.see([*self.clients, self.other_client], self.buckets)
            if os.path.exists(self.path('state.aside')):
                self.counts['nothing'] += 1
                for client in (*self.clients, self.other_client):
                    self.assertEqual(seen[client.name], [])
                self.assertEqual(seen[self.other_client.name, 'default'], (([], []), []))
                with open(self.path('state.aside'), 'rb') as file:
                    self.assertEqual(file.read(), data)
            else:
                self.counts['all'] += 1
                self.assert_same(self.before, seen)
            id_, token = self.other_client.request('new')
            self.assertNotEqual(token, 0)
            self.other_client.release(id_)
        self.crash()

    def flipped(self, where, bits):
        data = bytearray(self.good)
        data[where] ^= bits
        return bytes(data)

    def test_cut(self):
        lengths = [0, 1, 100, PAGE - 1, PAGE, PAGE + 1, self.used - 1, self.used,
                   len(self.good) - 1]
        lengths += [self.chance.randrange(self.used) for _ in range(8)]
        for length in lengths:
            self.check(f'cut at {length}', self.good[:length])

    def test_bits(self):
        places = [self.chance.randrange(HEADS) for _ in range(6)]
        places += [self.chance.randrange(self.used) for _ in range(12)]
        for where in places:
            self.check(f'a bit at {where}', self.flipped(where, 1 << self.chance.randrange(8)))

    def test_the_last_frame(self):
        """Its end, and what would be the beginning of the next one."""
        for where in range(self.used - 9, self.used + 3):
            self.check(f'a bit at {where}', self.flipped(where, 1 << self.chance.randrange(8)))
        self.check('a zero at the end', self.good[:self.used - 1] + bytes(
            len(self.good) - self.used + 1))

    def test_pages(self):
        for _ in range(12):
            # Not the last one: with zeros there it would be what a kill leaves.
            a, b = [self.chance.randrange(self.used // PAGE) * PAGE for _ in range(2)]
            data = bytearray(self.good)
            data[a:a + PAGE] = self.chance.choice((bytes(PAGE), self.good[b:b + PAGE]))
            self.check(f'page {a // PAGE}, as if {b // PAGE}', bytes(data))

    def test_garbage(self):
        for data in (b'', b'\0' * PAGE * 4, self.chance.randbytes(30000),
                     self.good[:PAGE * 2] + self.chance.randbytes(PAGE * 10)):
            self.check(f'{len(data)} bytes', data)


if __name__ == '__main__':
    main()
