# SPDX-FileCopyrightText: 2026 The WebLocks for D-Bus authors
# SPDX-License-Identifier: LGPL-2.1-or-later

"""The service inside its unit, with the maximum number and size of requests."""

import os

from harness import diagnostic, main
from systembus import ALICE, CROWD
from unitcase import UnitCase, ask_for_long_names, need, size

setUpModule = need


# What the state may take.
ROOM = 400 << 20
# Of a name, a bucket and a `why` that are as long as they may be.
TEXT_BYTES = 1024 + 255 + 256


class Memory(UnitCase):
    def test_all_that_it_takes(self):
        """As many requests as it takes from many users, the longest that there can be: it says no
        before the unit's limit of memory is near, and is back with all of them after a kill."""
        place = os.statvfs(self.directory)
        if place.f_bavail * place.f_frsize < ROOM:
            self.skipTest(f'less than {ROOM >> 20} MiB in {self.directory}')
        self.start(*self.unit_options())
        limits = self.control.get_property('Limits')
        asked = 0
        clients = []
        for uid in CROWD:
            got = limits['requestsPerClient']
            while got == limits['requestsPerClient']:
                clients.append(self.raw_client(uid=uid, descriptors=True))
                got = ask_for_long_names(self.lock_socket(clients[-1]),
                                         limits['requestsPerClient'])
                asked += got
        # The last of it is kept for those who have less.
        self.assertGreaterEqual(asked * TEXT_BYTES, limits['textBytesTotal'] * 3 // 4)
        full = self.memory()
        client = self.user(ALICE)
        self.assertEqual(client.query(), ([], []))
        before = self.tokens(clients[0])
        self.assertEqual(len(before), limits['requestsPerClient'])
        self.current.end()
        self.start(*self.unit_options())
        self.assertEqual(self.tokens(clients[0]), before)
        again = self.memory()
        diagnostic(f'{asked} requests: {full >> 20} MiB, and {again >> 20} MiB after a kill')
        self.assertLess(max(full, again), size(self.setting('MemoryMax')) // 2)

    @staticmethod
    def tokens(client):
        return [line[5] for line in client.resync()]

    def memory(self):
        """The most that it had, and what its files have, which are in memory too."""
        files = [os.stat(os.path.join(self.directory, name))
                 for name in os.listdir(self.directory)]
        return self.status('VmHWM') + sum(file.st_blocks * 512 for file in files)


if __name__ == '__main__':
    main()
