# SPDX-FileCopyrightText: 2026 The WebLocks for D-Bus authors
# SPDX-License-Identifier: LGPL-2.1-or-later

"""The Tab key in real shells, on a terminal, with names from a live bus."""

import os
import shutil
import tempfile
import time

from buses import PATIENCE, environment, readable, write_text
from cli import CliTestCase, children
from terminal import Terminal

BASH_COMPLETION = '/usr/share/bash-completion/bash_completion'

# Each shell writes its command line to a FIFO on Ctrl+T, and a line when it is ready for input.
BASH_RC = f'''
source {BASH_COMPLETION}
PS1='$ '
HISTFILE=
bind 'set enable-bracketed-paste off'
bind 'set completion-query-items 0'
bind 'set page-completions off'
bind -x '"\\C-t": printf "%s\\n" "$READLINE_LINE" >"$LINES_TO"'
PROMPT_COMMAND='unset PROMPT_COMMAND; echo ready >"$LINES_TO"'
'''

ZSH_RC = '''
fpath=("$COMPLETIONS" $fpath)
autoload -Uz compinit && compinit -u -D
bindkey -e
LISTMAX=1000
write() { print -r -- "$BUFFER" >"$LINES_TO" }
zle -N write
bindkey '^T' write
precmd() { precmd() { }; echo ready >"$LINES_TO" }
'''

FISH_CONFIG = '''
set -g fish_greeting
set -g fish_autosuggestion_enabled 0
bind \\ct 'commandline >$LINES_TO'
function fish_prompt
    set -q started; or echo ready >$LINES_TO
    set -g started yes
    echo '$ '
end
'''


class Shell:
    """An interactive shell on a separate terminal."""

    def __init__(self, argv, env, directory):
        fifo = os.path.join(directory, 'lines')
        os.mkfifo(fifo)
        # Open for writing too, so that there is no EOF.
        self.lines = os.open(fifo, os.O_RDWR)
        self.terminal = Terminal(argv, {**env, 'LINES_TO': fifo})
        self._data = b''
        line = self.line()
        if line != 'ready':
            raise RuntimeError(f'{argv[0]} wrote {line!r}')

    def line(self):
        """The next line that it writes to the FIFO. Its terminal is read meanwhile."""
        deadline = time.monotonic() + PATIENCE
        while b'\n' not in self._data:
            if readable(self.lines, 0.01):
                self._data += os.read(self.lines, 1 << 16)
            self.terminal.read()
            if time.monotonic() > deadline:
                raise TimeoutError(f'the shell shows only {self.terminal.text!r}')
        line, _, self._data = self._data.partition(b'\n')
        return line.decode()

    def complete(self, text):
        """The command line after Tab was pressed."""
        self.terminal.press(b'\x15' + text.encode() + b'\t\x14')
        return self.line()

    def end(self):
        self.terminal.end()
        os.close(self.lines)


class Completion:
    """The cases, for every shell. How a completion ends depends on the shell: ends are cut off."""

    shell = None

    def setUp(self):
        super().setUp()
        self.client_a = self.client()
        if self.shell is None:
            self.start_once()
            self.not_left = children(os.getpid())

    def start_once(self):
        """One shell for all cases: each of them begins with an empty line."""
        directory = tempfile.TemporaryDirectory(prefix='weblocks-shell-')
        self.addClassCleanup(directory.cleanup)
        type(self).directory = directory.name
        commands = os.path.join(self.directory, 'bin')
        os.mkdir(commands)
        os.symlink(environment('WEBLOCKS_CLI'), os.path.join(commands, 'weblocks'))
        env = self.env(TERM='xterm', LC_ALL='C.UTF-8', HOME=self.directory,
                       PATH=f'{commands}:{os.environ["PATH"]}')
        type(self).shell = self.start_shell(env)
        self.addClassCleanup(self.shell.end)

    def check_completed(self, text, expected):
        self.assertEqual(self.shell.complete(text).rstrip(), expected, self.shell.terminal.text)

    def test_commands(self):
        for begin, verb in (('r', 'run'), ('w', 'watch'),
                            ('st', 'steal'), ('l', 'list'), ('b', 'break'),
                            ('he', 'help'), ('ho', 'hold')):
            self.check_completed(f'weblocks {begin}', f'weblocks {verb}')
        self.check_completed('weblocks --v', 'weblocks --version')
        self.check_completed('weblocks help st', 'weblocks help steal')

    def test_options(self):
        for begin, end in (('run --sh', 'run --shared'),
                           ('run --conf', 'run --conflict-exit-code='),
                           ('run --on-loss=i', 'run --on-loss=ignore'),
                           ('run --on-loss k', 'run --on-loss kill'),
                           ('run --no-bus=r', 'run --no-bus=run'),
                           ('run --also', 'run --also-flock='),
                           ('hold --std', 'hold --stdin'),
                           ('list --al', 'list --all'),
                           ('watch --sy', 'watch --system'),
                           ('watch --a', 'watch --all'), ('watch --t', 'watch --table'),
                           ('list name --j', 'list name --json'),
                           ('steal --w', 'steal --why=')):
            self.check_completed(f'weblocks {begin}', f'weblocks {end}')

    def test_names(self):
        self.client_a.request('printer')
        self.client_a.request('scanner')
        for verb in ('run', 'hold', 'list', 'watch', 'run -c true', 'steal', 'run -s', 'run -w 5', 'run -nE 9', 'run --why x',
                     'run --wait=5', 'run --'):
            self.check_completed(f'weblocks {verb} pri', f'weblocks {verb} printer')

    def test_several_names(self):
        self.client_a.request('printer')
        for begin in 'run --and ', 'run x --and ', 'run x --and y --and ':
            self.check_completed(f'weblocks {begin}pri', f'weblocks {begin}printer')
        self.check_completed('weblocks run x --and y weblo', 'weblocks run x --and y weblocks')

    def test_names_that_need_quotes(self):
        self.client_a.request('my $HOME; it')
        self.check_completed('weblocks run my', 'weblocks run my\\ \\$HOME\\;\\ it')
        self.check_completed("weblocks run 'my", "weblocks run 'my $HOME; it'")

    def test_names_with_colons(self):
        self.client_a.request('file:///a/b')
        self.check_completed('weblocks run fil', 'weblocks run file:///a/b')
        self.check_completed('weblocks run file:///', 'weblocks run file:///a/b')

    def test_names_with_control_characters(self):
        """They are not offered, so the only other one is completed."""
        self.client_a.request('odd\x1b[2J')
        self.client_a.request('odd\nname')
        self.client_a.request('odd-one')
        self.check_completed('weblocks run odd', 'weblocks run odd-one')

    def test_buckets(self):
        self.client_a.request('there', 'org.example.Editor')
        self.client_a.request('thenot')
        for option in ('--bucket ', '--bucket=', '-b '):
            self.check_completed(f'weblocks list {option}org.ex',
                                 f'weblocks list {option}org.example.Editor')
            self.check_completed(f'weblocks run {option}org.example.Editor the',
                                 f'weblocks run {option}org.example.Editor there')

    def test_the_command_after_the_name(self):
        for begin in ('weblocks run name', 'weblocks run -s name', 'weblocks run name --',
                      'weblocks run -w 5 name'):
            self.check_completed(f'{begin} weblo', f'{begin} weblocks')
            # With its own arguments.
            self.check_completed(f'{begin} weblocks lis', f'{begin} weblocks list')

    def test_files(self):
        path = os.path.join(self.directory, 'some-file')
        with open(path, 'w', encoding='ascii'):
            pass
        for begin in ('name cat ', '--also-flock=', '--also-flock '):
            self.check_completed(f'weblocks run {begin}{self.directory}/some',
                                 f'weblocks run {begin}{path}')

    def test_a_service_that_does_not_answer(self):
        self.daemon.pause()
        self.addCleanup(self.daemon.resume)
        self.check_completed('weblocks run pri', 'weblocks run pri')


class Bash(Completion, CliTestCase):
    def start_shell(self, env):
        if not os.path.exists(BASH_COMPLETION):
            self.skipTest('no bash-completion')
        # Loaded as when it is installed: by its name, when first needed.
        folder = os.path.join(self.directory, 'share', 'completions')
        os.makedirs(folder)
        shutil.copy(os.path.join(environment('WEBLOCKS_DATA_DIR'), 'completions/weblocks.bash'),
                    os.path.join(folder, 'weblocks'))
        rc = os.path.join(self.directory, 'rc')
        write_text(rc, BASH_RC)
        env['BASH_COMPLETION_USER_DIR'] = os.path.dirname(folder)
        return Shell(['bash', '--noprofile', '--rcfile', rc, '-i'], env, self.directory)


class Zsh(Completion, CliTestCase):
    def start_shell(self, env):
        if not shutil.which('zsh'):
            self.skipTest('no zsh')
        write_text(os.path.join(self.directory, '.zshrc'), ZSH_RC)
        env.update(ZDOTDIR=self.directory,
                   COMPLETIONS=os.path.join(environment('WEBLOCKS_DATA_DIR'), 'completions'))
        return Shell(['zsh', '-d', '-i'], env, self.directory)


class Fish(Completion, CliTestCase):
    def start_shell(self, env):
        if not shutil.which('fish'):
            self.skipTest('no fish')
        folder = os.path.join(self.directory, 'fish')
        os.makedirs(os.path.join(folder, 'completions'))
        shutil.copy(os.path.join(environment('WEBLOCKS_DATA_DIR'), 'completions/weblocks.fish'),
                    os.path.join(folder, 'completions'))
        write_text(os.path.join(folder, 'config.fish'), FISH_CONFIG)
        env.update(XDG_CONFIG_HOME=self.directory, XDG_DATA_HOME=self.directory)
        return Shell(['fish', '--private', '-i'], env, self.directory)

    def check_completed(self, text, expected):
        """fish adds a space, and no =, to an option with an argument."""
        super().check_completed(text, expected.removesuffix('='))
