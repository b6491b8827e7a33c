# SPDX-FileCopyrightText: 2026 The WebLocks for D-Bus authors
# SPDX-License-Identifier: LGPL-2.1-or-later

"""Buckets of a cluster: which users may use them, mistakes in the configuration, and what Query, Inspect and Break do
with locks of other machines."""

import os
import time

import clusterpackets as packets
from buses import can_be_others, write_text
from calls import BREAK_TYPES, FILTER_TYPES, LOCKS, SERVICE, bucket_path, other_path, variants
from clustercase import BUCKET, CONFIG, Call, ClusterCase
from harness import GLib, wait_for
from packetclient import SYNC
from rawbus import method_call
from sandboxcase import Sandboxes

NOBODY = 65534


class Access(ClusterCase):
    config = CONFIG + '''
[Bucket roots]
Users=root

[Bucket nogroups]
Groups=nogroup
'''

    def methods(self, client, bucket):
        return ((client.request, 'x', bucket), (client.steal, 'x', bucket), (client.query, bucket),
                (client.inspect, bucket), (client.watch, True, bucket), (client.break_locks, 'x', bucket),
                (client.release, 1, bucket), (client.downgrade, 1, bucket), (client.abort, 1, bucket))

    def test_not_configured(self):
        self.start()
        client = self.client()
        for bucket in ('cluster:', 'cluster:far', 'cluster:farms', 'cluster:FARM'):
            for method, *args in self.methods(client, bucket):
                self.assert_error('NotSupported', method, *args, mentions='cluster')
        self.assert_error('NotSupported', self.socket_client().request, 'x', 'cluster:far')

    def test_users(self):
        gateway = self.start_gateway()
        self.start()
        root, nobody = self.client(), self.other_uid_client(NOBODY)
        for method, *args in self.methods(nobody, 'cluster:roots')[:-3]:
            self.assert_error('Security', method, *args, mentions='this bucket')
        self.assert_error('NotHeld', nobody.release, 1, 'cluster:roots')
        self.assert_error('NotHeld', nobody.downgrade, 1, 'cluster:roots')
        self.assertFalse(nobody.abort(1, 'cluster:roots'))
        self.assertEqual(root.request('x', 'cluster:roots')[1], 0)
        self.assertEqual(nobody.request('x', BUCKET)[1], 0)
        self.assertEqual(gateway.take(packets.Demand).uid, 0)
        self.assertEqual(gateway.take(packets.Demand).uid, NOBODY)

    def test_on_a_socket(self):
        self.start()
        if not can_be_others():
            self.skipTest('needs root, to connect as another user')
        client = self.socket_client(uid=NOBODY)
        self.assert_error('Security', client.request, 'x', 'cluster:roots')
        self.assertNotEqual(client.request('x')[1], 0)

    def test_groups(self):
        """The groups of the process when it connected."""
        self.start()
        if not can_be_others():
            self.skipTest('needs root, to have other groups')
        groups = os.getgroups()
        self.addCleanup(os.setgroups, groups)
        os.setgroups([0])
        self.assert_error('Security', self.client().request, 'x', 'cluster:nogroups')
        os.setgroups([0, NOBODY])
        client = self.client()
        os.setgroups([0])
        self.assertEqual(client.request('x', 'cluster:nogroups')[1], 0)

    def test_groups_after_a_restart(self):
        """Still those of the process when it connected, which no database knows."""
        self.start()
        if not can_be_others():
            self.skipTest('needs root, to have other groups')
        groups = os.getgroups()
        self.addCleanup(os.setgroups, groups)
        os.setgroups([0, NOBODY])
        member = self.client()
        os.setgroups([0])
        other = self.client()
        for each in (member, other):
            each.request('x')  # so that it is restored
        self.restart()
        self.assertEqual(member.request('x', 'cluster:nogroups')[1], 0)
        self.assert_error('Security', other.request, 'x', 'cluster:nogroups')

    def test_who_may_not_use_it_any_more(self):
        """Can put down what it has there."""
        self.start()
        client = self.client()
        waits = client.request('x', 'cluster:roots')[0]
        write_text(self.config_path, self.config.replace('Users=root', 'Users=nobody'))
        self.restart()
        self.assert_error('Security', client.request, 'y', 'cluster:roots')
        self.assertTrue(client.abort(waits, 'cluster:roots'))

    def test_limits(self):
        """A name counts as long as the gateway has a handle for it, also without requests."""
        gateway = self.start_gateway()
        self.start('--limit=requestsTotal=2', '--limit=nameBytes=10000')
        client = self.client()
        for name in ('x', 'y'):
            id_ = client.request(name, BUCKET)[0]
            demand = gateway.take_demand(name)
            client.abort(id_, BUCKET)
            demand = gateway.take_demand(name, want=packets.NONE)
        self.assert_error('LimitsExceeded', client.request, 'z', BUCKET, mentions='requestsTotal')
        client.abort(client.request('x', BUCKET)[0], BUCKET)
        self.assertNotEqual(client.request('z')[1], 0)
        gateway.gone(demand)
        gateway.sync()
        self.assertEqual(client.request('n' * 4096, BUCKET)[1], 0)
        gateway.take_demand('n' * 4096)
        self.assert_error('LimitsExceeded', client.request, 'n' * 4097, BUCKET, mentions='nameBytes')

    def test_names_of_one_user(self):
        """Names without requests, too, are counted for each user, so that others can use theirs."""
        gateway = self.start_gateway()
        self.start('--limit=requestsPerUid=2')
        root, nobody = self.client(), self.other_uid_client(NOBODY)
        for name in ('x', 'y'):
            root.abort(root.request(name, BUCKET)[0], BUCKET)
        self.assert_error('LimitsExceeded', root.request, 'z', BUCKET, mentions='requestsPerUid')
        nobody.request('z', BUCKET)
        gateway.take_demand('z', uid=NOBODY)

    def test_observed(self):
        """Root may observe other users' buckets of a cluster, as all others."""
        gateway = self.start_gateway()
        self.start()
        root, nobody = self.client(), self.other_uid_client(NOBODY)
        nobody.request('x', BUCKET)
        gateway.greet()
        path = other_path(BUCKET, uid=NOBODY)
        self.assertEqual(root.query(path), ([], [('x', 'exclusive', nobody.name)]))
        found = inspect(root, path=path)
        gateway.send(packets.rows(gateway.take(packets.List, uid=NOBODY, bucket='farm').serial, HELD))
        self.assertEqual([(entry['clientId'], entry['uid']) for entry in found.result()[0]],
                         [(nobody.name, NOBODY), ('host:node1', NOBODY)])
        self.assert_error('NotSupported', root.query, other_path('cluster:far', uid=NOBODY))
        self.assert_error('NotSupported', root.query, other_path(BUCKET, app='org.example.App'))


def inspect_body(name, **kw):
    return GLib.Variant('(a{sv})', (variants(FILTER_TYPES, {'name': name, **kw}),))


def inspect(client, name='x', path=None, **kw):
    return Call(client, 'Inspect', inspect_body(name, **kw), bucket=path)


def message(member, body):
    """A message, for a client that doesn't read the reply."""
    return method_call(SERVICE, bucket_path(BUCKET), LOCKS, member, body)


def break_locks(client, name, **kw):
    return Call(client, 'Break', GLib.Variant('(sa{sv})', (name, variants(BREAK_TYPES, kw))))


HELD = packets.row(packets.EXCLUSIVE, packets.HOLDS, 'node1', 1)
SHARES = packets.row(packets.SHARED, packets.HOLDS, 'node2', 2)
WAITS = packets.row(packets.EXCLUSIVE, packets.WAITS, 'node2', 3)

LISTS_OF_A_UID = 64


class OtherHosts(ClusterCase):
    def answer(self, gateway, *rows):
        """Answers the next LIST."""
        gateway.send(packets.rows(gateway.take(packets.List).serial, *rows))

    def lists(self, gateway):
        """Those that weblocksd has sent by now."""
        serial = gateway.lease()
        wait_for(lambda: packets.Ack(serial) in gateway.packets, what='ACK')
        return [packet for packet in gateway.packets if isinstance(packet, packets.List)]

    def test_whole_bucket(self):
        """It is listed of this host alone, at once: the gateway is not asked."""
        gateway, client, _, _ = self.hold()
        self.assertEqual(client.query(BUCKET), ([('x', 'exclusive', client.name)], []))
        for kw in ({}, {'prefix': 'x'}, {'state': 'held'}, {'limit': 1}):
            [entry], more = client.inspect(BUCKET, **kw)
            self.assertEqual((entry['clientId'], more), (client.name, False))
        self.assertEqual(client.inspect(BUCKET, clientId='host:node1'), ([], False))
        self.assertEqual(self.lists(gateway), [])

    def test_inspect(self):
        gateway, client, id_, _ = self.hold()
        found = inspect(client)
        asked = gateway.take(packets.List, uid=os.getuid(), bucket='farm', name='x')
        gateway.send(packets.rows(asked.serial, HELD, WAITS))
        (own, other, waits), more = found.result()
        self.assertFalse(more)
        self.assertEqual((own['id'], own['clientId'], own['state']), (id_, client.name, 'held'))
        self.assertNotIn('host', own)
        self.assertEqual(set(other), set(own) | {'host'})
        self.assertEqual([(entry['name'], entry['mode'], entry['state'], entry['clientId'], entry['host'],
                           entry['id'], entry['token'], entry['uid'], entry['blockedBy'])
                          for entry in (other, waits)],
                         [('x', 'exclusive', 'held', 'host:node1', 'node1', 0, 0, os.getuid(), []),
                          ('x', 'exclusive', 'pending', 'host:node2', 'node2', 0, 0, os.getuid(), [])])
        self.assertGreater(other['age'], 0)

    def test_filters(self):
        gateway, client, _, _ = self.hold()
        for kw, hosts in (({'name': 'y'}, ['node1', 'node2', 'node2']), ({'name': ''}, ['node1', 'node2', 'node2']),
                          ({'name': 'x' * 4096}, ['node1', 'node2', 'node2']),
                          ({'prefix': ''}, ['node1', 'node2', 'node2']), ({'prefix': 'x'}, ['node1', 'node2', 'node2']),
                          ({'state': 'held'}, ['node1', 'node2']), ({'state': 'pending'}, ['node2']),
                          ({'clientId': 'host:node2'}, ['node2', 'node2']), ({'clientId': 'host:'}, []),
                          ({'clientId': 'host:node3'}, []), ({'limit': 1}, ['node1', 'node2', 'node2'])):
            with self.subTest(kw):
                found = inspect(client, **kw)
                self.answer(gateway, HELD, SHARES, WAITS)
                self.assertEqual([entry['host'] for entry in found.result()[0] if 'host' in entry], hosts)
        # Only locks of this host can match, so the others are not asked.
        for kw in ({'clientId': client.name}, {'id': 1}, {'after': 2 ** 64 - 1}, {'prefix': 'y'},
                   {'name': 'x' * 4097}):
            found, _ = client.inspect(BUCKET, **{'name': 'x', **kw})
            self.assertEqual([entry for entry in found if 'host' in entry], [])
            self.assertEqual(self.lists(gateway), [])

    def test_pages(self):
        """Other hosts are on the last page."""
        gateway, client, _, _ = self.hold()
        client.request('x', BUCKET)
        first = inspect(client, limit=1)
        self.answer(gateway, HELD)
        [entry], more = first.result()
        self.assertTrue(more)
        last = inspect(client, limit=1, after=entry['cursor'])
        self.answer(gateway, HELD)
        entries, more = last.result()
        self.assertEqual([entry['clientId'] for entry in entries], [client.name, 'host:node1'])
        self.assertFalse(more)

    def assert_this_host(self, client, found):
        self.assertEqual([entry['clientId'] for entry in found.result()[0]], [client.name])

    def test_no_reply(self):
        """After a while, or when the gateway ends, the reply has only this host's locks."""
        gateway, client, _, _ = self.hold()
        found = inspect(client)
        serial = gateway.take(packets.List).serial
        self.assert_this_host(client, found)
        gateway.send(packets.rows(serial, HELD))  # too late
        found = inspect(client)
        gateway.take(packets.List)
        gateway.close()
        self.assert_this_host(client, found)
        self.assert_this_host(client, inspect(client))

    def test_no_reply_and_no_lease(self):
        """A call has waited for long enough, and the lease ends while its reply is being made."""
        gateway, client, held, _ = self.hold()
        busy = self.socket_client()
        gateway.lease(2.3)
        end = time.monotonic() + 2.3
        found = inspect(client)
        gateway.take(packets.List)
        wait_for(lambda: time.monotonic() > end - 0.4, what='time')
        self.current.pause()
        # The service waits for another packet after this one, for ten milliseconds.
        packet, _ = busy.socket.encode(SYNC)
        busy.socket.send(packet)
        wait_for(lambda: time.monotonic() > end - 0.006, what='time', every=0.001)
        self.current.resume()
        client.wait_released(held, 'lost')
        found.result()

    def test_lists_of_one_user(self):
        """A user can have 64 of them, also when they have waited for long enough and been replied to: so the
        gateway has no more to do. Another user's lists are asked for meanwhile."""
        gateway, client, _, _ = self.hold()
        nobody = self.other_uid_client(NOBODY)
        for _ in range(2):
            calls = [inspect(client, name=f'{number}') for number in range(LISTS_OF_A_UID + 1)]
            for call in calls:
                self.assertEqual(call.result(), ([], False))
            self.assertEqual(len(self.lists(gateway)), LISTS_OF_A_UID)
        nobody.send(message('Inspect', inspect_body('x')))
        wait_for(lambda: any(one.uid == NOBODY for one in self.lists(gateway)), what='LIST of another user')
        gateway.send(packets.rows(gateway.take(packets.List).serial))
        gateway.sync()
        found = inspect(client, name='y')
        gateway.send(packets.rows(gateway.take(packets.List, name='y').serial, HELD))
        self.assertEqual([entry['host'] for entry in found.result()[0]], ['node1'])

    def test_calls_of_one_user(self):
        """A user can't prevent another's calls from waiting for the other hosts."""
        gateway, client, _, _ = self.hold()
        nobody = self.other_uid_client(NOBODY)
        for _ in range(256):
            break_locks(client, 'y')
        client.sync()
        nobody.send(message('Break', GLib.Variant('(sa{sv})', ('x', {}))))
        gateway.take(packets.Break, uid=NOBODY)

    def test_other_calls_go_on(self):
        gateway, client, id_, _ = self.hold()
        found = inspect(client)
        serial = gateway.take(packets.List).serial
        client.release(id_, BUCKET)
        self.assertNotEqual(client.request('z', 'default')[1], 0)
        self.assertEqual(found.replies, [])
        gateway.send(packets.rows(serial))
        self.assertEqual(found.result(), ([], False))

    def test_caller_disconnects(self):
        gateway, _, _, _ = self.hold()
        other = self.raw_client()
        other.send(message('Inspect', inspect_body('x')))
        serial = gateway.take(packets.List).serial
        other.close()
        self.wait_gone(other.name)
        gateway.send(packets.rows(serial, HELD))
        gateway.sync()

    def test_shutdown(self):
        gateway, client, _, _ = self.hold()
        found = inspect(client)
        gateway.take(packets.List)
        broken = break_locks(client, 'y')
        gateway.take(packets.Break)
        self.assertEqual(self.current.stop(), 0)
        self.assert_this_host(client, found)
        self.assert_error('Unavailable', broken.result)

    def test_break(self):
        gateway, client, id_, _ = self.hold()
        broken = break_locks(client, 'x')
        asked = gateway.take(packets.Break, uid=os.getuid(), bucket='farm', name='x', host='')
        client.wait_released(id_, 'stolen')
        gateway.send(packets.broken(asked.serial, 2))
        self.assertEqual(broken.result(), (3,))

    def test_break_of_one_host(self):
        gateway, client, id_, _ = self.hold()
        broken = break_locks(client, 'x', clientId='host:node1')
        asked = gateway.take(packets.Break, name='x', host='node1')
        gateway.send(packets.broken(asked.serial, 1))
        self.assertEqual(broken.result(), (1,))
        self.assertEqual(client.signals('Released'), [])
        self.assertEqual(client.break_locks('x', BUCKET, clientId=client.name, id=id_), 1)

    def test_break_of_what_can_not_be(self):
        """It changes nothing, and the gateway remains connected."""
        gateway = self.start_gateway()
        self.start('--limit=nameBytes=10000')
        client = self.client()
        id_, _ = client.request('x', BUCKET)
        [demand] = gateway.greet()
        gateway.permit(demand)
        client.wait_granted(id_)
        for host in ('', 'h' * 256, 'h' * 65536):
            self.assert_error('InvalidArgs', client.break_locks, 'x', BUCKET, clientId=f'host:{host}',
                              mentions='clientId')
        for options in ({}, {'clientId': 'host:node1'}):
            self.assert_error('LimitsExceeded', client.break_locks, 'x' * 4097, BUCKET, mentions='nameBytes',
                              **options)
        broken = break_locks(client, 'x' * 4096, clientId='host:' + 'h' * 255)
        asked = gateway.take(packets.Break, name='x' * 4096, host='h' * 255)
        gateway.send(packets.broken(asked.serial, 1))
        self.assertEqual(broken.result(), (1,))
        self.assertEqual(client.signals('Released'), [])

    def test_longest_host(self):
        gateway, client, _, _ = self.hold()
        host = 'h' * 255
        found = inspect(client, clientId=f'host:{host}')
        self.answer(gateway, HELD, packets.row(packets.EXCLUSIVE, packets.HOLDS, host, 1))
        self.assertEqual([entry['host'] for entry in found.result()[0]], [host])

    def test_break_not_replied_to(self):
        """Locks of this host are ended, and the reply does not state that there are no others."""
        gateway, client, id_, _ = self.hold()
        broken = break_locks(client, 'x')
        gateway.send(packets.broken(gateway.take(packets.Break).serial, 1, failed=True))
        self.assert_error('Unavailable', broken.result)
        client.wait_released(id_, 'stolen')
        broken = break_locks(client, 'x')  # for which the gateway has too little time
        gateway.take(packets.Break)
        self.assert_error('Unavailable', broken.result)
        broken = break_locks(client, 'x')
        gateway.take(packets.Break)
        gateway.close()
        self.assert_error('Unavailable', broken.result)
        self.assert_error('Unavailable', client.break_locks, 'x', BUCKET)
        self.assertEqual(client.break_locks('x', BUCKET, clientId=client.name), 0)


class Sandboxed(Sandboxes, ClusterCase):
    def test_refused(self):
        """Refused also for buckets that don't exist, so that it can't find out which ones do."""
        self.start()
        app = self.app()
        for bucket in (BUCKET, 'cluster:other', 'cluster:far'):
            for member, *arguments in (('request', 'x'), ('query',), ('inspect',)):
                self.assert_error('Security', app.call, member, *arguments, bucket, mentions='this bucket')
        self.assertNotEqual(app.call('request', 'x')[1], 0)


class ConfigurationErrors(ClusterCase):
    config = '[Cluster]\nServers=a\n'

    def test_reported(self):
        """The mistake is logged, and everything else is served."""
        self.start()
        client = self.client()
        self.assertNotEqual(client.request('x')[1], 0)
        self.assert_error('NotSupported', client.request, 'x', BUCKET)
        self.assertIn(f"buckets of a cluster are not served: {self.config_path}: "
                      "[Cluster] Servers: 'a' is not HOST:PORT", self.current.stderr())

    def test_session_bus(self):
        service = self.start('--session', ready=False, state=False, address_option=False)
        self.assertEqual(service.wait_exit(), 2)
        self.assertIn('--cluster-config: a cluster is for the system bus', service.stderr())

    def test_no_file(self):
        os.unlink(self.config_path)
        self.start()
        self.assert_error('NotSupported', self.client().request, 'x', BUCKET)
        self.assertIn('No such file', self.current.stderr())
