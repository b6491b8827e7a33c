# SPDX-FileCopyrightText: 2026 The WebLocks for D-Bus authors
# SPDX-License-Identifier: LGPL-2.1-or-later

"""Which principals may observe which: users their sandboxed applications, root all, and not the
reverse. Tests with one principal are in tests/bus/test_break.py."""

import os
import pwd
import socket
import subprocess
import sys

from buses import why_no_other_users
from calls import other_path
from rawbus import PRINCIPALS, RawClient
from sandboxcase import APP, OTHER_APP, SandboxCase

USER, OTHER_USER = sorted(user.pw_uid for user in pwd.getpwall() if user.pw_uid > 0)[:2]

# As root of a user namespace, with its unique name.
IN_NAMESPACE = '''
import os, sys
inside, outside, address, *paths = os.geteuid(), int(sys.argv[1]), *sys.argv[2:]
os.geteuid = lambda: outside
from calls import DBusError, Path
from rawbus import RawClient
client = RawClient(address)
print(inside)
print([path for path, _ in client.observable()])
for path in paths:
    try:
        print(client.query(Path(path)))
    except DBusError as error:
        print(error.short)
'''


class ObserveCase(SandboxCase):
    def setUp(self):
        super().setUp()
        if why_no_other_users():
            self.skipTest(why_no_other_users())
        self.apps = {}

    def listen(self):
        path, sock = super().listen()
        os.chmod(path, 0o777)
        return path, sock

    def connect_as(self, app_id=None, uid=USER):
        """A connection of a user's program, or of a sandboxed application of that user."""
        if app_id is None:
            return self.raw_client(uid=uid)
        if (app_id, uid) not in self.apps:
            self.apps[app_id, uid] = self.app(app_id, uid=uid)
        sock = socket.socket(fileno=self.descriptor_of(self.apps[app_id, uid], 'give_connection'))
        client = self._adopt(RawClient.on_socket(sock))
        PRINCIPALS[self.bus.address, client.name] = (uid, app_id)
        return client


class Observers(ObserveCase):
    def check_observed(self, observer, path):
        """It can query, watch and break the locks of USER's application APP there."""
        holder, waiter = self.connect_as(APP), self.connect_as(APP)
        observer.watch_all()
        held, _ = holder.request('n')
        waiting, _ = waiter.request('n')
        self.assertEqual(observer.query(path), ([('n', 'exclusive', holder.name)],
                                                [('n', 'exclusive', waiter.name)]))
        entry, = observer.inspect(path, state='held')[0]
        self.assertEqual((entry['app'], entry['uid'], entry['id']), (APP, USER, held))
        self.assertEqual(observer.observable(), [(path, {
            'uid': USER, 'kind': 'flatpak', 'app': APP, 'bucket': 'default', 'held': 1,
            'pending': 1})])
        self.assertEqual(observer.break_locks('n', path, clientId=holder.name, id=held), 1)
        waiter.wait_for(lambda: waiter.granted(waiting), what='Granted')
        holder.ping()
        self.assertEqual([event.args[-1] for event in holder.events], ['stolen'])
        observer.ping()
        self.assertEqual([(event.signal, event.path, event.args[3]) for event in observer.events],
                         [('Granted', path, holder.name), ('Waiting', path, waiter.name),
                          ('Released', path, holder.name), ('Granted', path, waiter.name)])

    def test_the_user(self):
        self.check_observed(self.connect_as(), other_path('default', APP))

    def test_root(self):
        self.check_observed(self.connect_as(uid=0), other_path('default', APP, uid=USER))

    def test_another_user(self):
        """Neither the user nor the user's applications; and the same path is another bucket."""
        self.connect_as(APP).request('n')
        self.connect_as().request('n')
        other_user = self.connect_as(uid=OTHER_USER)
        self.assertEqual(other_user.query(other_path('default', APP)), ([], []))
        self.assertEqual(other_user.observable(), [])
        for path in (other_path('default', APP, uid=USER), other_path('default', uid=USER)):
            self.assert_error('Security', other_user.query, path)

    def check_blind(self, ask, own):
        """An application sees only its own locks, and gets the same error for all others."""
        answers = set()
        for path in (other_path('b', OTHER_APP), other_path('none', 'org.example.None'),
                     other_path('b', APP), other_path('b', 'snap', kind='snap'),
                     other_path('b', uid=USER), other_path('b', APP, uid=USER),
                     other_path('b', uid=0)):
            for member, *arguments in (('query',), ('inspect',), ('break_locks', 'n'),
                                       ('request', 'n'), ('release', 1)):
                error = self.assert_error('Security', ask, path, member, *arguments)
                answers.add(str(error))
        self.assertEqual(len(answers), 1, answers)
        self.assertEqual([path for path, _ in own()], [])

    def test_an_application_sees_nothing(self):
        self.connect_as().request('n', 'b')
        self.connect_as(OTHER_APP).request('n', 'b')
        app = self.connect_as(APP)
        app.watch_all()
        self.check_blind(lambda path, member, *arguments:
                         getattr(app, member)(*arguments, bucket=path), app.observable)
        self.connect_as().request('m', 'b')
        self.connect_as(OTHER_APP).request('m', 'b')
        self.assertEqual(self.connect_as().break_locks('m', other_path('b', OTHER_APP)), 1)
        app.ping()
        self.assertEqual(app.events, [])

    def test_an_application_behind_its_proxy(self):
        self.connect_as(OTHER_APP).request('n', 'b')
        app = self.proxied_app(APP, uid=USER)
        self.check_blind(lambda path, member, *arguments:
                         app.ask('call_at', path=path, arguments=[member, *arguments]),
                         lambda: app.call('observable'))
        app.call('request', 'n', 'own')
        self.assertEqual({path for path, _ in self.connect_as().observable()},
                         {other_path('b', OTHER_APP), other_path('own', APP)})

    def test_root_of_a_user_namespace(self):
        """Root of a user namespace is a user like any other."""
        self.connect_as(APP).request('n', 'b')
        self.connect_as(uid=OTHER_USER).request('n', 'b')
        paths = [other_path('b', uid=OTHER_USER), other_path('b', uid=0), other_path('b', APP)]
        env = {**self.bus.environment(), 'PYTHONPATH': os.pathsep.join(sys.path)}
        done = subprocess.run(['unshare', '--user', '--map-root-user', sys.executable, '-c',
                               IN_NAMESPACE, str(USER), self.bus.address, *paths],
                              capture_output=True, text=True, check=False, env=env, user=USER,
                              group=USER, extra_groups=[])
        if 'unshare failed' in done.stderr:
            self.skipTest(done.stderr.strip())
        lines = done.stdout.splitlines()
        self.assertEqual(lines[:4], ['0', str([str(paths[2])]), 'Security', 'Security'],
                         done.stderr)
        self.assertIn("'n'", lines[4])


class SystemBus(ObserveCase):
    @classmethod
    def start(cls):
        return cls.start_service(
            '--system', address_option=False, env={'DBUS_SYSTEM_BUS_ADDRESS': cls.bus.address})

    def test_groups(self):
        """Their buckets are not for sandboxed applications, whatever group they run in."""
        app, bucket = self.connect_as(APP), f'group:{USER}'
        for name in ('n', 'm'):  # the second time the bucket is in use
            for function, *args in ((app.request, name), (app.steal, name), (app.query,),
                                    (app.inspect,), (app.watch, True), (app.break_locks, name)):
                self.assert_error('Security', function, *args, bucket)
            self.assertEqual((app.buckets(), app.observable()), ([], []))
            self.assertGreater(self.connect_as(uid=0).request(name, bucket)[1], 0)

    def test_documents(self):
        """They are shared on a session bus only."""
        app = self.app(APP)
        for values in ({'path': '/etc/passwd'}, {'portal': 'ID/NAME'}):
            self.assert_error('NotSupported', app.ask, 'open_document', **values)
        for client in (self.connect_as(APP), self.connect_as()):
            for function, *args in ((client.request, 'n'), (client.query,), (client.inspect,)):
                self.assert_error('NotSupported', function, *args, 'user:documents')
