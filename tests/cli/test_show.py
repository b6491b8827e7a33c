# SPDX-FileCopyrightText: 2026 The WebLocks for D-Bus authors
# SPDX-License-Identifier: LGPL-2.1-or-later

"""weblocks list, steal and break: their output, with control characters escaped. See test_watch.py, too."""

import json
import os
import pwd
import re
import secrets
import signal
import subprocess
import time
import unicodedata

from buses import PATIENCE, environment, process_stat, read_text, why_no_other_users
from cli import CliTestCase, children
from harness import wait_for
from isolationcases import public_name
from tap import WHO

# Names that would break a line, a table, a terminal or a parser if they were printed unchanged.
HOSTILE = ('\n', 'a\nb', '\t', 'a\tb', '\x1b[31mred', '\x1b]0;title\x07', '\x07', '\x7f', '\x9b2J',
           '\u202eabc', '\u2066x', '\u200f', '\u200b', '\ufeff', '\u2028', '\xad', '\U000e0041',
           '\ue000', '"', '\\', '\\n', "'", '{"name":1}', '</script>', 'a\rb', '%s%n', ' lead')
PLAIN = ('', 'x', 'a b', 'Ä', 'ß→∀', '漢字', '👍', 'e\u0301')


PID = str(os.getpid())


def is_safe(text):
    """Whether a terminal only prints these characters."""
    return all(unicodedata.category(character) not in ('Cc', 'Cf', 'Cs', 'Co', 'Cn', 'Zl', 'Zp')
               for character in text)


def unescape(text):
    """Decodes the text that was escaped for terminals."""
    def one(match):
        code = match.group(1)
        return {'n': '\n', 't': '\t', '\\': '\\'}.get(code) or chr(int(code[2:-1], 16))
    return re.sub(r'\\(n|t|\\|u\{[0-9a-f]+\})', one, text)


class ShowTestCase(CliTestCase):
    def setUp(self):
        super().setUp()
        self.bucket = self.unique('bucket')
        self.a, self.b = self.client(), self.client()

    def json(self, *arguments):
        out = self.check(0, *arguments, '--json', '--bucket', self.bucket)
        self.assertEqual(out.count('\n'), 1)
        self.assertTrue(is_safe(out.rstrip('\n')), out)
        return json.loads(out)

    def rows(self, *arguments):
        """The plain output, split into cells."""
        out = self.check(0, *arguments, '--bucket', self.bucket)
        self.assertTrue(is_safe(out.replace('\n', '').replace('\t', '')), out)
        return [[unescape(cell) for cell in line.split('\t')]
                for line in out.removesuffix('\n').split('\n') if line or out]

    def screen(self, *arguments, **env):
        """The output to a terminal, in lines."""
        terminal = self.terminal(*arguments, '--bucket', self.bucket, **env)
        self.assertEqual(terminal.wait(), 0, terminal.text)
        text = terminal.read()
        self.assertTrue(is_safe(text.replace('\r\n', '')), text)
        return text.split('\r\n')[:-1]


class List(ShowTestCase):
    COLUMNS = ['NAME', 'MODE', 'STATE', 'AGE', 'WHO', 'PID', 'WAITS-BEHIND']

    def test_empty(self):
        self.assertEqual(self.json('list'), {'held': [], 'pending': []})
        self.assertEqual(self.check(0, 'list', '-b', self.bucket), '')
        self.assertEqual(self.screen('list')[0].split(), [*self.COLUMNS, 'WHY'])

    def fill(self):
        self.a.request('z', self.bucket)
        self.a.request('x', self.bucket, mode='shared')
        self.b.request('x', self.bucket)
        self.a.request('x', self.bucket, mode='shared')
        self.a.request('é z', self.bucket)

    def test_json_has_the_snapshot(self):
        self.fill()
        snapshot = self.json('list')
        self.assertEqual(list(snapshot), ['held', 'pending'])
        for key, listed in zip(snapshot, self.a.query(self.bucket)):
            self.assertEqual([tuple(entry.values())[:3] for entry in snapshot[key]], listed)
        self.assertEqual([entry['mode'] for entry in snapshot['pending']], ['exclusive', 'shared'])

    ROWS = [['x', 'shared', 'held'], ['x', 'exclusive', 'pending'], ['x', 'shared', 'pending'],
            ['z', 'exclusive', 'held'], ['é z', 'exclusive', 'held']]

    def test_order(self):
        self.fill()
        self.assertEqual([row[:3] for row in self.rows('list')], self.ROWS)

    def test_columns(self):
        """They are aligned with their headings."""
        self.fill()
        lines = self.screen('list')
        self.assertEqual([re.split('  +', line)[:3] for line in lines[1:]], self.ROWS)
        for column in self.COLUMNS[1:]:
            at = lines[0].index(column)
            self.assertEqual({line[at - 1] for line in lines}, {' '})
            self.assertNotIn(' ', {line[at] for line in lines})

    def test_table_in_ascii_locale(self):
        self.fill()
        lines = self.screen('list', LC_ALL='C')
        self.assertTrue(lines[-1].startswith('\\u{e9} z  exclusive'), lines)

    def test_plain_in_ascii_locale(self):
        self.fill()
        out = subprocess.run([environment('WEBLOCKS_CLI'), 'list', '-b', self.bucket],
                             env=self.env(LC_ALL='C'), capture_output=True, check=True).stdout
        self.assertIn('é z\texclusive'.encode(), out)

    def test_wide_and_empty_names_on_a_terminal(self):
        for name in ('', '漢字', 'e\u0301', 'n' * 200):
            self.a.request(name, self.bucket)
        lines = self.screen('list', LC_ALL='C.UTF-8')
        self.assertEqual([line.split()[0] for line in lines],
                         ['NAME', '""', 'e\u0301', 'n' * 200, '漢字'])
        at = lines[0].index('MODE')
        self.assertEqual([line.index('exclusive') for line in lines[1:]],
                         [at, at + 1, 202, at - 2])

    def test_hostile_names(self):
        for name in HOSTILE + PLAIN:
            self.a.request(name, self.bucket)
        names = sorted(HOSTILE + PLAIN)
        self.assertEqual(sorted(entry['name'] for entry in self.json('list')['held']), names)
        self.assertEqual(sorted(row[0] for row in self.rows('list')), names)
        self.assertEqual(len(self.screen('list', LC_ALL='C.UTF-8')), len(names) + 1)
        for name in PLAIN:
            self.assertIn([name, 'exclusive', 'held'],
                          [line.split('\t')[:3] for line in self.check(
                              0, 'list', '-b', self.bucket).split('\n')])

    def test_all(self):
        other = self.unique('ö\n')
        self.a.request('x', self.bucket)
        self.b.request('y', other)
        everything = {each['bucket']: each
                      for each in json.loads(self.check(0, 'list', '-a', '--json'))['buckets']}
        for bucket, name, client in ((self.bucket, 'x', self.a), (other, 'y', self.b)):
            self.assertEqual(list(everything[bucket]),
                             ['uid', 'application', 'bucket', 'held', 'pending'])
            entry, = everything[bucket]['held']
            self.assertEqual((entry['name'], entry['clientId']), (name, client.name))
        rows = [line.split('\t')[:4] for line in self.check(0, 'list', '--all').split('\n')]
        self.assertIn([self.bucket, 'x', 'exclusive', 'held'], rows)
        self.assertIn([other.replace('\n', '\\n'), 'y', 'exclusive', 'held'], rows)

    def test_all_and_a_bucket(self):
        for verb in ('list', 'watch'):
            for bucket in (self.bucket, 'default'):
                done = self.weblocks(verb, '--all', '--bucket', bucket)
                self.assertEqual((done.returncode, done.stdout), (64, ''))
                self.assertIn('--all cannot be combined with --bucket or --group', done.stderr)


class Details(ShowTestCase):
    KEYS = ['name', 'mode', 'clientId', 'state', 'id', 'token', 'age', 'since', 'pid', 'process',
            'who', 'whoPid', 'application', 'uid', 'host', 'why', 'slots', 'position', 'blockedBy', 'evidence',
            'evidenceText']

    def test_json(self):
        before = time.time()
        id_, token = self.a.request('x', self.bucket, why='page "3"\n')
        self.b.request('x', self.bucket, mode='shared')
        self.a.request('y', self.bucket)
        snapshot = self.json('list')
        self.assertEqual(list(snapshot), ['held', 'pending'])
        held = {entry['name']: entry for entry in snapshot['held']}
        self.assertEqual(sorted(held), ['x', 'y'])
        entry = held['x']
        self.assertEqual(list(entry), self.KEYS)
        self.assertEqual((entry['mode'], entry['clientId'], entry['state'], entry['token'],
                          entry['pid'], entry['why'], entry['position'], entry['blockedBy']),
                         ('exclusive', self.a.name, 'held', token, os.getpid(), 'page "3"\n', 0,
                          []))
        self.assertEqual(entry['process'], read_text('/proc/self/comm').rstrip('\n'))
        self.assertIsInstance(entry['age'], int)
        self.assertTrue(before * 1000 - 2000 < entry['since'] < time.time() * 1000 + 2000)
        self.assertEqual((entry['id'], entry['application'], entry['uid']), (id_, '', os.getuid()))
        self.assertEqual(entry['slots'], 1)
        entry, = snapshot['pending']
        self.assertEqual((entry['state'], entry['token'], entry['position'], entry['blockedBy'],
                          entry['why'], entry['mode']),
                         ('pending', 0, 1, [self.a.name], '', 'shared'))

    def test_one_name(self):
        for name in ('x', 'xy', ''):
            self.a.request(name, self.bucket)
        for name in ('x', ''):
            self.assertEqual([entry['name'] for entry in self.json('list', name)['held']],
                             [name])
        self.assertEqual(self.check(1, 'list', 'none', '-b', self.bucket), '')

    def test_status_for_scripts(self):
        """0: somebody holds it. In every format, and in all buckets."""
        id_, _ = self.a.request('x', self.bucket)
        self.b.request('x', self.bucket)
        for options in (('-b', self.bucket), ('-b', self.bucket, '--json'), ('--all',), ('--all', '--json')):
            self.check(0, 'list', *options)
            self.check(0, 'list', 'x', *options)
            self.check(1, 'list', 'y', *options)
        self.b.close()
        self.a.release(id_, self.bucket)
        for options in (('-b', self.bucket), ('--all', '--json')):
            self.check(0, 'list', *options)
            self.check(1, 'list', 'x', *options)
        with open('/dev/full', 'w', encoding='ascii') as full:
            done = subprocess.run([environment('WEBLOCKS_CLI'), 'list', '--json', 'x'], env=self.env(), stdout=full,
                                  stderr=subprocess.DEVNULL, check=False)
        self.assertEqual(done.returncode, 74)

    def test_plain(self):
        self.a.request('x', self.bucket, why='two words')
        self.b.request('x', self.bucket)
        pid = str(os.getpid())
        rows = self.rows('list')
        for row in rows:
            self.assertRegex(row.pop(3), r'^\d+s$')
        self.assertEqual(rows, [
            ['x', 'exclusive', 'held', WHO, pid, '', '', 'two words'],
            ['x', 'exclusive', 'pending', WHO, pid, f'{WHO}({pid}):two words', '', '']])

    def test_command(self):
        """What a lock is for is shown in place of the client, with its own process id."""
        self.a.request('x', self.bucket, why='nightly', **{'for': 'rsync (pid 12)'})
        self.b.request('x', self.bucket, **{'for': 'backup.py (pid 13)'})
        self.assertEqual([(row[4:7], row[8]) for row in self.rows('list')],
                         [(['rsync', '12', ''], 'nightly'), (['backup.py', '13', 'rsync(12)'], '')])
        held, = self.json('list')['held']
        self.assertEqual((held['who'], held['whoPid'], held['pid']), ('rsync', 12, os.getpid()))
        # Each lock of a client may be for another command.
        self.a.request('y', self.bucket, **{'for': 'tar (pid 14)'})
        self.b.request('y', self.bucket)
        self.assertEqual([row[4:7] for row in self.rows('list', 'y')],
                         [['tar', '14', ''], [WHO, PID, 'tar(14)']])
        done = self.weblocks('run', '-vn', '-b', self.bucket, 'x', 'true')
        self.assertRegex(done.stderr, r"'x' is held by rsync \(pid 12, :1\.\d+\) for \d+ s: nightly\n")

    def test_windows_of_one_process(self):
        """One agent, as that of all windows of an application: their purposes tell them apart."""
        self.a.request('x', self.bucket, why='left window')
        self.a.request('x', self.bucket, why='right window')
        self.assertEqual([row[4:7] + row[8:] for row in self.rows('list')],
                         [[WHO, PID, '', 'left window'],
                          [WHO, PID, f'{WHO}({PID}):left window', 'right window']])

    def test_hostile_reasons(self):
        for number, why in enumerate(HOSTILE):
            self.a.request(f'{number:02}', self.bucket, why=why)
        self.assertEqual([row[-1] for row in self.rows('list')], list(HOSTILE))
        self.assertEqual({entry['why'] for entry in self.json('list')['held']}, set(HOSTILE))
        self.screen('list')


class Evidence(ShowTestCase):
    """What suggests that a holder is stuck."""

    def stopped(self, name):
        """The keeper of a `weblocks run` that holds the lock, and is stopped."""
        holder = self.running('--bucket', self.bucket, name)
        holder.stop_keeper()
        self.addCleanup(os.kill, holder.keeper(), signal.SIGCONT)
        return holder.keeper()

    def test_stopped(self):
        holder = self.stopped('x')
        self.assertEqual([row[-2] for row in self.rows('list')], [''])
        self.b.request('x', self.bucket)
        self.assertEqual([row[-2] for row in self.rows('list')], ['The process is stopped.', ''])
        snapshot = self.json('list')
        self.assertEqual([(entry['evidence'], entry['evidenceText'])
                          for entry in (*snapshot['held'], *snapshot['pending'])],
                         [(['stopped'], 'The process is stopped.'), ([], '')])
        os.kill(holder, signal.SIGCONT)
        wait_for(lambda: process_stat(holder)[0] != 'T', what='the keeper to continue')
        self.assertEqual(self.json('list', 'x')['held'][0]['evidence'], [])

    def check_command(self, holder, pid, name):
        """A process that came from the command is stopped: `list` shows it."""
        self.b.request('x', self.bucket)
        self.assertEqual([row[-2] for row in self.rows('list')], ['', ''])
        os.kill(pid, signal.SIGSTOP)
        wait_for(lambda: process_stat(pid)[0] == 'T', what='the process to stop')
        self.assertEqual([row[-2] for row in self.rows('list')],
                         [f'{name} (process {pid}): The process is stopped.', ''])
        self.assertEqual(self.json('list', 'x')['held'][0]['evidence'], ['stopped'])
        os.kill(pid, signal.SIGCONT)
        wait_for(lambda: process_stat(pid)[0] != 'T', what='the process to continue')
        self.assertEqual(self.json('list', 'x')['held'][0]['evidence'], [])
        holder.write_line()
        self.assertEqual(holder.wait(), 0)

    def test_a_command_is_stopped(self):
        holder = self.running('--bucket', self.bucket, 'x')
        self.check_command(holder, holder.child(), 'sh')

    def test_a_process_of_a_command_is_stopped(self):
        holder = self.running('--bucket', self.bucket, 'x', command=(
            'sh', '-c', 'sleep 1000 & echo on; read x; kill $!'))
        self.check_command(holder, children(holder.child())[0], 'sleep')

    def test_commands_that_wait_for_each_other(self):
        """`weblocks run` in the command of another one."""
        env = self.env(PATH=f'{self.commands()}:{os.environ["PATH"]}')
        jobs = [self.job('run', '-b', self.bucket, outer, 'sh', '-c',
                         f'echo on; read x; weblocks run -b {self.bucket} {inner} true; true', env=env)
                for outer, inner in (('x', 'y'), ('y', 'x'))]
        for job in jobs:
            self.assertEqual(job.line(), 'on')
        commands = [job.child() for job in jobs]
        jobs[0].write_line()
        self.wait_pending('y', bucket=self.bucket)
        self.assertEqual([entry['evidence'] for entry in self.json('list')['held']], [[], []])
        jobs[1].write_line()
        self.wait_pending('x', bucket=self.bucket)
        one, other = (f'sh (process {pid})' for pid in commands)
        self.assertEqual({entry['name']: entry['evidenceText'] for entry in self.json('list')['held']},
                         {'x': f'Waiting for each other: {one}, {other}.',
                          'y': f'Waiting for each other: {other}, {one}.'})

    def test_on_a_terminal(self):
        """The column is there only if it isn't empty."""
        terminal = self.terminal('watch', '--table', '--bucket', self.bucket, columns=200)
        self.a.request('w', self.bucket, why='a reason')
        terminal.wait_for('a reason')
        self.assertNotIn('EVIDENCE', terminal.text)
        self.stopped('x')
        self.b.request('x', self.bucket)
        terminal.wait_for('  The process is stopped.')
        terminal.press(b'q')
        terminal.wait()
        lines = self.screen('list', 'x')
        self.assertEqual(lines[0].index('EVIDENCE'), lines[1].index('The process is stopped.'))
        self.assertTrue(lines[2].endswith('  -                        -'), lines[2])
        self.assertNotIn('EVIDENCE', self.screen('list', 'w')[0])

    def test_cycle(self):
        """Also a cycle through several buckets, if they are listed together."""
        other = self.unique('other')
        self.a.request('x', self.bucket)
        self.b.request('y', other)
        self.a.request('y', other)
        self.b.request('x', self.bucket)
        self.assertEqual([row[-2] for row in self.rows('list')], ['', ''])
        process = f'{WHO} (process {PID})'
        rows = [line.split('\t') for line in self.check(0, 'list', '--all').splitlines()]
        self.assertEqual([row[-2] for row in rows if row[0] in (self.bucket, other)],
                         [f'Waiting for each other: {process}, {process}.', ''] * 2)


class Output(ShowTestCase):
    """Output that can't be written."""

    def test_a_full_disk(self):
        self.a.request('x', self.bucket)
        for line in (('list',), ('list', '-j'), ('--help',), ('run', '--help'),
                     ('watch',), ('watch', '--json'), ('hold', 'y')):
            options = () if line[-1] == '--help' else ('-b', self.bucket)
            with open('/dev/full', 'w', encoding='ascii') as full:
                done = subprocess.run([environment('WEBLOCKS_CLI'), *line, *options],
                                      env=self.env(), stdout=full, stderr=subprocess.PIPE,
                                      check=False, text=True)
            self.assertEqual(done.returncode, 74, line)
            self.assertEqual(done.stderr,
                             "weblocks: cannot write the output: No space left on device\n")

    def test_closed_output(self):
        for number in range(500):
            self.a.request(f'{number} ' + 'n' * 1000, self.bucket)
        job = self.job('list', '-b', self.bucket)
        self.assertIsNotNone(job.line())
        job.process.stdout.close()
        self.assertEqual((job.wait(), job.stderr()), (0, ''))

    def test_no_standard_output(self):
        self.a.request('x', self.bucket)
        for verb in ('list', 'watch', 'watch --json', 'steal x'):
            line = f'exec {environment("WEBLOCKS_CLI")} {verb} -b {self.bucket} <&- >&-'
            done = subprocess.run(['sh', '-c', line], env=self.env(), capture_output=True,
                                  check=False, timeout=PATIENCE, text=True)
            self.assertEqual((done.returncode, done.stderr), (
                74, "weblocks: cannot write the output: Bad file descriptor\n"), verb)


class Steal(ShowTestCase):
    def steal(self, status, *arguments):
        return self.check(status, 'steal', '-b', self.bucket, *arguments)

    def test_the_holder_loses_it(self):
        id_, _ = self.a.request('x', self.bucket, why='page 3')
        out = self.steal(0, 'x')
        self.a.wait_released(id_, 'stolen')
        self.assertRegex(out, rf'^x: stolen from \S.* \(pid {os.getpid()}, {self.a.name}\) '
                              r'for \d+ s: page 3\n$')
        self.assertEqual(self.a.query(self.bucket), ([], []))

    def test_not_held(self):
        self.a.request('y', self.bucket)
        done = self.weblocks('steal', '-b', self.bucket, 'x')
        self.assertEqual((done.returncode, done.stdout, done.stderr),
                         (1, '', "weblocks: the lock 'x' is not held\n"))
        self.assertEqual(len(self.a.query(self.bucket)[0]), 1)

    def test_hostile_text(self):
        self.a.request('\x1b[2J', self.bucket, why='\x1b[2J\nrm')
        out = self.steal(0, '\x1b[2J')
        self.assertTrue(is_safe(out.rstrip('\n')), out)

    def test_an_invalid_name(self):
        self.steal(64, 'a\uffffb')


class Break(ShowTestCase):
    def broken(self, status, *arguments):
        return self.check(status, 'break', '-b', self.bucket, *arguments)

    def test_all_holders(self):
        ids = [(client, client.request('x', self.bucket, mode='shared')[0])
               for client in (self.a, self.b)]
        waiting, _ = self.a.request('x', self.bucket)
        out = self.broken(0, 'x')
        for client, id_ in ids:
            client.wait_released(id_, 'stolen')
            self.assertRegex(out, rf'x: broken, was held by .*, {client.name}\)')
        self.a.wait_granted(waiting)

    def test_one_client(self):
        self.a.request('x', self.bucket, mode='shared')
        self.b.request('x', self.bucket, mode='shared')
        self.broken(0, '--client', self.a.name, 'x')
        self.assertEqual(self.a.query(self.bucket)[0], [('x', 'shared', self.b.name)])
        self.broken(1, '--client', self.a.name, 'x')

    def test_not_held(self):
        for more in ((), ('--app', 'org.example.None'), ('--uid', str(os.getuid()))):
            done = self.weblocks('break', '-b', self.bucket, *more, 'x')
            self.assertEqual((done.returncode, done.stdout, done.stderr),
                             (1, '', "weblocks: the lock 'x' is not held\n"))

    def test_invalid_names(self):
        self.broken(64, 'a\uffffb')
        self.assertNotEqual(self.weblocks('break', '-b', self.bucket, '--', '-x').returncode, 0)

    def test_another_user(self):
        """Only root can list and break it."""
        other_user = self.other_uid_client()
        if os.getuid() != 0:
            self.skipTest('needs root')
        other_user.request('x', self.bucket, why='other')
        self.a.request('x', self.bucket)
        rows = [line.split('\t') for line in self.check(0, 'list', '--all').splitlines()]
        self.assertEqual([row[0] for row in rows], [self.bucket, f'65534:{self.bucket}'])
        everything = json.loads(self.check(0, 'list', '--all', '--json'))['buckets']
        self.assertEqual([(each['uid'], each['application'], each['bucket'],
                           each['held'][0]['why']) for each in everything],
                         [(0, '', self.bucket, ''), (65534, '', self.bucket, 'other')])
        for user in (pwd.getpwuid(65534).pw_name, '65534'):
            self.broken(0, '--uid', user, 'x')
            self.assertEqual(other_user.query(self.bucket), ([], []))
            other_user.request('x', self.bucket)
        self.assertEqual(len(self.a.query(self.bucket)[0]), 1)
        self.broken(1, '--uid', '12345', 'x')

    def test_of_another_user_by_a_user(self):
        """The answer does not depend on whether that user has such a lock."""
        if why_no_other_users():
            self.skipTest(why_no_other_users())
        self.a.request('x', self.bucket)
        for name in 'x', 'y':
            done = self.weblocks('break', '-b', self.bucket, '--uid', '0', name, user=65534, group=65534)
            # A coverage build adds that this user can't write the counters.
            said = ''.join(line for line in done.stderr.splitlines(True) if not line.startswith('profiling:'))
            self.assertEqual((done.returncode, done.stdout, said),
                             (77, '', 'weblocks: only root may end the locks of another user\n'))
        self.assertEqual(len(self.a.query(self.bucket)[0]), 1)


class PrivateSession(ShowTestCase):
    """Commands have no request in the session: they see it, and end its locks, by its public name."""

    def setUp(self):
        super().setUp()
        self.bucket = f'private-{secrets.token_hex(16)}'
        self.public = public_name(self.bucket)
        self.held, _ = self.a.request('x', self.bucket)

    def test_it_is_shown(self):
        out = self.check(0, 'list', '--all')
        self.assertIn([self.public, 'x', 'exclusive', 'held'],
                      [line.split('\t')[:4] for line in out.splitlines()])
        job = self.job('watch', '--all')
        for change in ('added', 'removed'):
            while job.line().split('\t')[:4] != [change, 'held', self.public, 'x']:
                pass
            if change == 'added':
                self.a.release(self.held, self.bucket)

    def test_it_is_not_joined(self):
        text = ("weblocks: a private session can only be joined by its name, which begins with "
                "'private-'\n")
        for line in (('run', 'x', 'true'), ('run', '--nonblock', 'y', 'true'), ('hold', 'x'),
                     ('steal', 'x')):
            with self.subTest(line=line):
                verb, *rest = line
                done = self.weblocks(verb, '--bucket', self.public, *rest)
                self.assertEqual((done.returncode, done.stdout, done.stderr), (77, '', text))
        self.assertEqual(self.a.query(self.bucket), ([('x', 'exclusive', self.a.name)], []))

    def test_its_locks_are_ended(self):
        job = self.job('watch', '--bucket', self.public)
        self.assertEqual(job.line().split('\t')[:3], ['added', 'held', 'x'])
        self.assertIn('x: broken', self.check(0, 'break', '--bucket', self.public, 'x'))
        self.a.wait_released(self.held, 'stolen')
        self.assertEqual(job.line().split('\t')[:3], ['removed', 'held', 'x'])
