# SPDX-FileCopyrightText: 2026 The WebLocks for D-Bus authors
# SPDX-License-Identifier: LGPL-2.1-or-later

"""What the tests of the service inside its unit share, without the machine (machinecase.py)."""

from calls import DBusError
from harness import wait_for
from sockets import LockError


def size(text):
    return int(text[:-1]) * {'K': 1 << 10, 'M': 1 << 20, 'G': 1 << 30}[text[-1]]


def ask_for_long_names(sock, count):
    """Returns how many of `count` requests the client of this lock socket got, each in another
    bucket."""
    starts = [f'{id(sock)}.{number:08}.' for number in range(count)]
    calls = [sock.encode_request(start.ljust(1024, 'n'), start.ljust(255, 'b'), why='w' * 256)
             for start in starts]
    sock.send_all(data for data, _, _ in calls)
    served = 0
    for _, serial, _ in calls:
        try:
            sock.answer(serial)
            served += 1
        except LockError as error:
            if error.short != 'LimitsExceeded':
                raise
    return served


class ContractChecks:
    """The functions of a service, wherever it runs."""

    def check_contract(self, first, second):
        second.watch()
        held, token = first.request('x', why='to see')
        self.assertGreater(token, 0)
        waits, _ = second.request('x')
        shared, _ = second.request('x', mode='shared')
        expires, _ = second.request('x', timeout=1)
        self.assertEqual(first.request('x', ifAvailable=True), (0, 0))
        wait_for(lambda: self.has_event(second, 'Released', expires, 'timeout'), what='time-out')
        self.assertEqual([len(part) for part in first.query()], [1, 2])
        entry = first.inspect(state='held')[0][0]
        self.assertEqual((entry['pid'], entry['why']), (first.pid, 'to see'))
        self.assertTrue(second.abort(shared))
        first.release(held)
        wait_for(lambda: self.has_event(second, 'Granted', waits), what='Granted')
        stolen, _ = first.steal('x')
        wait_for(lambda: self.has_event(second, 'Released', waits, 'stolen'), what='steal')
        self.assertEqual(first.buckets(), ['default'])
        # Its id or, on a socket, its key.
        line, = first.resync()
        self.assertIn(stolen, line[1:3])
        second.watch(False)
        first.release(stolen)
        with self.assertRaises((DBusError, LockError)) as caught:
            first.release(stolen)
        self.assertEqual(caught.exception.short, 'NotHeld')
        self.assertIn('org.w3.WebLocks', first.introspect('/org/w3/WebLocks'))
        self.assertIn('requestsPerClient', first.get_property('Limits'))
        first.close()
        second.close()

    @staticmethod
    def has_event(client, signal_, id_, reason=None):
        return any(event.signal == signal_ and event.args[0] == id_ and
                   event.args[3] == client.name and reason in (None, event.args[-1])
                   for event in client.events())
