# SPDX-FileCopyrightText: 2026 The WebLocks for D-Bus authors
# SPDX-License-Identifier: LGPL-2.1-or-later

"""The running service matches introspection/, and replies on the documented paths."""

import os
import re
import subprocess
import xml.etree.ElementTree as ElementTree

from buses import read_text
from calls import ADMIN, LOCKS, ROOT, bucket_path
from harness import BusTestCase, GLib, environment

BUCKETS = ROOT + '/bucket'
# Annotations for other tools (documentation, code generators) are not part of the contract.
ANNOTATIONS = ('org.freedesktop.DBus.Deprecated', 'org.freedesktop.DBus.Method.NoReply',
               'org.freedesktop.DBus.Property.EmitsChangedSignal')
DEFAULT_LIMITS = {
    'nameBytes': 1024, 'whyBytes': 256,
    'requestsPerClient': 1024, 'requestsPerApp': 4096, 'requestsPerUid': 16384,
    'requestsTotal': 65536,
    'textBytesPerApp': 1 << 20, 'textBytesPerUid': 4 << 20, 'textBytesTotal': 16 << 20,
    'clientsPerApp': 256, 'clientsPerUid': 1024, 'clientsTotal': 4096,
    'bytesWaiting': 4 << 20, 'bytesWaitingTotal': 64 << 20,
    'watchesPerClient': 64, 'watchesPerApp': 1024, 'watchesPerUid': 4096, 'watchesTotal': 16384,
    'documentsPerClient': 64}

GOOD_NAMES = ['default', 'a', 'Z', '0', '1abc', '_', '-', '.', '..', ' ', 'a/b', 'a b', '%s',
              'org.example.Editor', '\x01', '\x7f', 'é', 'e\u0301', '€' * 85, '😀', '\ufffd',
              'a' * 255, '9' * 255, '_' * 255, 'bucket', 'Ä_ö']


def describe(interface):
    """The parts of an interface that clients depend on, for comparison."""
    members = {}
    for node in interface:
        if node.tag not in ('method', 'signal', 'property'):
            continue
        implied = 'out' if node.tag == 'signal' else 'in'
        members[node.tag, node.get('name')] = {
            'args': [(arg.get('name'), arg.get('type'), arg.get('direction', implied))
                     for arg in node.findall('arg')],
            'type': (node.get('type'), node.get('access')),
            'annotations': sorted((note.get('name'), note.get('value'))
                                  for note in node.findall('annotation')
                                  if note.get('name') in ANNOTATIONS),
        }
    return members


def interfaces(xml):
    return {node.get('name'): node for node in ElementTree.fromstring(xml).findall('interface')}


class Introspection(BusTestCase):
    maxDiff = None

    def compare(self, name, path):
        file = os.path.join(environment('WEBLOCKS_INTROSPECTION_DIR'), f'{name}.xml')
        expected = describe(interfaces(read_text(file))[name])
        found = interfaces(self.client().introspect(path))
        self.assertIn(name, found)
        self.assertEqual(describe(found[name]), expected)
        standard = {f'org.freedesktop.DBus.{part}' for part in
                    ('Peer', 'Introspectable', 'Properties')}
        self.assertLessEqual(set(found), standard | {name}, 'no other interface is promised')

    def test_service_object(self):
        self.compare(ADMIN, ROOT)

    def test_bucket_object(self):
        self.compare(LOCKS, bucket_path('default'))

    def test_bucket_object_with_any_name(self):
        self.compare(LOCKS, bucket_path('org.example.Editor'))

    def children(self, path):
        xml = self.client().introspect(path)
        return [node.get('name') for node in ElementTree.fromstring(xml).findall('node')]

    def test_tree(self):
        self.assertEqual(self.children('/'), ['org'])
        self.assertEqual(self.children('/org'), ['w3'])
        self.assertEqual(self.children('/org/w3'), ['WebLocks'])
        self.assertEqual(self.children(ROOT), ['bucket'])
        self.assertEqual(self.children(bucket_path('default')), [])

    def test_tree_shows_buckets_in_use(self):
        client, bucket = self.client(), 'org.example.Tree'
        self.assertEqual(self.children(BUCKETS), ['default'])
        id_, _ = client.request('a', bucket=bucket)
        client.request('a')
        self.assertEqual(self.children(BUCKETS), ['default', 'org_2eexample_2eTree'])
        self.assertEqual(self.children(f'{BUCKETS}/org_2eexample_2eTree'), [])
        client.release(id_, bucket=bucket)
        self.assertEqual(self.children(BUCKETS), ['default'])


class Properties(BusTestCase):
    def test_version(self):
        output = subprocess.run([environment('WEBLOCKSD'), '--version'], capture_output=True,
                              check=True, text=True).stdout
        version = self.client().get_property('Version')
        self.assertRegex(version, r'^\d+\.\d+\.\d+')
        self.assertIn(version, output)

    def test_interface_version(self):
        body = GLib.Variant('(ss)', (ADMIN, 'InterfaceVersion'))
        client = self.client()
        client.call(ROOT, 'org.freedesktop.DBus.Properties', 'Get', body)
        xml = interfaces(client.introspect(ROOT))[ADMIN]
        self.assertEqual(xml.find("property[@name='InterfaceVersion']").get('type'), 'u')
        self.assertEqual(client.get_property('InterfaceVersion'), 1)

    def test_limits(self):
        self.assertEqual(self.client().get_property('Limits'), DEFAULT_LIMITS)

    def test_limits_are_documented(self):
        """With their defaults, in the XML of the reference pages."""
        file = os.path.join(environment('WEBLOCKS_INTROSPECTION_DIR'), f'{ADMIN}.xml')
        text = read_text(file)
        documented = re.findall(r'<term><literal>(\w+)</literal>: (\d+)</term>', text)
        self.assertEqual({name: int(value) for name, value in documented}, DEFAULT_LIMITS)

    def test_limits_of_the_manual_page(self):
        """It only names limits that there are: by themselves, or as a row of the table."""
        file = os.path.join(environment('WEBLOCKS_INTROSPECTION_DIR'), '../data/weblocksd.8')
        text = read_text(file).partition('.SH LIMITS')[2].partition('.SH ')[0]
        named = set(re.findall(r'\b[a-z]+(?:Bytes|Waiting|Per|Total)\w*', text))
        self.assertGreater(len(named), 5)
        self.assertEqual({name for name in named
                          if name not in DEFAULT_LIMITS and f'{name}Total' not in DEFAULT_LIMITS},
                         set())

    def test_get_all(self):
        values = self.client().call(ROOT, 'org.freedesktop.DBus.Properties', 'GetAll',
                                    GLib.Variant('(s)', (ADMIN,)))[0]
        self.assertEqual(set(values), {'Version', 'InterfaceVersion', 'Limits', 'Cluster'})
        self.assertEqual(values['Cluster'], {'state': 'off', 'reason': '', 'leaseLeft': 0, 'server': '',
                                             'id': '', 'hosts': [], 'metrics': [], 'buckets': []})

    def test_read_only(self):
        for name, value in (('Version', GLib.Variant('s', '9')),
                            ('InterfaceVersion', GLib.Variant('u', 9)),
                            ('Limits', GLib.Variant('a{st}', {}))):
            with self.subTest(name):
                self.assert_error('PropertyReadOnly', self.client().call, ROOT,
                                  'org.freedesktop.DBus.Properties', 'Set',
                                  GLib.Variant('(ssv)', (ADMIN, name, value)))


class OtherLimits(BusTestCase):
    arguments = ('--limit', 'nameBytes=7', '--limit', 'requestsTotal=2147483647')

    def test_limits_tell_the_settings(self):
        self.assertEqual(self.client().get_property('Limits'),
                         {**DEFAULT_LIMITS, 'nameBytes': 7, 'requestsTotal': 2147483647})


class Paths(BusTestCase):
    def test_names_of_paths(self):
        """The decoded label of the path is the name that Buckets returns."""
        client = self.client()
        for name in GOOD_NAMES:
            client.request('a', bucket=name)
        self.assertEqual(client.buckets(), sorted(GOOD_NAMES))

    def test_other_paths(self):
        client = self.client()
        for path in (BUCKETS, f'{BUCKETS}/a/b', f'{BUCKETS}/default/default', f'{ROOT}/buckets/a',
                     f'{BUCKETS}x', '/org/w3', '/org/w3/WebLocks2', '/nowhere',
                     '/org/w3/WebLocks/bucke', '/org/freedesktop/DBus'):
            with self.subTest(path):
                self.assert_error('UnknownObject', client.call, path, LOCKS, 'Query')

    def test_interfaces_are_on_their_objects_only(self):
        client = self.client()
        self.assert_error('UnknownMethod', client.call, ROOT, LOCKS, 'Query')
        self.assert_error('UnknownMethod', client.call, bucket_path('default'), ADMIN, 'Buckets')


class Clusters(BusTestCase):
    """A bucket whose name begins with `cluster:` is never local to this machine."""

    def test_every_method_is_refused(self):
        client, observer = self.client(), self.client()
        observer.watch_all()
        for bucket in ('cluster:', 'cluster:farm', 'cluster:' + 'x' * 247):
            for call, *args in ((client.request, 'a'), (client.steal, 'a'), (client.query,),
                                (client.inspect,), (client.watch, True), (client.watch, False),
                                (client.break_locks, 'a'), (client.release, 1), (client.abort, 1),
                                (client.downgrade, 1)):
                with self.subTest(call.__name__, bucket=bucket):
                    self.assert_error('NotSupported', call, *args, bucket=bucket,
                                      mentions='cluster')
        self.assert_error('NotSupported', client.request, '-', bucket='cluster:a',
                          mentions='cluster')
        self.assert_error('InvalidArgs', client.request, 'a', bucket='cluster:a',
                          mode=GLib.Variant('u', 1))
        self.assertEqual(client.buckets(), [])
        self.assertEqual(observer.observable(), [])
        self.assertEqual(observer.signals(), [])

    def test_other_names_are_not(self):
        client = self.client()
        for bucket in ('cluster', 'Cluster:a', 'acluster:', ' cluster:a', 'cluster;a'):
            self.assertNotEqual(client.request('a', bucket=bucket)[1], 0, bucket)

    def test_on_a_socket(self):
        client = self.socket_client()
        for options in ({}, {'ifAvailable': True}, {'steal': True}):
            self.assert_error('NotSupported', client.request, 'a', 'cluster:farm', **options)
        self.assertNotEqual(client.request('a', self.unique('bucket'))[1], 0)
