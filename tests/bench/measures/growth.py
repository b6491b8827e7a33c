# SPDX-FileCopyrightText: 2026 The WebLocks for D-Bus authors
# SPDX-License-Identifier: LGPL-2.1-or-later

"""The cost of operations while there are very many locks and requests."""

import contextlib

from figures import Table
from peers import available
from stage import Bulk, Scene, Way, cores, measure_in_turns

QUERY = 'Query'
QUERY_CPU = 'Query, the service alone'
CHROMIUM = 'Chromium: '


def sizes(settings):
    return (100, 1000) if settings.quick else (1000, 10000, 50000)


def query_size(settings):
    return settings.count(10000, 1000)


def grant(waiting):
    return f'grant, {waiting:,} waiting'


def pair(held):
    return f'request and release, {held:,} held'


def query(held, row=QUERY):
    return f'{row}, {held:,} held'


def declare(settings):
    smallest = sizes(settings)[0]
    table = Table('growth', 'Growth',
                  'Operations through the library, with the given number of other locks or '
                  f'requests in the service, on {settings.best_kind}. A grant is a release and '
                  'the callback of the next pending request for the same name. "The service '
                  'alone" is processor time of its process. The ratio is to the smallest '
                  'number; for Chromium it is that of WebLocks to the row.',
                  'us', 'ratio')
    for size in sizes(settings):
        table.row(grant(size), ('self', grant(smallest)))
    for size in sizes(settings):
        table.row(pair(size), ('self', pair(smallest)))
    table.row(query(query_size(settings)))
    table.row(query(query_size(settings), QUERY_CPU))
    for row in [*map(grant, sizes(settings)), query(query_size(settings))]:
        table.row(CHROMIUM + row, (row, 'self'))
    return table


def bulk_way(row, bulk, command, count, answer):
    return Way(row, lambda: {row: bulk.run_command(command, count)[answer]})


def query_way(bulk, held, count):
    rows = {'query': query(held), 'query-cpu': query(held, QUERY_CPU)}

    def ask():
        answers = bulk.run_command('queries', count, answers=2)
        return {row: answers[key] for key, row in rows.items()}
    return Way(list(rows.values()), ask)


def bulk_ways(settings, stack):
    """A separate service for each, so that they don't affect each other."""
    def bulk(state, size):
        scene = stack.enter_context(Scene(settings, settings.best_kind))
        return stack.enter_context(Bulk(scene, state, size))

    for size in sizes(settings):
        yield bulk_way(grant(size), bulk('waiting', size), 'grants',
                        min(size // 2, settings.count(500, 50)), 'grant')
    for size in sizes(settings):
        one = bulk('held', size)
        yield bulk_way(pair(size), one, 'pairs', settings.count(500, 50), 'pair')


def chromium_ways(settings, chromium):
    """All in one page, each with a separate name."""
    for size in sizes(settings):
        row = CHROMIUM + grant(size)
        name = f'gate {size}'
        chromium.run_command('wait', size, name)
        yield Way(row, lambda row=row, name=name: {
            row: chromium.run_command('grants', settings.count(500, 50), name)})


def measure_queries(settings, table, which):
    """With a separate page of Chromium, since its query() returns all locks of the page's
    origin."""
    held = query_size(settings)
    with contextlib.ExitStack() as stack:
        scene = stack.enter_context(Scene(settings, settings.best_kind))
        bulk = stack.enter_context(Bulk(scene, 'held', held))
        ways = [query_way(bulk, held, settings.count(10, 2))]
        chromium = available(settings, stack, 'chromium')
        if chromium:
            row = CHROMIUM + query(held)
            chromium.run_command('hold', held)
            ways.append(Way(row, lambda: {
                row: chromium.run_command('queries', settings.count(10, 2))}))
        measure_in_turns(settings, table, which, ways, settings.few_repetitions)


def measure(settings, table):
    for which in settings.cores:
        with cores(which):
            with contextlib.ExitStack() as stack:
                ways = list(bulk_ways(settings, stack))
                chromium = available(settings, stack, 'chromium')
                if chromium:
                    ways += chromium_ways(settings, chromium)
                measure_in_turns(settings, table, which, ways, settings.few_repetitions)
            measure_queries(settings, table, which)
