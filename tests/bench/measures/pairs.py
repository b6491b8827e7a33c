# SPDX-FileCopyrightText: 2026 The WebLocks for D-Bus authors
# SPDX-License-Identifier: LGPL-2.1-or-later

"""An uncontended lock requested and released, next to what people use instead."""

import contextlib

from figures import CORES, Table
from peers import available
from stage import PEOPLE, Scene, Way, cores, measure_in_turns, steady, steady_of

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


def ours(settings, way, kind, path=None):
    path = path or settings.best_path
    return f'lock, {WAYS[way]}, {PEOPLE[path]}, on {kind}'


def name(kind, client='raw'):
    people = {'raw': 'bare socket', 'sd-bus': 'sd-bus'}[client]
    return f'name on {kind}, client {people}'


def by_hand(kind, path):
    return f'lock by hand, sync calls of sd-bus, {PEOPLE[path]}, on {kind}'


def best_name(table, kind, which_cores):
    """The row of the faster client: that is the peer."""
    rows = [name(kind, client) for client in ('raw', 'sd-bus')
            if table.get(name(kind, client), which_cores)]
    return min(rows, key=lambda row: table.get(row, which_cores).median, default=name(kind))


def declare(settings):
    table = Table('pairs', 'Request and release',
                  'One client, every call awaited before the next; with "release by last unref" '
                  'only the request is, and the release is on its way. A name is RequestName and '
                  'ReleaseName. The ratio is asynchronous calls, by the best path on the same bus, '
                  'to the row; for calls by hand, sync calls; for the socketpair, release by last '
                  'unref.',
                  'us', 'ours / it')
    for kind in settings.kinds:
        for path in settings.paths:
            for way in WAYS:
                table.row(ours(settings, way, kind, path))
    for kind in settings.kinds:
        for path in settings.paths:
            table.row(by_hand(kind, path), (ours(settings, 'sync', kind), 'self'))
        for client in ('raw', 'sd-bus'):
            table.row(name(kind, client), (ours(settings, 'async', kind), 'self'))
    base = ours(settings, 'async', settings.best_kind)
    table.row(ROUND_TRIP, (ours(settings, 'unref', settings.best_kind), 'self'))
    for row in (REDIS, REDIS_CHECKED, CHROMIUM, WORKER):
        table.row(row, (base, 'self'))
    return table


def bus_ways(settings, scene):
    count = settings.count(1500, 200)
    for path in settings.paths:
        for way in WAYS:
            yield steady_of(ours(settings, way, scene.kind, path), settings,
                          'lock-pair', scene.address, path, way, count)
        yield steady_of(by_hand(scene.kind, path), settings, 'hand-pair', scene.address, path,
                        count)
    for client in ('raw', 'sd-bus'):
        yield steady_of(name(scene.kind, client), settings, 'name-pair', scene.address, client,
                      count)


def redis_ways(settings, redis):
    count = settings.count(1500, 200)
    for row, way in ((REDIS, 'del'), (REDIS_CHECKED, 'checked')):
        yield steady_of(row, settings, 'redis', redis.socket, way, count)


def chromium_ways(settings, chromium):
    count = settings.count(1000, 100)
    yield Way(CHROMIUM, lambda: {CHROMIUM: chromium.tell('pairs', count)})
    yield Way(WORKER, lambda: {WORKER: chromium.tell('workerPairs', count)})


def peer_way(settings, peer):
    row = f'{peer.title}, {peer.operation}'
    count = settings.count(100, 10)
    return Way(row, lambda: {row: steady(peer.pair, count)})


def measure(settings, table):
    for which in CORES:
        with cores(which), contextlib.ExitStack() as stack:
            ways = []
            for kind in settings.kinds:
                ways += bus_ways(settings, stack.enter_context(Scene(settings, kind)))
            count = settings.count(1500, 200)
            ways.append(steady_of(ROUND_TRIP, settings, 'socketpair', 'round-trip', count))
            redis = available(settings, stack, 'redis')
            if redis:
                ways += redis_ways(settings, redis)
            chromium = available(settings, stack, 'chromium')
            if chromium:
                ways += chromium_ways(settings, chromium)
            for key in ('etcd', 'zookeeper'):
                peer = available(settings, stack, key)
                if peer:
                    way = peer_way(settings, peer)
                    table.row(way.rows[0], (ours(settings, 'async', settings.best_kind), 'self'))
                    ways.append(way)
            measure_in_turns(settings, table, which, ways, settings.repetitions)
