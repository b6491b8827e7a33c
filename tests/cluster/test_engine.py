# SPDX-FileCopyrightText: 2026 The WebLocks for D-Bus authors
# SPDX-License-Identifier: LGPL-2.1-or-later

"""The engine and one real server: every operation with every typed answer, sessions and watches."""

import signal
import time

from clusterpackets import BLOCK_BITS
from engines import EngineCase, name_path

# Of a counter of blocks, and the generation of the last one.
COUNT_MAX = 2 ** 16 - 1
GENERATION_MAX = 2 ** (53 - BLOCK_BITS - 16) - 1


class Operations(EngineCase):
    def test_join_makes_the_tree_once(self):
        one = self.client()
        one.wait_for_state('CONNECTED')
        first = self.assert_ok(one.ask('join', 'alpha', ''))
        self.assertRegex(first.text, '^[0-9a-f]{32}$')
        self.assertEqual(self.assert_ok(one.ask('join', 'alpha', first.text)).text, first.text)
        two = self.client()
        two.wait_for_state('CONNECTED')
        self.assertEqual(self.assert_ok(two.ask('join', 'beta', first.text)).text, first.text)
        self.assert_result('BAD_VERSION', two.ask('join', 'beta', '0' * 32))
        self.assertEqual(sorted(one.ask('hosts').listed),
                         sorted([f'alpha-{int(one.session[0], 16):016x}',
                                 f'beta-{int(two.session[0], 16):016x}']))

    def test_join_refuses_a_wiped_tree(self):
        one = self.client()
        one.wait_for_state('CONNECTED')
        self.assert_result('BAD_VERSION', one.ask('join', 'alpha', '0' * 32))
        self.assert_result('NO_NODE', one.ask('hosts'))

    def test_join_while_others_delete_the_tree(self):
        """What is missing is made again, at every step."""
        one, other = self.client(), self.client()
        for client in (one, other):
            client.wait_for_state('CONNECTED')
        nodes = [(self.root, 'buckets'), (self.root, 'hosts'), (self.root, 'sessions'), (self.root, 'tokens'),
                 ('', self.root[1:])]
        for _ in range(100):
            joining = one.send('join', 'alpha', '')
            deleting = [other.send('delete', *node) for node in 8 * nodes]
            self.assert_ok(one.answer(joining))
            for number in deleting:
                other.answer(number)
            hosts = other.ask('hosts').listed
            for node in [(f'{self.root}/sessions', host) for host in hosts] + nodes:
                other.ask('delete', *node)

    def test_ensure_without_a_root(self):
        one = self.client().joined()
        host = one.ask('hosts').listed[0]
        for node in ((f'{self.root}/sessions', host), (self.root, 'sessions'), (self.root, 'hosts'),
                     (self.root, 'buckets'), (self.root, 'tokens'), ('', self.root[1:])):
            self.assert_ok(one.ask('delete', *node))
        self.assert_result('OTHER', one.ask('ensure', 'builds', 1000, 'one'))

    def make_first_format(self, client):
        """What a gateway of the first format makes, which is connected. Returns its identification and its node."""
        client.wait_for_state('CONNECTED')
        for path, text in (self.root, 'f' * 32), (f'{self.root}/buckets', ''), (f'{self.root}/hosts', ''):
            self.assert_ok(client.ask('make', path, text))
        return 'f' * 32, self.assert_ok(client.ask('create', f'{self.root}/hosts', 'old-0', '')).node

    def test_earlier_format(self):
        """It is replaced when no gateway of it is connected, and then none can connect any more. The
        identification stays. Of several hosts, one replaces it."""
        for credential in '', 'a:b':
            with self.subTest(credential=credential):
                self.root += credential[:1]
                old, *new = [self.client(credential=credential) for _ in range(4)]
                identification, node = self.make_first_format(old)
                for one in new:
                    one.wait_for_state('CONNECTED')
                    refused = one.ask('join', 'alpha', identification)
                    self.assertEqual((refused.result, refused.text),
                                     ('OTHER_FORMAT', 'hosts with an earlier version are connected'))
                self.assert_ok(old.ask('delete', f'{self.root}/hosts', node))
                self.assertEqual(old.ask('get', self.root).text, identification)
                asked = [one.send('join', 'alpha', '') for one in new]
                for one, number in zip(new, asked):
                    self.assertEqual(self.assert_ok(one.answer(number)).text, identification)
                self.assertEqual(old.ask('get', self.root).text, f'format 2 {identification}')
                self.assert_result('DENIED', old.ask('create', f'{self.root}/hosts', 'old-0', ''))

    def test_first_format_can_not_join_new_data(self):
        one = self.client().joined()
        self.assert_result('DENIED', one.ask('create', f'{self.root}/hosts', 'old-0', ''))
        self.assert_ok(one.ask('create', f'{self.root}/sessions', 'new-0', ''))

    def assert_other_format(self, client, reason):
        before = client.ask('hosts').listed
        refused = client.ask('join', 'beta', '')
        self.assert_result('OTHER_FORMAT', refused)
        self.assertIn(reason, refused.text)
        self.assertEqual(client.ask('hosts').listed, before)

    def test_other_formats(self):
        one, two = self.client().joined(), self.client()
        two.wait_for_state('CONNECTED')
        text = one.ask('get', self.root).text
        for other, reason in ((text.replace('2', '3', 1), 'the format is 3'),
                              ('format 18446744073709551616 x y', 'the format is 18446744073709551615')):
            with self.subTest(other=other):
                self.assert_ok(one.ask('set', self.root, other))
                self.assert_other_format(two, reason)
                self.assertEqual(one.ask('get', self.root).text, other)
        self.assert_ok(one.ask('set', self.root, text))
        self.assert_ok(one.ask('make', f'{self.root}/steals', ''))
        self.assert_other_format(two, "a node 'steals'")
        faulty = self.client(program='WEBLOCKS_FORMAT_IGNORED_CLIENT')
        faulty.wait_for_state('CONNECTED')
        with self.assertRaisesRegex(AssertionError, "'OK' != 'OTHER_FORMAT'"):
            self.assert_other_format(faulty, '')
        self.assert_ok(one.ask('delete', self.root, 'steals'))
        self.assert_ok(two.ask('join', 'beta', ''))

    def test_root_of_several_components(self):
        self.root += '/site/locks'
        one = self.client().joined()
        self.assert_ok(one.ask('create', self.name_path(one), one.prefix(), 'a'))

    def test_ensure_is_repeatable_and_claims_need_it(self):
        one = self.client().joined()
        path = name_path(self.root, 'builds', 1000, 'Grüße / 1')
        self.assert_result('NO_NODE', one.ask('create', path, one.prefix(), 'a'))
        self.assert_result('NO_NODE', one.ask('list', path, 0))
        self.assertEqual(self.name_path(one, name='Grüße / 1'), path)
        self.name_path(one, name='Grüße / 1')
        first, second = one.claim(path, 1), one.claim(path, 2)
        self.assertEqual(first, one.prefix(1) + '0000000000')
        self.assertEqual(second, one.prefix(2) + '0000000001')
        listed = self.assert_ok(one.ask('list', path, 0))
        self.assertEqual((sorted(listed.listed), listed.version), ([first, second], 0))

    def test_claims_end_with_the_session_and_by_delete(self):
        one, two = self.client().joined(), self.client().joined('beta')
        path = self.name_path(one)
        first, second = one.claim(path), one.claim(path, 2)
        kept = two.claim(path)
        self.assert_ok(one.ask('delete', path, first))
        self.assert_result('NO_NODE', one.ask('delete', path, first))
        self.assertEqual(sorted(one.ask('list', path, 0).listed), sorted([second, kept]))
        one.send('free', 0)
        one.wait_for(lambda: one.is_freed)
        self.assert_ok(two.ask('sync', path))
        self.assertEqual(two.ask('list', path, 0).listed, [kept])
        self.assertEqual(len(two.ask('hosts').listed), 1)

    def test_grant(self):
        one, two = self.client().joined(), self.client().joined('beta')
        path = self.name_path(one)
        claim = one.claim(path)
        self.assertEqual(self.assert_ok(one.ask('grant', path, claim, 0)).block, 1)
        # Grants don't refuse each other; another bucket has its own blocks.
        self.assertEqual(self.assert_ok(one.ask('grant', path, claim, 0)).block, 2)
        other = self.name_path(two, bucket='other')
        self.assertEqual(self.assert_ok(two.ask('grant', other, two.claim(other), 0)).block, 1)
        self.assert_ok(two.ask('delete', path, claim))
        self.assert_result('NO_NODE', one.ask('grant', path, claim, 0))
        # An operation that failed has changed nothing.
        self.assertEqual(self.assert_ok(one.ask('block', 'builds')).block, 2)

    def set_count(self, engine, path, count):
        """Sets a node until its version is `count`."""
        version = self.assert_ok(engine.ask('get', path)).version
        while version < count:
            n = min(count - version, 1000)
            self.assert_ok(engine.ask('set-many', path, n))
            version += n
        self.assertEqual(self.assert_ok(engine.ask('get', path)).version, count)

    def test_blocks_of_two_generations(self):
        """Hosts that are granted claims all the time, while the counter reaches its end."""
        engines = self.client().joined(), self.client().joined('beta')
        path = self.name_path(engines[0])
        claims = [engine.claim(path) for engine in engines]
        for engine, claim in zip(engines, claims):
            self.assert_ok(engine.ask('grant', path, claim, 0))
        self.set_count(engines[0], f'{self.root}/tokens/builds/0', COUNT_MAX - 10)
        sent = [[engine.send('grant', path, claim, 0) for _ in range(15)] for engine, claim in zip(engines, claims)]
        blocks = []
        for engine, ids in zip(engines, sent):
            for one in ids:
                self.assert_ok(engine.answer(one))
            blocks.append([answer.block for one, answer in engine.answers.items() if one in ids])
            self.assertEqual(blocks[-1], sorted(blocks[-1]))
        given = sorted(blocks[0] + blocks[1])
        # Those after the end were counted, and then given up.
        self.assertEqual(given, [*range(COUNT_MAX - 9, COUNT_MAX + 1), *range(COUNT_MAX + 2, COUNT_MAX + 22)])
        self.assertEqual(self.assert_ok(engines[0].ask('list', f'{self.root}/tokens/builds', 0)).listed, ['1'])
        for engine in engines:
            self.assertEqual(self.assert_ok(engine.ask('block', 'builds')).block, given[-1])
        # What is refused remains refused, also with a generation that is not known.
        third = self.client().joined('gamma')
        self.assert_ok(engines[0].ask('delete', path, claims[0]))
        self.assert_result('NO_NODE', engines[0].ask('grant', path, claims[0], 0))
        self.assert_result('NO_NODE', third.ask('grant', path, claims[0], 0))
        self.assert_result('BAD_VERSION', third.ask('grant', path, claims[1], 1))
        self.assertEqual(self.assert_ok(third.ask('grant', path, claims[1], 0)).block, given[-1] + 1)

    def test_blocks_of_an_earlier_format(self):
        """The version of the bucket's node was a block of 2^20 tokens."""
        one = self.client().joined()
        path = self.name_path(one)
        claim = one.claim(path)
        self.set_count(one, f'{self.root}/buckets/builds', 70)
        self.assertGreater(self.assert_ok(one.ask('grant', path, claim, 0)).block << BLOCK_BITS, (71 << 20) - 1)

    def test_counters_that_are_unknown(self):
        one = self.client().joined()
        path = self.name_path(one)
        claim = one.claim(path)
        self.assert_ok(one.ask('delete', self.root, 'tokens'))
        self.assert_result('OTHER', one.ask('grant', path, claim, 0))
        self.assert_result('OTHER', one.ask('block', 'builds'))
        self.assert_ok(one.ask('make', f'{self.root}/tokens', ''))
        self.assert_ok(one.ask('make', f'{self.root}/tokens/builds', ''))
        for nodes in [], ['x'], ['1', '2'], [str(GENERATION_MAX + 1)]:
            for node in nodes:
                self.assert_ok(one.ask('make', f'{self.root}/tokens/builds/{node}', ''))
            with self.subTest(nodes=nodes):
                self.assert_result('OTHER', one.ask('grant', path, claim, 0))
                self.assert_result('OTHER', one.ask('block', 'builds'))
            for node in nodes:
                self.assert_ok(one.ask('delete', f'{self.root}/tokens/builds', node))

    def test_block_of_a_bucket_that_is_missing(self):
        one = self.client().joined()
        self.assert_result('NO_NODE', one.ask('block', 'none'))
        self.name_path(one)
        self.assertEqual(self.assert_ok(one.ask('block', 'builds')).block, 0)
        self.assert_ok(one.ask('renew'))

    def test_time_stamps_precede_the_request(self):
        one = self.client().joined()
        times = [self.assert_ok(one.ask('renew')).sent for _ in range(3)]
        self.assertEqual(times, sorted(times))
        with open('/proc/uptime', encoding='ascii') as file:
            now = float(file.read().split()[0]) * 1e6
        self.assertLess(abs(now - times[-1]), 20e6)

    def test_steal(self):
        one, two = self.client().joined(), self.client().joined('beta')
        path = self.name_path(one)
        holder, waiter = one.claim(path), one.claim(path, 2)
        self.assert_ok(one.ask('grant', path, holder, 0))
        own = two.prefix() + '-000000001'
        self.assert_result('BAD_VERSION',
                           two.ask('steal', path, 'one', 1, holder, own, 'beta'))
        self.assert_result('NO_NODE',
                           two.ask('steal', path, 'one', 0, holder + '9', own, 'beta'))
        self.assert_ok(two.ask('steal', path, 'one', 0, holder, own, 'beta'))
        listed = one.ask('list', path, 0)
        self.assertEqual((sorted(listed.listed), listed.version), (sorted([waiter, own]), 1))
        self.assert_result('NO_NODE', one.ask('grant', path, holder, 1))
        self.assert_result('BAD_VERSION', one.ask('grant', path, waiter, 0))
        self.assert_result('NODE_EXISTS',
                           two.ask('steal', path, 'one', 1, waiter, own, 'beta'))
        # The steals of each user are counted.
        other = self.name_path(one, uid=1001)
        self.assertEqual(self.assert_ok(one.ask('list', other, 0)).version, 0)
        # Without a new claim.
        self.assertEqual(self.assert_ok(one.ask('steal', path, 'one', -1, f'{own},{waiter}', '', '')).node, '')
        listed = two.ask('list', path, 0)
        self.assertEqual((listed.listed, listed.version), ([], 1))
        # Those who share a name are notified.
        watching = self.assert_ok(two.ask('list', path, 2))
        last = two.claim(path, 9)
        self.assertEqual(two.changes, [])
        self.assert_ok(one.ask('notify', path, 'one'))
        two.wait_for(lambda: two.changes)
        # The name was written again, and has the same text.
        self.assertEqual((two.ask('get', path).text, two.ask('list', path, 0).listed), ('one', [last]))

    def test_steal_counts_claims(self):
        """It has the number that the next claim would have had as its own, whatever is left of the earlier ones."""
        one = self.client().joined()
        path = self.name_path(one)
        first, second, gone, last = [one.claim(path, turn) for turn in range(4)]
        self.assert_ok(one.ask('delete', path, gone))
        own = f'{one.prefix()}-000000001'
        self.assertEqual(self.assert_ok(one.ask('steal', path, 'one', 0, f'{first},{last}', own, '')).block, 4)
        # The claim of the steal counts.
        self.assertEqual(one.claim(path), f'{one.prefix()}0000000005')
        self.assertEqual(self.assert_ok(one.ask('steal', path, 'one', 1, second, f'{own}0', '')).block, 6)
        self.assertEqual(one.claim(path), f'{one.prefix()}0000000007')

    def test_swap_is_both_or_none(self):
        one = self.client().joined()
        path = self.name_path(one)
        first = one.claim(path)
        swapped = self.assert_ok(one.ask('swap', path, first, one.prefix(2), 'a'))
        self.assertEqual(one.ask('list', path, 0).listed, [swapped.node])
        self.assertEqual(swapped.node, one.prefix(2) + '0000000001')
        self.assert_result('NO_NODE', one.ask('swap', path, first, one.prefix(3), 'a'))
        self.assertEqual(one.ask('list', path, 0).listed, [swapped.node])

    def test_watches_fire_once(self):
        one, two = self.client().joined(), self.client().joined('beta')
        path = self.name_path(one)
        first = two.claim(path, text='beta 1')
        self.assertEqual(self.assert_ok(one.ask('watch', path, first)).text, 'beta 1')
        self.assert_result('NO_NODE', one.ask('watch', path, first + '9'))
        self.assert_ok(one.ask('list', path, 1))
        second = two.claim(path, 2)
        one.wait_for(lambda: one.changes, what='change')
        self.assertEqual(one.changes, [[path, '']])
        one.changes.clear()
        self.assert_ok(two.ask('delete', path, first))
        self.assert_ok(two.ask('delete', path, second))
        self.assert_ok(one.ask('sync', path))
        self.assertEqual(one.changes, [[path, first]])

    def test_sweep(self):
        """Claims that are selected are deleted, of one name or of all."""
        one, two = self.client().joined(), self.client().joined('beta')
        names = [self.name_path(one, *name) for name in (('builds', 1000, 'a'), ('builds', 1001, 'a'),
                                                         ('other', 1000, 'b'), ('builds', 1000, ''))]
        for path in names:
            one.claim(path)
        left = [two.claim(path) for path in names]
        self.name_path(one, name='without claims')
        own = one.prefix()[2:18]
        self.assertEqual(self.assert_ok(one.ask('sweep', 'none', '')).block, 2 * len(names))
        self.assertEqual(self.assert_ok(one.ask('sweep', own, names[0])).block, 2)
        self.assertEqual([len(one.ask('list', path, 0).listed) for path in names], [1, 2, 2, 2])
        self.assertEqual(self.assert_ok(one.ask('sweep', own, '')).block, 2 * len(names) - 1)
        self.assertEqual([one.ask('list', path, 0).listed for path in names], [[node] for node in left])
        self.assert_ok(one.ask('sweep', own, f'{self.root}/none'))

    def test_a_renewal_waits_for_few_reads(self):
        """While a sweep is in progress, it is carried out after 64 reads at most."""
        one = self.client(timeout_ms=40000).joined()
        for number in range(200):
            one.claim(self.name_path(one, name=str(number)))
        found = one.ask('sweep-renewing')
        self.assertEqual(found.block, 200)
        # Of the buckets, the bucket's users, the user's names; for each name, its claims.
        n_reads = 3 + 200
        self.assertGreaterEqual(found.version, n_reads // 64 - 1)

    def test_a_server_with_much_to_do_is_not_left(self):
        """The last answer comes later than a silent server is left, but there is no such silence, unless the machine
        is too busy for the server."""
        for _ in range(5):
            one = self.client(timeout_ms=2000).joined()
            begin = time.monotonic()
            answer = one.ask('renew-many', 30000)
            taken = time.monotonic() - begin
            if one.states == ['CONNECTED']:
                break
        self.assertEqual((answer.result, answer.version), ('OK', 30000), one.states)
        self.assertEqual(one.states, ['CONNECTED'])
        self.assertGreater(taken, 2 / 5, 'the server was too fast for this test')

    def test_other_credentials_are_denied(self):
        one = self.client(credential='gateway:secret').joined()
        path = self.name_path(one)
        claim = one.claim(path)
        for credential in ('', 'gateway:other'):
            two = self.client(credential=credential)
            two.wait_for_state('CONNECTED')
            for command in (('join', 'beta', ''), ('list', path, 0), ('delete', path, claim),
                            ('watch', path, claim), ('create', path, two.prefix(), ''),
                            ('steal', path, 'one', -1, claim, '', ''), ('block', 'builds'),
                            ('ensure', 'builds', 1000, 'two')):
                with self.subTest(credential=credential, command=command[0]):
                    self.assert_result('DENIED', two.ask(*command))
        same = self.client(credential='gateway:secret').joined('gamma')
        self.assertEqual(same.ask('list', path, 0).listed, [claim])


class Sessions(EngineCase):
    def test_reattach_after_a_kill(self):
        one = self.client().joined()
        path = self.name_path(one)
        claim = one.claim(path)
        one.process.send_signal(signal.SIGKILL)
        one.process.wait()
        two = self.client(session=one.session).joined()
        self.assertEqual(two.session, one.session)
        self.assert_ok(two.ask('sync', path))
        self.assertEqual(two.ask('list', path, 0).listed, [claim])
        self.assertEqual(len(two.ask('hosts').listed), 1)
        self.assert_ok(two.ask('grant', path, claim, 0))

    def test_reattach_with_another_password(self):
        one = self.client().joined()
        two = self.client(session=(one.session[0], '00' * 16))
        two.wait_for_state('ENDED')
        self.assertEqual(two.states, ['ENDED'])
        self.assert_result('SESSION_LOST', two.ask('hosts'))
        self.assert_ok(one.ask('renew'))

    def test_free_completes_pending_operations(self):
        one = self.client().joined()
        path = self.name_path(one)
        server = self.ensemble.servers[0]
        server.pause()
        self.addCleanup(server.resume)
        asked = [one.send('renew'), one.send('list', path, 1), one.send('join', 'alpha', ''),
                 one.send('ensure', 'builds', 1, 'x'), one.send('sweep', 'none', ''), one.send('read', path, 'none'),
                 one.send('steal', path, 'one', 0, '', one.prefix() + '1', '')]
        one.send('free', 1)
        one.wait_for(lambda: one.is_freed)
        server.resume()
        for identifier in asked:
            self.assert_result('SESSION_LOST', one.answers[identifier])

    def test_bad_servers(self):
        for servers in ('', 'localhost', 'localhost:', ':2181', 'localhost:0', 'localhost:65536',
                        'localhost:2181/root', 'localhost:2181,', '[::1]', 'a b:x'):
            with self.subTest(servers=servers):
                one = self.client(servers=servers) if servers else self.client(servers=' ')
                with self.assertRaises(EOFError):
                    one.wait_for(lambda: False)
                self.assertIn('HOST:PORT', one.error)
