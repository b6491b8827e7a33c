# SPDX-FileCopyrightText: 2026 The WebLocks for D-Bus authors
# SPDX-License-Identifier: LGPL-2.1-or-later

"""Very many different names are requested and released: the service's memory is the same as before.

Without a monitor, which would have to read millions of messages.
"""

from buses import KEEPS_LITTLE, full_size, status_kib
from rawbus import lock_call, split
from tap import diagnostic
from test_pressure import OwnBus

NAMES = full_size(60_000, 1_000_000)
FIRST_NAMES = 20_000
BATCH = 100
# Memory that the allocator may keep or fragment. A leak of 32 bytes for each name would be 1.8 MiB.
SLACK_KIB = 1024


class Memory(OwnBus):
    service_environment = KEEPS_LITTLE

    def request_and_release(self, count):
        """Names of the same length, by copies of two messages: the ids of a new client count from 1."""
        client = self.client()
        request, _ = client.encode(lock_call('Request', f'{0:08}', 'many'))
        release, _ = client.encode(lock_call('Release', 0, 'many', reply=False))
        at = request.index(b'00000000')
        for begin in range(1, count + 1, BATCH):
            client.socket.sendall(b''.join(
                request[:8] + client.next_serial().to_bytes(4, 'little') + request[12:at] + b'%08d' % number
                + request[at + 8:] + release[:8] + client.next_serial().to_bytes(4, 'little')
                + release[12:-8] + number.to_bytes(8, 'little') for number in range(begin, begin + BATCH)))
            n_answers, data = 0, bytearray()
            while n_answers < BATCH:
                data += client.socket.recv(1 << 18)
                for blob in split(data):
                    n_answers += blob[1] == 2
                    if blob[1] != 2:
                        client.take_bytes(blob)  # a Ping, which needs a reply
                        self.assertEqual(blob[1], 1)
        self.assertEqual(client.query('many'), ([], []))
        client.close()
        return status_kib(self.service.process.pid, 'VmRSS:')

    def test_very_many_names(self):
        self.service = self.start()
        before = self.request_and_release(FIRST_NAMES)
        after = self.request_and_release(NAMES)
        diagnostic(f'resident after {FIRST_NAMES} names: {before} KiB, '
                   f'after {NAMES} more: {after} KiB')
        self.assertLess(after - before, SLACK_KIB)
        self.assert_clean_end(self.service)
