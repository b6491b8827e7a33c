# SPDX-FileCopyrightText: 2026 The WebLocks for D-Bus authors
# SPDX-License-Identifier: LGPL-2.1-or-later

"""A gateway with a real server, while the test is weblocksd: the reasons why a host can use no lock, and the claims
of other hosts."""

import base64
import os
import re
import signal
import time
import unittest
import unittest.mock

import clusterpackets as packets
from buses import PATIENCE, read_text, write_text
from clustergateway import boottime
from clusterservice import Service
from engines import name_path
from ensemble import Ensemble, why_no_servers
from gatewaycase import GatewayCase, Proxy
from harness import wait_for

# Nothing listens there.
NOWHERE = '127.0.0.1:1'
ROWS_MAX = 1000


def setUpModule():
    """One server for all cases, each of which has a root of its own."""
    if why_no_servers():
        raise unittest.SkipTest(why_no_servers())
    GatewayCase.ensemble = unittest.enterModuleContext(Ensemble())
    GatewayCase.server = GatewayCase.ensemble.servers[0]


class Reasons(GatewayCase):
    def test_unreachable(self):
        _, service = self.start(servers=NOWHERE)
        self.assertEqual(service.wait_for_state('connecting', 'unreachable'), [])
        _, service = self.start()
        service.wait_for_state('active')
        self.server.kill()
        service.wait_for_state('connecting', 'unreachable')
        self.ensemble.restore()
        service.wait_for_state('active')

    def test_denied(self):
        self.engine(credential='a:b').joined()
        _, service = self.start()
        service.wait_for_state('lost', 'denied')
        service.wait_for_state('connecting', 'denied')

    def test_tokens_are_used_up(self):
        """That they will be is logged years before, once; the last ones can be used."""
        last = 2 ** (53 - packets.BLOCK_BITS) - 1
        early = (last + 1) // 8 * 7 >> 16
        engine = self.engine().joined('beta')
        engine.ask('ensure', 'farm', os.getuid(), 'a')
        self.make_counter(engine, early)
        host, service = self.start()
        service.wait_for_state('active')
        service.hold(1, 'a')
        service.hold(2, 'b')
        self.assertEqual(host.gateway_log().count('7/8 of all tokens'), 1)
        self.assertEqual(engine.ask('delete', f'{self.root}/tokens/farm', early).result, 'OK')
        self.make_counter(engine, last >> 16)
        for _ in range(13):
            engine.ask('set-many', f'{self.root}/tokens/farm/{last >> 16}', 5041)
        service.hold(3, 'c')
        service.hold(4, 'd')
        self.assertEqual(engine.ask('block', 'farm').block, last)
        service.demand(5, 'e')
        service.wait_for_state('lost', 'unexpected')
        self.assertIn('all are used up', host.gateway_log())

    def make_counter(self, engine, generation):
        engine.ask('make', f'{self.root}/tokens/farm', '')
        self.assertEqual(engine.ask('make', f'{self.root}/tokens/farm/{generation}', '').result, 'OK')

    def test_other_data(self):
        host, service = self.start()
        service.wait_for_state('active')
        host.end_gateway()
        seen = os.path.join(host.gateway_state, 'seen')
        text = read_text(seen)
        write_text(seen, re.sub('[0-9a-f]{32}', '0' * 32, text))
        service = self.start_gateway(host)
        self.assertNotIn(('active', ''), service.wait_for_state('lost', 'other-data'))
        # Also if somebody has entered the new id.
        host.end_gateway()
        config = read_text(host.config)
        write_text(host.config, config.replace('Root=', f'ClusterId={re.search("[0-9a-f]{32}", text)[0]}\nRoot='))
        service = self.start_gateway(host)
        self.assertNotIn(('active', ''), service.wait_for_state('lost', 'other-data'))

    def test_other_cluster(self):
        """With the id of the cluster, a host neither uses another root nor makes one; each has an id of its own."""
        host, service = self.start()
        service.wait_for_state('active')
        service.ask()
        own, right = service.id, f'ClusterId={service.id}\n'
        _, service = self.start('beta', settings=right)
        service.wait_for_state('active')
        engine = self.engine()
        engine.wait_for_state('CONNECTED')
        self.root += '-other'
        host, service = self.start('gamma', settings=right)
        self.assertNotIn(('active', ''), service.wait_for_state('lost', 'other-cluster'))
        service.wait_for_state('connecting', 'other-cluster')
        self.assertIn(f'ClusterId= is {own}, but that of the data below {self.root} on the ZooKeeper servers is not '
                      'made yet', host.gateway_log())
        self.assertEqual(engine.ask('list', self.root, 0).listed, [])
        _, service = self.start('delta')
        service.ask()
        self.assertNotEqual(service.id, own)
        host, service = self.start('epsilon', settings=right)
        service.wait_for_state('lost', 'other-cluster')
        self.assertRegex(host.gateway_log(), f'ClusterId= is {own}, .* is [0-9a-f]{{32}}')

    def test_other_format(self):
        """It is used as soon as it is the own one."""
        engine = self.engine()
        engine.wait_for_state('CONNECTED')
        engine.ask('make', self.root, 'format 3 ' + 'f' * 32)
        host, service = self.start()
        self.assertNotIn(('active', ''), service.wait_for_state('lost', 'other-format'))
        service.wait_for_state('connecting', 'other-format')
        service.wait_for_state('lost', 'other-format')
        self.assertEqual(host.gateway_log().count('the format is 3, and that of this version is 2'), 1)
        engine.ask('set', self.root, 'format 2 ' + 'f' * 32)
        service.wait_for_state('active')

    def test_nodes_of_an_unknown_kind(self):
        """Such a node of a name may be one of a later version, so no turn is taken there, and another name is no
        matter."""
        engine = self.engine()
        host, service = self.start()
        service.wait_for_state('active')
        engine.joined('beta')
        path = name_path(self.root, 'farm', os.getuid(), 'a')
        engine.ask('ensure', 'farm', os.getuid(), 'a')
        node = engine.ask('create', path, f'x{engine.prefix()}', '').node
        service.demand(1, 'a')
        wait_for(lambda: f"{path} has a node '{node}'" in host.gateway_log(), what='warning')
        service.hold(2, 'b')
        self.assertEqual(service.n_permits, 1)
        # The list is made again each second.
        n_received = self.server.n_received()
        wait_for(lambda: self.server.n_received() > n_received + 4, what='another list')
        self.assertEqual(len(engine.ask('list', path, 0).listed), 2)
        engine.ask('delete', path, node)
        service.wait_for(lambda: service.n_permits == 2, 'permit')
        self.assertEqual(host.gateway_log().count('which this version does not know'), 1)

    def test_other_settings(self):
        """A bucket has its settings from its first host on; data without them are those of a bucket that is not
        shared."""
        path = f'{self.root}/buckets/farm'
        engine = self.engine()
        host, service = self.start()
        service.wait_for_state('active')
        engine.joined('beta')
        self.assertEqual(engine.ask('get', path).text, 'shared=no')
        host.end_gateway()
        engine.ask('set', path, '')
        service = self.start_gateway(host)
        service.wait_for_state('active')
        service.hold(1, 'a')
        host.end_gateway()
        engine.ask('set', path, 'shared=yes')
        service = self.start_gateway(host)
        self.assertNotIn(('active', ''), service.wait_for_state('lost', 'other-settings'))
        service.wait_for_state('connecting', 'other-settings')
        service.wait_for_state('lost', 'other-settings')
        self.assertEqual(engine.ask('get', path).text, 'shared=yes')
        self.assertEqual(host.gateway_log().count("the bucket 'farm' are 'shared=yes'"), 1)
        engine.ask('set', path, 'shared=no')
        service.wait_for_state('active')

    def start_with_servers(self, *lines):
        """Starts a gateway with a server whose configuration has other lines."""
        ensemble = Ensemble()
        config = ensemble.servers[0].config
        text = read_text(config)
        for line in lines:
            text, n = re.subn(f'{line.partition("=")[0]}=.*', line, text)
            self.assertEqual(n, 1)
        write_text(config, text)
        self.enterContext(ensemble)
        return self.start(servers=ensemble.addresses)

    def test_short_sessions(self):
        _, service = self.start_with_servers('maxSessionTimeout=8000')
        service.wait_for_state('lost', 'short-sessions')

    def test_long_ticks(self):
        """Those of 2000 ms are used in test_lease.py."""
        # -1: the default, two ticks.
        host, service = self.start_with_servers('tickTime=2001', 'minSessionTimeout=-1')
        self.assertNotIn(('active', ''), service.wait_for_state('lost', 'long-ticks'))
        service.wait_for_state('connecting', 'long-ticks')
        service.wait_for_state('lost', 'long-ticks')
        self.assertEqual(host.gateway_log().count('no session of less than 4002 ms'), 1)

    def test_storage(self):
        """The identity of the data can't be stored."""
        self.server.pause()
        host, service = self.start()
        service.wait_for_state('connecting', 'unreachable')
        os.makedirs(os.path.join(host.gateway_state, 'seen', 'other'))
        self.server.resume()
        self.assertNotIn(('active', ''), service.wait_for_state('lost', 'storage'))

    def test_storage_that_fails_for_a_while(self):
        """The highest block of tokens is stored later; that it could not be is logged once."""
        host, service = self.start()
        service.wait_for_state('active')
        moved = host.gateway_state + '-moved'
        os.rename(host.gateway_state, moved)
        service.hold(1, 'a')
        wait_for(lambda: 'could not store the highest block of tokens' in host.gateway_log(), what='the warning')
        os.rename(moved, host.gateway_state)
        host.end_gateway()
        self.assertIn('farm=1', read_text(os.path.join(host.gateway_state, 'seen')))
        self.assertEqual(host.gateway_log().count('could not store'), 1)

    def test_addresses(self):
        """A name that is refused without asking any other machine."""
        _, service = self.start(servers=f'{"x" * 64}:2181')
        service.wait_for_state('connecting', 'addresses')

    def test_expired(self):
        host, service = self.start()
        service.wait_for_state('active')
        session = self.session_of(host)
        # Stopped, so that it can't take the session back before it is closed.
        host.pause_gateway()
        engine = self.engine(session=(f'{int(session["Id"]):x}',
                                      base64.b64decode(session['Password']).hex()))
        engine.wait_for_state('CONNECTED')
        engine.send('free', 0)
        engine.wait_for(lambda: engine.is_freed)
        host.resume_gateway()
        service.wait_for_state('lost', 'expired')
        service.wait_for_state('active')

    def test_unexpected(self):
        host, service = self.start()
        service.wait_for_state('active')
        service.hold(1, 'a')
        engine = self.engine()
        engine.wait_for_state('CONNECTED')
        self.delete_host_node(engine, host)
        service.wait_for_state('lost', 'unexpected')
        service.wait_for_state('active')

    def test_lease(self):
        """It ends because weblocksd doesn't answer; or because the gateway itself was stopped."""
        (_, behind), (stopped_host, stopped) = self.start('behind'), self.start('stopped')
        for number, service in enumerate((behind, stopped)):
            service.wait_for_state('active')
            service.hold(1, f'lock {number}')
        behind.acknowledges = False
        stopped_host.pause_gateway()
        behind.wait_for_state('lost', 'service')
        wait_for(lambda: boottime() > stopped.deadline + 2_000_000, what='the end of the lease')
        stopped_host.gateway.send_signal(signal.SIGCONT)
        stopped.wait_for_state('lost', 'not-renewed')
        stopped.wait_for_state('active')


class Earlier(GatewayCase):
    """weblocksd is restarted with a lock."""

    def test_claim_is_known(self):
        """Nothing is read or written for it, however many names there are."""
        proxy, host, service = self.start_through_proxy()
        service.hold(1, 'a')
        service.ask()  # so the list after the grant, which sets the watch, was answered
        before = len(proxy.kinds)
        self.restart(host, service, kills=False)
        self.assertEqual(self.reconnect(host, service.block), [packets.PERMIT])
        for kind in Proxy.CHILDREN, Proxy.MULTI:
            self.assertNotIn(kind, proxy.kinds[before:])

    def test_stolen_meanwhile(self):
        host, service = self.start()
        service.wait_for_state('active')
        service.hold(1, 'a')
        self.restart(host, service, kills=False)
        path = name_path(self.root, 'farm', os.getuid(), 'a')
        engine = self.engine().joined('gamma')
        [node] = engine.ask('list', path, 0).listed
        self.assertEqual(engine.ask('steal', path, 'a', -1, node, '', '').result, 'OK')
        again = Service(host.socket, packets.demand(1, 'a', bucket='farm', held=packets.EXCLUSIVE, block=service.block))
        self.addCleanup(again.socket.close)
        again.wait_for(lambda: packets.REVOKED in again.kinds, 'REVOKED')

    def test_lock_of_another_claim(self):
        """It was stolen meanwhile. The gateway has another claim for it by then."""
        for kills in False, True:
            with self.subTest(kills=kills):
                self.root = f'/earlier-{kills}'
                host, service = self.start('alpha' if kills else 'beta')
                service.wait_for_state('active')
                service.hold(1, 'a')
                held = service.block
                path = name_path(self.root, 'farm', os.getuid(), 'a')
                engine = self.engine().joined('gamma')
                # What `weblocks break` does. The request that waits is granted afterwards.
                [node] = engine.ask('list', path, 0).listed
                self.assertEqual(engine.ask('steal', path, 'a', -1, node, '', '').result, 'OK')
                service.wait_for(lambda: service.n_permits == 2, 'the next permit')
                later = service.block
                service.ask()  # so the list after the grant was answered
                self.restart(host, service, kills)
                self.assertEqual(self.reconnect(host, held, want=packets.EXCLUSIVE, n_waiting=1),
                                 [packets.REVOKED, packets.PERMIT])
                self.restart(host, service, kills)
                self.assertEqual(self.reconnect(host, later), [packets.PERMIT])

    def restart(self, host, service, kills):
        service.socket.close()
        if kills:
            host.kill_gateway()
            host.start_gateway()

    def reconnect(self, host, block, **demand):
        """Returns what was received about the lock."""
        service = Service(host.socket, packets.demand(1, 'a', bucket='farm', held=packets.EXCLUSIVE, block=block, **demand))
        self.addCleanup(service.socket.close)
        service.wait_for(lambda: packets.PERMIT in service.kinds and packets.SYNCED in service.kinds, 'SYNCED')
        return [kind for kind in service.kinds if kind in (packets.REVOKED, packets.PERMIT)]


class Status(GatewayCase):
    def test_read_when_asked(self):
        """An idle host lists the hosts for each question, and never else; an earlier version did every ten
        seconds. Each second it reads something."""
        proxy, _, service = self.start_through_proxy()
        service.ask()
        before = len(proxy.kinds)
        end = time.monotonic() + 11
        while time.monotonic() < end:
            service.receive(end - time.monotonic())
        idle = proxy.kinds[before:]
        self.assertGreater(len(idle), 5)
        self.assertEqual(idle.count(Proxy.CHILDREN), 0, idle)
        for _ in range(3):
            service.ask()
        self.assertEqual(proxy.kinds[before + len(idle):].count(Proxy.CHILDREN), 3)
        self.assertEqual(service.status[1:4], (proxy.address, 'alpha\n', service.id))

    def test_without_contact(self):
        """It is answered when the server is found not to answer; then at once."""
        host, service = self.start(timeout=10)
        service.wait_for_state('active')
        self.server.pause()
        service.ask()
        self.assertEqual(service.status[2], '')
        self.assertIn('grants_total', service.metrics)
        service.wait_for(lambda: service.states[-1][0] == 'connecting', 'the end of the connection')
        service.ask()
        self.assertEqual(service.status[1:3], ('', ''))

    def test_end_while_asked(self):
        host, service = self.start(timeout=10)
        service.wait_for_state('active')
        self.server.pause()
        service.socket.sendall(packets.ask(1))
        service.demand(1, 'a')
        host.gateway.send_signal(signal.SIGTERM)
        self.assertEqual(host.gateway.wait(PATIENCE), 0, host.gateway_log())


class Metrics(GatewayCase):
    def wait_for(self, service, **values):
        def are_counted():
            service.ask()
            return all(service.metrics[name] == value for name, value in values.items())
        wait_for(are_counted, what=f'{values}')

    def test_all(self):
        host, service = self.start(timeout=40)
        service.wait_for_state('active')
        service.ask()
        self.assertEqual(service.metrics, {
            'grants_total': 0, 'grant_seconds_total': 0, 'hand_overs_total': 0, 'hand_over_seconds_total': 0,
            'refused_grants_total': 0, 'reconnects_total': 0, 'sessions_lost_total': 0, 'highest_token': 0,
            'least_lease_left_seconds': 40})
        service.hold(1, 'a')
        service.hold(2, 'b')
        # Another host has this one for a second, which is not counted.
        engine = self.engine().joined('beta')
        path = name_path(self.root, 'farm', os.getuid(), 'c')
        engine.ask('ensure', 'farm', os.getuid(), 'c')
        node = engine.claim(path)
        service.demand(3, 'c')
        wait_for(lambda: len(engine.ask('list', path, 0).listed) == 2, what='the claim')
        before = time.monotonic()
        wait_for(lambda: time.monotonic() > before + 1, what='a second')
        before = time.monotonic()
        engine.ask('delete', path, node)
        service.wait_for(lambda: service.n_permits == 3, 'permit')
        took = time.monotonic() - before
        self.server.pause()
        wait_for(lambda: 'has broken' in host.gateway_log(), what='the end of the connection')
        self.server.resume()
        self.wait_for(service, grants_total=2, hand_overs_total=1, reconnects_total=1, sessions_lost_total=0,
                      highest_token=3 << packets.BLOCK_BITS)
        metrics = service.metrics
        self.assertGreater(metrics['grant_seconds_total'], 0)
        self.assertGreater(metrics['hand_over_seconds_total'], 0)
        self.assertLessEqual(metrics['hand_over_seconds_total'], took)
        # There was no answer for a fifth of the session's time.
        wait_for(lambda: service.ask() or 0 < service.metrics['least_lease_left_seconds'] < 40 - 40 / 5,
                 what='the least lease')
        engine = self.engine()
        engine.wait_for_state('CONNECTED')
        self.delete_host_node(engine, host)
        self.wait_for(service, sessions_lost_total=1)


class Sessions(GatewayCase):
    def list(self, engine, name):
        answer = engine.ask('list', name_path(self.root, 'farm', os.getuid(), name), 0)
        return answer.listed if answer.result == 'OK' else []

    def test_ended_before_its_lease(self):
        """weblocksd does not acknowledge that it has notified its clients: other hosts wait until it has done so
        by itself."""
        host, service = self.start(timeout=12)
        engine = self.engine()
        engine.wait_for_state('CONNECTED')
        service.wait_for_state('active')
        service.hold(1, 'a')
        claims = self.list(engine, 'a')
        self.assertEqual(len(claims), 1)
        self.delete_host_node(engine, host)
        service.acknowledges = False
        deadline = service.deadline
        service.socket.sendall(packets.demand(2, 'b', bucket='farm', want=packets.EXCLUSIVE, n_waiting=1))
        service.wait_for_state('lost', 'unexpected')
        wait_for(lambda: self.list(engine, 'a') != claims, what='the end of the claim')
        self.assertGreater(boottime(), deadline)

    def test_next_process_ends_before_it_has_found_its_claims(self):
        """It leaves the session to the one after it."""
        host, service = self.start()
        service.wait_for_state('active')
        service.hold(1, 'a')
        session = self.session_of(host)['Id']
        host.kill_gateway()
        self.server.pause()
        with unittest.mock.patch.dict(os.environ, G_MESSAGES_DEBUG='all'):
            host.start_gateway()
        wait_for(lambda: f'sessionId={int(session):#x}' in host.log(), what='the session in the log')
        host.end_gateway()
        self.server.resume()
        self.start_gateway(host).wait_for_state('active')
        self.assertEqual(self.session_of(host)['Id'], session)


class Claims(GatewayCase):
    def test_not_answered_and_without_weblocksd(self):
        """A claim whose creation was not answered ends with the lease that begins with the next connection,
        though weblocksd does not connect again."""
        other = self.engine(timeout_ms=40000).joined('beta')
        self.assertEqual(other.ask('ensure', 'farm', os.getuid(), 'a').result, 'OK')
        path = name_path(self.root, 'farm', os.getuid(), 'a')
        host, service = self.start()
        service.wait_for_state('active')
        # The lease of the first write ends at its renewal, since there is no claim.
        while boottime() < service.deadline - 2_000_000:
            service.receive(0.1)
        self.server.pause()
        service.socket.sendall(packets.demand(1, 'a', bucket='farm', want=packets.EXCLUSIVE, n_waiting=1))
        service.socket.close()
        wait_for(lambda: 'has broken' in host.log(), what='the end of the connection')
        self.server.resume()
        wait_for(lambda: host.log().count('connected to ZooKeeper') == 2, what='the next connection')
        wait_for(lambda: other.ask('list', path, 0).listed == [], what='the end of the claim')


class Breaks(GatewayCase):
    def test_while_it_is_granted(self):
        """Each grant changes the version of the name, so that a Break which has read it before is refused. It is
        tried again, as often as that takes."""
        other = self.engine(timeout_ms=40000).joined('beta')
        self.assertEqual(other.ask('ensure', 'farm', os.getuid(), 'a').result, 'OK')
        path = name_path(self.root, 'farm', os.getuid(), 'a')
        node = other.claim(path)
        with unittest.mock.patch.dict(os.environ, G_MESSAGES_DEBUG='all'):
            host, service = self.start(timeout=40)
        service.wait_for_state('active')
        serial = service.send_break('a')
        sent = []
        while serial not in service.broken and host.gateway_log().count('ends: another version') < 4:
            before, sent = sent, [other.send('grant', path, 'a', node, -1) for _ in range(20)]
            for grant in before:
                other.answer(grant)
            service.receive(0)
        self.assertEqual(service.wait_for_break(serial), 1)
        self.assertEqual(other.ask('list', path, 0).listed, [])


class Lists(GatewayCase):
    def setUp(self):
        super().setUp()
        self.other = self.engine(timeout_ms=40000).joined('beta')
        _, self.service = self.start(timeout=40)
        self.service.wait_for_state('active')

    def claims(self, name, count, mode='e'):
        """Makes claims of so many hosts. Returns their nodes."""
        self.assertEqual(self.other.ask('ensure', 'farm', os.getuid(), name).result, 'OK')
        path = name_path(self.root, 'farm', os.getuid(), name)
        sent = [self.other.send('create', path, f'{mode}-{number:016x}-00000001-', f'{number} h{number}')
                for number in range(1, count + 1)]
        return path, [self.other.answer(one).node for one in sent]

    def test_order(self):
        """The claims of other hosts on this name, in the order of the claims; others are not read."""
        path, nodes = self.claims('a', 3)
        self.claims('b', 200)
        before = self.server.n_received()
        self.assertEqual(self.service.list('a'), [(packets.EXCLUSIVE, packets.HOLDS, 1, 'h1'),
                                                  (packets.EXCLUSIVE, packets.WAITS, 2, 'h2'),
                                                  (packets.EXCLUSIVE, packets.WAITS, 3, 'h3')])
        # The name's children, and three claims; the rest is room for what keeps the sessions alive.
        self.assertLess(self.server.n_received() - before, 50)
        self.assertEqual(self.other.ask('delete', path, nodes[0]).result, 'OK')
        self.assertEqual(self.service.list('a'), [(packets.EXCLUSIVE, packets.HOLDS, 2, 'h2'),
                                                  (packets.EXCLUSIVE, packets.WAITS, 3, 'h3')])
        self.assertEqual(self.service.list('c'), [])

    def test_many(self):
        """The first 1,000 of them."""
        self.claims('a', ROWS_MAX + 1, 's')
        self.assertEqual(self.service.list('a'), [(packets.SHARED, packets.HOLDS, number, f'h{number}')
                                                  for number in range(1, ROWS_MAX + 1)])

    def test_lists_at_once(self):
        """The lease is renewed while they are read."""
        self.claims('a', 100)
        self.service.hold(1, 'held')
        before, end = self.service.deadline, time.monotonic() + PATIENCE
        while self.service.deadline == before:
            self.assertLess(time.monotonic(), end, 'the lease was not renewed')
            for serial in [self.service.send_list('a') for _ in range(20)]:
                self.assertEqual(len(self.service.wait_for_list(serial)), 100)

    def test_no_servers(self):
        """An empty reply, soon."""
        self.claims('a', 3)
        self.server.kill()
        self.assertEqual(self.service.list('a'), [])
