# SPDX-FileCopyrightText: 2026 The WebLocks for D-Bus authors
# SPDX-License-Identifier: LGPL-2.1-or-later

"""A server whose data are replaced by an older copy: tokens that were issued before would be issued
again, so a host that has seen them uses no lock, until an administrator has acted."""

import os
import unittest

from clusterhosts import BUCKET, Host
from engines import EngineClient
from ensemble import Ensemble, Place, why_no_servers
from harness import wait_for


@unittest.skipIf(why_no_servers(), why_no_servers())
class OldData(unittest.TestCase):
    def setUp(self):
        self.ensemble = self.enterContext(Ensemble())
        self.server = self.ensemble.servers[0]
        self.host = Host('alpha', Place(), self.ensemble.addresses, timeout=10)
        self.addCleanup(self.host.stop)
        self.host.start()
        self.seen = os.path.join(self.host.gateway_state, 'seen')

    def report(self):
        return f'{self.ensemble.log()}\n{self.host.log()}'

    def grant(self, name):
        """Waits until a lock is granted, and releases it. Returns its token."""
        client = self.host.client()
        id_, token = client.request(name, BUCKET)
        if not token:
            token = client.wait_granted(id_).args[4]
        client.release(id_, BUCKET)
        return token

    def copy_data(self):
        self.server.kill()
        self.server.copy_data()
        self.ensemble.restore()

    def put_back_data(self):
        self.server.kill()
        self.server.put_back_data()
        self.ensemble.restore()

    def restart_gateway(self):
        self.host.end_gateway()
        self.host.start_gateway()

    def assert_refused(self):
        """Returns a client and the id of its request, which waits."""
        client = self.host.client()

        def status():
            found = client.get_property('Cluster')
            return found['state'], found['reason']

        wait_for(lambda: status() == ('lost', 'older-data'), what='state')
        id_, token = client.request('x', BUCKET)
        self.assertEqual(token, 0)
        return client, id_

    def test_noticed_by_the_next_process(self):
        self.grant('a')
        self.copy_data()
        self.grant('b')
        self.restart_gateway()
        highest = self.grant('c')
        self.host.end_gateway()
        self.put_back_data()
        self.host.start_gateway()
        self.assert_refused()
        client = self.host.client()
        self.assertEqual(client.outcome_of(client.request('y', BUCKET, ifAvailable=True)), (0, 0))
        self.assertIn("bucket 'farm': block 1 after block 3", self.host.log())
        # It is no matter which blocks other hosts get then.
        with open(self.seen, encoding='utf-8') as file:
            stored = file.read()
        with open(self.seen, 'w', encoding='utf-8') as file:
            file.write(stored.replace('farm=3', 'farm=1'))
        self.restart_gateway()
        self.host.close_clients()
        client, waiting = self.assert_refused()
        os.unlink(self.seen)
        self.restart_gateway()
        self.assertLessEqual(client.wait_granted(waiting).args[4], highest)

    def test_noticed_in_a_session(self):
        """The session continues, but the bucket's counter has been deleted: its blocks begin again."""
        self.grant('a')
        engine = EngineClient(self.ensemble.addresses)
        self.addCleanup(engine.end)
        engine.wait_for_state('CONNECTED')
        for node in ('/weblocks/tokens/farm', '0'), ('/weblocks/tokens', 'farm'):
            self.assertEqual(engine.ask('delete', *node).result, 'OK')
        client = self.host.client()
        id_, token = client.request('b', BUCKET)
        self.assertEqual(token, 0)
        self.assert_refused()
        self.assertFalse(client.granted(id_))
        self.assertIn("bucket 'farm': block 1 after block 1", self.host.log())
