# SPDX-FileCopyrightText: 2026 The WebLocks for D-Bus authors
# SPDX-License-Identifier: LGPL-2.1-or-later

"""Locks in GJS, beside the C library."""

import shutil

from figures import Table
from stage import HERE, Scene, Way, cores, has_typelib, measure_in_turns, pairs_of, run_command, with_library

LIBRARY = 'C library, asynchronous calls'
REQUEST = 'GJS, locks.request()'


def declare(_settings):
    table = Table('gjs', 'GJS',
                  "Request and release of a free lock, in a main loop. A release is not waited for; the C library's "
                  'pair waits. The ratio is the row to the asynchronous calls of the C library.',
                  'us', 'it / C library')
    table.row(LIBRARY)
    table.row(REQUEST, ('self', LIBRARY))
    return table


def run(settings, scene, count):
    module = HERE.parent.parent / 'client-lib/gjs/weblocks.js'
    return run_command(['gjs', '-m', HERE / 'bench-gjs.js', module, count], with_library(settings, scene))['steady']


def measure(settings, table):
    if shutil.which('gjs') is None:
        settings.skip('GJS: it is not installed')
        return
    if not has_typelib(settings, 'GJS'):
        return
    count = settings.count(1500, 200)
    for which in settings.cores:
        with cores(which), Scene(settings, settings.best_kind) as scene:
            ways = [pairs_of(LIBRARY, settings, scene.address, 'async', count),
                    Way(REQUEST, lambda scene=scene: {REQUEST: run(settings, scene, count)})]
            measure_in_turns(settings, table, which, ways, settings.repetitions)
