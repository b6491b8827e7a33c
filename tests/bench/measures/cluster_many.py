# SPDX-FileCopyrightText: 2026 The WebLocks for D-Bus authors
# SPDX-License-Identifier: LGPL-2.1-or-later

"""Locks of several hosts at the size of a site: many hosts, many names, and a slow disk."""

import contextlib
import functools
import os
import shutil
import tempfile
import time

from buses import NOBODY, can_be_others
from clusterhosts import BUCKET, Host
from clusternames import Names
from clustersharers import Sharers
from ensemble import HEAP_MB, Ensemble, Place, SlowPlace
from figures import Table
from harness import wait_for
from measures import cluster
from stage import Way, measure_in_turns

# One user may have 16,384 requests.
MANY = 60
MANY_HEAP_MB = 512
MANY_LIMITS = ('--limit=requestsPerUid=131072', '--limit=requestsTotal=131072')
SLOW_SECS = 9
FLOOD_SECS = 20


def sharers(settings):
    """How many hosts share a lock at once, and how many when one leaves and returns."""
    return (settings.count(300, 3), settings.count(100, 3))


def names(settings):
    """Clients, and names of each."""
    return (settings.count(16, 1), settings.count(1000, 20))


def many_names(settings):
    return (settings.count(MANY, 1), settings.count(1000, 20))


def flood(settings):
    return (settings.count(15, 1), settings.count(1000, 20))


def rows(settings):
    """The rows, by a short name, each with what it may be at most."""
    at_once, one_leaves = sharers(settings)
    n_names = names(settings)[0] * names(settings)[1]
    n_many = many_names(settings)[0] * many_names(settings)[1]
    n_flood = flood(settings)[0] * flood(settings)[1]
    return {
        'flood': (f'one user requests {n_flood:,} names: locks of another user that are lost', 0),
        'share-s': (f'{at_once} hosts take one lock in shared mode at once, seconds', 1),
        'share-writes': (f'{at_once} hosts take one lock in shared mode at once, writes of each', 2),
        'return': (f'one of {one_leaves} hosts that share a lock leaves and returns, requests of all', 20),
        'gateway-lost': (f'restart of the gateway with {n_names:,} names, locks lost', 0),
        'gateway-s': (f'restart of the gateway with {n_names:,} names, seconds until the next lock', 5),
        'many-lost': (f'restart of the gateway with {n_many:,} names, locks lost', 0),
        # The lease lasts for twelve seconds.
        'many-s': (f'restart of the gateway with {n_many:,} names, seconds until the next lock', 12),
        'service-lost': (f'restart of weblocksd with {n_names:,} names, locks lost', 0),
        # The lease lasts for ten seconds.
        'service-s': (f'restart of weblocksd with {n_names:,} names, seconds until the next lock', 10),
        'idle': (f'one of {one_leaves} idle hosts, requests in a second', 1.5),
        'disk': (f'{SLOW_SECS} s for each write to the disk, locks lost', 0),
    }


def declare(settings):
    table = Table('cluster_many', 'Many hosts and names',
                  'The gateways of all hosts and one server of ZooKeeper, which does not write to disk, on this '
                  'machine. For the first rows the measuring program is the service of all hosts; the others have '
                  'one host with a bus and a service. "Requests" are all that the server gets, with those that each '
                  'host makes all the time. A lock that is lost is one that its holder is told is lost.', '')
    for row, _ in rows(settings).values():
        table.row(row)
    return table


def measure(settings, table):
    if cluster.is_missing(settings):
        return
    measure_in_turns(settings, table, 'free', list(ways_of(settings)), settings.count(3, 1))


def ways_of(settings):
    of = {key: row for key, (row, _) in rows(settings).items()}
    at_once, one_leaves = sharers(settings)
    several = (
        (('share-s', 'share-writes'), measure_share, at_once),
        (('return', 'idle'), measure_return, one_leaves, settings.count(20, 2), settings.count(15, 1)),
        (('gateway-lost', 'gateway-s'), measure_restart, 'gateway', *names(settings)),
        (('many-lost', 'many-s'), measure_restart, 'gateway', *many_names(settings), MANY_LIMITS, MANY_HEAP_MB),
        (('service-lost', 'service-s'), measure_restart, 'service', *names(settings)),
    )
    for keys, measure_them, *arguments in several:
        yield Way([of[key] for key in keys], functools.partial(put, of, keys, measure_them, *arguments))
    if can_be_others():
        yield Way(of['flood'], functools.partial(put, of, ('flood',), measure_flood, *flood(settings),
                                                 settings.count(FLOOD_SECS, 1)))
    else:
        settings.skip('the names of another user: needs root')
    if shutil.which('strace'):
        yield Way(of['disk'], functools.partial(put, of, ('disk',), measure_disk, settings.count(SLOW_SECS, 1)))
    else:
        settings.skip('a slow disk: needs strace')


def put(of, keys, measure_them, *arguments):
    return {of[key]: value for key, value in zip(keys, measure_them(*arguments))}


# ---- gateways alone

def measure_share(n_hosts):
    with Sharers(n_hosts) as hosts:
        hosts.make_name()
        seconds, writes, _ = hosts.measure(hosts.request_all)
        return seconds, writes / n_hosts


def measure_return(n_hosts, rounds, idle_secs):
    with Sharers(n_hosts) as hosts:
        idle = hosts.measure_idle(idle_secs)
        hosts.make_name()
        hosts.request_all()
        _, _, requests = hosts.measure(lambda: hosts.leave_and_return(rounds))
        return requests / rounds, idle


# ---- one host

@contextlib.contextmanager
def one_host(place=None, limits=(), heap_mb=HEAP_MB):
    with Ensemble(heap_mb=heap_mb) as ensemble:
        host = Host('host', place or Place(), ensemble.addresses, service_options=limits)
        try:
            yield host.start()
        finally:
            host.stop()


def hold(client, name):
    id_, token = client.request(name, BUCKET)
    if not token:
        client.wait_granted(id_)


def measure_restart(which, n_clients, n_names, limits=(), heap_mb=HEAP_MB):
    with one_host(limits=limits, heap_mb=heap_mb) as host:
        held = Names(host, 'name', n_clients, n_names)
        held.wait_held()
        begin = time.monotonic()
        getattr(host, f'kill_{which}')()
        getattr(host, f'start_{which}')()
        hold(host.client(), 'next')
        seconds = time.monotonic() - begin
        held.wait_confirmed()
        return held.count - (held.n_held() - 1), seconds


def measure_flood(n_clients, n_names, seconds):
    with one_host() as host:
        client = host.client()
        hold(client, 'held')
        Names(host, 'flood', n_clients, n_names, uid=NOBODY)
        time.sleep(seconds)
        return (1 - len(client.query(BUCKET)[0]),)


def measure_disk(seconds):
    with tempfile.TemporaryDirectory() as directory, \
            one_host(SlowPlace(seconds, os.path.join(directory, 'trace'))) as host:
        client = host.client()
        hold(client, 'held')
        # The highest block of tokens is stored with a delay.
        wait_for(host.place.has_written, 60 + 2 * seconds, 'a write to the disk')
        time.sleep(2 * seconds)
        return (1 - len(client.query(BUCKET)[0]),)
