# SPDX-FileCopyrightText: 2026 The WebLocks for D-Bus authors
# SPDX-License-Identifier: LGPL-2.1-or-later

"""The engine and three real servers: servers that are paused and cut off while the session lasts, and answers that are
lost. The end of the leader and of the quorum, and hosts that are cut off, are in test_hosts.py."""

from engines import EngineCase

# Of sessions that must not expire during a case. A silent server is left after a fifth of it.
TIMEOUT_MS = 20000


class Servers(EngineCase):
    """With each server in a network of its own."""

    size = 3
    in_network = True
    # Longer than the engine's time limit.
    sync_ticks = 40

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.place = cls.network.add()

    def tearDown(self):
        self.network.restore()
        self.ensemble.restore()

    def client(self, *arguments, **options):
        return super().client(*arguments, place=self.place, **options)

    def on(self, server, **options):
        """An engine on this server, with the others as alternatives."""
        for _ in range(30):
            client = self.client(timeout_ms=TIMEOUT_MS, **options)
            client.wait_for_state('CONNECTED')
            if client.server == server.address:
                return client.joined()
            client.end()
        raise RuntimeError(f'no engine connects to server {server.number}')

    def repeat(self, client, *words):
        """Repeats the command while the connection is lost, as a gateway does."""
        while (answer := client.ask(*words)).result == 'CONNECTION_LOST':
            pass
        return self.assert_ok(answer)

    def test_paused_server_is_left(self):
        server = self.ensemble.followers()[0]
        one = self.on(server)
        server.pause()
        answer = one.ask('renew')
        while len(one.states) > 1 and answer.result == 'OK':
            # On a busy machine it may have left the server before that was stopped.
            server.resume()
            one = self.on(server)
            server.pause()
            answer = one.ask('renew')
        self.assert_result('CONNECTION_LOST', answer)
        self.repeat(one, 'renew')
        self.assertNotEqual(one.server, server.address)
        self.assertEqual(one.states, ['CONNECTED', 'CONNECTING', 'CONNECTED'])

    def test_follower_is_cut_from_the_leader(self):
        leader, follower = self.ensemble.leader(), self.ensemble.followers()[0]
        one = self.on(follower)
        path = self.name_path(one)
        claim = one.claim(path)
        self.network.cut(leader.place, follower.place)
        # It still answers pings and reads, but no write: so another server is chosen, in time.
        self.assertEqual(self.assert_ok(one.ask('list', path, 0)).listed, [claim])
        self.assert_result('CONNECTION_LOST', one.ask('renew'))
        self.assertEqual(follower.mode(), 'follower')
        self.repeat(one, 'renew')
        self.assertNotEqual(one.server, follower.address)
        self.assertEqual(self.repeat(one, 'list', path, 0).listed, [claim])
        self.assertNotIn('ENDED', one.states)

    def test_answer_is_lost(self):
        """The operation is done, but the engine cannot find out."""
        server = self.ensemble.followers()[0]
        one = self.on(server)
        path = self.name_path(one)
        self.network.cut_one_way(server.place, self.place)
        self.assert_result('CONNECTION_LOST', one.ask('create', path, one.prefix(), 'alpha'))
        one.wait_for_state('CONNECTED')
        self.repeat(one, 'sync', path)
        self.assertEqual(self.repeat(one, 'list', path, 0).listed,
                         [one.prefix() + '0000000000'])
