# SPDX-FileCopyrightText: 2026 The WebLocks for D-Bus authors
# SPDX-License-Identifier: LGPL-2.1-or-later

"""The cost of stored state: the service's time for a pair with and without it, and a restart."""

import time

from figures import Table
from measures.bounds import time_of_process
from stage import BATCH, Bulk, Scene, Way, cores, end, measure_in_turns, run

STORED = 'pair, {}, state stored'
NOT_STORED = 'pair, {}, --no-state'
ADDED = 'what storing adds, {}'
# The least that storing could cost: two commits of about that size, one for the request and one for the release.
FRAME_BYTES = 144
WRITES = f'two bare writes of {FRAME_BYTES} bytes, cold caches'
# The argument of bench-pairs for each.
WAYS = {'sync calls': 'sync', 'release by last unref': 'unref', 'sync calls, cold caches': 'cold'}


def bulk(settings):
    return settings.count(10000, 500)


def restart(settings):
    return f'restart, {bulk(settings):,} held and {bulk(settings):,} waiting, until all are served'


def declare(settings):
    table = Table('state', 'Stored state',
                  "The processor time of the service's process for a request and its release "
                  f'by one client on {settings.best_kind}, which are two commits (one commit, '
                  'if the release wants no answer and the next request follows it). With cold '
                  'caches the client, on the same core, reads 16 MiB of memory before each '
                  'call; the bare writes are those of a process that such a client wakes, and that does '
                  'nothing else. The restart is the time from the start of a service whose predecessor '
                  'was killed until the client with the locks and the client with the requests '
                  'have recovered everything, including ten grants and ten pairs, and another '
                  'client has made ten pairs.',
                  'us')
    for row in (row.format(how) for how in WAYS for row in (NOT_STORED, STORED, ADDED)):
        table.row(row)
    table.row(WRITES)
    table.row(restart(settings))
    return table


def time_of_pair(settings, scene, how):
    """The processor time of the service for each pair, in microseconds."""
    count = settings.count(1000 if how == 'cold' else 10000, 100)
    times = []
    # The difference of two runs, so that their beginnings are not included.
    for n_pairs in (count // 10, count):
        before = time_of_process(scene.pid)
        run(settings, 'pairs', scene.address, how, 1, 1, n_pairs)
        times.append(time_of_process(scene.pid) - before)
    return (times[1] - times[0]) / (count - count // 10)


def pair_way(settings, name, stored, not_stored):
    rows = [row.format(name) for row in (STORED, NOT_STORED, ADDED)]

    def ask():
        with_state, without = (time_of_pair(settings, scene, WAYS[name])
                               for scene in (stored, not_stored))
        return dict(zip(rows, (with_state, without, with_state - without)))
    return Way(rows, ask)


def writes_way(settings):
    def ask():
        return {WRITES: 2 * run(settings, 'cold-write', FRAME_BYTES, settings.count(2000, 100))['write']}
    return Way(WRITES, ask)


def restart_way(settings):
    def ask():
        with (Scene(settings, settings.best_kind) as scene,
              Bulk(scene, 'held', bulk(settings)) as held,
              Bulk(scene, 'waiting', bulk(settings)) as waiting):
            end(scene.service)
            begin = time.monotonic()
            scene.spawn_service()
            waiting.run_command('grants', BATCH)
            held.run_command('own', BATCH)
            held.run_command('pairs', BATCH)
            return {restart(settings): (time.monotonic() - begin) * 1e6}
    return Way(restart(settings), ask)


def measure(settings, table):
    with (cores('one'), Scene(settings, settings.best_kind) as stored,
          Scene(settings, settings.best_kind, arguments=('--no-state',)) as not_stored):
        measure_in_turns(settings, table, 'one',
                         [*(pair_way(settings, name, stored, not_stored) for name in WAYS), writes_way(settings)],
                         settings.repetitions)
    measure_in_turns(settings, table, 'free', [restart_way(settings)], settings.few_repetitions)
