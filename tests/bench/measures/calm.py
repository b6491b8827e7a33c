# SPDX-FileCopyrightText: 2026 The WebLocks for D-Bus authors
# SPDX-License-Identifier: LGPL-2.1-or-later

"""A calm client among neighbours that ask for as many locks as they can get."""

from figures import CORES, Table
from stage import PEOPLE, Scene, Way, cores, measure_in_turns, run

ALONE = 'alone, median'
ALONE_P99 = 'alone, 99th percentile'
IN_FLIGHT = 64
# What an echo and a client of it wait beside others, without any protocol; and what these do.
ECHO = {
    'busy': 'that compute',
    'pairs': 'pairs that echo for each other',
    'same': 'that flood the same echo',
}


def neighbours(settings):
    return (2,) if settings.quick else (4, 8)


def beside(count):
    return f'beside {count} that flood, 99th percentile'


def echo_alone(way, count):
    return f'echo, alone, median ({count} {ECHO[way]})'


def echo_beside(way, count):
    return f'echo, beside {count} {ECHO[way]}, 99th percentile'


def row_of(settings, path, what):
    return f'{PEOPLE[path]}, {what}' if len(settings.paths) > 1 else what


def calm_way(settings, scene, path, count):
    # Alone is measured each time again: what it is compared with must be of the same moment.
    rows = {'alone-p50': f'{row_of(settings, path, ALONE)} ({count})',
            'alone-p99': f'{row_of(settings, path, ALONE_P99)} ({count})',
            'beside-p99': row_of(settings, path, beside(count))}

    def ask():
        answers = run(settings, 'calm', scene.address, path, count, IN_FLIGHT,
                      settings.count(1000, 50))
        return {row: answers[key] for key, row in rows.items()}
    return Way(list(rows.values()), ask)


def echo_way(settings, way, count):
    rows = {'alone-p50': echo_alone(way, count), 'beside-p99': echo_beside(way, count)}

    def ask():
        answers = run(settings, 'calm-echo', way, count, settings.count(1000, 50))
        return {row: answers[key] for key, row in rows.items()}
    return Way(list(rows.values()), ask)


def declare(settings):
    table = Table('calm', 'Calm among noisy neighbours',
                  f'A client that asks for a lock now and then, on {settings.best_kind}, sync '
                  f'calls; alone, and beside processes that each have {IN_FLIGHT} requests and '
                  'releases under way at any time. The ratio is to its own median alone. Below, '
                  'what the kernel alone makes one wait: two bytes to an echo process and back, '
                  'one after the other, in place of the lock.',
                  'us', 'to alone')
    for path in settings.paths:
        for count in neighbours(settings):
            alone = f'{row_of(settings, path, ALONE)} ({count})'
            table.row(alone)
            table.row(f'{row_of(settings, path, ALONE_P99)} ({count})', ('self', alone))
            table.row(row_of(settings, path, beside(count)), ('self', alone))
    for way in ECHO:
        for count in neighbours(settings):
            table.row(echo_alone(way, count))
            table.row(echo_beside(way, count), ('self', echo_alone(way, count)))
    return table


def measure(settings, table):
    for which in CORES:
        with cores(which), Scene(settings, settings.best_kind) as scene:
            ways = [calm_way(settings, scene, path, count)
                    for path in settings.paths for count in neighbours(settings)]
            ways += [echo_way(settings, way, count)
                     for way in ECHO for count in neighbours(settings)]
            measure_in_turns(settings, table, which, ways, settings.few_repetitions)
