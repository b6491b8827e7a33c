# SPDX-FileCopyrightText: 2026 The WebLocks for D-Bus authors
# SPDX-License-Identifier: LGPL-2.1-or-later

"""Locks in GJS, beside the C library."""

import pathlib
import shutil
import subprocess

from buses import die_with_parent
from figures import Table
from stage import PATIENCE, Scene, Way, cores, measure_in_turns, pairs_of, parse

HERE = pathlib.Path(__file__).resolve().parent.parent
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
    library = str(settings.build / 'client-lib')
    module = HERE.parent.parent / 'client-lib/gjs/weblocks.js'
    result = subprocess.run(['gjs', '-m', HERE / 'bench-gjs.js', module, str(count)], check=True, text=True,
                            stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, timeout=PATIENCE,
                            env={**scene.bus.environment(), 'LD_LIBRARY_PATH': library, 'GI_TYPELIB_PATH': library},
                            preexec_fn=die_with_parent)
    return parse(result.stdout)['steady']


def measure(settings, table):
    if shutil.which('gjs') is None or not (settings.build / 'client-lib/WebLocks-1.typelib').exists():
        settings.skip('GJS: it is not installed, or the introspection data was not built')
        return
    count = settings.count(1500, 200)
    for which in settings.cores:
        with cores(which), Scene(settings, settings.best_kind) as scene:
            ways = [pairs_of(LIBRARY, settings, scene.address, 'async', count),
                    Way(REQUEST, lambda scene=scene: {REQUEST: run(settings, scene, count)})]
            measure_in_turns(settings, table, which, ways, settings.repetitions)
