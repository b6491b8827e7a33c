# SPDX-FileCopyrightText: 2026 The WebLocks for D-Bus authors
# SPDX-License-Identifier: LGPL-2.1-or-later

"""The cost of stored state: the service's time for a pair with and without it, and a restart."""

import time

from figures import Table
from measures.bounds import time_of_process
from stage import BATCH, Crowd, Scene, Way, cores, end, measure_in_turns, run

KEPT = 'pair, {}, state stored'
NOT_KEPT = 'pair, {}, --no-state'
ADDED = 'what storing adds, {}'
# The way of bench-lock-pair for each.
WAYS = {'sync calls': 'sync', 'release by last unref': 'unref', 'sync calls, cold caches': 'cold'}


def crowd(settings):
    return settings.count(10000, 500)


def restart(settings):
    return f'restart, {crowd(settings):,} held and {crowd(settings):,} waiting, until all are served'


def declare(settings):
    table = Table('state', 'Stored state',
                  "The processor time of the service's process for a request and its release "
                  f'by one client on {settings.best_kind}, which are two commits (one commit, '
                  'if the release wants no answer and the next request follows it). With cold '
                  'caches the client, on the same core, reads 16 MiB of memory before each '
                  'call. The restart is the time from the start of a service whose predecessor '
                  'was killed until the client with the locks and the client with the requests '
                  'have recovered everything, including ten grants and ten pairs, and another '
                  'client has made ten pairs.',
                  'us')
    for row in (row.format(how) for how in WAYS for row in (NOT_KEPT, KEPT, ADDED)):
        table.row(row)
    table.row(restart(settings))
    return table


def time_of_pair(settings, scene, how):
    """Microseconds on the processor of the service, for each pair."""
    count = settings.count(1000 if how == 'cold' else 10000, 100)
    times = []
    # The difference of two runs, so that their beginnings do not count.
    for n_pairs in (count // 10, count):
        before = time_of_process(scene.pid)
        run(settings, 'lock-pair', scene.address, how, n_pairs)
        times.append(time_of_process(scene.pid) - before)
    return (times[1] - times[0]) / (count - count // 10)


def pair_way(settings, name, kept, not_kept):
    rows = [row.format(name) for row in (KEPT, NOT_KEPT, ADDED)]

    def ask():
        with_state, without = (time_of_pair(settings, scene, WAYS[name])
                               for scene in (kept, not_kept))
        return dict(zip(rows, (with_state, without, with_state - without)))
    return Way(rows, ask)


def restart_way(settings):
    def ask():
        with (Scene(settings, settings.best_kind) as scene,
              Crowd(scene, 'held', crowd(settings)) as held,
              Crowd(scene, 'waiting', crowd(settings)) as waiting):
            end(scene.service)
            begin = time.monotonic()
            scene.spawn_service()
            waiting.tell('grants', BATCH)
            held.tell('own', BATCH)
            held.tell('pairs', BATCH)
            return {restart(settings): (time.monotonic() - begin) * 1e6}
    return Way(restart(settings), ask)


def measure(settings, table):
    with (cores('one'), Scene(settings, settings.best_kind) as kept,
          Scene(settings, settings.best_kind, arguments=('--no-state',)) as not_kept):
        measure_in_turns(settings, table, 'one',
                         [pair_way(settings, name, kept, not_kept) for name in WAYS],
                         settings.repetitions)
    measure_in_turns(settings, table, 'free', [restart_way(settings)], settings.few_repetitions)
