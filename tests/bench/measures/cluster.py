# SPDX-FileCopyrightText: 2026 The WebLocks for D-Bus authors
# SPDX-License-Identifier: LGPL-2.1-or-later

"""Locks of several hosts: what the engine, ZooKeeper, takes by itself."""

from ensemble import Ensemble, why_no_servers
from figures import Table
from stage import Way, measure_in_turns, run, steady_of

SERVERS = 3
# As of three hosts with eight each.
PROCESSES = 24
COMMITS = 'ZooKeeper: claim, list, grant and delete by a bare client'


def recipe(processes):
    """The usual lock of ZooKeeper, a node for each request."""
    who = '1 process' if processes == 1 else f'{processes} processes'
    return f'ZooKeeper: a node for each request, {who} for one lock'


def declare(_settings):
    return Table('cluster', 'Several hosts',
                 f'{SERVERS} servers of ZooKeeper on this machine, without writing to disk. First one '
                 'client: the three commits of a lock, and the read between them, each awaited. Then '
                 'the usual lock, as in Curator, from one holder to the next.',
                 'us')


def measure(settings, table):
    why = why_no_servers()
    if not why and not settings.has_program('zookeeper'):
        why = 'needs libzookeeper-st-dev when this is built'
    if why:
        settings.skip(f'several hosts: {why}')
        return
    with Ensemble(SERVERS) as ensemble:
        ways = [steady_of(COMMITS, settings, 'zookeeper', ensemble.addresses, 'commits',
                          settings.count(300, 20))]
        ways += [recipe_way(settings, ensemble, processes) for processes in (1, PROCESSES)]
        measure_in_turns(settings, table, 'free', ways, settings.few_repetitions)


def recipe_way(settings, ensemble, processes):
    row = recipe(processes)
    count = settings.count(1200, 24) // processes
    return Way(row, lambda: {row: run(settings, 'zookeeper', ensemble.addresses, 'recipe',
                                      processes, count)['per_lock']})
