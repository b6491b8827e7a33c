# SPDX-FileCopyrightText: 2026 The WebLocks for D-Bus authors
# SPDX-License-Identifier: LGPL-2.1-or-later

"""weblocks hold: a lock for as long as a script reads the output."""

import json
import os
import signal
import subprocess

from cli import CliTestCase
from harness import wait_for


class Hold(CliTestCase):
    def setUp(self):
        super().setUp()
        self.name = self.unique()

    def holding(self, *options, **more):
        """`weblocks hold` that has printed the token of the lock."""
        job = self.job('hold', *options, self.name, **more)
        self.assertEqual(job.line(), str(self.entry(self.name)['token']), job.stderr())
        self.assertEqual(len(self.held(self.name)), 1)
        return job

    def check_end(self, job, status, stderr=''):
        self.assertEqual((job.wait(), job.stderr()), (status, stderr))
        self.assertEqual((self.held(self.name), self.pending(self.name)), ([], []))

    def wait_request(self, *options, **more):
        self.holder = self.client()
        self.lock, _ = self.holder.request(self.name)
        job = self.job('hold', *options, self.name, **more)
        self.wait_pending(self.name)
        return job

    def test_until_the_output_is_closed(self):
        job = self.holding(stdin=subprocess.DEVNULL)
        job.process.stdout.close()
        self.check_end(job, 0)

    def test_output_closed_while_it_waits(self):
        job = self.wait_request()
        job.process.stdout.close()
        self.assertEqual((job.wait(), job.stderr()), (1, ''))
        self.assertEqual(self.pending(self.name), [])

    def test_until_the_input_ends(self):
        job = self.holding('--stdin')
        job.write_line('discarded')
        # A reader that closes the pipe has no effect then.
        job.process.stdout.close()
        self.assertEqual(self.held(self.name), ['exclusive'])
        job.process.stdin.close()
        self.check_end(job, 0)

    def test_the_input_ends_while_it_waits(self):
        job = self.wait_request('--stdin', '-E', '9')
        job.process.stdin.close()
        self.assertEqual((job.wait(), job.line(), job.stderr()), (9, None, ''))
        self.assertEqual(self.pending(self.name), [])

    def test_signals(self):
        for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
            job = self.holding()
            job.signal(number)
            self.check_end(job, 128 + number)

    def test_loss(self):
        job = self.holding()
        other = self.client()
        other.steal(self.name)
        self.assertEqual((job.line(), job.wait(), job.stderr()),
                         (None, 75, f"weblocks: the lock '{self.name}' was stolen\n"))

    def test_a_loss_while_nobody_reads_standard_error(self):
        job = self.job('hold', self.name, stderr=self.full_pipe())
        self.assertEqual(job.line(), str(self.entry(self.name)['token']))
        self.client().steal(self.name)
        self.assertEqual((job.line(), job.wait()), (None, 75))
        self.assertEqual(self.held(self.name), ['exclusive'])

    def test_options(self):
        job = self.holding('-s', '--why', 'reading', '-v')
        entry = self.entry(self.name)
        self.assertEqual((entry['mode'], entry['why']), ('shared', 'reading'))
        wait_for(job.stderr, what='a line')
        self.assertRegex(job.stderr(), rf"^weblocks: acquired '{self.name}' in .* s, token \d+\n$")
        self.check(1, 'hold', '-n', self.name)
        self.check(7, 'hold', '-w', '0.01', '-E', '7', self.name)
        self.check(64, 'hold', '--steal', '-n', self.name)


class Slots(CliTestCase):
    def test_counting_lock(self):
        """Two hold it, the third waits; `list` shows it."""
        name = self.unique()
        first, second = [self.job('hold', '--slots=2', name) for _ in range(2)]
        tokens = [int(job.line()) for job in (first, second)]
        self.assertEqual(len(set(tokens)), 2)
        self.check(1, 'hold', '-n', '--slots', '2', name)
        self.check(1, 'hold', '-n', '--slots', '3', name)
        self.check(1, 'run', '-n', name, 'true')
        lines = [line.split('\t') for line in self.check(0, 'list', name).splitlines()]
        self.assertEqual([line[1:3] for line in lines], [['exclusive/2', 'held']] * 2)
        held = json.loads(self.check(0, 'list', '--json', name))['held']
        self.assertEqual([(entry['mode'], entry['slots']) for entry in held], [('exclusive', 2)] * 2)
        third = self.job('run', '--slots', '2', name, 'echo', 'ran')
        self.wait_pending(name)
        first.end()
        self.assertEqual((third.line(), third.wait()), ('ran', 0))


class Bash(CliTestCase):
    """As in the manual page."""

    def setUp(self):
        super().setUp()
        self.name = self.unique()

    SCRIPT = '''
        exec 9< <(weblocks hold "$1")
        holder=$!
        read -r token <&9 || { wait "$holder"; exit $?; }
        echo "$token"
        '''

    def start(self, rest):
        job = self.script(self.SCRIPT + rest, self.name)
        self.assertEqual(job.line(), str(self.entry(self.name)['token']), job.stderr())
        return job

    def test_a_part_of_a_script(self):
        job = self.start('read -r go; exec 9<&-; echo released; read -r go')
        self.assertEqual(self.held(self.name), ['exclusive'])
        job.write_line()
        self.assertEqual(job.line(), 'released')
        self.wait_free(self.name)
        job.write_line()
        self.assertEqual((job.wait(), job.stderr()), (0, ''))

    def test_two_in_any_order(self):
        """The second one has inherited the descriptor of the first, and doesn't keep it."""
        job = self.start('exec 8< <(weblocks hold "$1 too"); read -r token <&8; exec 9<&-; echo closed;'
                         'read -r go')
        self.assertEqual(job.line(), 'closed')
        self.wait_free(self.name)
        self.assertEqual(self.held(f'{self.name} too'), ['exclusive'])
        job.write_line()
        self.assertEqual(job.wait(), 0)

    def test_the_script_is_killed(self):
        job = self.start('read -r go')
        job.signal(signal.SIGKILL)
        self.wait_free(self.name)

    def test_the_script_notices_a_loss(self):
        job = self.start('until read -t 0 -u 9; do sleep 0.02; done; wait "$holder"; echo $?')
        self.client().steal(self.name)
        self.assertEqual((job.line(), job.wait()), ('75', 0))

    def test_a_missing_service(self):
        job = self.script(self.SCRIPT, self.name,
                          more={'DBUS_SESSION_BUS_ADDRESS': 'unix:path=/nowhere'})
        self.assertEqual((job.line(), job.wait()), (None, 69))

    def test_a_child_process_keeps_it(self):
        """As with a descriptor of flock(1), unless it is closed for the child."""
        job = self.start('sleep 1000 & echo $!; sleep 1000 9<&- & echo $!')
        keeper, other = int(job.line()), int(job.line())
        self.addCleanup(os.kill, other, signal.SIGKILL)
        self.assertEqual(job.wait(), 0)
        self.assertEqual(self.held(self.name), ['exclusive'])
        os.kill(keeper, signal.SIGKILL)
        self.wait_free(self.name)
