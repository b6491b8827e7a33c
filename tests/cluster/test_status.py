# SPDX-FileCopyrightText: 2026 The WebLocks for D-Bus authors
# SPDX-License-Identifier: LGPL-2.1-or-later

"""The property Cluster of weblocksd, whose value the gateway is asked for: the test is the gateway. Clients and
services that end while a call waits are in test_access.py."""

import time

import clusterpackets as packets
from calls import ADMIN, PROPERTIES, ROOT
from clustercase import Call, ClusterCase
from harness import GLib, wait_for

# Of weblocksd for an answer of the gateway, in seconds.
PATIENCE = 2
CALLS_OF_A_UID = 64


class Status(ClusterCase):
    def setUp(self):
        super().setUp()
        self.gateway = self.start_gateway()
        self.gateway.status = None
        self.start()
        self.caller = self.client()

    def ask(self, member='Get'):
        """Returns a call whose reply waits."""
        body = GLib.Variant('(ss)', (ADMIN, 'Cluster')) if member == 'Get' else GLib.Variant('(s)', (ADMIN,))
        return Call(self.caller, member, body, path=ROOT, interface=PROPERTIES)

    def answer(self, asked, **status):
        self.gateway.send(packets.status(asked.serial, **status))

    def test_asked_for_each_call(self):
        call = self.ask()
        self.gateway.greet()
        asked = self.gateway.take(packets.Ask)
        # Other calls of the client don't wait.
        self.assertNotEqual(self.caller.request('local')[1], 0)
        self.assertEqual(self.caller.get_property('InterfaceVersion'), 1)
        self.assertEqual(call.replies, [])
        self.answer(asked, engine='a:1', hosts=['alpha'], id_='1f', metrics=['n 1'])
        found = call.result()[0]
        self.assertEqual((found['state'], found['server'], found['hosts'], found['id'], found['metrics']),
                         ('active', 'a:1', ['alpha'], '1f', ['n 1']))
        all_ = self.ask('GetAll')
        self.answer(self.gateway.take(packets.Ask), hosts=['beta'])
        self.assertEqual(all_.result()[0]['Cluster']['hosts'], ['beta'])

    def test_calls_at_the_same_time(self):
        """There is one question at a time, and each call has a reply, those beyond the limit without an answer."""
        first = self.ask()
        self.gateway.greet()
        self.answer(self.gateway.take(packets.Ask), hosts=['alpha'])
        first.result()
        calls = [self.ask() for _ in range(CALLS_OF_A_UID + 5)]
        asked = self.gateway.take(packets.Ask)
        wait_for(lambda: sum(len(call.replies) for call in calls) == 5, what='replies without an answer')
        self.assertEqual([call.result()[0]['hosts'] for call in calls[-5:]], 5 * [[]])
        self.answer(asked, hosts=['beta'])
        self.assertEqual([call.result()[0]['hosts'] for call in calls[:-5]], CALLS_OF_A_UID * [['beta']])
        self.assertFalse([packet for packet in self.gateway.packets if isinstance(packet, packets.Ask)])

    def test_not_answered(self):
        """The reply comes after a limited time, without what was answered before."""
        begin = time.monotonic()
        call = self.ask()
        self.gateway.greet()
        asked = self.gateway.take(packets.Ask)
        self.assertEqual((call.result()[0]['state'], call.replies[0][0]['metrics']), ('active', []))
        self.assertGreater(time.monotonic() - begin, PATIENCE - 0.1)
        # That question is still in progress.
        again = self.ask()
        self.caller.ping()
        self.answer(asked, engine='a:1', hosts=['alpha'], id_='1f', metrics=['n 1'])
        self.assertEqual(again.result()[0]['hosts'], ['alpha'])
        self.assertFalse([packet for packet in self.gateway.packets if isinstance(packet, packets.Ask)])
        late = self.ask()
        asked = self.gateway.take(packets.Ask)
        found = late.result()[0]
        self.assertEqual((found['state'], found['server'], found['hosts'], found['id'], found['metrics']),
                         ('active', '', [], '', []))
        self.answer(asked)

    def test_gateway_ends(self):
        call = self.ask()
        self.gateway.greet()
        self.gateway.take(packets.Ask)
        self.gateway.close()
        self.assertEqual(call.result()[0]['state'], 'off')
        self.assertEqual(self.ask().result()[0]['state'], 'off')

    def test_unknown_answers(self):
        call = self.ask()
        self.gateway.greet()
        asked = self.gateway.take(packets.Ask)
        self.gateway.send(packets.status(asked.serial + 1, hosts=['alpha']))
        self.gateway.send(packets.rows(asked.serial))
        self.gateway.send(packets.broken(asked.serial, 1, False))
        self.gateway.sync()
        self.assertEqual(call.replies, [])
        self.answer(asked, hosts=['beta'])
        self.assertEqual(call.result()[0]['hosts'], ['beta'])
