# SPDX-FileCopyrightText: 2026 The WebLocks for D-Bus authors
# SPDX-License-Identifier: LGPL-2.1-or-later

"""Locks beside flock, which is what a program uses instead: in C, Python and the shell."""

import contextlib
import os
import pathlib
import shutil
import statistics
import subprocess
import tempfile
import time

from buses import die_with_parent
from figures import Table
from measures import python
from stage import PATIENCE, Scene, Way, cores, has_typelib, measure_in_turns, pairs_of, per_lock, steady_of

PROCESSES = 4
# Each row, and the row of flock that it is compared with.
HANDLE, LOCK, FLOCK = 'C, handle', 'C, lock, sync calls', 'C, flock(2)'
PY_HANDLE, PY_FLOCK = 'Python, with handle:', python.FLOCK
RUN, FLOCK_1 = 'shell, weblocks run NAME true', 'shell, flock(1) FILE true'
COMPETING = f', {PROCESSES} processes that all want it'
FREE, PARKED = 'request of a lock that nobody has', 'request of a lock that is parked by another client'
OVER = ', handed over to a process that waits'


def declare(_settings):
    table = Table('flock', 'Against flock',
                  'A program that takes the same lock again and again. The file '
                  'of flock is on a tmpfs, as the state of the service is. The ratio is the row to that of flock in '
                  'the same language, or to the row above it. Without competition a handle sends no message, as '
                  'often as microseconds have passed: a service that has just started has few of them, and in the long '
                  'run a program that does nothing else enters about once in a microsecond. The '
                  'shell starts a process for each lock, which is most of its time in both rows. With competition '
                  'the figure is the time for one lock of all. WebLocks hands a lock over in the order of requests, '
                  'to the process that has waited longest; a handle is only left and entered without a message while '
                  'nobody waits, such as on one core until another process runs. flock lets the process that has '
                  'just released the lock take it again before those that wait have woken up: so it is quick, and '
                  'who waits may wait for long. '
                  'What flock gives and WebLocks does not: it needs no service and no bus, it works '
                  'across users and on file systems of other kinds, and a descriptor can be inherited. What WebLocks '
                  'gives and flock does not: an order, time-outs, an asynchronous wait, tokens by which a late '
                  'writer is refused, a list of who holds and waits, and why, and a holder that hangs can be ended.',
                  'us', 'it / other')
    for row, peer in ((FLOCK, None), (HANDLE, FLOCK), (LOCK, FLOCK), (PY_FLOCK, None), (PY_HANDLE, PY_FLOCK),
                      (FLOCK_1, None), (RUN, FLOCK_1)):
        table.row(row, ('self', peer) if peer else None)
    for row, peer in ((FLOCK, None), (HANDLE, FLOCK), (PY_FLOCK, None), (PY_HANDLE, PY_FLOCK), (FLOCK_1, None),
                      (RUN, FLOCK_1)):
        table.row(row + COMPETING, ('self', peer + COMPETING) if peer else None)
    table.row(FLOCK + OVER)
    table.row(LOCK + OVER, ('self', FLOCK + OVER))
    table.row(HANDLE + OVER, ('self', LOCK + OVER))
    table.row(FREE)
    table.row(PARKED, ('self', FREE))
    return table


def run_one_by_one(environment, command, count):
    """The median of the microseconds that a shell would wait for the command."""
    times = []
    for _ in range(count):
        begin = time.perf_counter()
        status = os.waitpid(os.posix_spawnp(command[0], command, environment), 0)[1]
        times.append((time.perf_counter() - begin) * 1e6)
        if status != 0:
            raise RuntimeError(f'{command} ended with {os.waitstatus_to_exitcode(status)}')
    return statistics.median(times)


def run_shell(environment, command, count, at_once):
    """Microseconds for each of `count` runs of the command."""
    begin = time.perf_counter()
    subprocess.run(['xargs', '-P', str(at_once), '-n', '1', *command], input='true\n' * count, text=True, check=True,
                   env=environment, timeout=PATIENCE, stdout=subprocess.DEVNULL, preexec_fn=die_with_parent)
    return (time.perf_counter() - begin) * 1e6 / count


def shell_ways(settings, scene, path):
    count = settings.count(100, 8)
    commands = {FLOCK_1: ['flock', path], RUN: [str(settings.build / 'cli/weblocks'), 'run', 'journal']}
    if not shutil.which('flock') or not os.path.exists(commands[RUN][0]):
        settings.skip('flock(1) and weblocks(1)')
        return
    environment = scene.bus.environment()
    for name, command in commands.items():
        yield Way(name, lambda row=name, command=command:
                  {row: run_one_by_one(environment, [*command, 'true'], count)})
        yield Way(name + COMPETING, lambda row=name + COMPETING, command=command:
                  {row: run_shell(environment, command, count, PROCESSES)})


def python_ways(settings, scene, path):
    if not has_typelib(settings, 'Python'):
        return
    count, competing = settings.count(20000, 1000), settings.count(300, 20)
    for row, *arguments in ((PY_FLOCK, 'flock', count, path), (PY_HANDLE, 'handle', count),
                            (PY_FLOCK + COMPETING, 'compete-flock', competing, path),
                            (PY_HANDLE + COMPETING, 'compete-handle', competing)):
        yield python.way(row, settings, scene, *arguments)


def c_ways(settings, scene, path):
    for row, place, name, count in (
            (FLOCK, path, 'flock', settings.count(100000, 2000)),
            (HANDLE, scene.address, 'handle', settings.count(100000, 2000)),
            (LOCK, scene.address, 'sync', settings.count(5000, 1000)),
            (FREE, scene.address, 'free', settings.count(1500, 50)),
            (PARKED, scene.address, 'parked', settings.count(1500, 50))):
        yield pairs_of(row, settings, place, name, count)
    for row, place, name in ((FLOCK, path, 'flock'), (HANDLE, scene.address, 'handle')):
        yield per_lock(row + COMPETING, settings, 'pairs', place, name, PROCESSES, 1, settings.count(40000, 400))
    for row, name in ((FLOCK, 'flock'), (LOCK, 'wait'), (HANDLE, 'handle')):
        yield steady_of(row + OVER, settings, 'handover', scene.address, name, settings.count(300, 30), path)


def measure(settings, table):
    for which in settings.cores:
        with cores(which), contextlib.ExitStack() as stack:
            scene = stack.enter_context(Scene(settings, settings.best_kind))
            path = os.path.join(stack.enter_context(tempfile.TemporaryDirectory(dir='/dev/shm')), 'file')
            pathlib.Path(path).touch()
            ways = [way for make in (c_ways, python_ways, shell_ways) for way in make(settings, scene, path)]
            measure_in_turns(settings, table, which, ways, settings.repetitions)
