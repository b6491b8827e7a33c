# SPDX-FileCopyrightText: 2026 The WebLocks for D-Bus authors
# SPDX-License-Identifier: LGPL-2.1-or-later

"""Requests with ifAvailable, and steals, that other hosts decide: they are pending until then, and not stored. What they
result in is in ../unit/test-random, in test-claims and, with real gateways, in test_hosts.py."""

import signal
import time

import clusterpackets as packets
from clustercase import BUCKET, ClusterCase
from harness import DBusError
from rawbus import lock_call

IF_AVAILABLE, STEAL = 1, 2


def live(client):
    """The names of a client's requests; unlike Query, without asking other hosts."""
    return [entry[3] for entry in client.resync()]


def in_time(test):
    """Repeats a test with other names if it took longer than the two seconds that a request with
    ifAvailable waits, because the machine is busy."""
    def repeated(self):
        for left in reversed(range(5)):
            began = time.monotonic()
            try:
                return test(self)
            except (AssertionError, TimeoutError):
                if time.monotonic() - began < 1 or left == 0:
                    raise
    return repeated


class LateCase(ClusterCase):
    def setUp(self):
        super().setUp()
        self.gateway = self.start_gateway()

    def start_and_greet(self, *arguments):
        """A client that has requested 'other', so that there is a connection."""
        self.start(*arguments)
        client = self.client()
        client.request('other', BUCKET)
        self.gateway.greet()
        return client

    def ask(self, name, **kw):
        """A pending request of a new client, and its demand."""
        raw = self.raw_client()
        id_, token = raw.request(name, BUCKET, **kw)
        self.assertEqual((id_ != 0, token), (True, 0))
        demand = self.gateway.take_demand(name, undecided=STEAL if 'steal' in kw else IF_AVAILABLE)
        return raw, id_, demand


class IfAvailable(LateCase):
    def setUp(self):
        super().setUp()
        self.start_and_greet()

    @in_time
    def test_busy(self):
        name = self.unique()
        raw, id_, demand = self.ask(name, ifAvailable=True)
        self.assertEqual(self.client().request(name, BUCKET, ifAvailable=True), (0, 0))
        self.gateway.busy(demand)
        began = time.monotonic()
        raw.wait_released(id_, 'unavailable')
        self.assertLess(time.monotonic() - began, 1)
        self.assertEqual(live(raw), [])

    def test_timeout(self):
        """Without an answer of the gateway."""
        raw, id_, _ = self.ask('x', ifAvailable=True)
        raw.wait_released(id_, 'unavailable')
        self.gateway.take_demand('x', want=packets.NONE, undecided=0)


class Ends(LateCase):
    def test_shutdown(self):
        """It is not stored: it ends, and so does one that is requested at the last moment."""
        client = self.start_and_greet()
        raw, first, _ = self.ask('x', steal=True)
        self.current.pause()
        self.current.signal(signal.SIGTERM)
        last = raw.send(lock_call('Steal', 'y', BUCKET))
        raw.ping_the_bus()
        self.current.resume()
        raw.wait_released(first, 'unavailable')
        try:
            raw.wait_released(raw.result(last)[0], 'unavailable')
        except DBusError as error:
            self.assertEqual(error.short, 'InvalidState', error)
        self.current.wait_exit()
        self.wait_free()
        self.start()
        self.assertEqual((live(client), live(raw)), (['other'], []))

    def test_crash(self):
        """It is not stored, since its time is over before a service could be asked again."""
        client = self.start_and_greet()
        raw, _, _ = self.ask('x', steal=True)
        self.restart()
        self.assertEqual((live(client), live(raw)), (['other'], []))
