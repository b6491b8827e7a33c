# SPDX-FileCopyrightText: 2026 The WebLocks for D-Bus authors
# SPDX-License-Identifier: LGPL-2.1-or-later

"""Holders in Node.js that are killed, or whose event loop is blocked, beside what is used there instead."""

import contextlib
import pathlib
import subprocess
import tempfile
import time

from buses import end, spawn
from figures import Table
from measures import node
from stage import HERE, Scene, Way, measure_in_turns, with_library

PROGRAM = str(HERE / 'bench-node-holder.cjs')
KILLED = 'holder killed'
LOCKFILE = 'proper-lockfile'


def blocked_ms(settings):
    return settings.count(6000, 2500)


def stale_ms(settings, is_killed):
    """Its default, and the least that its documentation allows; less only to see that all works."""
    return settings.count(10000 if is_killed else 5000, 2000)


def blocked(settings):
    return f"holder's event loop blocked for {blocked_ms(settings)} ms"


def of_lockfile(row):
    return f'{row}, {LOCKFILE}'


def declare(settings):
    table = Table('node_holders', 'Holders in Node.js',
                  'From the signal, or from the command to block, until the process that waits holds the lock. A '
                  'holder that is blocked releases the lock afterwards, so less than that time is a second holder. '
                  f'{LOCKFILE} takes a lock for abandoned after its option stale: by default 10 s, here when '
                  'blocked 5 s, the least that its documentation allows; the process that waits tries ten times a second.',
                  'ms')
    for row in (KILLED, blocked(settings)):
        table.row(row)
        table.row(of_lockfile(row))
    return table


class Process:
    def __init__(self, env, *arguments):
        self.process = spawn(['node', PROGRAM, *map(str, arguments)], text=True, stdin=subprocess.PIPE,
                             stdout=subprocess.PIPE, env=env)

    def wait_for(self, line):
        read = self.process.stdout.readline().strip()
        if read != line:
            raise RuntimeError(f'{PROGRAM} has printed {read!r} in place of {line!r}')

    def block(self, milliseconds):
        self.process.stdin.write(f'{milliseconds}\n')
        self.process.stdin.flush()


def take_over(settings, env, is_killed, *arguments):
    """Milliseconds until the second process has the lock."""
    processes = []
    try:
        for line in ('held', 'waiting'):
            processes.append(Process(env, *arguments))
            processes[-1].wait_for(line)
        holder, waiter = processes
        begin = time.monotonic()
        if is_killed:
            holder.process.kill()
        else:
            holder.block(blocked_ms(settings))
        waiter.wait_for('held')
        return (time.monotonic() - begin) * 1000
    finally:
        for one in processes:
            end(one.process)


def ways(settings, scene, directory):
    env = with_library(settings, scene)
    package = settings.build / 'client-lib/node/npm'
    lockfile = settings.build / 'npm/node_modules' / LOCKFILE
    if not lockfile.is_dir():
        settings.skip(f'{LOCKFILE}: npm has not installed it')
    for row, is_killed in ((KILLED, True), (blocked(settings), False)):
        yield Way(row, lambda row=row, is_killed=is_killed: {
            row: take_over(settings, env, is_killed, package, 'weblocks')})
        if lockfile.is_dir():
            def measure_lockfile(row=of_lockfile(row), is_killed=is_killed):
                with tempfile.NamedTemporaryFile(dir=directory) as file:
                    return {row: take_over(settings, env, is_killed, lockfile, LOCKFILE, file.name,
                                           stale_ms(settings, is_killed))}
            yield Way(of_lockfile(row), measure_lockfile)


def measure(settings, table):
    if node.is_missing(settings):
        return
    with contextlib.ExitStack() as stack:
        scene = stack.enter_context(Scene(settings, settings.best_kind))
        directory = stack.enter_context(tempfile.TemporaryDirectory(dir='/dev/shm'))
        measure_in_turns(settings, table, 'free', list(ways(settings, scene, pathlib.Path(directory))),
                         settings.few_repetitions)
