# SPDX-FileCopyrightText: 2026 The WebLocks for D-Bus authors
# SPDX-License-Identifier: LGPL-2.1-or-later

"""What a uid with very many connections leaves to others, and that large or invalid calls with
descriptors leave no memory and no descriptors behind."""

import os
import pwd
import resource
import time

from buses import can_be_others, status_kib
from calls import ADMIN, LOCKS, ROOT, SERVICE, bucket_path
from harness import BusTestCase, DBusError, GLib, diagnostic, full_size, wait_for
from rawbus import bus_call, lock_call, method_call

# Users with an account: dbus-daemon accepts no others.
FLOOD_UID = 65534
OTHER_UID = next((user.pw_uid for user in pwd.getpwall() if user.pw_uid not in (0, FLOOD_UID)), None)
MIB = 1024  # in KiB


def outcomes(client, serials):
    """Returns the number of served calls, and the error messages of the others."""
    served, errors = 0, []
    for serial in serials:
        try:
            client.result(serial)
            served += 1
        except DBusError as error:
            errors.append(f'{error.short}: {error.message}')
    client.forget()
    return served, errors


class Flood(BusTestCase):
    """The limits of one uid are those of the total, except for the shares of others: a quarter of each."""

    N_CLIENTS = 256
    REQUESTS, CLIENTS, WATCHES = 2048, 320, 1024
    service = False

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        limits = []
        for name, value in (('requests', cls.REQUESTS), ('clients', cls.CLIENTS),
                            ('watches', cls.WATCHES)):
            limits += ['--limit', f'{name}PerUid={value}', '--limit', f'{name}Total={value}']
        cls.daemon = cls.start_service(*limits)

    def setUp(self):
        if not can_be_others():
            self.skipTest('needs root, to connect as other users')
        super().setUp()

    def connect(self, uid, number):
        """Returns the clients of a uid that the service accepts, and the errors of the others."""
        clients, errors = [], []
        for _ in range(number):
            client = self.raw_client(uid=uid, descriptors=True)
            served, refused = outcomes(client, [client.send(method_call(SERVICE, ROOT, ADMIN,
                                                                        'Buckets'))])
            clients += [client] * served
            errors += refused
        return clients, errors

    def take(self, clients, calls):
        """All of them make their requests at the same time. Returns the number of served ones, and
        the errors."""
        serials = [(client, client.send_all(calls)) for client in clients]
        served, errors = 0, []
        for client, sent in serials:
            answered, refused = outcomes(client, sent)
            served += answered
            errors += refused
        return served, errors

    def requests(self, number):
        return [lock_call('Request', f'{number}') for number in range(number)]

    def watches(self, number):
        return [method_call(SERVICE, bucket_path(f'{number}'), LOCKS, 'Watch',
                            GLib.Variant('(b)', (True,))) for number in range(number)]

    def close_all(self, clients):
        for client in clients:
            client.close()
        self.wait_gone(*{client.name for client in clients})

    def check_refusals(self, errors, limit, value):
        self.assertEqual(set(errors),
                         {f'LimitsExceeded: the limit {limit} ({value}) is reached'})

    def test_a_quarter_is_left(self):
        flood, errors = self.connect(FLOOD_UID, self.N_CLIENTS)
        self.assertEqual(len(flood), self.CLIENTS * 3 // 4)
        self.check_refusals(errors, 'clientsTotal', self.CLIENTS)

        begun = time.monotonic()
        served, errors = self.take(flood, self.requests(10))
        self.assertEqual(served, self.REQUESTS * 3 // 4)
        self.check_refusals(errors, 'requestsTotal', self.REQUESTS)
        diagnostic(f'{len(errors) + served} requests of {len(flood)} clients in '
                   f'{time.monotonic() - begun:.1f} s')
        served, errors = self.take(flood, self.watches(8))
        self.assertEqual(served, self.WATCHES * 3 // 4)
        self.check_refusals(errors, 'watchesTotal', self.WATCHES)

        # All objects exist, and the others get the rest.
        others, errors = self.connect(OTHER_UID, self.CLIENTS // 4 + 1)
        self.assertEqual(len(others), self.CLIENTS // 4)
        self.check_refusals(errors, 'clientsTotal', self.CLIENTS)
        per_client = self.REQUESTS // 4 // len(others) + 1
        served, errors = self.take(others, self.requests(per_client))
        self.assertEqual(served, self.REQUESTS // 4)
        self.check_refusals(errors, 'requestsTotal', self.REQUESTS)
        served, errors = self.take(others, self.watches(4))
        self.assertEqual(served, self.WATCHES // 4)

        # And all of them end.
        self.close_all(flood)
        served, errors = self.take(others[:1], self.requests(100))
        self.assertEqual((served, errors), (100, []))
        self.close_all(others)


class Costs(BusTestCase):
    """Calls of any kind leave no memory and no descriptors behind."""

    TURNS = full_size(1000, 17_000)
    time_limit = full_size(180.0, 1200.0)
    # With sanitizers freed memory is kept.
    sanitized = os.environ.get('WEBLOCKS_TEST_TIMEOUT_FACTOR', '1') != '1'

    def setUp(self):
        super().setUp()
        self.pid = self.daemon.process.pid
        self.raw = self.raw_client(descriptors=True)
        self.raw.query()

    def check_memory(self, message, mentions, n_bytes):
        """Refused; at most twice the size of the message in memory meanwhile, and nothing
        afterwards."""
        self.raw.ping()
        with open(f'/proc/{self.pid}/clear_refs', 'w', encoding='ascii') as file:
            file.write('5')  # the peak is reset
        before = status_kib(self.pid, 'VmRSS:')
        self.assert_error('LimitsExceeded' if 'Bytes' in mentions else 'InvalidArgs',
                          self.raw.result, self.raw.send(message), mentions=mentions)
        self.raw.ping()
        peak = status_kib(self.pid, 'VmHWM:') - before
        kept = status_kib(self.pid, 'VmRSS:') - before
        diagnostic(f'{n_bytes // 1024} KiB: {peak} KiB more meanwhile, {kept} KiB afterwards')
        if not self.sanitized:
            self.assertLess(peak, 2 * n_bytes // 1024 + 2 * MIB)
            self.assertLess(kept, 2 * MIB)

    def request(self, name, options):
        return method_call(SERVICE, bucket_path('default'), LOCKS, 'Request',
                           GLib.Variant('(sa{sv})', (name, options)))

    def test_a_name_of_32_mib(self):
        self.check_memory(self.request('n' * (32 << 20), {}), 'nameBytes', 32 << 20)

    def test_a_why_of_32_mib(self):
        self.check_memory(self.request('n', {'why': GLib.Variant('s', 'w' * (32 << 20))}),
                          'whyBytes', 32 << 20)

    def test_very_many_options(self):
        options = {f'{number:08}': GLib.Variant('t', number) for number in range(10000)}
        message = self.request('n', options)
        self.check_memory(message, "'00000000'", len(self.raw.encode(message)[0]))

    def test_one_option_many_times(self):
        entry = GLib.Variant('{sv}', ('mode', GLib.Variant('s', 'shared')))
        body = GLib.Variant.new_tuple(GLib.Variant('s', 'n'), GLib.Variant.new_array(
            GLib.VariantType('{sv}'), [entry] * 300000))
        message = method_call(SERVICE, bucket_path('default'), LOCKS, 'Request', body)
        self.check_memory(message, "'mode'", len(self.raw.encode(message)[0]))

    def test_descriptors_of_many_bad_calls(self):
        """They are closed with the call, also if it is deferred because its client doesn't read as
        fast as it makes calls."""
        resource.prlimit(self.pid, resource.RLIMIT_NOFILE, (2048, 2048))
        bad = [lock_call('Request', '-reserved'), lock_call('Release', 99), lock_call('Query'),
               bus_call(SERVICE, bucket_path('default'), LOCKS, 'Nothing'),
               bus_call(SERVICE, '/nowhere', LOCKS, 'Query'),
               lock_call('Request', 'x', reply=False)]
        before = self.daemon.count_descriptors()
        most = before
        with open(os.devnull, 'rb') as file:
            for turn in range(self.TURNS):
                for message in bad:
                    self.raw.send_with_descriptors(message, [file.fileno()] * 2)
                if turn >= 500:
                    self.raw.pump()
                if turn % 100 == 99:
                    most = max(most, self.daemon.count_descriptors())
                    # Not so many that the bus disconnects it.
                    if turn >= 500:
                        self.raw.ping()
                        self.raw.forget()
        wait_for(lambda: not self.raw.pump() and self.daemon.count_descriptors() == before,
                 what='end of the calls')
        self.raw.ping()
        diagnostic(f'{self.TURNS * len(bad)} calls with {self.TURNS * len(bad) * 2} descriptors: '
                   f'{before} are open before and after, at most {most} meanwhile')
        self.assertLess(most, before + 32)
