# SPDX-FileCopyrightText: 2026 The WebLocks for D-Bus authors
# SPDX-License-Identifier: LGPL-2.1-or-later

"""The targets of the figures."""

from figures import Target
from measures import (bounds, calm, cluster, cluster_many, crashes, flock, gjs, growth, handovers, memory, node,
                      node_holders, pairs, python, startup, state, throughput)


def all_targets(settings, tables):
    """`tables` by key; tables that aren't there were not measured."""
    targets = []
    for key, make in (('pairs', _pairs), ('handovers', _handovers), ('throughput', _throughput),
                      ('growth', _growth), ('memory', _memory), ('calm', _calm),
                      ('crashes', _crashes), ('startup', _startup), ('state', _state), ('node', _node),
                      ('node_holders', _node_holders), ('gjs', _gjs), ('python', _python), ('flock', _flock),
                      ('cluster', _cluster), ('cluster_many', _cluster_many)):
        if key in tables:
            targets += make(settings, tables)
    return targets


def _twice(figure):
    return figure.times(2) if figure else None


def _pairs(settings, tables):
    table = tables['pairs']
    best = settings.best_kind
    for way, kind, peer, limit in (('sync', best, pairs.REDIS, 1.2),
                                   ('unref', best, pairs.REDIS, 0.85),
                                   ('sync', 'dbus-broker', pairs.name('dbus-broker'), 0.45),
                                   ('sync', 'dbus-daemon', pairs.name('dbus-daemon'), 0.17),
                                   ('async', 'dbus-broker', pairs.name('dbus-broker'), 0.6)):
        yield Target(f'pair, {pairs.WAYS[way]}, one core: to {peer}',
                     table.ratio(pairs.weblocks(way, kind), peer, 'one'), limit,
                     bound=None if way == 'unref'
                     else _twice(table.ratio(pairs.ROUND_TRIP, peer, 'one')))


def _node(_settings, tables):
    table = tables['node']
    for peer, limit in ((node.LIBRARY, 2.5), (node.LOCKFILE, 0.4)):
        yield Target(f'pair, Node.js, one core: to {peer}', table.ratio(node.ONE, peer, 'one'), limit)


def _node_holders(settings, tables):
    table = tables['node_holders']
    yield Target(f'Node.js: {node_holders.KILLED}', table.get(node_holders.KILLED, 'free'), 20, 'ms')
    row = node_holders.blocked(settings)
    yield Target(f'Node.js: {row}', table.get(row, 'free'), node_holders.blocked_ms(settings), 'ms', at_least=True)


def _gjs(_settings, tables):
    yield Target(f'pair, {gjs.REQUEST}, one core: to {gjs.LIBRARY}',
                 tables['gjs'].ratio(gjs.REQUEST, gjs.LIBRARY, 'one'), 5)


def _python(_settings, tables):
    table = tables['python']
    for row, peer, limit in ((python.WITH, python.SYNC, 2.0), (python.AWAITED, python.ASYNC, 3.5)):
        yield Target(f'pair, {row}, one core: to {peer}', table.ratio(row, peer, 'one'), limit)


def _flock(_settings, tables):
    table = tables['flock']
    for row, peer, limit in ((flock.HANDLE, flock.FLOCK, 0.1), (flock.PY_HANDLE, flock.PY_FLOCK, 1.0),
                             (flock.PARKED, flock.FREE, 1.1),
                             (flock.HANDLE + flock.OVER, flock.LOCK + flock.OVER, 1.05)):
        yield Target(f'{row}, one core: to {peer}', table.ratio(row, peer, 'one'), limit)
    for which, people in (('one', 'one core'), ('free', 'cores free')):
        yield Target(f'{flock.RUN}, {people}: to {flock.FLOCK_1}', table.ratio(flock.RUN, flock.FLOCK_1, which), 3.0)


def _handovers(_settings, tables):
    table = tables['handovers']
    by_hand, lock = handovers.by_hand('dbus-broker'), handovers.weblocks('dbus-broker')
    in_loop = table.ratio(handovers.in_loop('dbus-broker'), by_hand, 'one')
    for peer, limit, least in ((handovers.name('dbus-broker'), 1.0, None), (by_hand, 1.35, in_loop)):
        yield Target(f'hand-over, one core: to {peer}', table.ratio(lock, peer, 'one'), limit, bound=least)


def _throughput(settings, tables):
    table = tables['throughput']
    bound = bounds.rate_of_many(settings, tables['bounds']) if 'bounds' in tables else None
    one, many = (1, throughput.IN_FLIGHT), (throughput.CLIENTS[-1], 1)
    for row, load, limit, most in ((throughput.weblocks, one, 3, None),
                                   (throughput.weblocks_sync, many, 2, bound),
                                   (throughput.weblocks, many, 2, bound)):
        lock, names = row('dbus-broker', *load), throughput.names('dbus-broker', *load)
        yield Target(f'{lock}, one core: to {names}', table.ratio(lock, names, 'one'), limit,
                     at_least=True, bound=most)


def _growth(settings, tables):
    table = tables['growth']
    few, many = (growth.grant(growth.sizes(settings)[index]) for index in (0, -1))
    for which, people in (('one', 'one core'), ('free', 'cores free')):
        yield Target(f'{many}, {people}: to {few}', table.ratio(many, few, which), 1.1)
    query = growth.query(growth.query_size(settings))
    yield Target(f'{query}, end to end, one core: to Chromium',
                 table.ratio(query, growth.CHROMIUM + query, 'one'), 0.4)


def _memory(_settings, tables):
    table = tables['memory']
    yield Target(memory.IDLE, table.get(memory.IDLE, 'free'), 6 * 1024, 'KiB')
    yield Target(memory.HELD, table.get(memory.HELD, 'free'), 400, 'bytes')


def _calm(settings, tables):
    table = tables['calm']
    count = calm.neighbours(settings)[-1]
    lock, echo = (calm.beside(what, count) for what in (calm.LOCK, calm.ECHO))
    yield Target(f'{lock}, one core: to {echo}', table.ratio(lock, echo, 'one'), 1.5,
                 bound=table.ratio(calm.beside(calm.ECHO, count, calm.SAME), echo, 'one'))
    flooded = calm.flooded(calm.SYNC, settings)
    yield Target(flooded, table.get(flooded, 'free'), 20000, 'us')


def _crashes(_settings, tables):
    table = tables['crashes']
    for how in (crashes.RESTARTED, crashes.ACTIVATED):
        row = crashes.row_of(how, '99th percentile')
        yield Target(row, table.get(row, 'free'), 50000, 'us')


def _startup(_settings, tables):
    table = tables['startup']
    yield Target(startup.ACTIVATED, table.get(startup.ACTIVATED, 'free'), 10000, 'us')


def _state(settings, tables):
    table = tables['state']
    for name in state.WAYS:
        row = state.ADDED.format(name)
        yield Target(f'{row}, one core', table.get(row, 'one'), 3.5, 'us',
                     bound=table.get(state.WRITES, 'one') if state.WAYS[name] == 'cold' else None)
    yield Target(state.restart(settings), table.get(state.restart(settings), 'free'), 100000, 'us')


def _cluster(_settings, tables):
    table = tables['cluster']
    yield Target(f'{cluster.ACQUIRE}: to {cluster.COMMITS}',
                 table.ratio(cluster.ACQUIRE, cluster.COMMITS, 'free'), 1.3)
    yield Target(f'{cluster.PAIR_SHARED}: to {cluster.PAIR}',
                 table.ratio(cluster.PAIR_SHARED, cluster.PAIR, 'free'), 1.05)
    yield Target(f'{cluster.LOAD}: to {cluster.RECIPE}',
                 table.ratio(cluster.LOAD, cluster.RECIPE, 'free'), 0.2)


def _cluster_many(settings, tables):
    table = tables['cluster_many']
    for row, most in cluster_many.rows(settings).values():
        yield Target(row, table.get(row, 'free'), most)
