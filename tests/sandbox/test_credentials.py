# SPDX-FileCopyrightText: 2026 The WebLocks for D-Bus authors
# SPDX-License-Identifier: LGPL-2.1-or-later

"""How the service evaluates the credentials that a bus returns, on a fake bus that returns what the
test chooses."""

import os
import shutil
import signal
import subprocess
import tempfile
import unittest
import unittest.mock

from gi.repository import Gio, GLib

from buses import die_with_parent, end, read_text
from calls import LOCKS, ROOT, SERVICE, DBusError, bucket_path
from clustercase import BUCKET, CONFIG
from fakebus import LATER, FakeBus
from harness import Service, wait_for
from rawbus import lock_call, method_call, unpack
from sandboxcase import APP, OTHER_APP, info, memory_file, why_no_sandbox

# The number of messages that a client is sent unread.
UNREAD_MAX = 512
NOT_A_PID = 0x7fffffff


def u32(value):
    return GLib.Variant('u', value)


def introspect(path):
    return method_call(SERVICE, path, 'org.freedesktop.DBus.Introspectable', 'Introspect')


def label(text, end_=b'\0'):
    return GLib.Variant('ay', text.encode() + end_)


class CredentialsCase(unittest.TestCase):
    wrapper = os.environ.get('WEBLOCKS_TEST_WRAPPER', '')
    arguments = ('--no-state',)

    def setUp(self):
        if why_no_sandbox():
            self.skipTest(why_no_sandbox())
        directory = tempfile.mkdtemp(prefix='weblocks-fake-')
        self.addCleanup(shutil.rmtree, directory, ignore_errors=True)
        self.bus = FakeBus(directory)
        with unittest.mock.patch.dict(os.environ, {'WEBLOCKS_TEST_WRAPPER': self.wrapper}):
            self.service = Service(self.bus, self.arguments)
        self.addCleanup(self.bus.close)
        self.addCleanup(self.service.end)
        self.bus.wait_owned()
        self.n = 0
        self.processes = []
        self.host = self.client([self.credentials(os.getpid())] * 2)
        self.assertEqual(self.call(self.host, 'Query'), ([], []))
        self.baseline = self.descriptors()

    def tearDown(self):
        if hasattr(self, 'baseline'):
            self.call(self.host, 'Query')
            self.assertEqual(self.descriptors(), self.baseline)
            self.assertEqual(self.service.complaints(), [])

    def report(self):
        return self.service.stderr()

    def descriptors(self):
        return self.service.count_descriptors()

    # ---- processes

    def sleeper(self, app_id=None):
        """Starts an idle process in the sandbox of that application. Returns its pid."""
        command, fds = ['sleep', '1000'], ()
        if app_id is not None:
            one, two = memory_file(info(app_id)), memory_file(info(app_id))
            fds = (one, two)
            command = ['bwrap', '--die-with-parent', '--unshare-user', '--ro-bind', '/usr', '/usr',
                       '--symlink', 'usr/bin', '/bin', '--ro-bind-try', '/lib64', '/lib64',
                       '--ro-bind-try', '/lib', '/lib', '--file', str(one), '/.flatpak-info',
                       '--ro-bind-data', str(two), '/.flatpak-info', 'sh', '-c',
                       'echo on; exec sleep 1000']
        else:
            command = ['sh', '-c', 'echo on; exec sleep 1000']
        process = subprocess.Popen(command, pass_fds=fds, stdout=subprocess.PIPE,
                                   preexec_fn=die_with_parent)
        self.addCleanup(end, process)
        for fd in fds:
            os.close(fd)
        self.assertEqual(process.stdout.readline(), b'on\n')
        process.stdout.close()
        if app_id is None:
            return process.pid
        # bwrap is the parent of the process.
        return int(read_text(f'/proc/{process.pid}/task/{process.pid}/children').split()[0])

    def pidfd(self, pid):
        fd = os.pidfd_open(pid)
        self.addCleanup(os.close, fd)
        return fd

    # ---- clients

    @staticmethod
    def credentials(pid=None, uid=None, **more):
        answer = {'UnixUserID': u32(os.getuid() if uid is None else uid), **more}
        if pid is not None:
            answer['ProcessID'] = u32(pid)
        return answer

    def client(self, answers):
        self.n += 1
        name = f':9.{self.n}'
        self.bus.answers[name] = list(answers)
        return name

    def call(self, sender, member, *arguments, **kw):
        reply = self.bus.call_as(sender, lock_call(member, *arguments, **kw))
        if reply.get_message_type() == Gio.DBusMessageType.ERROR:
            raise DBusError(reply.get_error_name(), unpack(reply)[0])
        return unpack(reply)

    def visible_clients(self, sender):
        return [entry[2] for entry in self.call(sender, 'Query')[0]]

    def assert_refused(self, *answers):
        name = self.client(answers)
        with self.assertRaises(DBusError) as caught:
            self.call(name, 'Request', 'x')
        self.assertEqual(caught.exception.short, 'Security')
        self.assertEqual(self.visible_clients(self.host), [])

    def assert_identified(self, *answers):
        name = self.client(answers)
        self.assertNotEqual(self.call(name, 'Request', 'x')[1], 0)
        self.assertEqual(self.bus.answers[name], [], 'the bus was called less often than expected')
        return name


class Credentials(CredentialsCase):
    def test_pidfd_wins(self):
        """The bus returns a pidfd of one process, and the pid of another."""
        app, other = self.sleeper(APP), self.sleeper(OTHER_APP)
        one = self.assert_identified(self.credentials(other, ProcessFD=self.pidfd(app)))
        two = self.assert_identified(*[self.credentials(other)] * 2)
        third = self.pidfd(self.sleeper('org.example.Third'))
        three = self.assert_identified(self.credentials(os.getpid(), ProcessFD=third))
        other_client = self.client([self.credentials(app)] * 2)
        for client, visible in ((one, one), (other_client, one), (two, two), (three, three)):
            self.assertEqual(self.visible_clients(client), [visible])
        self.assertEqual(self.visible_clients(self.host), [])
        entry = unpack(self.bus.call_as(one, self.inspect_call()))[0][0]
        self.assertEqual(entry['pid'], app)

    @staticmethod
    def inspect_call():
        return method_call(SERVICE, bucket_path('default'), LOCKS, 'Inspect',
                           GLib.Variant('(a{sv})', ({},)))

    def test_pidfd_alone(self):
        app = self.sleeper(APP)
        name = self.assert_identified(self.credentials(ProcessFD=self.pidfd(app)))
        self.assertEqual(self.visible_clients(self.client([self.credentials(app)] * 2)), [name])

    def test_pidfd_of_one_that_has_ended(self):
        """Although its pid is that of a running process."""
        pid = self.sleeper()
        fd = self.pidfd(pid)
        os.kill(pid, 9)
        os.waitid(os.P_PIDFD, fd, os.WEXITED | os.WNOWAIT)
        self.assert_refused(self.credentials(os.getpid(), ProcessFD=fd))

    def test_descriptor_of_something_else(self):
        with open('/dev/null', 'rb') as file:
            self.assert_refused(self.credentials(os.getpid(), ProcessFD=file.fileno()))

    def test_second_reply_differs(self):
        """The second reply of the bus is different, or an error."""
        app = self.sleeper(APP)
        for second in (self.credentials(os.getpid()), self.credentials(app, uid=12345),
                       self.credentials(), None,
                       self.credentials(app, LinuxSecurityLabel=label('unconfined'))):
            self.assert_refused(self.credentials(app), second)
        self.assert_identified(*[self.credentials(app)] * 2)

    def test_uids(self):
        for uid in (1, 0x7fffffff, 0x80000000, 4000000000, 0xfffffffe):
            name = self.assert_identified(*[self.credentials(os.getpid(), uid=uid)] * 2)
            self.assertEqual(self.visible_clients(name), [name])
        self.assert_refused(self.credentials(os.getpid(), uid=0xffffffff))
        self.assertEqual(self.visible_clients(self.host), [])

    def test_invalid_replies(self):
        pid = os.getpid()
        for answer in (None, {}, {'ProcessID': u32(pid)}, self.credentials(), self.credentials(0),
                       self.credentials(NOT_A_PID), self.credentials(0xffffffff),
                       {'UnixUserID': GLib.Variant('s', '0'), 'ProcessID': u32(pid)},
                       {'UnixUserID': GLib.Variant('i', 0), 'ProcessID': u32(pid)},
                       {'UnixUserID': GLib.Variant('t', 0), 'ProcessID': u32(pid)},
                       self.credentials(ProcessID=GLib.Variant('t', pid)),
                       self.credentials(pid, ProcessFD=u32(3)),
                       self.credentials(pid, LinuxSecurityLabel=GLib.Variant('s', 'unconfined'))):
            with self.subTest(answer=answer):
                self.assert_refused(answer, answer)

    def test_unknown_keys(self):
        more = {'UnixGroupIDs': GLib.Variant('au', [0, 1]), 'WindowsSID': GLib.Variant('s', 'x'),
                'org.example.More': GLib.Variant('a{sv}', {'x': GLib.Variant('(ii)', (1, 2))})}
        name = self.assert_identified(*[self.credentials(os.getpid(), **more)] * 2)
        self.assertEqual(self.visible_clients(self.host), [name])

    def test_labels(self):
        """A Snap, all of whose programs and instances are one principal; and labels that only
        resemble one."""
        def labelled(*args, **kw):
            return [self.credentials(os.getpid(), LinuxSecurityLabel=label(*args, **kw))] * 2
        fox = self.assert_identified(*labelled('snap.firefox.firefox (enforce)'))
        for text in ('snap.firefox.geckodriver (complain)', 'snap.firefox.hook.configure (enforce)'):
            self.assertEqual(self.visible_clients(self.client(labelled(text))), [fox])
        for text in ('snap.firefox_two.firefox (enforce)', 'snap.chromium.firefox (enforce)'):
            name = self.assert_identified(*labelled(text))
            self.assertEqual(self.visible_clients(name), [name])
        for text in ('snap.firefox', 'snap.', 'snap.Firefox.x (enforce)', 'snap.firefox.firefox'):
            self.assert_refused(*labelled(text))
        self.assert_refused(*labelled('unconfined', end_=b''))
        self.assert_refused(*labelled('snap.firefox.firefox (enforce)', end_=b''))
        self.assert_refused(*labelled('x' * 5000))
        self.assertEqual(self.visible_clients(self.host), [])
        for text in ('unconfined', '/usr/bin/x (enforce)', ''):
            name = self.client(labelled(text))
            self.assertEqual(self.visible_clients(name), [])
            lock = self.call(name, 'Request', text)
            self.assertEqual(self.visible_clients(self.host), [name])
            self.call(name, 'Release', lock[0])

    def test_label_and_file(self):
        """Both markers: the client can't be identified."""
        app = self.sleeper(APP)
        self.assert_refused(*[self.credentials(app, LinuxSecurityLabel=label(
            'snap.firefox.firefox (enforce)'))] * 2)
        self.assert_identified(*[self.credentials(app, LinuxSecurityLabel=label('unconfined'))] * 2)

    def test_ended_before_second_answer(self):
        """The process ends between its identification and the second reply of the bus."""
        app = self.sleeper(APP)
        name = self.client([])
        credentials = self.credentials(app)
        fd = os.pidfd_open(app)

        class Answers(list):
            def pop(self, index=-1):
                if len(self) == 1:
                    os.kill(app, 9)
                    os.close(fd)
                    while os.path.exists(f'/proc/{app}'):
                        os.sched_yield()
                return super().pop(index)
        self.bus.answers[name] = Answers([credentials, credentials])
        with self.assertRaises(DBusError) as caught:
            self.call(name, 'Request', 'x')
        self.assertEqual(caught.exception.short, 'Security')

    def test_refused_client_may_call_again(self):
        """A failed identification is not stored."""
        name = self.client([None, self.credentials(os.getpid()), self.credentials(os.getpid())])
        with self.assertRaises(DBusError):
            self.call(name, 'Request', 'x')
        self.assertNotEqual(self.call(name, 'Request', 'x')[1], 0)
        self.assertEqual(self.bus.asked.count(name), 3)
        self.assertEqual(self.visible_clients(self.host), [name])

    def test_the_tree_is_shown_to_identified_clients(self):
        """It contains their buckets. All other objects are the same for everybody."""
        name = self.client([LATER] + [self.credentials(os.getpid())] * 2)
        tree = self.bus.send_as(name, introspect(f'{ROOT}/bucket'))
        self.bus.reply_to(self.bus.send_as(name, introspect(ROOT)))
        self.assertFalse(self.bus.has_reply(tree))
        self.bus.reply_later(None)
        self.assertEqual(self.bus.reply_to(tree).get_error_name(), 'org.w3.WebLocks.Error.Security')
        tree = self.bus.send_as(name, introspect(f'{ROOT}/bucket'))
        self.assertIn('default', unpack(self.bus.reply_to(tree))[0])


class End(CredentialsCase):
    """The service shuts down, while calls to its unique name continue."""

    arguments = ()

    def tearDown(self):
        self.assertEqual(self.service.complaints(), [])

    def test_no_client_is_identified(self):
        """Otherwise it might never exit, since a refused client is identified again at each
        call."""
        credentials = self.credentials(os.getpid())
        one, two = self.client([LATER, credentials]), self.client([None])
        before = self.bus.send_as(one, lock_call('Request', 'x'))
        wait_for(lambda: self.bus.waiting, what='call for credentials')
        self.service.signal(signal.SIGTERM)
        self.bus.wait_released()
        for _ in range(2):
            with self.assertRaises(DBusError) as caught:
                self.call(two, 'Query')
            self.assertEqual(caught.exception.short, 'InvalidState')
        # Earlier calls are replied to; other clients are no longer identified.
        self.assertEqual(self.call(self.host, 'Query'), ([], []))
        self.assertIsNone(self.service.process.poll())
        self.assertFalse(self.bus.has_reply(before))
        self.bus.reply_later(credentials)
        self.check_answer(self.bus.reply_to(before))
        self.assertEqual(self.service.wait_exit(), 0, self.service.stderr())
        self.assertEqual(self.bus.asked.count(two), 0)

    def answers(self, calls, calls_of_host=()):
        """The replies to calls of a client that is identified after the name is released, and to
        calls that another one makes then."""
        credentials = self.credentials(os.getpid())
        client = self.client([LATER, credentials])
        serials = [self.bus.send_as(client, call) for call in calls]
        wait_for(lambda: self.bus.waiting, what='call for credentials')
        self.service.signal(signal.SIGTERM)
        self.bus.wait_released()
        serials += [self.bus.send_as(self.host, call) for call in calls_of_host]
        self.bus.reply_later(credentials)
        replies = [self.bus.reply_to(serial) for serial in serials]
        self.assertEqual(self.service.wait_exit(), 0, self.service.stderr())
        self.bus.wait_disconnected()
        return replies

    def test_more_calls_than_it_is_sent_unread(self):
        self.answers([lock_call('Request', f'{number}') for number in range(2 * UNREAD_MAX)])

    def test_a_bus_without_a_reply(self):
        """The reply is waited for, but not indefinitely."""
        self.bus.send_as(self.client([LATER]), lock_call('Request', 'x'))
        wait_for(lambda: self.bus.waiting, what='call for credentials')
        self.service.signal(signal.SIGTERM)
        self.assertEqual(self.service.wait_exit(), 1)
        self.assertIn('the bus does not reply with the credentials of a caller', self.service.stderr())

    def check_answer(self, reply):
        self.assertNotEqual(unpack(reply)[1], 0)


class EndInCluster(End):
    test_a_bus_without_a_reply = None

    def setUp(self):
        config = tempfile.NamedTemporaryFile('w', prefix='weblocks-cluster-', encoding='utf-8')
        self.addCleanup(config.close)
        config.write(CONFIG)
        config.flush()
        self.arguments = (f'--cluster-config={config.name}', f'--cluster-socket={config.name}-none')
        super().setUp()

    def test_undecided_calls(self):
        """No other host is waited for any more: each request ends after its reply."""
        replies = self.answers([lock_call('Request', 'x', BUCKET, ifAvailable=True),
                                lock_call('Steal', 'y', BUCKET)], [lock_call('Steal', 'z', BUCKET)])
        self.assertEqual([unpack(reply)[1] for reply in replies], [0, 0, 0])
        ended = [unpack(signal) for signal in self.bus.signals if signal.get_member() == 'Released']
        self.assertEqual({args[1]: (args[0], args[4]) for args in ended},
                         {name: (unpack(reply)[0], 'unavailable') for reply, name in zip(replies, 'xyz')})


class EndWithoutState(End):
    arguments = ('--no-state',)
    test_a_bus_without_a_reply = None

    def check_answer(self, reply):
        self.assertEqual(reply.get_error_name(), 'org.w3.WebLocks.Error.InvalidState')


class Many(CredentialsCase):
    """More clients at the same time than there are descriptors, on a bus whose second replies are
    slow."""

    N_DESCRIPTORS = 64
    wrapper = f'prlimit --nofile={N_DESCRIPTORS}:{N_DESCRIPTORS}'

    def begin(self):
        """More clients than descriptors, whose look-ups don't end. Returns their names, the serials
        of their calls, and the answer that ends the look-ups."""
        credentials = self.credentials(os.getpid())
        names = [self.client([credentials, LATER]) for _ in range(2 * self.N_DESCRIPTORS)]
        serials = [self.bus.send_as(name, lock_call('Request', name, mode='shared'))
                   for name in names]
        # Identified clients are still served; and after this call all of those have been processed.
        self.assertEqual(self.call(self.host, 'Query'), ([], []))
        self.assertLessEqual(self.descriptors(), self.N_DESCRIPTORS * 3 // 4 + 1)
        return names, serials, credentials

    def reply_later(self, names, credentials):
        for name in names:
            self.bus.answers[name] = [credentials] * 200
        self.bus.reply_later(credentials)

    def errors(self, serials):
        """Returns the names of the errors, and the number of served calls."""
        errors = [self.bus.reply_to(serial).get_error_name() for serial in serials]
        return set(errors) - {None}, errors.count(None)

    def test_lookups(self):
        """The others are deferred until descriptors are available."""
        names, serials, credentials = self.begin()
        self.assertEqual([serial for serial in serials if self.bus.has_reply(serial)], [])
        self.reply_later(names, credentials)
        self.assertEqual(self.errors(serials), (set(), len(names)))
        self.assertEqual(sorted(self.visible_clients(self.host)), sorted(names))

    def test_lookups_that_do_not_end(self):
        """The others are refused after a while with LimitsExceeded, not Security."""
        names, serials, credentials = self.begin()
        # A look-up may still begin when another one has closed a descriptor that it needed briefly.
        wait_for(lambda: all(self.bus.has_reply(serial) or self.bus.asked.count(name) == 2
                             for serial, name in zip(serials, names)), what='end of all attempts')
        unserved = [serial for serial in serials if self.bus.has_reply(serial)]
        self.assertGreater(len(unserved), self.N_DESCRIPTORS)
        self.assertEqual(self.errors(unserved),
                         ({'org.freedesktop.DBus.Error.LimitsExceeded'}, 0))
        served = [serial for serial in serials if serial not in unserved]
        self.assertGreater(len(served), self.N_DESCRIPTORS // 8)
        self.reply_later(names, credentials)
        self.assertEqual(self.errors(served), (set(), len(served)))
        # Descriptors are available again for all others.
        for name, serial in zip(names, serials):
            if serial in unserved:
                self.assertNotEqual(self.call(name, 'Request', name, mode='shared')[1], 0)
