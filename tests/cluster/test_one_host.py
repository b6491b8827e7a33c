# SPDX-FileCopyrightText: 2026 The WebLocks for D-Bus authors
# SPDX-License-Identifier: LGPL-2.1-or-later

"""A host with one server: nodes that somebody else has written there, a host of the same name, and a state
directory that can't be used."""

import base64
import configparser
import ctypes
import os
import shutil
import subprocess
import unittest

from buses import PATIENCE, environment, read_text, wait_exit
from calls import DBusError
from clusterhosts import BUCKET, Host
from engines import EngineClient, name_path
from ensemble import Ensemble, Place, SlowPlace, run, why_no_networks, why_no_servers
from harness import wait_for

CLONE_NEWNS = 0x20000
# A list of more hosts than that does not fit into a packet.
HOSTS_BYTES = 65536
# A steal ends at most so many claims.
STEAL_MAX = 1000


@unittest.skipIf(why_no_servers(), why_no_servers())
class OneHostCase(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.ensemble = cls.enterClassContext(Ensemble())

    def setUp(self):
        self.lock = self.id().rpartition('.')[2]
        self.host = self.start_host()

    def start_host(self):
        host = Host('alpha', Place(), self.ensemble.addresses, timeout=10)
        self.addCleanup(host.stop)
        return host.start()

    def report(self):
        return f'{self.ensemble.log()}\n{self.host.log()}'

    def engine(self, **options):
        engine = EngineClient(self.ensemble.addresses, **options)
        self.addCleanup(engine.end)
        return engine

    def close(self, engine):
        """Closes the session, so that it ends immediately."""
        engine.send('free', 0)
        engine.wait_for(lambda: engine.is_freed)

    def ask(self, engine, *words):
        answer = engine.ask(*words)
        self.assertEqual(answer.result, 'OK', answer)
        return answer

    def hold(self, host):
        """Requests the lock, and waits until it is granted. Returns the client and the id."""
        client = host.client()
        id_, token = client.request(self.lock, BUCKET)
        if not token:
            client.wait_granted(id_)
        return client, id_


class Command(OneHostCase):
    def weblocks(self, *arguments):
        return subprocess.run([environment('WEBLOCKS_CLI'), *arguments], capture_output=True, text=True, check=False,
                              timeout=PATIENCE, env={**os.environ, 'DBUS_SYSTEM_BUS_ADDRESS': self.host.bus.address})

    def test_servers_that_can_not_be_reached(self):
        line = ['run', '--system', '--bucket', BUCKET, '--connect-timeout=8']
        done = self.weblocks(*line, self.lock, 'true')
        self.assertEqual(done.returncode, 0, done.stderr)
        self.ensemble.servers[0].kill()
        self.addCleanup(self.ensemble.restore)
        # Of the first one, this host may still have the permit.
        done = self.weblocks(*line, self.lock + ' 2', 'true')
        self.assertEqual(done.returncode, 69, done.stderr)
        self.assertIn("the cluster can't be reached", done.stderr)
        path = os.path.join(self.host.directory, 'metrics')
        self.assertEqual(self.weblocks('cluster', '--metrics', path).returncode, 0)
        self.assertIn('\nweblocks_cluster_active 0\n', read_text(path))


class Nodes(OneHostCase):
    def setUp(self):
        super().setUp()
        self.client, _ = self.hold(self.host)
        self.other = self.engine().joined('beta')
        self.addCleanup(self.close, self.other)

    def assert_connected(self):
        """weblocksd has accepted all packets."""
        self.assertNotIn('disconnected', self.host.log())

    def make_name(self, name):
        self.ask(self.other, 'ensure', 'farm', os.getuid(), name)
        return name_path('/weblocks', 'farm', os.getuid(), name)

    def other_rows(self, name):
        """The mode, state and host of each claim of other hosts."""
        return [(entry['mode'], entry['state'], entry['host'])
                for entry in self.client.inspect(BUCKET, name=name)[0] if 'host' in entry]

    def test_data_of_claims(self):
        path = self.make_name('n')
        for text, host in (('', '?'), ('x', '?'), ('5', '?'), ('5 ', '?'), ('5 a/b', '?'), ('5 a\x1b', '?'),
                           ('5 \ufdd0', '?'), ('5 ' + 'h' * 256, '?'), ('5 ' + 'h' * 255, 'h' * 255),
                           ('-5 h', 'h'), ('9' * 30 + ' h', 'h')):
            with self.subTest(text=text):
                node = self.ask(self.other, 'create', path, self.other.prefix(), text).node
                self.assertEqual(self.other_rows('n'), [('exclusive', 'held', host)])
                self.ask(self.other, 'delete', path, node)
                self.assertEqual(self.other_rows('n'), [])
        for node in ('x', 'e-1-1-1', self.other.prefix() + '1'):
            self.ask(self.other, 'create', path, node, '5 h')
        self.other.claim(path, text='5 h')
        self.assertEqual(self.other_rows('n'), [('exclusive', 'held', 'h')])
        self.assert_connected()

    def test_hosts_above_the_limit(self):
        for i in range(HOSTS_BYTES // 256 + 1):
            self.ask(self.other, 'create', '/weblocks/sessions', f'{i:0255}-000000', '')
        self.ask(self.other, 'create', '/weblocks/sessions', f'{0:0256}-000000', '')
        self.ask(self.other, 'create', '/weblocks/sessions', '\ufdd0-000000', '')
        # After the restart, the hosts are read again.
        self.host.kill_service()
        self.host.start_service()
        hosts = wait_for(lambda: self.client.get_property('Cluster')['hosts'], what='hosts')
        self.assertEqual({len(host) for host in hosts} - {len('alpha'), len('beta')}, {255})
        self.assertLess(sum(len(host) + 1 for host in hosts), HOSTS_BYTES)

    def test_break_of_one_host(self):
        """It ends what that host holds, and nothing else."""
        path = self.make_name('broken')
        nodes = [self.ask(self.other, 'create', path, self.other.prefix(turn, 's'), f'1 0 {host}').node
                 for turn, host in enumerate(('beta', 'gamma', 'beta'))]
        nodes.append(self.other.claim(path, 3, '1 0 beta'))  # it waits
        for host in ('delta', 'alpha'):
            self.assertEqual(self.client.break_locks('broken', BUCKET, clientId=f'host:{host}'), 0)
        self.assertEqual(sorted(self.ask(self.other, 'list', path, 0).listed), sorted(nodes))
        self.assertEqual(self.client.break_locks('broken', BUCKET, clientId='host:beta'), 2)
        self.assertEqual(sorted(self.ask(self.other, 'list', path, 0).listed), sorted((nodes[1], nodes[3])))
        self.assertEqual(self.client.signals('Released'), [])


class ManyHolders(OneHostCase):
    """More hosts share a lock than one request to a server can end."""

    def setUp(self):
        super().setUp()
        # On a busy machine, a shorter one might not last until the answers to many requests.
        self.other = self.engine(timeout_ms=40000).joined('beta')
        self.addCleanup(self.close, self.other)
        self.ask(self.other, 'ensure', 'farm', os.getuid(), self.lock)
        self.path = name_path('/weblocks', 'farm', os.getuid(), self.lock)

    def share(self, count):
        """Makes claims of so many hosts. Returns their nodes."""
        nodes = []
        while len(nodes) < count:
            sent = [self.other.send('create', self.path, f's-{number:016x}-00000001-', '5 beta')
                    for number in range(len(nodes) + 1, min(len(nodes) + 100, count) + 1)]
            nodes += [self.other.answer(one).node for one in sent]
        self.assertNotIn('', nodes)
        return nodes

    def test_steal(self):
        nodes = self.share(STEAL_MAX + 1)
        client = self.host.client()
        self.assertEqual(client.outcome_of(client.steal(self.lock, BUCKET)), (0, 0))
        wait_for(lambda: sorted(self.ask(self.other, 'list', self.path, 0).listed) == sorted(nodes),
                 what='the end of the request')
        self.ask(self.other, 'delete', self.path, nodes[0])
        self.assertGreater(client.outcome_of(client.steal(self.lock, BUCKET))[1], 0)
        self.assertEqual(len(self.ask(self.other, 'list', self.path, 0).listed), 1)

    def test_break(self):
        """Ends all of them, by several requests."""
        count = 2 * STEAL_MAX + 1
        self.share(count)
        waiting = self.other.claim(self.path)
        try:
            self.assertEqual(self.host.client().break_locks(self.lock, BUCKET), count)
        except DBusError as error:
            # It took longer than the call waits.
            self.assertEqual(error.short, 'Unavailable')
        wait_for(lambda: self.ask(self.other, 'list', self.path, 0).listed == [waiting], what='their end')


class Names(OneHostCase):
    def test_hosts_of_the_same_name(self):
        client, held = self.hold(self.host)
        other = self.start_host().client()
        id_, token = other.request(self.lock, BUCKET)
        self.assertEqual(token, 0)
        wait_for(lambda: any(entry.get('host') == 'alpha' for entry in other.inspect(BUCKET, name=self.lock)[0]),
                 what='row')
        client.release(held, BUCKET)
        other.wait_granted(id_)

    def test_unused_names(self):
        """The node of a name that this host does not use any more is deleted, unless others use it."""
        other = self.engine().joined('beta')
        self.addCleanup(self.close, other)
        client = self.host.client()
        paths = [name_path('/weblocks', 'farm', os.getuid(), name) for name in ('shared', self.lock)]
        self.ask(other, 'ensure', 'farm', os.getuid(), 'shared')
        node = self.ask(other, 'create', paths[0], other.prefix(mode='s'), '5 beta').node
        for name in ('shared', self.lock):
            id_, token = client.request(name, BUCKET, mode='shared')
            if not token:
                client.wait_granted(id_)
            client.release(id_, BUCKET)
        wait_for(lambda: other.ask('list', paths[1], 0).result == 'NO_NODE', what='the end of the node')
        self.assertEqual(self.ask(other, 'list', paths[0], 0).listed, [node])
        self.hold(self.host)


class StateDirectory(OneHostCase):
    def test_locked_by_another_process(self):
        wait_for(lambda: 'connected to ZooKeeper' in self.host.gateway_log(), what='the first process')
        second = self.host.spawn_gateway(self.host.socket)
        self.assertEqual(wait_exit(second), 1)
        self.assertIn('could not lock', self.host.log())
        self.hold(self.host)

    def end_session(self):
        """Ends the session of the gateway in ZooKeeper, as its expiry does."""
        file = configparser.ConfigParser()
        file.read(os.path.join(self.host.gateway_state, 'session'))
        session = file['Session']
        password = base64.b64decode(session['Password']).hex()
        engine = self.engine(session=(f'{int(session["Id"]):x}', password))
        engine.wait_for_state('CONNECTED')
        self.close(engine)

    @unittest.skipUnless(shutil.which('strace'), 'needs strace')
    def test_slow(self):
        """The lease is renewed while the highest block of tokens is stored, which takes longer."""
        trace = os.path.join(self.host.directory, 'trace')
        self.host.end_gateway()
        self.host.place = SlowPlace(self.host.timeout, trace)
        self.host.start_gateway()
        client, id_ = self.hold(self.host)

        def is_stored():
            self.assertEqual(client.signals('Released', id=id_), [], self.report())
            return self.host.place.has_written()
        wait_for(is_stored, 3 * PATIENCE, 'a block that is stored')

    @unittest.skipIf(why_no_networks() or not shutil.which('mount'), 'needs root and mount')
    def test_read_only(self):
        """The file of a session that has ended can't be deleted: the session is not tried again."""
        client, held = self.hold(self.host)
        self.host.end_gateway()
        libc = ctypes.CDLL(None, use_errno=True)
        self.assertEqual(libc.unshare(CLONE_NEWNS), 0)
        run('mount', '--make-rprivate', '/')
        run('mount', '--bind', self.host.gateway_state, self.host.gateway_state)
        self.addCleanup(subprocess.run, ['umount', '-l', self.host.gateway_state], check=False)
        run('mount', '-o', 'remount,bind,ro', self.host.gateway_state)
        self.host.start_gateway()
        wait_for(lambda: 'could not store the session' in self.host.log(), what='session')
        # Otherwise it takes the session back from the client that ends it.
        self.host.pause_gateway()
        self.end_session()
        self.host.resume_gateway()
        client.wait_released(held, 'lost')
        self.hold(self.host)
