# SPDX-FileCopyrightText: 2026 The WebLocks for D-Bus authors
# SPDX-License-Identifier: LGPL-2.1-or-later

"""A lock handed over from one process to the next."""

import contextlib

from figures import Table
from stage import Scene, cores, measure_in_turns, steady_of

WAKE_UP = 'socketpair, wake-up'


def weblocks(kind):
    return f'lock, on {kind}'


def by_hand(kind):
    return f'lock by hand, bare packets, on {kind}'


def in_loop(kind):
    return f'lock by hand, in a GLib main loop, on {kind}'


def name(kind):
    return f'NameAcquired on {kind}, client bare socket'


def declare(settings):
    table = Table('handovers', 'Hand-over',
                  'From the release until the callback of the process that sleeps until then; '
                  'two processes in strict alternation. '
                  'For a name: from ReleaseName until the process that is queued for it has '
                  'read NameAcquired. For a socketpair: a byte. By hand means without the library, with '
                  'blocking calls or in a main loop, whose source does nothing else. The '
                  'ratio is that of a lock, on the same bus, to the row.',
                  'us', 'WebLocks / it')
    for kind in settings.kinds:
        table.row(weblocks(kind))
    for kind in settings.kinds:
        for row in (by_hand(kind), in_loop(kind), name(kind)):
            table.row(row, (weblocks(kind), 'self'))
    table.row(WAKE_UP, (weblocks(settings.best_kind), 'self'))
    return table


def measure(settings, table):
    count = settings.count(300, 30)
    for which in settings.cores:
        with cores(which), contextlib.ExitStack() as stack:
            ways = [steady_of(WAKE_UP, settings, 'handover', '-', 'wake-up', count)]
            for kind in settings.kinds:
                scene = stack.enter_context(Scene(settings, kind))
                ways += [steady_of(row, settings, 'handover', scene.address, way, count)
                         for row, way in ((weblocks(kind), 'async'), (by_hand(kind), 'packets'),
                                          (in_loop(kind), 'loop'), (name(kind), 'name'))]
            measure_in_turns(settings, table, which, ways, settings.repetitions)
