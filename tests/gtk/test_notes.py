# SPDX-FileCopyrightText: 2026 The WebLocks for D-Bus authors
# SPDX-License-Identifier: LGPL-2.1-or-later

"""weblocks-notes: only one of the windows with a file can save it, whatever happens to the others.

Observed by window titles and files as by a user, and from outside by Inspect. The typed text is one
key: as soon as the title shows unsaved text, all of it is there."""

import glob
import os

from buses import read_text, write_text
from desktop import DisplayTestCase, Notes
from harness import wait_for

BUCKET = 'documents'


class NotesTestCase(DisplayTestCase):
    def setUp(self):
        super().setUp()
        self.directory = os.path.join(self.bus.directory, self._testMethodName)
        os.mkdir(self.directory)
        self.path = os.path.join(self.directory, 'shopping.txt')
        self.write('bread\n')
        self.outside = self.client()
        self.windows = []

    def open(self, path=None):
        notes = Notes(self.display, self.bus, path or self.path)
        self.addCleanup(notes.close)
        self.windows.append(notes)
        return notes

    def open_one_after_another(self, count):
        first = self.open()
        first.wait_editing(waiting=0)
        for waiting in range(1, count):
            self.open().wait_read_only(pid=first.pid, waiting=waiting)
        return self.windows[-count:]

    def read(self):
        return read_text(self.path)

    def write(self, text):
        write_text(self.path, text)

    def put_aside(self):
        """The texts that could not be saved."""
        texts = []
        for path in glob.glob(f'{glob.escape(self.path)}.unsaved-*'):
            texts.append(read_text(path))
        return texts

    def entries(self, state):
        """(pid, token) of this file's locks, from Inspect."""
        name = 'file://' + self.path
        return [(entry['pid'], entry['token'])
                for entry in self.outside.inspect(BUCKET, name=name, state=state)[0]]

    def pids(self, state):
        return [pid for pid, _ in self.entries(state)]

    def editing(self):
        return [notes for notes in self.windows if notes.process.poll() is None
                and notes.is_editing()]

    def wait_gone(self, *names):
        # The service must also have noticed the end of this case's windows, which were closed in
        # cleanups.
        super().wait_gone(*names)
        if self.daemon is not None and self.daemon.process.poll() is None:
            wait_for(lambda: not self.control_inspect(), what='end of all locks')

    def control_inspect(self):
        client = type(self.outside)(self.bus.address)
        try:
            return client.inspect(BUCKET)[0]
        finally:
            client.close()

    def report(self):
        logs = [f'weblocks-notes ({notes.pid}) {notes.process.poll()}: {notes.log()}'
                for notes in self.windows]
        return '\n'.join([super().report()] + logs)


class Asking(NotesTestCase):
    def test_a_window_that_yields(self):
        """It is asked as soon as another window waits; then it waits itself, and nothing is lost."""
        a, b = self.open_one_after_another(2)
        a.type('1')
        a.wait_editing(unsaved=True)
        a.press('alt+y')
        b.wait_editing(waiting=1)
        a.wait_read_only(pid=b.pid, unsaved=False, waiting=1)
        self.assertEqual(self.read(), 'bread\n1')
        b.type('2')
        b.press('ctrl+s')
        wait_for(lambda: '2' in self.read(), what='what was typed')
        self.assertIn('1', self.read())
        self.assertEqual(self.put_aside(), [])

    def test_a_window_that_is_asked_to(self):
        """While the other one takes over, it yields before its lock is stolen."""
        a, b = self.open_one_after_another(2)
        a.type('1')
        a.wait_editing(unsaved=True)
        b.press('alt+t')
        a.press('alt+y')
        b.wait_editing(waiting=1)
        self.assertEqual(self.read(), 'bread\n1')
        self.assertEqual(self.put_aside(), [])


class Election(NotesTestCase):

    def test_a_file_that_does_not_exist_yet(self):
        self.path = os.path.join(self.directory, 'new.txt')
        a = self.open()
        a.wait_editing(file='new.txt')
        a.type('x')
        a.press('ctrl+s')
        a.wait_editing(unsaved=False)
        wait_for(lambda: os.path.exists(self.path), what='the file')
        self.assertEqual(self.read(), 'x')

    def test_when_it_is_killed_or_ends_the_next_may_save(self):
        a, b, c = self.open_one_after_another(3)
        # Earlier windows are notified of later ones.
        a.wait_editing(file='shopping.txt', waiting=2)
        b.wait_read_only(pid=a.pid, holder='weblocks-notes', waiting=2)
        self.assertEqual((self.pids('held'), self.pids('pending')), ([a.pid], [b.pid, c.pid]))
        a.type('1')
        a.wait_editing(unsaved=True)
        a.kill()
        b.wait_editing(waiting=1)
        c.wait_read_only(pid=b.pid, waiting=1)
        self.assertEqual(self.read(), 'bread\n')
        b.type('2')
        b.wait_editing(unsaved=True)
        self.assertEqual(b.terminate(), 0, b.log())
        self.assertEqual(self.read(), 'bread\n2', 'saved on close')
        # It has read what the previous one wrote.
        c.wait_editing(waiting=0)
        c.type('3')
        c.press('ctrl+s')
        wait_for(lambda: '3' in self.read(), what='what was typed')
        self.assertIn('2', self.read())
        self.assertEqual((self.pids('held'), self.put_aside()), ([c.pid], []))


class Saving(NotesTestCase):
    def test_only_the_primary_saves_what_is_typed(self):
        a, b = self.open_one_after_another(2)
        a.type('1')
        a.wait_editing(unsaved=True)
        a.press('ctrl+s')
        a.wait_editing(unsaved=False)
        self.assertEqual(self.read(), 'bread\n1')
        b.type('beer')
        b.press('ctrl+s')
        # Keys are handled in order: when the next two have an effect, the earlier ones have had
        # none.
        b.press('alt+t')
        b.wait_editing(unsaved=False)
        b.press('ctrl+s')
        b.type('!')
        b.wait_editing(unsaved=True)
        self.assertEqual(self.read(), 'bread\n1')

    def test_taken_over(self):
        a, b = self.open_one_after_another(2)
        a.type('1')
        a.wait_editing(unsaved=True)
        ((_, before),) = self.entries('held')
        b.press('alt+t')
        b.wait_editing(waiting=1)
        a.wait_read_only(pid=b.pid, waiting=1, unsaved=True)
        ((pid, after),) = self.entries('held')
        self.assertEqual(pid, b.pid)
        self.assertGreater(after, before, 'the fencing token')
        self.assertEqual(self.pids('pending'), [a.pid], 'it requests the lock again')
        self.assertEqual(self.editing(), [b])
        self.assertEqual(self.read(), 'bread\n')

        # It is granted again: the text saved meanwhile is loaded, and its own text is not lost.
        b.type('2')
        b.wait_editing(unsaved=True)
        self.assertEqual(b.terminate(), 0, b.log())
        a.wait_editing(waiting=0, unsaved=False)
        self.assertEqual(self.read(), 'bread\n2')
        self.assertEqual(self.put_aside(), ['bread\n1'])

    def test_taken_over_and_nothing_written(self):
        """The unsaved text is still valid, so it is not set aside."""
        a, b = self.open_one_after_another(2)
        a.type('1')
        a.wait_editing(unsaved=True)
        b.press('alt+t')
        a.wait_read_only(pid=b.pid, unsaved=True)
        b.kill()
        a.wait_editing(unsaved=True)
        a.press('ctrl+s')
        a.wait_editing(unsaved=False)
        self.assertEqual(self.read(), 'bread\n1')
        self.assertEqual(self.put_aside(), [])

    def test_a_stopped_primary_continues_too_late(self):
        a, b = self.open_one_after_another(2)
        a.type('1')
        a.wait_editing(unsaved=True)
        a.freeze()
        a.press('ctrl+s')  # the first event that it processes when it continues
        b.press('alt+t')
        b.wait_editing(waiting=0)
        b.type('2')
        b.wait_editing(unsaved=True)
        b.press('ctrl+s')
        b.wait_editing(unsaved=False)
        a.thaw()
        a.wait_read_only(pid=b.pid, unsaved=True, waiting=1)
        b.wait_editing(waiting=1)
        self.assertEqual(self.read(), 'bread\n2')
        self.assertEqual(a.terminate(), 0, a.log())
        self.assertEqual(self.read(), 'bread\n2')
        self.assertEqual(self.put_aside(), ['bread\n1'])

    def test_the_file_refuses_an_older_token(self):
        """As if another window had taken over, and this one had not been notified."""
        a = self.open()
        a.wait_editing()
        ((_, token),) = self.entries('held')
        gate = os.path.join(self.directory, '.shopping.txt.token')
        with open(gate, encoding='ascii') as file:
            self.assertEqual(int(file.read()), token, 'the token that the file has seen')
        write_text(gate, f'{token + 1:020}\n')
        a.type('1')
        a.wait_editing(unsaved=True)
        a.press('ctrl+s')
        a.wait_read_only(unsaved=True)
        self.assertEqual(self.read(), 'bread\n')
        self.assertEqual(a.terminate(), 0, a.log())
        self.assertEqual(self.read(), 'bread\n')
        self.assertEqual(self.put_aside(), ['bread\n1'])


class ServiceStartedLater(NotesTestCase):
    service = False

    def test_windows_opened_before(self):
        a, b = self.open(), self.open()
        for notes in (a, b):
            notes.wait_read_only(holder='Nobody is editing')
        type(self).daemon = self.start_service()
        wait_for(self.editing, what='a primary', every=0.1)
        (primary,) = self.editing()
        other = b if primary is a else a
        primary.wait_editing(waiting=1)
        other.wait_read_only(pid=primary.pid, waiting=1)
