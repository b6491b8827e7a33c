# SPDX-FileCopyrightText: 2026 The WebLocks for D-Bus authors
# SPDX-License-Identifier: LGPL-2.1-or-later

"""The latency of a client beside one that floods the bus, on its lock socket and on the bus, and
the memory of service and bus. Each kind of flood by the same user and by another.

Bounds are generous, since a busy machine must not fail the test; the figures are printed."""

import os
import sys
import time

from buses import (FACTOR, KEEPS_LITTLE, can_be_others, end, environment, process_stat, read_lines,
                   spawn)
from calls import SERVICE
from flooder import KINDS
from harness import Bus, DBusError, diagnostic, full_size, wait_for
from rawbus import RawClient
from sockets import open_socket
from test_hostile import rss_mib
from test_pressure import OwnBus

FLOODER = os.path.join(os.path.dirname(os.path.abspath(__file__)), 'flooder.py')
OTHER_UID = 65534
SECONDS = full_size(0.1, 5)
SECONDS_BY_BUS = full_size(0.05, 5)
ROUNDS = 5
# The time limit of a call, of a hundred: what the machine alone causes is measured before.
CALM_SECONDS = 0.1 * FACTOR
# Messages that the bus has queued for the service by then have to be read.
BACK_SECONDS = 10 * FACTOR
# In MiB, more than before.
SERVICE_MIB = 24
SERVICE_MIB_AFTER = 12
BUS_MIB_UNREAD = 32


class Calm:
    """Requests and releases a lock repeatedly."""

    def __init__(self, connection):
        self.connection = connection
        self.times = []

    def turn(self):
        started = time.monotonic()
        id_, token = self.connection.request('calm')
        assert token != 0
        self.times.append(time.monotonic() - started)
        self.connection.release(id_)

    def p(self, hundredth):
        times = sorted(self.times)
        return times[min(len(times) - 1, len(times) * hundredth // 100)]

    def __str__(self):
        return (f'{1000 * self.p(50):.1f} / {1000 * self.p(99):.1f} / {1000 * max(self.times):.0f} '
                f'ms of {len(self.times)}')


class Floods(OwnBus):
    """One service for each kind of flood, so that they are independent."""

    # As set by dbus-broker-launch for a session; the default limits of dbus-daemon are those of a
    # session.
    BROKER_OPTIONS = ('--max-bytes=536870912', '--max-fds=128', '--max-matches=16384',
                      '--max-objects=16384')
    service_environment = KEEPS_LITTLE

    def make_bus(self):
        return Bus(broker_options=self.BROKER_OPTIONS)

    def flood(self, kind, uid):
        if uid != os.geteuid() and not can_be_others():
            self.skipTest('needs root, to connect as another user')
        process = spawn([sys.executable, FLOODER, self.bus.address,
                         str(uid), kind, *self.most(kind, uid)], stdout=-1, env=os.environ.copy(), bufsize=0)
        self.addCleanup(end, process)
        if kind != 'come-and-go':
            read_lines(process, 1)
        return process

    def most(self, kind, uid):
        """How many MiB a flooder sends, if it is limited. Calls without a reply are not refused:
        dbus-broker queues them until they have used up the bytes of their user, 512 MiB, and then
        disconnects connections of that user: the calm client's, or the service's. On a busy machine
        that can happen in any time."""
        is_safe = uid != os.geteuid() or self.bus.kind == 'dbus-daemon'
        return ['32'] if kind == 'no-reply' and not is_safe else []

    def cpu(self, pid):
        stat = process_stat(pid)
        return (int(stat[11]) + int(stat[12])) / os.sysconf('SC_CLK_TCK')

    def is_served(self, client):
        try:
            client.query('calm')
        except DBusError as error:
            self.assertEqual(error.short, 'LimitsExceeded')
            return False
        return True

    def measure(self, connection, seconds, watched=()):
        """The times of the well-behaved client, and the maximum memory of the processes."""
        calm, most = Calm(connection), [rss_mib(pid) for pid in watched]
        deadline = time.monotonic() + seconds
        while time.monotonic() < deadline or not calm.times:
            calm.turn()
            most = [max(have, rss_mib(pid)) for have, pid in zip(most, watched)]
        return calm, most

    def seconds(self, full, uid):
        """A client that calls and never reads, also if it calls the bus itself, fills the quotas that
        a dbus-broker has for its user; the flood has to end before the broker disconnects others of
        that user."""
        is_safe = uid != os.geteuid() or self.bus.kind == 'dbus-daemon'
        return full if is_safe else min(full, 0.5)

    def check(self, kind, uid):
        service = self.start()
        pids = service.process.pid, self.bus.pid
        by_bus = self.client()
        owner = RawClient(self.bus.address, descriptors=True)
        self.addCleanup(owner.close)
        sock = open_socket(owner)
        self.addCleanup(sock.close)
        control, _ = self.measure(sock, SECONDS / 2)
        self.measure(by_bus, SECONDS_BY_BUS)
        before = [rss_mib(pid) for pid in pids]

        flooder = self.flood(kind, uid)
        used, at = [self.cpu(pid) for pid in pids], time.monotonic()
        # On a busy machine one round may be slow; a client that starves is slow in each.
        for _ in range(ROUNDS):
            beside, most = self.measure(sock, self.seconds(SECONDS, uid), pids)
            if beside.p(99) < CALM_SECONDS:
                break
        took = time.monotonic() - at
        used = [100 * (self.cpu(pid) - before) / took for pid, before in zip(pids, used)]
        try:
            also, more = self.measure(by_bus, self.seconds(SECONDS_BY_BUS, uid), pids)
            most = [max(*pair) for pair in zip(most, more)]
        except DBusError as error:
            # Its quotas are by user: a client that fills them blocks all clients of that user.
            self.assertEqual((error.short, self.bus.kind, uid),
                             ('LimitsExceeded', 'dbus-broker', os.geteuid()))
            also = error.short
        end(flooder)
        started = time.monotonic()
        wait_for(lambda: self.is_served(by_bus), what='end of the flood')
        recovered = time.monotonic() - started
        # Nothing is left of clients that have disconnected.
        wait_for(lambda: self.known_names() <= {self.control.name, by_bus.name, owner.name,
                                                service.name, SERVICE, 'org.freedesktop.DBus'},
                 what='end of the flooder')
        self.control.ping()
        after = [rss_mib(pid) for pid in pids]
        diagnostic(f'{kind}, uid {uid}: calm {beside} (without: {control}), by the bus {also}; '
                   f'back after {1000 * recovered:.0f} ms; service {before[0]:.1f} -> '
                   f'{most[0]:.1f} -> {after[0]:.1f} MiB, {used[0]:.0f} % CPU; '
                   f'bus {before[1]:.1f} -> {most[1]:.1f} -> {after[1]:.1f} MiB, '
                   f'{used[1]:.0f} % CPU')
        self.assertLess(beside.p(99), max(CALM_SECONDS, 5 * control.p(99)))
        self.assertLess(recovered, BACK_SECONDS)
        self.assertLess(most[0] - before[0], SERVICE_MIB * FACTOR)
        self.assertLess(after[0] - before[0], SERVICE_MIB_AFTER * FACTOR)
        # With dbus-broker the bus itself refuses, also messages of the service: the quotas of the
        # sender are used. See the control case.
        if kind == 'query' and self.bus.kind == 'dbus-daemon':
            self.assertLess(most[1] - before[1], BUS_MIB_UNREAD * FACTOR)
        self.assert_clean_end(service)


def add_cases():
    users = {'same': os.geteuid(), 'other': OTHER_UID}
    # A dbus-daemon limits what each connection queues, a dbus-broker what each user does.
    if can_be_others():
        one = 'other' if environment('WEBLOCKS_TEST_BUS') == 'dbus-daemon' else 'same'
        users = full_size({one: users[one]}, users, users)
    for kind in [*KINDS, 'come-and-go']:
        for user, uid in users.items():
            def case(self, kind=kind, uid=uid):
                self.check(kind, uid)
            setattr(Floods, f'test_{kind.replace("-", "_")}_{user}_user', case)


add_cases()
