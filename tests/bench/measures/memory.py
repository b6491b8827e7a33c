# SPDX-FileCopyrightText: 2026 The WebLocks for D-Bus authors
# SPDX-License-Identifier: LGPL-2.1-or-later

"""The service's memory, which doesn't depend on the load of the machine."""

from figures import Table
from stage import Bulk, Scene, Way, measure_in_turns, smaps

IDLE = 'resident when idle, KiB'
HELD = 'per held lock, bytes'
WAITING = 'per waiting request, bytes'
STATES = {HELD: 'held', WAITING: 'waiting'}


def resident(settings, state=None, count=0):
    """The resident memory in KiB of a service with this number of locks or requests."""
    with Scene(settings, settings.best_kind) as scene:
        if state is None:
            return smaps(scene.pid)['Rss']
        with Bulk(scene, state, count):
            return smaps(scene.pid)['Rss']


def idle(settings):
    return {IDLE: resident(settings)}


def bulk(settings):
    return settings.count(10000, 2000)


def per_request(settings, row):
    count = bulk(settings)
    more = resident(settings, STATES[row], 2 * count) - resident(settings, STATES[row], count)
    return {row: more * 1024 / count}


def declare(settings):
    table = Table('memory', 'Memory',
                  f"Of the service's process, on {settings.best_kind}. Bytes are resident "
                  f'memory: the difference of {2 * bulk(settings):,} and {bulk(settings):,} '
                  'requests, divided.',
                  '')
    for row in (IDLE, *STATES):
        table.row(row)
    return table


def measure(settings, table):
    ways = [Way(IDLE, lambda: idle(settings))]
    ways += [Way(row, lambda row=row: per_request(settings, row)) for row in STATES]
    measure_in_turns(settings, table, 'free', ways, settings.few_repetitions)
