# SPDX-FileCopyrightText: 2026 The WebLocks for D-Bus authors
# SPDX-License-Identifier: LGPL-2.1-or-later

"""Locks in Python, beside the C library and flock."""

import contextlib
import os
import pathlib
import subprocess
import tempfile

from buses import die_with_parent
from figures import Table
from stage import PATIENCE, Scene, Way, cores, measure_in_turns, pairs_of, parse

HERE = pathlib.Path(__file__).resolve().parent.parent
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


def run(settings, env, *arguments):
    """One run of bench-python.py; returns its output."""
    library = str(settings.build / 'client-lib')
    result = subprocess.run(['/usr/bin/python3', HERE / 'bench-python.py', *map(str, arguments)], check=True,
                            text=True, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, timeout=PATIENCE,
                            env={**env, 'LD_LIBRARY_PATH': library, 'GI_TYPELIB_PATH': library,
                                 'PYTHONPATH': str(HERE.parent.parent / 'client-lib/python')},
                            preexec_fn=die_with_parent)
    return parse(result.stdout)['steady']


def ways(settings, scene, path):
    count = settings.count(1500, 200)
    env = scene.bus.environment()
    for row, way in ((SYNC, 'sync'), (ASYNC, 'async')):
        yield pairs_of(row, settings, scene.address, way, count)
    for row, arguments in ((WITH, ('with', count)), (AWAITED, ('async', count)), (FLOCK, ('flock', count, path))):
        yield Way(row, lambda row=row, arguments=arguments: {row: run(settings, env, *arguments)})


def measure(settings, table):
    if not (settings.build / 'client-lib/WebLocks-1.typelib').exists():
        settings.skip('Python: the introspection data was not built')
        return
    for which in settings.cores:
        with cores(which), contextlib.ExitStack() as stack:
            scene = stack.enter_context(Scene(settings, settings.best_kind))
            directory = stack.enter_context(tempfile.TemporaryDirectory(dir='/dev/shm'))
            path = os.path.join(directory, 'file')
            pathlib.Path(path).touch()
            measure_in_turns(settings, table, which, list(ways(settings, scene, path)), settings.repetitions)
