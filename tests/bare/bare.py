# SPDX-FileCopyrightText: 2026 The WebLocks for D-Bus authors
# SPDX-License-Identifier: LGPL-2.1-or-later

"""Runs the commands that README.md prints on a machine that has nothing.

    bare.py [--quick] [USER]...

For each user, root and one who may use sudo unless they are named, a new root of Debian 12 with nothing but a
clone of what is committed; there the commands of the section "Try it from a clone", as they are printed. Those
that need root are run by root only. With --quick the demonstration, and `./dev test --quick` instead of
`./dev test`. Each succeeds if its exit status is 0; the demonstration must also have begun, and asked for few
packages. What is printed is in build/bare/USER.log, and other logs in build/bare/USER/. The last line is
`N passed, N failed`.
"""

import argparse
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import time

HERE = pathlib.Path(__file__).resolve().parent
SOURCE = HERE.parent.parent
LOGS = SOURCE / 'build' / 'bare'
SECTION = 'Try it from a clone'
PACKAGES_OF_DEMO_MAX = 30
BEGIN, STATUS = '== bare: ', '== bare: exit status '
# A line of ./dev before it compiles, and the first line of the demonstration.
BUILDING, DEMO = '== building', '  WebLocks for D-Bus'
INSTALLING = '== installing packages: '


def commands_of_readme(user, quick):
    """The lines of the section that are commands."""
    text = (SOURCE / 'README.md').read_text(encoding='utf-8')
    section = re.search(rf'^## {SECTION}\n(.*?)(?=^## )', text, re.MULTILINE | re.DOTALL)[1]
    commands = re.findall(r'^    (\S.*)$', section, re.MULTILINE)
    if user != 'root':
        commands = [command for command in commands if 'needs root' not in command]
    if quick:
        commands = [command.replace('./dev test', './dev test --quick')
                    for command in commands if '--cluster' not in command]
    if len(commands) < 2:
        raise SystemExit(f'bare: README.md has no two commands in its section "{SECTION}"')
    return commands


class Run:
    """One command: what it has printed, with the time of each line."""

    def __init__(self, user, command):
        self.name = f"{command.split('#')[0].strip()} as {user}"
        self.began = time.monotonic()
        self.lines = []
        self.status = None

    def add(self, line):
        self.lines.append((time.monotonic(), line))

    def seconds(self):
        return self.lines[-1][0] - self.began

    def time_of(self, beginning):
        return next((at for at, line in self.lines if line.startswith(beginning)), None)

    def asked_for(self):
        """The packages that the command installed by name."""
        return [name for _, line in self.lines if line.startswith(INSTALLING)
                for name in line.removeprefix(INSTALLING).split()]

    def failure(self):
        """What is wrong, or None."""
        if self.status != 0:
            return f'exit status {self.status}'
        if './dev demo as' in self.name:
            if len(self.asked_for()) > PACKAGES_OF_DEMO_MAX:
                return f'{len(self.asked_for())} packages asked for, at most {PACKAGES_OF_DEMO_MAX} expected'
            if self.time_of(DEMO) is None:
                return f'it has not printed {DEMO!r}'
        return None

    def figures(self):
        parts = [f'{self.seconds():.0f} s', f'{len(self.asked_for())} packages asked for']
        building, shown = self.time_of(BUILDING), self.time_of(DEMO)
        if building and shown:
            parts.append(f'its first line {shown - building:.1f} s after the packages were there')
        return ', '.join(parts)


def run_as(user, quick):
    """Runs the commands in a new root; returns a Run for each."""
    runs = []
    with tempfile.TemporaryDirectory(prefix='weblocks-bare-') as shared:
        subprocess.run(['git', 'clone', '--quiet', '--no-hardlinks', SOURCE, f'{shared}/weblocks'], check=True)
        shutil.copy(HERE / 'new-user.sh', shared)
        commands = commands_of_readme(user, quick)
        pathlib.Path(shared, 'commands').write_text('\n'.join(commands) + '\n', encoding='utf-8')
        with (LOGS / f'{user}.log').open('w', encoding='utf-8') as log, subprocess.Popen(
                [HERE / 'in-root.sh', 'minbase', shared, f'/shared/new-user.sh {user} /shared/commands'],
                stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                errors='replace') as root:
            for line in root.stdout:
                log.write(line)
                log.flush()
                line = line.rstrip('\n')
                if line.startswith(STATUS):
                    runs[-1].status = int(line.removeprefix(STATUS))
                elif line.startswith(BEGIN):
                    runs.append(Run(user, line.removeprefix(BEGIN)))
                    print(f'== {runs[-1].name}, in a new root', flush=True)
                if runs:
                    runs[-1].add(line)
        if os.path.isdir(f'{shared}/logs'):
            shutil.copytree(f'{shared}/logs', LOGS / user, dirs_exist_ok=True)
    if len(runs) != len(commands):
        raise SystemExit(f'bare: not all commands were run as {user}; see {LOGS}/{user}.log')
    return runs


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument('--quick', action='store_true')
    parser.add_argument('users', nargs='*', default=['root', 'newcomer'])
    args = parser.parse_args()
    LOGS.mkdir(parents=True, exist_ok=True)
    if subprocess.run(['git', 'status', '--porcelain'], cwd=SOURCE, check=True, stdout=subprocess.PIPE).stdout:
        print('bare: what is not committed is not tried', file=sys.stderr)
    n_failed = n_passed = 0
    for user in args.users:
        for run in run_as(user, args.quick):
            why = run.failure()
            if why:
                n_failed += 1
                print('\n'.join(line for _, line in run.lines[-40:]))
            else:
                n_passed += 1
            print(f'{"FAILED  " if why else "passed  "} {run.name}: {why or run.figures()}', flush=True)
    print(f'{n_passed} passed, {n_failed} failed')
    return 1 if n_failed else 0


if __name__ == '__main__':
    sys.exit(main())
