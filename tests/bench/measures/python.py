# SPDX-FileCopyrightText: 2026 The WebLocks for D-Bus authors
# SPDX-License-Identifier: LGPL-2.1-or-later

"""Locks in Python, beside the C library and flock."""

import contextlib
import os
import pathlib
import tempfile

from figures import Table
from stage import HERE, Scene, Way, cores, has_typelib, measure_in_turns, pairs_of, run_command, with_library

SYNC = 'C library, sync calls'
ASYNC = 'C library, asynchronous calls'
WITH = 'Python, with manager.lock()'
AWAITED = 'Python, async with manager.lock()'
FLOCK = 'Python, fcntl.flock()'


def declare(_settings):
    table = Table('python', 'Python',
                  'Request and release of a free lock. The ratio is the row to the synchronous calls of the C '
                  'library, and of `async with` to its asynchronous calls. Leaving either does not wait for the '
                  "service; the C library's pairs do.",
                  'us', 'it / C library')
    table.row(SYNC)
    table.row(ASYNC)
    for row, peer in ((WITH, SYNC), (AWAITED, ASYNC), (FLOCK, SYNC)):
        table.row(row, ('self', peer))
    return table


def way(row, settings, scene, *arguments):
    """A way of bench-python.py."""
    command = ['/usr/bin/python3', HERE / 'bench-python.py', *arguments]
    return Way(row, lambda: {row: run_command(command, with_library(settings, scene))['steady']})


def ways(settings, scene, path):
    count = settings.count(1500, 200)
    for row, how in ((SYNC, 'sync'), (ASYNC, 'async')):
        yield pairs_of(row, settings, scene.address, how, count)
    for row, *arguments in ((WITH, 'with', count), (AWAITED, 'async', count), (FLOCK, 'flock', count, path)):
        yield way(row, settings, scene, *arguments)


def measure(settings, table):
    if not has_typelib(settings, 'Python'):
        return
    for which in settings.cores:
        with cores(which), contextlib.ExitStack() as stack:
            scene = stack.enter_context(Scene(settings, settings.best_kind))
            directory = stack.enter_context(tempfile.TemporaryDirectory(dir='/dev/shm'))
            path = os.path.join(directory, 'file')
            pathlib.Path(path).touch()
            measure_in_turns(settings, table, which, list(ways(settings, scene, path)), settings.repetitions)
