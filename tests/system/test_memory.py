# SPDX-FileCopyrightText: 2026 The WebLocks for D-Bus authors
# SPDX-License-Identifier: LGPL-2.1-or-later

"""The memory of a service with the maximum number and size of requests, and the limit of its unit."""

import os
import re

from harness import diagnostic
from systembus import ALICE, MANY_USERS, SystemCase, unit_path
from unitcase import ask_for_long_names, size


# The maximum size of the state.
STATE_BYTES = 400 << 20
# Of a name, a bucket and a `why` of maximum length.
TEXT_BYTES = 1024 + 255 + 256


class Memory(SystemCase):
    service = False

    def test_maximum_state(self):
        """As many requests of maximum length as it accepts from many users: it refuses more
        before the unit's limit of memory is near, and restores all of them after a kill."""
        place = os.statvfs(self.directory)
        if place.f_bavail * place.f_frsize < STATE_BYTES:
            self.skipTest(f'less than {STATE_BYTES >> 20} MiB in {self.directory}')
        service = self.start_service()
        limits = self.control.get_property('Limits')
        asked = 0
        clients = []
        for uid in MANY_USERS:
            got = limits['requestsPerClient']
            while got == limits['requestsPerClient']:
                clients.append(self.raw_client(uid=uid, descriptors=True))
                got = ask_for_long_names(self.lock_socket(clients[-1]),
                                         limits['requestsPerClient'])
                asked += got
        # The last quarter is reserved for users with fewer requests.
        self.assertGreaterEqual(asked * TEXT_BYTES, limits['textBytesTotal'] * 3 // 4)
        full = self.memory(service)
        client = self.user(ALICE)
        self.assertEqual(client.query(), ([], []))
        before = self.tokens(clients[0])
        self.assertEqual(len(before), limits['requestsPerClient'])
        service.end()
        service = self.start_service()
        self.assertEqual(self.tokens(clients[0]), before)
        again = self.memory(service)
        diagnostic(f'{asked} requests: {full >> 20} MiB, and {again >> 20} MiB after a kill')
        self.assertLess(max(full, again), size(self.memory_max()) // 4)

    @staticmethod
    def tokens(client):
        return [line[5] for line in client.resync()]

    @staticmethod
    def memory_max():
        with open(unit_path(), encoding='utf-8') as file:
            return re.search(r'(?m)^MemoryMax=(.*)$', file.read())[1]

    def memory(self, service):
        """The maximum memory, including the files, which are in memory too."""
        with open(f'/proc/{service.process.pid}/status', encoding='utf-8') as file:
            most = int(re.search(r'(?m)^VmHWM:\s+(\d+)', file.read())[1]) * 1024
        files = [os.stat(os.path.join(self.directory, name))
                 for name in os.listdir(self.directory)]
        return most + sum(file.st_blocks * 512 for file in files)
