# SPDX-FileCopyrightText: 2026 The WebLocks for D-Bus authors
# SPDX-License-Identifier: LGPL-2.1-or-later

"""Many agents in one process, and another client of the same bus that forges messages."""

import resource

from harness_python import Gio, GLib, PythonTestCase, wait_for

from calls import LOCKS, ROOT, encode_label
from harness import environment
from rawbus import DRIVER, DRIVER_PATH

# The dbus-daemon of the tests has the default limit of 256 connections.
N_AGENTS = 1000 if environment('WEBLOCKS_TEST_BUS') == 'dbus-broker' else 200
# Five messages each. The bus queues what the agent has not read yet: it runs after so many of them.
N_FORGERIES, PER_TURN = 2000, 40


class ManyAgents(PythonTestCase):
    arguments = ('--limit=clientsPerUid=5000',)

    def test_agents(self):
        """They wait in a row, and each lets the next one in."""
        _soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
        resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
        lock = self.manager.request_sync('a', None, None)
        turns, names = [], set()

        def on_turn(manager, result):
            turn = manager.request_finish(result)
            turns.append(turn.get_held())
            turn.release()
        for _ in range(N_AGENTS):
            manager = self.new_manager()
            names.add(manager.get_agent().get_client_id())
            manager.request_async('a', None, None, on_turn)
        self.manager.query_sync(None)
        self.assertEqual((len(names), turns), (N_AGENTS, []))
        lock.release()
        wait_for(lambda: len(turns) == N_AGENTS, what='all turns')
        self.assertTrue(all(turns))
        self.assert_nothing_left()

    def forge(self, path, interface, member, signature, *arguments):
        message = Gio.DBusMessage.new_signal(path, interface, member)
        message.set_destination(self.agent.get_client_id())
        message.set_body(GLib.Variant(signature, arguments))
        return message

    def forge_signals(self, id_):
        path, name = f'{ROOT}/bucket/{encode_label(self.bucket)}', self.agent.get_client_id()
        return [self.forge(path, LOCKS, 'Granted', '(tssst)', id_, 'a', 'exclusive', name, 99),
                self.forge(path, LOCKS, 'Released', '(tssss)', id_, 'a', 'exclusive', name, 'stolen'),
                self.forge(path, LOCKS, 'Released', '(tssss)', id_, 'own', 'exclusive', name, 'lost')]

    def forge_answers(self, serial):
        """Replies to the agent's call with that serial number, if there is one; the bus may drop them."""
        for kind in (Gio.DBusMessageType.METHOD_RETURN, Gio.DBusMessageType.ERROR):
            message = Gio.DBusMessage()
            message.set_message_type(kind)
            message.set_flags(Gio.DBusMessageFlags.NO_REPLY_EXPECTED)
            message.set_destination(self.agent.get_client_id())
            message.set_reply_serial(serial)
            if kind == Gio.DBusMessageType.ERROR:
                message.set_error_name('org.w3.WebLocks.Error.Security')
            else:
                message.set_body(GLib.Variant('(tt)', (1, 99)))
            yield message

    def test_forged_messages(self):
        """The agent makes calls meanwhile, whose replies can be forged."""
        forger, holder = self.raw_client(), self.new_manager()
        held, own = holder.request_sync('a', None, None), self.manager.request_sync('own', None, None)
        granted, losses = [], []
        own.connect('lost', lambda _lock, error: losses.append(error.code))
        self.manager.request_async('a', None, None, lambda _source, result: granted.append(
            self.manager.request_finish(result)))
        self.wait_pending('a')
        for first in range(0, N_FORGERIES, PER_TURN):
            busy = []
            self.manager.request_async('busy', None, None, lambda _source, result: busy.append(
                self.manager.request_finish(result)))
            for number in range(first, first + PER_TURN):
                forger.send_all([*self.forge_signals(number % 50), *self.forge_answers(number % 400 + 1)])
            forger.ping_the_bus()
            wait_for(lambda: busy, what='an answer')
            busy.pop().release_sync(None)
        for old, new in ((self.daemon.name, ''), ('', forger.name)):
            forger.send(self.forge(DRIVER_PATH, DRIVER, 'NameOwnerChanged', '(sss)', 'org.w3.WebLocks', old, new))
        forger.ping_the_bus()
        self.manager.query_sync(None)
        self.assertEqual((granted, losses, own.get_held()), ([], [], True))
        held.release()
        wait_for(lambda: granted, what='the grant')
        self.assertNotEqual(granted[0].get_token(), 99)
