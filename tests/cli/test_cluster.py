# SPDX-FileCopyrightText: 2026 The WebLocks for D-Bus authors
# SPDX-License-Identifier: LGPL-2.1-or-later

"""`weblocks cluster status`, and the other commands in a bucket that several hosts share. The test
is the gateway and the other host."""

import concurrent.futures
import json
import os
import time

import clusterpackets as packets
from buses import read_text
from cli import CliTestCase
from clustercase import BUCKET, CONFIG, ClusterCase
from harness import wait_for
from statecase import StateCase

try:
    from prometheus_client import parser as prometheus_parser
except ImportError:
    prometheus_parser = None

BUCKETS = ['cluster:farm', 'cluster:other', 'cluster:closed']
HERE = ['--system', '--bucket', BUCKET]
OTHERS = [packets.row(packets.EXCLUSIVE, packets.HOLDS, 'beta', 1_700_000_000_000_000),
          packets.row(packets.SHARED, packets.WAITS, 'gamma\x1b[2J', 1_700_000_001_000_000)]


class ClusterCommandCase(ClusterCase, CliTestCase):
    config = CONFIG + '''
[Bucket closed]
Users=nobody
'''

    def env(self, **more):
        return {**super().env(), 'DBUS_SESSION_BUS_ADDRESS': 'unix:path=/nowhere',
                'DBUS_SYSTEM_BUS_ADDRESS': self.bus.address, **more}

    def weblocks(self, *arguments, **options):
        """The gateway is this process, and answers meanwhile."""
        with concurrent.futures.ThreadPoolExecutor(1) as pool:
            done = pool.submit(super().weblocks, *arguments, **options)
            wait_for(done.done, what='the end of weblocks')
            return done.result()

    def status(self):
        return json.loads(self.check(0, 'cluster', 'status', '--json'))


class Status(ClusterCommandCase):
    def test_not_configured(self):
        StateCase.start(self)
        self.assertEqual(self.status(), {'state': 'off', 'reason': '', 'leaseLeft': 0, 'server': '', 'id': '',
                                         'hosts': [], 'buckets': [], 'metrics': {}})
        self.assertIn('not configured', self.check(0, 'cluster', 'status'))

    def test_no_gateway(self):
        self.start()
        text = self.check(0, 'cluster', 'status')
        self.assertRegex(text, r'^state: +off \(weblocks-clusterd is not running or')
        self.assertRegex(text, r'reason: +-\nlease left: -\nserver: +-\ncluster id: -\nhosts: +-\n'
                               rf'buckets: +{" ".join(BUCKETS)}\n$')

    def test_states(self):
        gateway = self.start_gateway()
        self.start()
        self.get_cluster(self.client())  # makes weblocksd connect
        gateway.greet()
        for state, name in ((packets.ACTIVE, 'active'), (packets.SUSPECT, 'suspect'),
                            (packets.LOST_SESSION, 'lost')):
            gateway.take(packets.Ack, serial=gateway.lease(state=state))
            self.assertEqual(self.status()['state'], name)
        gateway.take(packets.Ack, serial=gateway.lease(state=packets.CONNECTING))
        self.assertIn('connecting (requests wait)', self.check(0, 'cluster', 'status'))

    def test_reasons(self):
        """Each has a sentence of its own."""
        gateway = self.start_gateway()
        self.start()
        self.get_cluster(self.client())
        gateway.greet()
        sentences = set()
        for number, reason in list(enumerate(packets.REASONS))[1:]:
            gateway.take(packets.Ack, serial=gateway.lease(state=packets.LOST_SESSION, reason=number))
            self.assertEqual(self.get_cluster(self.client())['reason'], reason)
            text = self.check(0, 'cluster', 'status')
            self.assertRegex(text, r'^state: +lost \(locks that this host held are lost\)\nreason: +\w.* .*\n')
            sentences.add(text.splitlines()[1])
            self.assertEqual('see the log' in text, reason in ('unexpected', 'other-settings'))
        self.assertEqual(len(sentences), len(packets.REASONS) - 1)
        gateway.sync()
        self.assertEqual(self.status()['reason'], '')
        gateway.take(packets.Ack, serial=gateway.lease(state=packets.LOST_SESSION, reason=1))
        gateway.close()
        wait_for(lambda: self.status()['state'] == 'off', what='state')
        self.assertEqual(self.status()['reason'], '')

    def test_all(self):
        gateway, client, id_, demand = self.hold()
        # The last line may end with a newline, or not.
        gateway.status = {'engine': '192.0.2.11:2181', 'hosts': ['alpha', 'b\u202eta', ''], 'id_': '1f',
                          'metrics': ['grants_total 3', 'least_lease_left_seconds 9.25', '']}
        status = self.status()
        left = status.pop('leaseLeft')
        self.assertTrue(0 < left <= 30000, left)
        self.assertEqual(status, {'state': 'active', 'reason': '', 'server': '192.0.2.11:2181',
                                  'id': '1f', 'hosts': ['alpha', 'b\u202eta'],
                                  'buckets': BUCKETS, 'metrics': {'grants_total': 3, 'least_lease_left_seconds': 9.25}})
        text = self.check(0, 'cluster', 'status')
        self.assertRegex(text, r'^state:      active\n'
                               r'reason:     -\n'
                               r'lease left: \d+\.\d s\n'
                               r'server:     192\.0\.2\.11:2181\n'
                               r'cluster id: 1f\n'
                               r'hosts:      alpha b\\u\{202e\}ta\n'
                               rf'buckets:    {" ".join(BUCKETS)}\n$')

    def test_metrics(self):
        """The file is replaced, not written, and is what Prometheus's own parser reads."""
        gateway, *_ = self.hold()
        gateway.status = {'hosts': ['alpha', 'beta'],
                          'metrics': ['grants_total 3', 'least_lease_left_seconds 9.25', '']}
        path = os.path.join(self.directory, 'weblocks.prom')
        with open(path, 'w', encoding='ascii') as old:
            old.write('old')
            old.flush()
            self.check(0, 'cluster', f'--metrics={path}')
            self.assertEqual(os.fstat(old.fileno()).st_nlink, 0)
        umask = os.umask(0)
        os.umask(umask)
        self.assertEqual(os.stat(path).st_mode & 0o777, 0o644 & ~umask)
        text = read_text(path)
        self.assertRegex(text, '^# TYPE weblocks_cluster_active gauge\nweblocks_cluster_active 1\n')
        self.assertRegex(text, r'\nweblocks_cluster_lease_left_seconds [1-3]?\d(\.\d+)?\n')
        self.assertTrue(text.endswith('# TYPE weblocks_cluster_hosts gauge\nweblocks_cluster_hosts 2\n'
                                      '# TYPE weblocks_cluster_grants_total counter\nweblocks_cluster_grants_total 3\n'
                                      '# TYPE weblocks_cluster_least_lease_left_seconds gauge\n'
                                      'weblocks_cluster_least_lease_left_seconds 9.25\n'), text)
        nowhere = os.path.join(self.directory, 'none/x')
        done = self.weblocks('cluster', 'status', '--metrics', nowhere)
        self.assertEqual((done.returncode, done.stdout), (74, ''))
        self.assertIn(nowhere, done.stderr)
        gateway.close()
        wait_for(lambda: self.status()['state'] == 'off', what='state')
        self.check(0, 'cluster', f'--metrics={path}')
        self.assertIn('\nweblocks_cluster_active 0\n', read_text(path))
        if prometheus_parser is None:
            self.skipTest('needs python3-prometheus-client')
        families = {family.name: family for family in prometheus_parser.text_string_to_metric_families(text)}
        self.assertEqual(families['weblocks_cluster_grants'].type, 'counter')
        self.assertEqual([(sample.name, sample.value) for family in families.values() for sample in family.samples][2:],
                         [('weblocks_cluster_hosts', 2), ('weblocks_cluster_grants_total', 3),
                          ('weblocks_cluster_least_lease_left_seconds', 9.25)])

    def test_no_answer(self):
        """What the gateway does not say is not shown, also if it has said it before."""
        gateway, *_ = self.hold()
        gateway.status = {'engine': '192.0.2.11:2181', 'hosts': ['alpha'], 'id_': '1f', 'metrics': ['grants_total 3']}
        self.assertEqual(self.status()['hosts'], ['alpha'])
        gateway.status = None
        text = self.check(0, 'cluster', 'status')
        self.assertRegex(text, r'^state:      active\n'
                               r'reason:     -\n'
                               r'lease left: \d+\.\d s\n'
                               r'server:     no answer\n'
                               r'cluster id: no answer\n'
                               r'hosts:      no answer\n')
        status = self.status()
        self.assertEqual([status[key] for key in ('state', 'server', 'id', 'hosts', 'metrics')],
                         ['active', '', '', [], {}])
        path = os.path.join(self.directory, 'weblocks.prom')
        self.check(0, 'cluster', f'--metrics={path}')
        with open(path, encoding='ascii') as file:
            self.assertEqual([line.split()[0] for line in file if line[0] != '#'],
                             ['weblocks_cluster_active', 'weblocks_cluster_lease_left_seconds'])

    def test_no_bus(self):
        env = self.env(DBUS_SYSTEM_BUS_ADDRESS='unix:path=/nowhere')
        done = self.weblocks('cluster', 'status', env=env)
        self.assertEqual((done.returncode, done.stdout), (69, ''))
        self.assertIn('no system bus', done.stderr)


class Commands(ClusterCommandCase):
    def ask(self, gateway, *line):
        """Runs a command that queries the locks of other hosts. Returns its output."""
        job = self.job(*line)
        asked = gateway.take(packets.List)
        gateway.send(packets.rows(asked.serial, *OTHERS))
        self.assertEqual(job.wait(), 0, job.stderr())
        return job.process.stdout.read().decode()

    def test_lists(self):
        gateway, client, id_, demand = self.hold()
        [line] = self.check(0, 'list', *HERE).splitlines()  # of this host alone
        self.assertTrue(line.startswith('x\texclusive\theld\t'), line)
        lines = [line.split('\t') for line in self.ask(gateway, 'list', 'x', *HERE).splitlines()]
        self.assertEqual([line[4:6] for line in lines[1:]],
                         [['host:beta', ''], [r'host:gamma\u{1b}[2J', '']])
        found = json.loads(self.ask(gateway, 'list', '--json', 'x', *HERE))
        self.assertEqual([entry['host'] for part in ('held', 'pending') for entry in found[part]],
                         ['', 'beta', 'gamma\x1b[2J'])

    def test_break(self):
        """Also of another host; only that host's, if it is given."""
        gateway, client, id_, demand = self.hold()
        job = self.job('break', 'x', '--client', 'host:beta', *HERE)
        gateway.send(packets.rows(gateway.take(packets.List).serial, *OTHERS))
        asked = gateway.take(packets.Break, name='x', host='beta')
        gateway.send(packets.broken(asked.serial, 1))
        self.assertEqual(job.wait(), 0, job.stderr())
        self.assertRegex(job.line(), r'^x: broken, was held by host:beta for \d+ \w+$')
        self.assertIsNone(job.line())
        client.release(id_, BUCKET)

    def test_steal(self):
        """Without an answer of the other hosts, the steal fails."""
        gateway = self.start_gateway()
        self.start()
        self.get_cluster(self.client())
        gateway.greet()
        job = self.job('steal', 'x', *HERE)
        gateway.send(packets.rows(gateway.take(packets.List).serial, *OTHERS))
        gateway.take_demand('x', undecided=packets.STEAL)
        self.assertEqual(job.wait(), 69, job.stderr())
        self.assertIn('weblocks: ', job.stderr())

    def test_run(self):
        gateway = self.start_gateway()
        self.start()
        job = self.job('run', *HERE, 'x', '--', 'sh', '-c', 'echo $WEBLOCKS_TOKEN; read x')
        gateway.greet()
        [demand] = [gateway.last['x']]
        block = gateway.permit(demand)
        self.assertEqual(job.line(), str(block << packets.BLOCK_BITS))
        # Another host may be granted it after the lease: the command is terminated before.
        gateway.lease(seconds=0.2)
        self.assertEqual(job.wait(), 75)
        self.assertIn('no contact with the cluster', job.stderr())

    def test_connect_timeout(self):
        """The time is that without contact: it begins again after each moment in which there is contact, which a
        lock that is not granted does not end."""
        self.start()
        path = os.path.join(self.directory, 'ran')
        began = time.monotonic()
        done = self.weblocks('run', *HERE, '--connect-timeout=1', 'x', 'touch', path)
        self.assertEqual((done.returncode, done.stdout), (69, ''))
        self.assertIn("the cluster can't be reached", done.stderr)
        self.assertGreaterEqual(time.monotonic() - began, 1)
        self.assertEqual(self.weblocks('hold', *HERE, '--connect-timeout=0', 'x').returncode, 69)
        gateway = self.start_gateway()
        job = self.job('run', *HERE, '--connect-timeout=5', 'x', 'touch', path)
        gateway.greet()
        other = self.job('hold', *HERE, '--connect-timeout=0', 'x')
        began = time.monotonic()
        wait_for(lambda: time.monotonic() > began + 6, what='a longer time')
        self.assertIsNone(job.process.poll())
        self.assertIsNone(other.process.poll())
        gateway.take(packets.Ack, serial=gateway.lease(state=packets.CONNECTING))
        self.assertEqual((job.wait(), other.wait()), (69, 69))
        self.assertFalse(os.path.exists(path))
        self.assertEqual(self.client().query(BUCKET), ([], []))
        gateway.take(packets.Ack, serial=gateway.lease())
        job = self.job('run', *HERE, '--connect-timeout=60', 'x', 'touch', path)
        gateway.permit(gateway.take_demand('x', want=packets.EXCLUSIVE))
        self.assertEqual(job.wait(), 0, job.stderr())
        self.assertTrue(os.path.exists(path))

    def test_nonblock(self):
        """Another host holds it."""
        gateway = self.start_gateway()
        self.start()
        job = self.job('run', '-nv', *HERE, 'x', 'true')
        gateway.greet()
        gateway.busy(gateway.last['x'])
        gateway.send(packets.rows(gateway.take(packets.List).serial, *OTHERS))
        self.assertEqual(job.wait(), 1)
        self.assertRegex(job.stderr(), "'x' is held by host:beta for ")

    def test_waiting(self):
        """A line for each holder, which may be another host."""
        gateway = self.start_gateway()
        self.start()
        job = self.job('run', '-v', *HERE, 'x', 'true')
        gateway.greet()
        for host in ('beta', 'ga\x1bmma'):
            # The second time it asks by itself.
            held = packets.row(packets.EXCLUSIVE, packets.HOLDS, host, time.time_ns() // 1000)
            gateway.send(packets.rows(gateway.take(packets.List).serial, held, OTHERS[1]))
        wait_for(lambda: 'ga' in job.stderr(), what='the second holder')
        gateway.permit(gateway.last['x'])
        self.assertEqual(job.wait(), 0, job.stderr())
        self.assertRegex(job.stderr(), r"\Aweblocks: Waiting for 'x': held by host:beta for \d+ s\n"
                         r"weblocks: Waiting for 'x': held by host:ga\\u\{1b\}mma for \d+ s\n"
                         r"weblocks: acquired 'x' in ")

    def test_waiting_without_contact(self):
        """The name only."""
        self.start()
        job = self.job('run', '-v', *HERE, 'x', 'true')
        wait_for(lambda: job.stderr(), what='a line')
        self.assertEqual(job.stderr(), "weblocks: Waiting for 'x'\n")
        job.process.terminate()
        job.wait()

    def test_watch(self):
        """It shows the locks of this host only."""
        gateway, client, id_, demand = self.hold()
        job = self.job('watch', *HERE)
        self.assertEqual(job.line().split('\t')[:5], ['added', 'held', 'x', 'exclusive', client.name])
        client.release(id_, BUCKET)
        self.assertEqual(job.line().split('\t')[:3], ['removed', 'held', 'x'])

    LINES = (('list',), ('run', 'x', 'true'), ('hold', 'x'), ('watch',), ('break', 'x'),
             ('steal', 'x'))

    def check_refused(self, status, text, *options, env=None):
        for command, *arguments in self.LINES:
            done = self.weblocks(command, *options, *arguments, env=env)
            self.assertEqual((done.returncode, done.stdout), (status, ''), (command, done.stderr))
            self.assertRegex(done.stderr, f'^weblocks: .*{text}')

    def test_refused(self):
        self.start()
        with self.subTest('not configured'):
            self.check_refused(64, "not configured for the bucket 'cluster:none'; see weblocks-cluster",
                               '--system', '--bucket=cluster:none')
        with self.subTest('on the session bus'):
            self.check_refused(64, 'use --system', '--bucket=cluster:none',
                               env=self.env(DBUS_SESSION_BUS_ADDRESS=self.bus.address))
        with self.subTest('not allowed'):
            self.check_refused(77, 'not permitted', '--system', '--bucket=cluster:closed')
