# SPDX-FileCopyrightText: 2026 The WebLocks for D-Bus authors
# SPDX-License-Identifier: LGPL-2.1-or-later

"""A service without privileges, as on the system bus: how it identifies clients whose files it
can't access. And users with large uids."""

import os
import pwd
import shlex
import subprocess
import unittest
import unittest.mock

from buses import read_text, why_no_other_users
from harness import FACTOR
from sandboxcase import APP, SandboxCase, why_no_sandbox

# Uids of the service and of others. dbus-daemon refuses uids without an account.
SERVICE_UID, USER, OTHER_USER = sorted(user.pw_uid for user in pwd.getpwall()
                                       if user.pw_uid > 0)[:3]


class Users(SandboxCase):
    def setUp(self):
        super().setUp()
        if why_no_other_users():
            self.skipTest(why_no_other_users())


class Unprivileged(Users):
    """The service runs as a separate user."""

    # Shell commands to run before it drops its privileges.
    mounts = ''

    @classmethod
    def start(cls):
        if why_no_other_users() or why_no_sandbox():
            return None
        command = ['setpriv', f'--reuid={SERVICE_UID}', f'--regid={SERVICE_UID}', '--clear-groups',
                   '--no-new-privs', '--bounding-set=-all', '--inh-caps=-all']
        if cls.mounts:
            root = os.path.join(cls.shared, 'root')
            os.makedirs(root, exist_ok=True)
            command = ['unshare', '--mount', '--propagation', 'slave', 'sh', '-c',
                       f'root={root} && {cls.mounts} "$@"', 'sh', *command]
        with unittest.mock.patch.dict(os.environ, {'WEBLOCKS_TEST_WRAPPER': shlex.join(command)}):
            return super().start()


class WithoutPrivileges(Unprivileged):
    """How it identifies other users' clients."""

    def test_access_is_denied(self):
        """Otherwise these cases would test nothing."""
        tried = subprocess.run(['setpriv', f'--reuid={SERVICE_UID}', '--clear-groups', 'ls',
                                f'/proc/{os.getpid()}/root/'], capture_output=True, check=False)
        self.assertNotEqual(tried.returncode, 0)
        self.assertIn('CapEff:\t0000000000000000', read_text(f'/proc/{self.daemon.process.pid}/status'))

    def test_users(self):
        self.assert_together(self.plain(USER), self.plain(USER))
        self.assert_together(self.plain(), self.plain())
        self.assert_apart(self.plain(USER), self.plain(OTHER_USER), self.plain(),
                          self.plain(SERVICE_UID))

    def test_app(self):
        self.assert_refused(self.app(APP, uid=USER))
        self.assert_refused(self.app(APP))

    def test_app_behind_a_proxy(self):
        """Its proxy has the file in its root, where it is not a mount."""
        self.assert_refused(self.proxied_app(APP))

    def test_another_root(self):
        """Any other root."""
        self.assert_refused(self.app_in(uid=USER))
        self.assert_refused(self.app_in())

    def test_same_root_in_other_mounts(self):
        """As for services with systemd units."""
        one = self.plain(command=['unshare', '--mount', '--propagation', 'private', 'sh', '-c',
                                  'mount --bind /usr /usr && exec "$@"', 'sh'])
        self.assert_together(one, self.plain())

    def test_app_of_its_own_user(self):
        """A root that the service may access."""
        app, twin = self.app(APP, uid=SERVICE_UID), self.app(APP, uid=SERVICE_UID)
        self.assert_together(app, twin)
        self.assert_apart(app, self.plain(SERVICE_UID))

    def test_protected_process(self):
        """A root of the service's own user, which it still may not access."""
        one, two = self.plain(SERVICE_UID), self.plain(SERVICE_UID)
        one.ask('protect')
        self.assertEqual(os.stat(f'/proc/{one.pid}/status').st_uid, 0, 'it is not protected')
        self.assert_together(one, two)

    def test_protected_app(self):
        """The user who made the sandbox may access it."""
        app, twin = self.app(APP, uid=SERVICE_UID), self.app(APP, uid=SERVICE_UID)
        app.ask('protect')
        self.assert_together(app, twin)


class ProtectedService(WithoutPrivileges):
    """The same cases with private mounts, as systemd sets them up: the service's root is the
    host's, bound elsewhere."""

    mounts = 'mount --rbind / $root && mount -o remount,bind,ro $root && exec chroot $root'


class HiddenProcesses(Unprivileged):
    """A client whose root can't be accessed is refused."""

    mounts = 'mount -t proc -o hidepid=invisible proc /proc && exec'

    def test_others(self):
        self.assert_refused(self.plain(USER))
        self.assert_refused(self.plain())
        self.assert_refused(self.app(APP, uid=USER))

    def test_user_of_the_service(self):
        self.assert_together(self.plain(SERVICE_UID), self.plain(SERVICE_UID))


@unittest.skipIf(FACTOR > 1, 'sanitizers need a /proc')
class NoProc(HiddenProcesses):
    mounts = 'mount -t tmpfs none /proc && exec'

    def test_user_of_the_service(self):
        self.assert_refused(self.plain(SERVICE_UID))


class LargeUids(Users):
    def test_uids(self):
        if self.bus.kind == 'dbus-daemon':
            self.skipTest('this bus refuses uids without an account')
        uids = (0x7fffffff, 0x80000000, 4000000000, 4294967294)
        clients = [self.plain(uid) for uid in uids]
        self.assert_apart(*clients, self.plain())
        again = self.plain(4000000000)
        self.assertEqual(again.clients(), [clients[2].name])
