# SPDX-FileCopyrightText: 2026 The WebLocks for D-Bus authors
# SPDX-License-Identifier: LGPL-2.1-or-later

"""Pairs of request and release per second: many clients, and many at a time by one."""

import contextlib

from figures import Table
from stage import Scene, Way, cores, measure_in_turns, run

CLIENTS = (1, 4, 16, 64)
IN_FLIGHT = 64


def weblocks(kind, clients, in_flight=1):
    return _row('locks', kind, clients, in_flight)


def weblocks_sync(kind, clients, in_flight=1):
    return weblocks(kind, clients, in_flight) + ', sync calls'


def names(kind, clients, in_flight=1):
    return _row('names', kind, clients, in_flight)


def _row(what, kind, clients, in_flight):
    people = '1 client' if clients == 1 else f'{clients} clients'
    at_a_time = f', {in_flight} at a time' if in_flight > 1 else ''
    return f'{what} on {kind}, {people}{at_a_time}'


def loads(settings):
    clients = (1, 4) if settings.quick else CLIENTS
    return [(n, 1) for n in clients] + [(1, IN_FLIGHT)]


def rate_of(row, settings, *command):
    return Way(row, lambda: {row: run(settings, *command)['rate']})


def ways_of(settings, scene):
    for clients, in_flight in loads(settings):
        count = settings.count(4000 if in_flight == 1 else 8000, 256)
        yield rate_of(weblocks(scene.kind, clients, in_flight), settings, 'pairs',
                      scene.address, 'async', clients, in_flight, count)
        yield rate_of(names(scene.kind, clients, in_flight), settings, 'pairs', scene.address, 'name',
                      clients, in_flight, count)
        if in_flight == 1:
            yield rate_of(weblocks_sync(scene.kind, clients), settings, 'pairs',
                          scene.address, 'sync', clients, 1, count)


def declare(settings):
    table = Table('throughput', 'Throughput',
                  'Pairs per second, of all clients together; each client is a process, uses '
                  'separate names, and has one pair in flight, or 64. Locks by asynchronous '
                  'calls unless it says sync calls; bus names by clients on bare sockets, which '
                  'wait for each reply. The ratio is that of locks by asynchronous calls to '
                  'names: higher is better.',
                  'pairs/s', 'WebLocks / it')
    for kind in settings.kinds:
        for load in loads(settings):
            table.row(weblocks(kind, *load))
        for clients, in_flight in loads(settings):
            if in_flight == 1:
                table.row(weblocks_sync(kind, clients))
        for load in loads(settings):
            table.row(names(kind, *load), (weblocks(kind, *load), 'self'))
    return table


def measure(settings, table):
    for which in settings.cores:
        with cores(which), contextlib.ExitStack() as stack:
            ways = []
            for kind in settings.kinds:
                ways += ways_of(settings, stack.enter_context(Scene(settings, kind)))
            measure_in_turns(settings, table, which, ways, settings.few_repetitions)
