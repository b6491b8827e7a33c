# SPDX-FileCopyrightText: 2026 The WebLocks for D-Bus authors
# SPDX-License-Identifier: LGPL-2.1-or-later

"""The targets of the figures."""

from figures import Target
from measures import calm, crashes, growth, handovers, memory, pairs, state, throughput


def all_targets(settings, tables):
    """`tables` by key; what isn't there is not measured."""
    targets = []
    for key, make in (('pairs', _pairs), ('handovers', _handovers), ('throughput', _throughput),
                      ('growth', _growth), ('memory', _memory), ('calm', _calm),
                      ('crashes', _crashes), ('state', _state)):
        if key in tables:
            targets += make(settings, tables[key])
    return targets


def _pairs(settings, table):
    best = settings.best_kind
    for way, kind, peer, limit in (('sync', best, pairs.REDIS, 1.2),
                                   ('unref', best, pairs.REDIS, 0.85),
                                   ('sync', 'dbus-broker', pairs.name('dbus-broker'), 0.45),
                                   ('sync', 'dbus-daemon', pairs.name('dbus-daemon'), 0.17),
                                   ('async', 'dbus-broker', pairs.name('dbus-broker'), 0.6)):
        yield Target(f'pair, {pairs.WAYS[way]}, one core: to {peer}',
                     table.ratio(pairs.ours(way, kind), peer, 'one'), limit)


def _handovers(_settings, table):
    peer = handovers.name('dbus-broker')
    yield Target(f'hand-over, one core: to {peer}',
                 table.ratio(handovers.ours('dbus-broker'), peer, 'one'), 1.0)


def _throughput(_settings, table):
    for load, limit in (((1, throughput.IN_FLIGHT), 3), ((throughput.CLIENTS[-1], 1), 2)):
        ours, names = (row('dbus-broker', *load) for row in (throughput.ours, throughput.names))
        yield Target(f'{ours}, one core: to {names}', table.ratio(ours, names, 'one'), limit,
                     at_least=True)


def _growth(settings, table):
    few, many = (growth.grant(growth.sizes(settings)[index]) for index in (0, -1))
    for which, people in (('one', 'one core'), ('free', 'cores free')):
        yield Target(f'{many}, {people}: to {few}', table.ratio(many, few, which), 1.1)
    query = growth.query(growth.query_size(settings))
    yield Target(f'{query}, end to end, one core: to Chromium',
                 table.ratio(query, growth.CHROMIUM + query, 'one'), 0.4)


def _memory(_settings, table):
    yield Target(memory.IDLE, table.get(memory.IDLE, 'free'), 6 * 1024, 'KiB')
    yield Target(memory.HELD, table.get(memory.HELD, 'free'), 400, 'bytes')


def _calm(settings, table):
    count = calm.neighbours(settings)[-1]
    ours, echo = (calm.beside(what, count) for what in (calm.LOCK, calm.ECHO))
    yield Target(f'{ours}, one core: to {echo}', table.ratio(ours, echo, 'one'), 1.5)


def _crashes(_settings, table):
    for how in (crashes.RESTARTED, crashes.ACTIVATED):
        row = crashes.row_of(how, '99th percentile')
        yield Target(row, table.get(row, 'free'), 50000, 'us')


def _state(settings, table):
    for name in state.WAYS:
        row = state.ADDED.format(name)
        yield Target(f'{row}, one core', table.get(row, 'one'), 3.5, 'us')
    yield Target(state.restart(settings), table.get(state.restart(settings), 'free'), 100000, 'us')
