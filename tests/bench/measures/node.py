# SPDX-FileCopyrightText: 2026 The WebLocks for D-Bus authors
# SPDX-License-Identifier: LGPL-2.1-or-later

"""Locks in Node.js, beside the C library and what is used there instead."""

import contextlib
import os
import pathlib
import shutil
import tempfile

from figures import Table
from stage import HERE, Scene, Way, cores, measure_in_turns, pairs_of, run_command, with_library

LIBRARY = 'C library, asynchronous calls'
ONE = 'Node.js'
MANY = 'Node.js, 64 at a time'
LOCKFILE = 'Node.js, proper-lockfile on tmpfs'


def declare(_settings):
    table = Table('node', 'Node.js',
                  'Request and release of a free lock; with "64 at a time" of 64 locks, and the time is for each. '
                  'proper-lockfile makes a folder, and keeps its time up to date. A release is not waited for; the C '
                  "library's pair waits. The ratio is the row to the asynchronous calls of the C library.",
                  'us', 'it / C library')
    table.row(LIBRARY)
    for row in (ONE, MANY, LOCKFILE):
        table.row(row, ('self', LIBRARY))
    return table


def way(row, env, *arguments):
    """A way of bench-node.cjs."""
    return Way(row, lambda: {row: run_command(['node', HERE / 'bench-node.cjs', *arguments], env)['steady']})


def ways(settings, scene, directory):
    package = settings.build / 'client-lib/node/npm'
    lockfile = settings.build / 'npm/node_modules/proper-lockfile'
    env = with_library(settings, scene)
    yield pairs_of(LIBRARY, settings, scene.address, 'async', settings.count(1500, 200))
    yield way(ONE, env, package, 'one', settings.count(1500, 200))
    yield way(MANY, env, package, 'many', settings.count(64 * 100, 640))
    if lockfile.is_dir():
        yield way(LOCKFILE, env, lockfile, 'proper-lockfile', settings.count(1500, 200), os.path.join(directory, 'file'))
    else:
        settings.skip('proper-lockfile: npm has not installed it')


def is_missing(settings):
    if shutil.which('node') is not None and (settings.build / 'client-lib/node/npm').is_dir():
        return False
    settings.skip('Node.js: it is not installed, or its headers were not there when this was built')
    return True


def measure(settings, table):
    if is_missing(settings):
        return
    for which in settings.cores:
        with cores(which), contextlib.ExitStack() as stack:
            scene = stack.enter_context(Scene(settings, settings.best_kind))
            directory = stack.enter_context(tempfile.TemporaryDirectory(dir='/dev/shm'))
            pathlib.Path(directory, 'file').touch()
            measure_in_turns(settings, table, which, list(ways(settings, scene, directory)),
                             settings.repetitions)
