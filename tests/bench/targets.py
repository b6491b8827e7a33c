# SPDX-FileCopyrightText: 2026 The WebLocks for D-Bus authors
# SPDX-License-Identifier: LGPL-2.1-or-later

"""What the figures should be."""

from figures import Target
from measures import calm, crashes, growth, handovers, memory, pairs, throughput


def all_targets(settings, tables):
    """`tables` by key; what isn't there is not measured."""
    targets = []
    for key, make in (('pairs', _pairs), ('handovers', _handovers), ('throughput', _throughput),
                      ('growth', _growth), ('memory', _memory), ('calm', _calm),
                      ('crashes', _crashes)):
        if key in tables:
            targets += make(settings, tables[key])
    return targets


def _pairs(settings, table):
    best = settings.best_kind
    for way in ('async', 'sync'):
        people = f'pair, {pairs.WAYS[way]}, one core'
        for kind, limit in (('dbus-broker', 0.65), ('dbus-daemon', 0.25)):
            peer = pairs.best_name(table, kind, 'one')
            yield Target(f'{people}: to {peer}',
                         table.ratio(pairs.ours(settings, way, kind), peer, 'one'), limit)
        for peer, limit in ((pairs.REDIS, 1.6), (pairs.CHROMIUM, 0.25)):
            yield Target(f'{people}: to {peer}',
                         table.ratio(pairs.ours(settings, way, best), peer, 'one'), limit)
    for which, people in (('free', 'cores free'), ('one', 'one core')):
        hand = pairs.by_hand(best, 'bus')
        yield Target(f'pair, {pairs.WAYS["sync"]}, {people}: to {hand}',
                     table.ratio(pairs.ours(settings, 'sync', best), hand, which), 1.1)
    yield Target(f'pair, {pairs.WAYS["unref"]}, cores free: to {pairs.ROUND_TRIP}',
                 table.ratio(pairs.ours(settings, 'unref', best), pairs.ROUND_TRIP, 'free'), 1.5)


def _handovers(settings, table):
    for kind, limit in (('dbus-broker', 0.6), ('dbus-daemon', 0.4)):
        yield Target(f'hand-over, one core: to {handovers.name(kind)}',
                     table.ratio(handovers.ours(settings, kind), handovers.name(kind), 'one'),
                     limit)


def _throughput(settings, table):
    row = throughput.ours(settings.best_kind, 1, throughput.IN_FLIGHT)
    yield Target(f'{row}, one core', table.get(row, 'one'), 60000, 'pairs/s', at_least=True)


def _growth(settings, table):
    few, many = (growth.grant(growth.sizes(settings)[index]) for index in (0, -1))
    for which, people in (('one', 'one core'), ('free', 'cores free')):
        yield Target(f'{many}, {people}: to {few}', table.ratio(many, few, which), 1.1)
    held = growth.query_size(settings)
    query, alone = growth.query(held), growth.query(held, growth.QUERY_CPU)
    yield Target(f'{alone}, one core', table.get(alone, 'one'), 2000, 'us')
    for row in (alone, query):
        yield Target(f'{row}, one core: to Chromium',
                     table.ratio(row, growth.CHROMIUM + query, 'one'), 0.1)


def _memory(_settings, table):
    yield Target(memory.IDLE, table.get(memory.IDLE, 'free'), 6 * 1024, 'KiB')
    yield Target(memory.HELD, table.get(memory.HELD, 'free'), 400, 'bytes')


def _calm(settings, table):
    path = settings.best_path
    for count in calm.neighbours(settings):
        alone = f'{calm.row_of(settings, path, calm.ALONE)} ({count})'
        beside = calm.row_of(settings, path, calm.beside(count))
        for which, people in (('free', 'cores free'), ('one', 'one core')):
            yield Target(f'{beside}, {people}: to its median alone',
                         table.ratio(beside, alone, which), 10)


def _crashes(_settings, table):
    yield Target(f'{crashes.COMMITS}, one core', table.get(crashes.COMMITS, 'one'), 5, 'us')
    for how in (crashes.RESTARTED, crashes.ACTIVATED):
        row = crashes.row_of(how, '99th percentile')
        yield Target(row, table.get(row, 'free'), 50000, 'us')
