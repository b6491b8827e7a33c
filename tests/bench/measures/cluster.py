# SPDX-FileCopyrightText: 2026 The WebLocks for D-Bus authors
# SPDX-License-Identifier: LGPL-2.1-or-later

"""Locks of several hosts, compared with the cost of the engine, ZooKeeper, alone."""

import contextlib
import os

from clusterhosts import BUCKET, Host
from ensemble import Ensemble, Place, why_no_servers
from figures import Table
from stage import measure_in_turns, pairs_of, per_lock, steady_of

SERVERS = 3
HOSTS = 3
PROCESSES_EACH = 8
COMMITS = 'ZooKeeper: claim, list, grant and delete by a bare client'
ACQUIRE = 'lock, requested while no host has it'
TAKE = 'lock, requested while another host had it last'
PAIR = 'lock and release, of one host'
PAIR_SHARED = 'lock and release, of several hosts, under a permit'
LOAD = f'lock, {HOSTS} hosts with {PROCESSES_EACH} processes each'
RECIPE = f'ZooKeeper: a node for each request, {HOSTS * PROCESSES_EACH} processes'


def declare(_settings):
    table = Table('cluster', 'Several hosts',
                  f'{SERVERS} servers of ZooKeeper, which do not write to disk, and {HOSTS} hosts, '
                  'each with a bus, a service and a gateway, all on this machine. A bare client '
                  'of ZooKeeper makes the three commits of a lock, and the read between them, '
                  'each awaited. A request waits for the first two of them, and if another host '
                  'had the lock last, for that one to delete its claim. "Under a permit" the host '
                  'itself had the lock last. The last two rows are '
                  'processes that want one lock: the time from one holder to the next. A node '
                  'for each request is the usual lock of ZooKeeper, as in Curator.',
                  'us', 'WebLocks / it')
    table.row(ACQUIRE)
    table.row(COMMITS, (ACQUIRE, 'self'))
    table.row(TAKE)
    table.row(PAIR_SHARED)
    table.row(PAIR, (PAIR_SHARED, 'self'))
    table.row(LOAD)
    table.row(RECIPE, (LOAD, 'self'))
    return table


def is_missing(settings):
    """Otherwise sets the environment of hosts."""
    built = settings.has_program('zookeeper')
    why = why_no_servers() if built else 'needs libzookeeper-st-dev when this is built'
    if why:
        settings.skip(f'several hosts: {why}')
        return True
    os.environ.update(WEBLOCKS_TEST_BUS=settings.best_kind,
                      WEBLOCKSD=str(settings.build / 'service/weblocksd'),
                      WEBLOCKS_CLUSTERD=str(settings.build / 'cluster/weblocks-clusterd'))
    return False


def measure(settings, table):
    if is_missing(settings):
        return
    with contextlib.ExitStack() as stack:
        ensemble = stack.enter_context(Ensemble(SERVERS))
        hosts = []
        for i in range(HOSTS):
            host = Host(f'host{i + 1}', Place(), ensemble.addresses)
            stack.callback(host.stop)
            hosts.append(host.start())
        ways = list(ways_of(settings, ensemble.addresses, [host.bus.address for host in hosts]))
        measure_in_turns(settings, table, 'free', ways, settings.few_repetitions)


def ways_of(settings, servers, buses):
    commits, pairs = settings.count(300, 20), settings.count(1500, 100)
    processes = HOSTS * PROCESSES_EACH
    each = settings.count(50, 2) * processes
    yield pairs_of(ACQUIRE, settings, buses[0], 'acquire', commits, BUCKET)
    yield pairs_of(TAKE, settings, ' '.join(buses[:2]), 'take', commits, BUCKET)
    yield steady_of(COMMITS, settings, 'zookeeper', servers, 'commits', 1, 1, commits)
    yield pairs_of(PAIR_SHARED, settings, buses[0], 'sync', pairs, BUCKET)
    yield pairs_of(PAIR, settings, buses[0], 'sync', pairs, 'default')
    yield per_lock(LOAD, settings, 'pairs', ' '.join(buses), 'contended', processes, 1, each, BUCKET)
    yield per_lock(RECIPE, settings, 'zookeeper', servers, 'recipe', processes, 1, each)
