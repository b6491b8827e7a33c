# SPDX-FileCopyrightText: 2026 The WebLocks for D-Bus authors
# SPDX-License-Identifier: LGPL-2.1-or-later

"""The service's memory, and its instructions, which don't depend on the load of the machine."""

import os
import shutil
import subprocess
import sys
import tempfile

from figures import Table
from stage import Bulk, Scene, Way, measure_in_turns, run, smaps

IDLE = 'resident when idle, KiB'
HELD = 'per held lock, bytes'
WAITING = 'per waiting request, bytes'
INSTRUCTIONS = 'instructions of the service per request and release'
STATES = {HELD: 'held', WAITING: 'waiting'}




def resident(settings, state=None, count=0):
    """The resident memory in KiB of a service with this number of locks or requests."""
    with Scene(settings, settings.best_kind) as scene:
        if state is None:
            return smaps(scene.pid)['Rss']
        with Bulk(scene, state, count):
            return smaps(scene.pid)['Rss']


def idle(settings):
    return {IDLE: resident(settings)}


def bulk(settings):
    return settings.count(10000, 2000)


def per_request(settings, row):
    count = bulk(settings)
    more = resident(settings, STATES[row], 2 * count) - resident(settings, STATES[row], count)
    return {row: more * 1024 / count}


def count_instructions(settings, pairs, directory):
    output = os.path.join(directory, f'callgrind.{pairs}')
    wrapper = ['valgrind', '--quiet', '--tool=callgrind', f'--callgrind-out-file={output}']
    with Scene(settings, settings.best_kind, wrapper) as scene:
        run(settings, 'lock-pair', scene.address, 'sync', pairs)
        scene.stop_service()
    with open(output, encoding='utf-8', errors='replace') as file:
        return next(int(line.split()[1]) for line in file
                    if line.startswith(('summary:', 'totals:')))


def instructions_per_pair(settings):
    """The difference of two runs, of which one has twice the pairs, so that start and end are not
    included."""
    pairs = settings.count(1000, 100)
    with tempfile.TemporaryDirectory(prefix='weblocks-bench-') as directory:
        once, twice = (count_instructions(settings, n, directory)
                       for n in (pairs, 2 * pairs))
    return {INSTRUCTIONS: (twice - once) / pairs}


def valgrind_has_pidfds():
    """Without them the service can't identify its clients, and refuses them."""
    trial = [sys.executable, '-c', 'import os; os.pidfd_open(os.getpid())']
    return subprocess.run(['valgrind', '--quiet', '--tool=none', *trial], check=False,
                          capture_output=True).returncode == 0


def declare(settings):
    table = Table('memory', 'Memory and instructions',
                  f"Of the service's process, on {settings.best_kind}. Bytes are resident "
                  f'memory: the difference of {2 * bulk(settings):,} and {bulk(settings):,} '
                  'requests, divided. Instructions are counted by callgrind, in the service '
                  'alone.',
                  '')
    for row in (IDLE, *STATES, INSTRUCTIONS):
        table.row(row)
    return table


def measure(settings, table):
    ways = [Way(IDLE, lambda: idle(settings))]
    ways += [Way(row, lambda row=row: per_request(settings, row)) for row in STATES]
    measure_in_turns(settings, table, 'free', ways, settings.few_repetitions)
    if shutil.which('valgrind') is None:
        settings.skip('instructions: valgrind is not installed')
        return
    if not valgrind_has_pidfds():
        settings.skip('instructions: this valgrind has no pidfd_open()')
        return
    way = Way(INSTRUCTIONS, lambda: instructions_per_pair(settings))
    measure_in_turns(settings, table, 'free', [way], 1)
