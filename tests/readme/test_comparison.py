# SPDX-FileCopyrightText: 2026 The WebLocks for D-Bus authors
# SPDX-License-Identifier: LGPL-2.1-or-later

"""What README's table says of flock(1), a lock file and a D-Bus name, by trying it."""

import os
import shutil
import signal
import subprocess
import sys
import unittest

from gi.repository import Gio, GLib

from buses import end, read_lines, spawn
from harness import DRIVER, DRIVER_PATH, BusTestCase, wait_exit, wait_for

NAME = 'org.example.Printer'
IN_QUEUE = 2  # the reply of RequestName
FIRST_PID_NAMESPACE = 'pid:[4026531836]'  # PROC_PID_INIT_INO of Linux


class Compared(BusTestCase):
    service = False

    def start(self, *command):
        process = spawn(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        self.addCleanup(end, process)
        return process

    def kill(self, process):
        process.send_signal(signal.SIGKILL)
        wait_exit(process)


@unittest.skipUnless(shutil.which('flock'), 'flock is not installed')
class Flock(Compared):
    def setUp(self):
        super().setUp()
        self.path = os.path.join(self.bus.directory, self._testMethodName)

    def hold(self, *options):
        process = self.start('flock', *options, self.path, 'sh', '-c', 'echo held; read _')
        self.assertEqual(read_lines(process, 1), ['held'])
        return process

    def is_free(self, *options):
        return subprocess.run(['flock', '-n', *options, self.path, 'true'], check=False).returncode == 0

    def wait(self):
        """A writer that waits in the kernel, which says so, and does not poll."""
        process = self.start('flock', '-x', self.path, 'echo', 'held')
        inode = f':{os.stat(self.path).st_ino} '

        def is_listed():
            with open('/proc/locks', encoding='ascii') as file:
                return any('-> FLOCK' in line and inode in line for line in file)
        wait_for(is_listed, what='a waiting process in /proc/locks')
        return process

    def test_shared_but_not_fair(self):
        self.hold('-s')
        waiting = self.wait()
        self.assertTrue(self.is_free('-s'), 'a reader overtakes a writer that waits')
        self.assertIsNone(waiting.poll())

    def test_released_after_a_crash(self):
        holder = self.hold('-F')  # without a child process
        waiting = self.wait()
        self.kill(holder)
        self.assertEqual(read_lines(waiting, 1), ['held'])

    def test_not_released_while_a_child_has_the_file(self):
        """The pid that lslocks reads in /proc/locks is then that of a process that has ended; in a pid namespace,
        which it can't be translated to, the lock is not listed."""
        holder = self.hold()
        self.kill(holder)
        self.assertFalse(self.is_free())
        inode = f':{os.stat(self.path).st_ino} '
        with open('/proc/locks', encoding='ascii') as file:
            listed = [line for line in file if inode in line]
        for line in listed:
            self.assertIn(f' {holder.pid} ', line)
        if os.readlink('/proc/self/ns/pid') == FIRST_PID_NAMESPACE:
            self.assertTrue(listed)


class LockFile(Compared):
    def test_stale_after_a_crash(self):
        path = os.path.join(self.bus.directory, 'lock')
        take = 'import os, sys; os.close(os.open(sys.argv[1], os.O_CREAT | os.O_EXCL)); print("held", flush=True)'
        holder = self.start(sys.executable, '-c', f'{take}; input()', path)
        self.assertEqual(read_lines(holder, 1), ['held'])
        self.kill(holder)
        other = subprocess.run([sys.executable, '-c', take, path], check=False, stderr=subprocess.PIPE)
        self.assertIn(b'FileExistsError', other.stderr)


class NameOnTheBus(Compared):
    def request(self, client):
        return client.call(DRIVER_PATH, DRIVER, 'RequestName', GLib.Variant('(su)', (NAME, 0)),
                           destination=DRIVER)[0]

    def owner(self, client):
        return client.call(DRIVER_PATH, DRIVER, 'GetNameOwner', GLib.Variant('(s)', (NAME,)),
                           destination=DRIVER)[0]

    def test_one_owner_and_a_queue_in_order(self):
        take = ('import sys; from gi.repository import Gio, GLib; '
                'c = Gio.DBusConnection.new_for_address_sync(sys.argv[1], Gio.DBusConnectionFlags(9)); '
                f'c.call_sync("{DRIVER}", "{DRIVER_PATH}", "{DRIVER}", "RequestName", '
                f'GLib.Variant("(su)", ("{NAME}", 0)), None, Gio.DBusCallFlags.NONE, -1, None); '
                'print(c.get_unique_name(), flush=True); input()')
        holder = self.start(sys.executable, '-c', take, self.bus.address)
        name, = read_lines(holder, 1)
        clients = [self.client(), self.client()]
        acquired = []
        for client in clients:
            client.connection.signal_subscribe(
                DRIVER, DRIVER, 'NameAcquired', None, NAME, Gio.DBusSignalFlags.NONE,
                lambda *_args, client=client: acquired.append(client.name))
            self.assertEqual(self.request(client), IN_QUEUE)
        self.assertEqual(self.owner(clients[0]), name)
        self.kill(holder)
        wait_for(lambda: acquired, what='NameAcquired')
        clients[0].close()
        wait_for(lambda: len(acquired) == 2, what='NameAcquired')
        self.assertEqual(acquired, [client.name for client in clients])
