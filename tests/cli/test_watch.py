# SPDX-FileCopyrightText: 2026 The WebLocks for D-Bus authors
# SPDX-License-Identifier: LGPL-2.1-or-later

"""weblocks watch: lines, JSON and the table on a terminal."""

import json
import os
import re
import signal

from buses import environment
from harness import wait_for
from tap import WHO
from test_show import HOSTILE, PID, PLAIN, ShowTestCase, is_safe, unescape


class Watch(ShowTestCase):
    def changes(self, job, count):
        return [json.loads(job.line()) for _ in range(count)]

    def change(self, change, state, name, client, mode='exclusive'):
        return {'change': change, 'state': state, 'name': name, 'mode': mode,
                'clientId': client.name, 'who': WHO}

    def test_json_lines(self):
        self.a.request('there', self.bucket, mode='shared')
        job = self.job('watch', '--json', '-b', self.bucket)
        self.assertEqual(self.changes(job, 1),
                         [self.change('added', 'held', 'there', self.a, 'shared')])
        x, _ = self.a.request('x', self.bucket)
        self.assertEqual(self.changes(job, 1), [self.change('added', 'held', 'x', self.a)])
        y, _ = self.b.request('x', self.bucket)
        self.assertEqual(self.changes(job, 1), [self.change('added', 'pending', 'x', self.b)])
        self.a.release(x, self.bucket)
        granted = self.changes(job, 3)
        for change in (self.change('removed', 'held', 'x', self.a),
                       self.change('removed', 'pending', 'x', self.b),
                       self.change('added', 'held', 'x', self.b)):
            self.assertIn(change, granted)
        self.b.release(y, self.bucket)
        self.assertEqual(self.changes(job, 1), [self.change('removed', 'held', 'x', self.b)])
        for number in (signal.SIGTERM, signal.SIGINT):
            job = self.job('watch', '--json', '-b', self.bucket)
            self.assertEqual(len(self.changes(job, 1)), 1)
            job.signal(number)
            self.assertEqual((job.wait(), job.line(), job.stderr()), (-number, None, ''))

    def test_downgrade(self):
        job = self.job('watch', '--json', '-b', self.bucket)
        x, _ = self.a.request('x', self.bucket)
        self.assertEqual(self.changes(job, 1), [self.change('added', 'held', 'x', self.a)])
        self.a.downgrade(x, self.bucket)
        self.assertEqual(self.changes(job, 1), [self.change('downgraded', 'held', 'x', self.a, 'shared')])
        self.a.release(x, self.bucket)
        self.assertEqual(self.changes(job, 1), [self.change('removed', 'held', 'x', self.a, 'shared')])

    def test_plain_lines(self):
        job = self.job('watch', '--bucket', self.bucket)
        self.wait_watching(job)
        for name in HOSTILE + PLAIN:
            id_, _ = self.a.request(name, self.bucket, why=name[:9])
            line = job.line()
            self.assertTrue(is_safe(line.replace('\t', '')), line)
            self.assertEqual([unescape(cell) for cell in line.split('\t')],
                             ['added', 'held', name, 'exclusive', self.a.name, WHO, PID, name[:9]])
            self.a.release(id_, self.bucket)
            self.assertTrue(job.line().startswith('removed\theld\t'))

    def changes_here(self, job, count, buckets):
        """With --all: the changes in these buckets."""
        found = []
        while len(found) < count:
            change = json.loads(job.line())
            if change['bucket'] in buckets:
                found.append(change)
        return found

    def change_in(self, bucket, change, state, name, client):
        return {**self.change(change, state, name, client), 'bucket': bucket, 'application': '',
                'uid': os.getuid()}

    def test_all(self):
        """Also buckets that are created later, and end again."""
        later = self.unique('later\n')
        buckets = (self.bucket, later)
        self.a.request('x', self.bucket)
        job, lines = self.job('watch', '--all', '--json'), self.job('watch', '--all')
        self.assertEqual(self.changes_here(job, 1, buckets),
                         [self.change_in(self.bucket, 'added', 'held', 'x', self.a)])
        while lines.line() != f'added\theld\t{self.bucket}\tx\texclusive\t{self.a.name}\t{WHO}\t{PID}\t':
            pass
        id_, _ = self.a.request('x', later)
        self.assertEqual(self.changes_here(job, 1, buckets),
                         [self.change_in(later, 'added', 'held', 'x', self.a)])
        self.assertEqual([unescape(cell) for cell in lines.line().split('\t')],
                         ['added', 'held', later, 'x', 'exclusive', self.a.name, WHO, PID, ''])
        self.b.request('x', later)
        self.assertEqual(self.changes_here(job, 1, buckets),
                         [self.change_in(later, 'added', 'pending', 'x', self.b)])
        self.a.release(id_, later)
        granted = self.changes_here(job, 3, buckets)
        for change in (self.change_in(later, 'removed', 'held', 'x', self.a),
                       self.change_in(later, 'removed', 'pending', 'x', self.b),
                       self.change_in(later, 'added', 'held', 'x', self.b)):
            self.assertIn(change, granted)
        self.b.close()
        self.assertEqual(self.changes_here(job, 1, buckets),
                         [self.change_in(later, 'removed', 'held', 'x', self.b)])

    def wait_watching(self, job):
        """Waits until it prints changes."""
        mark = self.client()
        id_, _ = mark.request('mark', self.bucket)
        line = job.line()
        self.assertTrue(line.startswith('added\theld\tmark\t'), line)
        mark.release(id_, self.bucket)
        self.assertTrue(job.line().startswith('removed\theld\tmark\t'))

    def test_the_reader_closes_the_pipe(self):
        self.a.request('x', self.bucket)
        for option in ((), ('--json',)):
            job = self.job('watch', '-b', self.bucket, *option)
            self.assertIsNotNone(job.line())
            job.process.stdout.close()
            # Without further output.
            self.assertEqual((job.wait(), job.stderr()), (0, ''))

    def test_one_name(self):
        for name in ('x', 'xy', ''):
            self.a.request(name, self.bucket)
        for name in ('x', ''):
            job = self.job('watch', '--json', '-b', self.bucket, name)
            lines = self.job('watch', '-b', self.bucket, name)
            self.assertEqual(self.changes(job, 1), [self.change('added', 'held', name, self.a)])
            self.assertEqual(lines.line().split('\t')[2], name)
            other, _ = self.b.request(f'other {name}', self.bucket)
            id_, _ = self.b.request(name, self.bucket)
            self.assertEqual(self.changes(job, 1), [self.change('added', 'pending', name, self.b)])
            self.assertEqual(lines.line().split('\t')[:3], ['added', 'pending', name])
            self.b.abort(id_, self.bucket)
            self.b.release(other, self.bucket)

    def test_lines_on_a_terminal(self):
        self.a.request('x\x1b[5m', self.bucket)
        terminal = self.terminal('watch', '-b', self.bucket)
        terminal.wait_for(f'added\theld\tx\\u{{1b}}[5m\texclusive\t{self.a.name}\t{WHO}\t{PID}\t')
        terminal.press(b'\x03')
        self.assertEqual(terminal.wait(), 130)
        self.assertNotIn('\x1b', terminal.text)

    def test_table(self):
        terminal = self.terminal('watch', '--table', '-b', self.bucket, LC_ALL='C.UTF-8')
        terminal.wait_for(f'{self.bucket}: 0 held, 0 pending')
        id_, _ = self.a.request('x\x1b[5m', self.bucket, why='reading')
        terminal.wait_for(': 1 held, 0 pending')
        row = rf'x\\u{{1b}}\[5m  exclusive  held   \ds   {WHO}'
        wait_for(lambda: re.search(row, terminal.read()), what='the holder')
        self.b.request('x\x1b[5m', self.bucket, why='writing')
        terminal.wait_for(': 1 held, 1 pending')
        terminal.wait_for(f'  {PID}  {WHO}({PID}):reading')
        # The ages are updated without events.
        wait_for(lambda: len(set(re.findall(r'held +(\d+)s', terminal.read()))) > 1,
                 what='two ages')
        self.a.release(id_, self.bucket)
        wait_for(lambda: re.search('  held .*  writing$', self.last_screen(terminal)[-1]),
                 what='the other holder')
        self.assertNotIn('\x1b[5m', terminal.text)
        terminal.press(b'\x03')
        self.check_restored(terminal, 130)

    def last_screen(self, terminal):
        wait_for(lambda: terminal.read().endswith('\x1b[J'), what='a whole screen')
        screen = terminal.text.split('\x1b[H')[-1].removesuffix('\r\n\x1b[J')
        return [line.removesuffix('\x1b[K') for line in screen.split('\r\n')]

    def check_restored(self, terminal, status):
        self.assertEqual(terminal.wait(), status)
        self.assertTrue(terminal.read().endswith('\x1b[?25h\x1b[?1049l'), terminal.text[-99:])
        for code in '1049', '25', '7':
            self.assertEqual(terminal.text.count(f'\x1b[?{code}h'), 1)
            self.assertEqual(terminal.text.count(f'\x1b[?{code}l'), 1)

    def test_the_end_of_the_table(self):
        for keys, number, status in ((b'q', 0, 0), (b'xyQ', 0, 0), (b'\x1a\x1c\x03', 0, 130),
                                     (b'', signal.SIGTERM, 143), (b'', signal.SIGHUP, 129)):
            terminal = self.terminal('-c', 'stty -a; "$0" watch --table -b "$1"; status=$?; '
                                     'stty -a; exit $status', environment('WEBLOCKS_CLI'),
                                     self.bucket, program='/bin/bash')
            terminal.wait_for(': 0 held, 0 pending')
            if number:
                with open(f'/proc/{terminal.pid}/task/{terminal.pid}/children',
                          encoding='ascii') as file:
                    os.kill(int(file.read()), number)
            terminal.press(keys)
            self.assertEqual(terminal.wait(), status, terminal.text)
            before, after = re.findall('speed .*?iexten.*?\r\n', terminal.read(), re.S)
            self.assertEqual(before, after)

    def test_table_of_one_name_in_all_buckets(self):
        for name in ('x', 'xy', 'xyz'):
            self.a.request(name, self.bucket)
        terminal = self.terminal('watch', '-t', '--all', 'xy', LC_ALL='C.UTF-8')
        terminal.wait_for(': 1 held, 0 pending')
        self.assertRegex(self.last_screen(terminal)[-1], f'^{re.escape(self.bucket)}  xy  ')
        terminal.press(b'q')
        self.check_restored(terminal, 0)

    def test_table_needs_a_terminal(self):
        for options in ((), ('--json',)):
            self.check(64, 'watch', '--table', *options)

    def test_more_than_a_screen(self):
        for number in range(60):
            self.a.request(f'{number:02}' + 'w' * 200, self.bucket)
        terminal = self.terminal('watch', '--table', '-b', self.bucket)
        terminal.wait_for(': 60 held, 0 pending')
        lines = self.last_screen(terminal)
        self.assertLess(len(lines), 31)
        self.assertLessEqual(max(map(len, lines)), 100)

    def test_the_last_column(self):
        """There the rest of the line is not cleared, since that would clear the last character."""
        for name in 'w' * 60, '漢字' * 30:
            self.a.request(name, self.bucket)
        for columns, wide, narrow in ((30, '漢字' * 7 + '漢', 'w' * 30),
                                      (31, '漢字' * 7 + '漢\x1b[K', 'w' * 31),
                                      (1, '\x1b[K', 'w')):
            terminal = self.terminal('watch', '--table', '-b', self.bucket, columns=columns,
                                     LC_ALL='C.UTF-8')
            terminal.wait_for('\x1b[J')
            self.assertEqual(terminal.text.split('\r\n')[2:4], [narrow, wide])
            terminal.press(b'q')
            self.check_restored(terminal, 0)
