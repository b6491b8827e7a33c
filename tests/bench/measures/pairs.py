# SPDX-FileCopyrightText: 2026 The WebLocks for D-Bus authors
# SPDX-License-Identifier: LGPL-2.1-or-later

"""An uncontended lock requested and released, beside common alternatives."""

import contextlib

from figures import Table
from peers import available
from stage import Scene, Way, cores, measure_in_turns, pairs_of, run, steady_of

ROUND_TRIP = 'socketpair, one round trip'
REDIS = 'Redis, SET NX PX and DEL'
REDIS_CHECKED = 'Redis, SET NX PX and a DEL that checks whose it is'
CHROMIUM = 'Chromium, page'
WORKER = 'Chromium, worker'
WAYS = {
    'sync': 'sync calls',
    'async': 'asynchronous calls',
    'unref': 'release by last unref',
}


def weblocks(way, kind):
    return f'lock, {WAYS[way]}, on {kind}'


def name(kind):
    return f'name on {kind}, client bare socket'


def by_hand(kind):
    return f'lock by hand, bare packets, on {kind}'


def declare(settings):
    best = settings.best_kind
    table = Table('pairs', 'Request and release',
                  'One client, every call awaited before the next; with "release by last '
                  'unref" only the request is awaited. A name is RequestName and ReleaseName. '
                  'By hand means without the library. The ratio is synchronous calls on the '
                  'same bus to the row; for Chromium, which has none, asynchronous calls; for '
                  'the socketpair, release by last unref.',
                  'us', 'WebLocks / it')
    for kind in settings.kinds:
        for way in WAYS:
            table.row(weblocks(way, kind))
    for kind in settings.kinds:
        for row in (by_hand(kind), name(kind)):
            table.row(row, (weblocks('sync', kind), 'self'))
    table.row(ROUND_TRIP, (weblocks('unref', best), 'self'))
    for row in (REDIS, REDIS_CHECKED):
        table.row(row, (weblocks('sync', best), 'self'))
    for row in (CHROMIUM, WORKER):
        table.row(row, (weblocks('async', best), 'self'))
    return table


def bus_ways(settings, scene):
    count = settings.count(1500, 200)
    for way in WAYS:
        yield pairs_of(weblocks(way, scene.kind), settings, scene.address, way, count)
    yield pairs_of(by_hand(scene.kind), settings, scene.address, 'packets', count)
    yield pairs_of(name(scene.kind), settings, scene.address, 'name', count)


def redis_ways(settings, redis):
    count = settings.count(1500, 200)
    for row, way in ((REDIS, 'del'), (REDIS_CHECKED, 'checked')):
        yield steady_of(row, settings, 'redis', redis.socket, way, 1, 1, count)


def chromium_ways(settings, chromium):
    count = settings.count(1000, 100)
    yield Way(CHROMIUM, lambda: {CHROMIUM: chromium.run_command('pairs', count)})
    yield Way(WORKER, lambda: {WORKER: chromium.run_command('workerPairs', count)})


def measure(settings, table):
    for which in settings.cores:
        with cores(which), contextlib.ExitStack() as stack:
            ways = []
            for kind in settings.kinds:
                ways += bus_ways(settings, stack.enter_context(Scene(settings, kind)))
            count = settings.count(1500, 200)
            ways.append(Way(ROUND_TRIP, lambda: {
                ROUND_TRIP: run(settings, 'pairs', '-', 'echo', 1, 1, count)['steady'] / 2}))
            redis = available(settings, stack, 'redis')
            if redis:
                ways += redis_ways(settings, redis)
            chromium = available(settings, stack, 'chromium')
            if chromium:
                ways += chromium_ways(settings, chromium)
            measure_in_turns(settings, table, which, ways, settings.repetitions)
