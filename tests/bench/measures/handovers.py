# SPDX-FileCopyrightText: 2026 The WebLocks for D-Bus authors
# SPDX-License-Identifier: LGPL-2.1-or-later

"""A lock that goes from one process to the next."""

import contextlib

from figures import CORES, Table
from stage import PEOPLE, Scene, cores, measure_in_turns, steady_of

WAKE_UP = 'socketpair, wake-up'


def ours(settings, kind, path=None):
    return f'lock, {PEOPLE[path or settings.best_path]}, on {kind}'


def by_hand(settings, kind):
    return f'lock by hand, sync calls of sd-bus, {PEOPLE[settings.best_path]}, on {kind}'


def name(kind):
    return f'NameAcquired on {kind}, client bare socket'


def declare(settings):
    table = Table('handovers', 'Hand-over',
                  'From release until the callback of the process that sleeps and waits, two '
                  'processes in strict alternation. By hand: until it has seen Granted. For a name: '
                  'from ReleaseName until the process that is queued for it has seen NameAcquired. '
                  'For a socketpair: a byte. The ratio is ours, by the best path on the same bus, '
                  'to the row.',
                  'us', 'ours / it')
    for kind in settings.kinds:
        for path in settings.paths:
            table.row(ours(settings, kind, path))
        table.row(by_hand(settings, kind), (ours(settings, kind), 'self'))
    for kind in settings.kinds:
        table.row(name(kind), (ours(settings, kind), 'self'))
    table.row(WAKE_UP, (ours(settings, settings.best_kind), 'self'))
    return table


def measure(settings, table):
    count = settings.count(300, 30)
    for which in CORES:
        with cores(which), contextlib.ExitStack() as stack:
            ways = [steady_of(WAKE_UP, settings, 'socketpair', 'wake-up', count)]
            for kind in settings.kinds:
                scene = stack.enter_context(Scene(settings, kind))
                ways += [steady_of(ours(settings, kind, path), settings,
                                 'lock-handover', scene.address, path, count)
                         for path in settings.paths]
                ways.append(steady_of(by_hand(settings, kind), settings, 'hand-handover',
                                      scene.address, settings.best_path, count))
                ways.append(steady_of(name(kind), settings, 'name-handover', scene.address, count))
            measure_in_turns(settings, table, which, ways, settings.repetitions)
