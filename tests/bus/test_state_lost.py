# SPDX-FileCopyrightText: 2026 The WebLocks for D-Bus authors
# SPDX-License-Identifier: LGPL-2.1-or-later

"""Ways in which a sound state could be lost: files that somebody removes, starts that are killed or crash."""

import fcntl
import os
import shutil
import signal
import time

from harness import owner_of, service_with, wait_for
from statecase import StateCase

ALL = ('lock', 'state', 'state.new')


class LostCase(StateCase):
    def fill(self, *arguments):
        self.start(*arguments)
        self.holder, self.waiter = self.raw_client(), self.raw_client()
        self.held = self.holder.request('x', key=1)
        self.waiting, _ = self.waiter.request('x')

    def assert_kept(self):
        self.assertEqual(self.holder.request('x', key=1), self.held)
        self.assertEqual([entry[1] for entry in self.waiter.resync()], [self.waiting])

    def assert_nothing(self):
        self.assertEqual(self.holder.resync(), [])
        self.assertEqual(self.waiter.resync(), [])


class Removed(LostCase):
    """Files are removed, while a service runs or not."""

    def wait_for_files(self, inode=None):
        def there():
            return all(os.path.exists(self.path(suffix)) for suffix in ALL) and (
                inode is None or os.stat(self.path()).st_ino != inode)

        wait_for(there, what='the files')

    def test_the_directory(self):
        self.fill()
        for _ in range(3):
            shutil.rmtree(self.directory)
            self.holder.release(self.holder.request('meanwhile')[0])
            self.wait_for_files()
        late = self.holder.request('late', key=2)
        self.assertGreaterEqual(self.current.stderr().count('were removed'), 3)
        self.restart()
        self.assert_kept()
        self.assertEqual(self.holder.request('late', key=2), late)

    def test_each_file(self):
        self.fill()
        for suffix in ALL:
            with self.subTest(suffix):
                os.unlink(self.path(suffix))
                self.wait_for_files()
                self.assertEqual('were removed' in self.current.stderr(), suffix != 'state.new')
                self.restart()
                self.assert_kept()

    def test_another_has_the_lock_then(self):
        self.fill()
        service = self.current
        # The file that it would create is there before it can.
        other = os.path.join(self.directory, 'other')
        with open(other, 'wb') as file:
            os.fchmod(file.fileno(), 0o600)
            fcntl.lockf(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            os.rename(other, self.path('lock'))
            self.assertEqual(service.wait_exit(), 1, service.stderr())
        self.assertIn('another service has the state', service.stderr())
        self.wait_free()
        self.start()
        self.assert_kept()

    def test_the_lock_file_while_no_service_runs(self):
        self.fill()
        for _ in range(2):
            self.crash()
            os.unlink(self.path('lock'))
            service = self.start()
            self.assertEqual(service.stderr(), '')
            self.assert_kept()

    def test_the_lock_file_of_a_stopped_service(self):
        """Its successor waits for it all the same: what it still does is not lost."""
        self.fill('--replace')
        first = self.current
        client = self.socket_client()
        data, serial, _ = client.socket.encode_request('y')
        first.pause()
        client.socket.send(data)
        os.unlink(self.path('lock'))
        second = self.start('--replace')
        wait_for(lambda: os.path.exists(self.path('lock')), what='the lock of the second one')
        # Longer than it would need to begin.
        time.sleep(0.3)
        self.assertIsNone(second.process.poll(), second.stderr())
        first.resume()
        token = client.socket.answer(serial).token
        self.assertNotEqual(token, 0)
        self.assertEqual(first.wait_exit(), 0, first.stderr())
        self.assert_kept()
        self.assertEqual([entry[3:5] for entry in client.resync()], [('y', 'exclusive')])


class Crashes(LostCase):
    """Starts that end before they are over."""

    def crash_at(self, step, times, number):
        # A sanitizer would end the process with a status of its own.
        sanitizer = os.environ.get('ASAN_OPTIONS', '') + ':handle_segv=0:handle_sigbus=0'
        for _ in range(times):
            service = self.start(ready=False, program=service_with('poisoned-start'),
                                 env={'WEBLOCKS_POISON': step, 'ASAN_OPTIONS': sanitizer})
            self.assertEqual(service.wait_exit(), -number, service.stderr())
            self.wait_free()

    def check_step(self, step, number):
        self.fill()
        self.crash()
        self.crash_at(step, 2, number)
        self.start()
        self.assert_kept()
        self.crash()
        self.crash_at(step, 3, number)
        service = self.start(program=service_with('poisoned-start'), env={'WEBLOCKS_POISON': step})
        self.assertIn('crashed the service three times', service.stderr())
        self.assertTrue(os.path.exists(self.path('state.aside')))
        self.assert_nothing()

    def test_restore(self):
        self.check_step('restore', signal.SIGSEGV)

    def test_catch_up(self):
        self.check_step('catch up', signal.SIGABRT)

    def test_notify(self):
        self.check_step('notify', signal.SIGBUS)

    def test_kills_do_not_count(self):
        self.fill()
        self.crash()
        for number in range(12):
            service = self.start(ready=False)
            time.sleep(number / 1000)
            service.signal(signal.SIGKILL)
            service.wait_exit()
            self.wait_free()
        service = self.start()
        self.assertEqual(service.stderr(), '')
        self.assert_kept()
        self.assertIsNotNone(owner_of(self.control))
