# SPDX-FileCopyrightText: 2026 The WebLocks for D-Bus authors
# SPDX-License-Identifier: LGPL-2.1-or-later

"""Documents of the user, which sandboxed applications open: they and the host exclude each other by the
path of a document, and a descriptor that doesn't prove the path is refused."""

import os
import pathlib
import re
import socket
import stat
import unittest
import unittest.mock

from gi.repository import GLib

from appclient import descriptor_of, open_document_call
from calls import bucket_path
from rawbus import RawClient
from sandboxcase import APP, OTHER_APP, SandboxCase, StoredState

HOST, APPS = 'documents', 'user:documents'


def uri(path):
    return pathlib.Path(path).as_uri()


class DocumentCase(SandboxCase):
    def setUp(self):
        super().setUp()
        self.directory = os.path.join(self.shared, self._testMethodName)
        os.mkdir(self.directory)
        self.path = self.make('document')

    def make(self, name, text='text'):
        path = os.path.join(self.directory, name)
        with open(path, 'w', encoding='ascii') as file:
            file.write(text)
        return path

    def save_by_rename(self):
        before = os.stat(self.path).st_ino
        os.rename(self.make('new'), self.path)
        self.assertNotEqual(os.stat(self.path).st_ino, before)

    @staticmethod
    def open(app, path=None, **values):
        """Returns the name."""
        bucket, name = app.ask('open_document', path=path, **values)
        assert bucket == APPS and re.fullmatch('document:[0-9a-f]{64}', name), (bucket, name)
        return name


class Exclusion(DocumentCase):
    def check_apart(self, app, host):
        """The two exclude each other, whoever is first, also after a save by rename."""
        name = self.open(app, self.path)
        first, token = host.request(uri(self.path), HOST)
        self.assertNotEqual(token, 0)
        second, token = app.call('request', name, APPS)
        self.assertEqual(token, 0, 'both hold the lock')
        self.save_by_rename()
        self.assertEqual(self.open(app, self.path), name)
        host.release(first, HOST)
        granted = app.wait_for(lambda: app.granted(second), what='Granted') or \
            app.signals('Granted', id=second)[0]
        self.assertEqual((granted.path, granted.args[1]), (bucket_path(APPS), name))
        self.save_by_rename()
        third, token = host.request(uri(self.path), HOST)
        self.assertEqual(token, 0, 'both hold the lock')
        app.wait_for(lambda: app.wanted == [(second, True)], what='Wanted')
        held, pending = host.inspect(HOST, name=uri(self.path))[0]
        self.assertEqual((held['app'], held['clientId'], held['id']), (APP, app.name, second))
        self.assertEqual(pending['blockedBy'], [app.name])
        app.call('release', second, APPS)
        host.wait_granted(third)
        host.release(third, HOST)

    def test_app_and_host(self):
        self.check_apart(self.app(APP), self.client())

    def test_app_behind_a_proxy_and_host(self):
        self.check_apart(self.proxied_app(APP), self.client())

    def test_two_apps(self):
        one, two = self.app(APP), self.proxied_app(OTHER_APP)
        first = one.call('request', self.open(one, self.path), APPS)
        second = two.call('request', self.open(two, self.path), APPS)
        self.assertEqual(((first[1] != 0), second[1]), (True, 0))
        one.close()
        two.wait_for(lambda: two.granted(second[0]), what='Granted')

    def test_by_socket(self):
        app, host = self.app(APP), self.client()
        name = self.open(app, self.path)
        app.ask('open_socket')
        self.assertNotEqual(app.ask('by_socket', arguments=['request', name, APPS])[1], 0)
        waiting, token = host.request(uri(self.path), HOST)
        self.assertEqual(token, 0)
        app.ask('by_socket', arguments=['release', 1])
        host.wait_granted(waiting)

    def test_host_ends_what_an_app_has(self):
        """The user may, as in any bucket of its own; the application learns the name that it knows."""
        app, host = self.app(APP), self.client()
        name = self.open(app, self.path)
        for end in (lambda: host.break_locks(uri(self.path), HOST),
                    lambda: host.steal(uri(self.path), HOST)):
            id_, token = app.call('request', name, APPS)
            self.assertNotEqual(token, 0)
            end()
            app.wait_for(lambda: app.signals('Released', id=id_), what='Released')
            self.assertEqual(app.signals('Released', id=id_)[0].args[1], name)

    def test_a_document_that_is_not_there_yet(self):
        app, host = self.app(APP), self.client()
        name = self.open(app, self.directory, name='later')
        self.assertNotEqual(app.call('request', name, APPS)[1], 0)
        later = os.path.join(self.directory, 'later')
        self.assertEqual(host.request(uri(later), HOST)[1], 0)
        self.make('later')
        self.assertEqual(self.open(app, later), name)

    def test_a_long_path(self):
        """The name of the host's lock is a hash then, as in the library."""
        directory = self.directory
        for _ in range(5):
            directory = os.path.join(directory, 'd' * 240)
        os.makedirs(directory)
        app = self.app(APP)
        name = self.open(app, directory, name='document')
        app.call('request', name, APPS)
        digest = GLib.compute_checksum_for_string(
            GLib.ChecksumType.SHA256, uri(os.path.join(directory, 'document')), -1)
        self.assertEqual(self.control.query(HOST)[0], [(f'sha256:{digest}', 'exclusive', app.name)])


class Proofs(DocumentCase):
    """Which descriptors prove a document, and of which name."""

    def assert_opens(self, app, path, document=None, **values):
        """The lock's name on the host is that of the document."""
        name = self.open(app, path, **values)
        id_, _ = app.call('request', name, APPS)
        held = [entry['name'] for entry in self.control.inspect(HOST)[0] if entry['clientId'] == app.name]
        app.call('release', id_, APPS)
        self.assertEqual(held, [uri(document or path)])

    def assert_refuses(self, app, path, error='Security', **values):
        self.assert_error(error, app.ask, 'open_document', path=path, **values)

    def test_accepted(self):
        app = self.app(APP)
        other = os.path.join(self.directory, 'other')
        os.link(self.path, other)
        link = os.path.join(self.directory, 'link')
        os.symlink('document', link)
        strange = self.make('\u00fc %41 "x"')
        self.assert_opens(app, self.path)
        self.assert_opens(app, other)
        self.assert_opens(app, link, self.path)
        self.assert_opens(app, strange)
        self.assert_opens(app, self.directory, os.path.join(self.directory, 'new'), name='new')

    def test_bind_at_the_same_path(self):
        self.assert_opens(self.app_with_mounts('--bind', self.path, self.path), self.path)

    def test_in_run_host(self):
        """Where a Flatpak has what is another directory in its sandbox."""
        inside = f'/run/host{self.path}'
        self.assert_opens(self.app_with_mounts('--bind', self.path, inside), inside, self.path)

    def app_with_mounts(self, *mounts, **kw):
        more, descriptors = self.info_mounts(f'[Application]\nname={APP}\n'.encode())
        return self.app_in(*mounts, *more, descriptors=descriptors, **kw)

    def test_deleted(self):
        app = self.app(APP)
        for kind in ('deleted', 'decoy', 'replaced'):
            self.assert_refuses(app, self.make(kind), kind=kind)

    def test_no_documents(self):
        app = self.app(APP)
        link = os.path.join(self.directory, 'link')
        os.symlink('document', link)
        fifo = os.path.join(self.directory, 'fifo')
        os.mkfifo(fifo)
        for kind, path in (('memfd', self.path), ('pipe', self.path), ('tmpfile', self.directory),
                           ('path', self.directory), ('path', fifo), ('link', link),
                           ('path', '/dev/null'), ('path', '/proc/self/status')):
            with self.subTest(kind=kind, path=path):
                self.assert_refuses(app, path, kind=kind)
        self.assert_refuses(app, self.path, name='x')

    def test_something_else_at_the_path(self):
        other = self.make('other')
        app = self.app_with_mounts('--bind', other, self.path)
        self.assert_refuses(app, self.path)
        self.assert_opens(app, other)

    def test_a_file_system_over_the_path(self):
        app = self.app_with_mounts('--tmpfs', self.directory)
        app.ask('make', path=self.path)
        self.assert_refuses(app, self.path)

    def test_bind_elsewhere(self):
        self.assert_refuses(self.app_with_mounts('--bind', self.path, '/run/elsewhere'), '/run/elsewhere')

    def test_read_only_bind(self):
        app = self.app_with_mounts('--ro-bind', self.directory, self.directory)
        self.assert_refuses(app, self.path)
        self.assert_refuses(app, self.directory, name='new')

    @unittest.skipIf(os.geteuid() != 0, 'needs root, to unmount')
    def test_lazily_unmounted(self):
        app = self.app_with_mounts('--bind', self.directory, self.directory, '--cap-add', 'ALL',
                                   user_namespace=False)
        self.assert_refuses(app, self.path, kind='unmounted')

    @unittest.skipIf(os.geteuid() == 0, 'root may write everything')
    def test_not_writable(self):
        os.chmod(self.path, stat.S_IRUSR)
        self.assert_refuses(self.app(APP), self.path)

    def test_one_answer(self):
        """What is at a path doesn't show: the same error for what is there and what is not."""
        app = self.app_with_mounts('--tmpfs', self.directory)
        texts = set()
        for name in ('document', 'absent'):
            path = os.path.join(self.directory, name)
            app.ask('make', path=path)
            texts.add(str(self.assert_error('Security', app.ask, 'open_document', path=path)))
        self.assertEqual(len(texts), 1)

    def test_invalid_arguments(self):
        app = self.app(APP)
        self.assert_refuses(app, self.path, 'InvalidArgs', kind='readable')
        self.assert_refuses(app, None, 'InvalidArgs')
        self.assert_refuses(app, None, 'InvalidArgs', name='x')
        self.assert_refuses(app, self.path, 'InvalidArgs', portal='ID/NAME')
        for name in ('', '.', '..', 'a/b', '/', 'x' * 256):
            self.assert_refuses(app, self.directory, 'InvalidArgs', name=name)
        for portal in ('', 'ID', '/NAME', 'ID/', 'ID/NAME/', 'ID//NAME', 'ID/../x', 'ID/NAME/.', 'ID/' + 'x' * 4096):
            self.assert_refuses(app, None, 'InvalidArgs', portal=portal)
        self.assert_refuses(app, None, 'NotSupported', portal='ID/NAME')  # there is no portal on this bus

    def test_outside_sandboxes(self):
        host = self.raw_client(descriptors=True)
        fd = descriptor_of('path', self.path)
        self.addCleanup(os.close, fd)
        serial = host.send_with_descriptors(open_document_call(file=0), [fd])
        self.assert_error('NotSupported', host.result, serial)
        for member, *arguments in (('request', 'x'), ('query',), ('inspect',), ('release', 1),
                                   ('break_locks', 'x')):
            self.assert_error('NotSupported', getattr(host, member), *arguments, bucket=APPS)
        self.assert_error('NotSupported', host.watch, bucket=APPS)

    def test_descriptors_are_closed(self):
        app = self.app(APP)
        self.open(app, self.path)
        before = self.descriptors()
        for _ in range(20):
            self.open(app, self.path)
            self.assert_refuses(app, self.directory)
        self.assertEqual(self.descriptors(), before)


@unittest.skipIf(os.geteuid() != 0, 'needs root, to mount')
class NeverReplies(DocumentCase):
    """A file system whose process doesn't reply, which the service sees at the same path: it has a private
    mount namespace here."""

    @classmethod
    def start(cls):
        wrapper = 'unshare --mount ' + os.environ.get('WEBLOCKS_TEST_WRAPPER', '')
        with unittest.mock.patch.dict(os.environ, WEBLOCKS_TEST_WRAPPER=wrapper):
            return super().start()

    def test_it_is_not_supported(self):
        beside = self.plain(command=('nsenter', f'--mount=/proc/{self.daemon.process.pid}/ns/mnt'))
        problem = beside.ask('hang', path=self.path)
        if problem:
            self.skipTest(f'FUSE can\'t be mounted here: {problem}')
        address, sock = self.listen()
        beside.send_command('give_document', path=address, document=self.path)
        connection, _ = sock.accept()
        with connection:
            _, descriptors, _, _ = socket.recv_fds(connection, 1, 1)
        self.addCleanup(os.close, descriptors[0])
        app = self.app(APP)
        client = self._adopt(RawClient.on_socket(
            socket.socket(fileno=self.descriptor_of(app, 'give_connection'))))
        serial = client.send_with_descriptors(open_document_call(file=0), descriptors)
        self.assert_error('NotSupported', client.result, serial)
        self.raw_client().ping()


class Rights(DocumentCase):
    """What an application may do in the bucket of its user's documents."""

    def test_only_what_is_opened(self):
        one, two = self.app(APP), self.app(APP)
        name = self.open(one, self.path)
        self.assert_error('Security', two.call, 'request', name, APPS)
        self.assert_error('Security', one.call, 'request', uri(self.path), APPS)
        self.assert_error('Security', one.call, 'request', f'{name}0', APPS)
        self.assert_error('Security', one.call, 'request', name, APPS, steal=True)
        self.assert_error('Security', one.call, 'steal', name, APPS)
        for member, *arguments in (('query',), ('watch', True), ('break_locks', name)):
            self.assert_error('Security', one.call, member, *arguments, bucket=APPS)
        # Its own bucket of that name is another one.
        self.assertNotEqual(one.call('request', uri(self.path), HOST)[1], 0)
        self.assertNotEqual(one.call('request', name, APPS)[1], 0)

    def test_what_is_listed(self):
        app, twin, other, host = self.app(APP), self.app(APP), self.app(OTHER_APP), self.client()
        secret = uri(self.make('secret'))
        host.request(secret, HOST, why='secret')
        app.call('watch_all')
        name = self.open(app, self.path)
        for client in (twin, other):
            self.assertEqual(self.open(client, self.path), name)
        host.request(uri(self.path), HOST, why='secret')
        own, _ = app.call('request', name, APPS, why='own')
        other.call('request', name, APPS, why='secret')
        twin.call('request', name, APPS, why='of the same application')

        entries, more = app.call('inspect', bucket=APPS)
        self.assertFalse(more)
        self.assertEqual([(entry['state'], entry['why'], entry['clientId'], entry['app']) for entry in entries],
                         [('held', '', '', ''), ('pending', 'own', app.name, APP),
                          ('pending', '', '', ''), ('pending', 'of the same application', twin.name, APP)])
        self.assertEqual({entry['name'] for entry in entries}, {name})
        for entry in (entries[0], entries[2]):
            self.assertEqual([entry[key] for key in ('id', 'token', 'pid', 'process', 'key', 'blockedBy')],
                             [0, 0, 0, '', 0, []])
        self.assertEqual(entries[1]['id'], own)
        self.assertEqual(entries[3]['blockedBy'], [app.name])
        # Filters reveal no more.
        self.assertEqual(app.call('inspect', bucket=APPS, clientId=host.name)[0], [])
        self.assertEqual(app.call('inspect', bucket=APPS, id=1, state='held')[0], [])
        for key in ('name', 'prefix'):
            self.assertEqual(app.call('inspect', bucket=APPS, **{key: uri(self.path)})[0], [])
            self.assertEqual(len(app.call('inspect', bucket=APPS, **{key: name})[0]), 4)
        page, more = app.call('inspect', bucket=APPS, limit=2)
        self.assertTrue(more)
        self.assertEqual(len(app.call('inspect', bucket=APPS, after=page[-1]['cursor'])[0]), 2)

        self.assertEqual([entry[0:4:3] for entry in app.call('resync')], [[APPS, name]])
        self.assertEqual(app.call('buckets'), [])
        self.assertEqual(app.call('observable'), [])
        app.sync()
        self.assertNotIn('secret', str(app.events))
        self.assertEqual([event.args[1] for event in app.events if event.args[3] != app.name], [])

    def test_refused_alike_whether_in_use_or_not(self):
        app = self.app(APP)
        texts = set()
        for name in ('document:' + '0' * 64, uri(self.path)):
            texts.add(str(self.assert_error('Security', app.call, 'request', name, APPS)))
        self.control.request(uri(self.path), HOST)
        texts.add(str(self.assert_error('Security', app.call, 'request', uri(self.path), APPS)))
        self.assertEqual(len(texts), 1)


class Limits(DocumentCase):
    options = ('--no-state', '--limit=documentsPerClient=2')

    def test_a_name_without_a_request_makes_room(self):
        app = self.app(APP)
        paths = [self.make(f'{i}') for i in range(4)]
        names = [self.open(app, path) for path in paths[:2]]
        requests = [app.call('request', name, APPS) for name in names]
        self.assert_error('LimitsExceeded', app.ask, 'open_document', path=paths[2],
                          mentions='documentsPerClient')
        self.assertEqual(self.open(app, paths[0]), names[0])
        app.call('release', requests[0][0], APPS)
        third = self.open(app, paths[2])
        self.assert_error('Security', app.call, 'request', names[0], APPS)
        self.assertNotEqual(app.call('request', third, APPS)[1], 0)
        # It is of each client.
        self.open(self.app(APP), paths[3])

    def test_an_application_is_charged(self):
        limit = self.control.get_property('Limits')['documentsPerClient']
        self.assertEqual(limit, 2)


class Restarts(StoredState, DocumentCase):
    """With the service killed in between."""

    def test_locks_are_restored_and_names_forgotten(self):
        app, host, other = self.app(APP), self.client(), self.make('other')
        name, unused = self.open(app, self.path), self.open(app, other)
        held, token = app.call('request', name, APPS)
        self.assertNotEqual(token, 0)
        waiting, _ = host.request(uri(self.path), HOST)
        self.restart()
        self.assertEqual(self.control.query(HOST), ([(uri(self.path), 'exclusive', app.name)],
                                                    [(uri(self.path), 'exclusive', host.name)]))
        self.assertEqual(app.call('resync'), [[APPS, held, 0, name, 'exclusive', token, 0, True]])
        self.assert_error('Security', app.call, 'request', unused, APPS)
        self.assertEqual(self.open(app, other), unused, 'the key is another one')
        self.assertEqual(self.open(app, self.path), name)
        app.call('release', held, APPS)
        host.wait_for(lambda: host.granted(waiting), what='Granted')

    def test_one_that_waits_is_granted_by_its_name(self):
        app, host = self.app(APP), self.client()
        name = self.open(app, self.path)
        held, _ = host.request(uri(self.path), HOST)
        waiting, _ = app.call('request', name, APPS)
        self.restart()
        host.release(held, HOST)
        app.wait_for(lambda: app.granted(waiting), what='Granted')
        self.assertEqual(app.signals('Granted', id=waiting)[0].args[1], name)
        # Also without another call to open it.
        app.call('release', waiting, APPS)
        self.assertNotEqual(app.call('request', name, APPS)[1], 0)
