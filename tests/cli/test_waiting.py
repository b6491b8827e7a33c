# SPDX-FileCopyrightText: 2026 The WebLocks for D-Bus authors
# SPDX-License-Identifier: LGPL-2.1-or-later

"""The line that `weblocks run` shows while it waits."""

import os
import re

from cli import CliTestCase
from harness import wait_for
from tap import WHO


class WaitingLine(CliTestCase):
    def setUp(self):
        super().setUp()
        self.name = self.unique()
        self.holder = self.client()
        self.lock, _ = self.holder.request(self.name, why='nightly copy')
        self.shown_holder = f'{WHO} (pid {os.getpid()})'

    def waiting(self, *options, name=None, **more):
        terminal = self.terminal('run', *options, name or self.name, 'echo', 'ran', **more)
        terminal.wait_for('\rWaiting for ')
        return terminal

    def check_end(self, terminal, status, *lines):
        self.assertEqual(terminal.wait(), status, terminal.text)
        self.assertEqual([line for line in terminal.lines() if line], [*lines], terminal.text)

    def test_holder_and_age(self):
        terminal = self.waiting()
        line = (rf"\rWaiting for '{self.name}': held by {re.escape(self.shown_holder)} "
                r"for (\d+) s: nightly copy *\r")
        wait_for(lambda: len(set(re.findall(line, terminal.read()))) > 1, what='two ages')
        # There is always one line, which is removed at the end.
        self.assertEqual(len(terminal.lines()), 1)
        self.holder.release(self.lock)
        self.check_end(terminal, 0, 'ran')

    def test_another_holder(self):
        terminal = self.waiting()
        other = self.client()
        lock, _ = other.steal(self.name)
        begin = f"\rWaiting for '{self.name}': held by {self.shown_holder} for "
        wait_for(lambda: re.search(re.escape(begin) + r'\d+ s +\r', terminal.read()),
                 what='the other holder')
        self.assertNotIn('nightly', terminal.lines()[0])
        other.release(lock)
        self.check_end(terminal, 0, 'ran')

    def test_several_holders(self):
        self.holder.release(self.lock)
        readers = [self.client() for _ in range(2)]
        locks = [client.request(self.name, mode='shared')[0] for client in readers]
        terminal = self.waiting()
        terminal.wait_for(f"\rWaiting for '{self.name}': held 2 times, "
                          f"first by {self.shown_holder} for ")
        readers[0].release(locks[0])
        terminal.wait_for(f"\rWaiting for '{self.name}': held by {self.shown_holder} for ")
        readers[1].release(locks[1])
        self.check_end(terminal, 0, 'ran')

    def test_the_width_of_the_terminal(self):
        name = '漢字' * 30
        self.holder.request(name, why='w' * 200)
        terminal = self.waiting(name=name, columns=30)
        terminal.press(b'\x03')
        self.assertEqual(terminal.wait(), 130)
        drawn = terminal.text.split('^C')[0].split('\r')
        # Wide characters take two columns, and the last column is not used.
        self.assertEqual(drawn[1], "Waiting for '" + '漢字' * 4)
        self.assertTrue(drawn[2].isspace() or drawn[2] in ('', drawn[1]), drawn)

    def test_hostile_text(self):
        name = '\x1b[2J\n'
        self.holder.request(name, why='\u202e\x07')
        terminal = self.waiting(name=name)
        terminal.wait_for('\\u{202e}\\u{7}')
        self.assertNotRegex(terminal.text, '[\x1b\x07\u202e\n]')
        self.assertIn("Waiting for '\\u{1b}[2J\\n", terminal.text)

    def test_output_that_is_stopped(self):
        """By Ctrl+S: the lock is not held longer than the command takes."""
        terminal = self.terminal('run', self.name, 'true')
        terminal.wait_for('\rWaiting for ')
        terminal.press(b'\x13')
        self.holder.release(self.lock)
        self.assertEqual(terminal.wait(), 0)

    def test_time_is_over(self):
        self.check_end(self.terminal('run', '-w', '1', '-E', '9', self.name, 'true'), 9)

    def test_only_if_it_takes_long(self):
        """A busy machine may take long, but not each time."""
        self.holder.release(self.lock)

        def try_once():
            terminal = self.terminal('run', self.name, 'echo', 'ran')
            self.check_end(terminal, 0, 'ran')
            return terminal.text == 'ran\r\n'

        self.assertTrue(any(try_once() for _ in range(10)))

    def test_standard_error_is_not_a_terminal(self):
        quiet = self.job('run', self.name, 'echo', 'ran')
        self.wait_pending(self.name)
        loud = self.job('run', '-v', self.name, 'echo', 'ran')
        wait_for(loud.stderr, what='what it waits for')
        self.assertEqual(quiet.stderr(), '')
        line = (rf"weblocks: Waiting for '{self.name}': held by "
                rf"{re.escape(self.shown_holder)} for \d+ s")
        self.assertRegex(loud.stderr(), f'^{line}: nightly copy\n$')
        # One line for each holder.
        other = self.client()
        lock, _ = other.steal(self.name)
        wait_for(lambda: loud.stderr().count('\n') == 2, what='the other holder')
        other.release(lock)
        self.assertEqual((quiet.line(), quiet.wait(), quiet.stderr()), ('ran', 0, ''))
        self.assertEqual((loud.line(), loud.wait()), ('ran', 0))
        waited = [line for line in loud.stderr().splitlines() if 'Waiting' in line]
        self.assertRegex(waited[1], f'^{line}$')
        self.assertLessEqual(len(waited), 3)  # the first of the two is a holder too

    def test_in_the_background(self):
        """The prompt of a shell is not overwritten."""
        terminal = self.terminal('-c', f'set -m; "$0" run {self.name} echo ran & wait; exit 5',
                                 os.environ['WEBLOCKS_CLI'], program='/bin/bash')
        self.wait_pending(self.name)
        # The second one appears when the time of the first is over.
        self.waiting()
        self.holder.release(self.lock)
        self.assertEqual(terminal.wait(), 5)
        self.assertNotIn('Waiting', terminal.text)
        self.assertIn('ran', terminal.text)

    def test_sent_to_the_background(self):
        """The line isn't cleared where the prompt of the shell is now, nor is `weblocks` stopped for
        that while it holds the lock."""
        terminal = self.terminal('-c', f'stty tostop; set -m; "$0" run {self.name} true; '
                                 'bg >&-; printf "prompt>"; wait; read -r _; exit 5',
                                 os.environ['WEBLOCKS_CLI'], program='/bin/bash')
        terminal.wait_for('\rWaiting for ')
        terminal.press(b'\x1a')
        terminal.wait_for('prompt>')
        self.holder.release(self.lock)
        self.wait_pending(self.name, 0)
        self.wait_free(self.name)
        terminal.press(b'\n')
        self.assertEqual(terminal.wait(), 5, terminal.text)
        self.assertIn('prompt>', ''.join(terminal.lines()))
