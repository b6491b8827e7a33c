# SPDX-FileCopyrightText: 2026 The WebLocks for D-Bus authors
# SPDX-License-Identifier: LGPL-2.1-or-later

"""What begins with nothing: the first lock of a client, and the start of the service."""

import contextlib

from figures import Table
from measures.bounds import time_of_process
from stage import Scene, Way, cores, measure_in_turns, pairs_of

ACTIVATED = 'first lock of a client, which starts the service'


def first(kind):
    return f'first lock of a client, on {kind}'


def service(kind):
    return f"of that, the service's processor time, on {kind}"


def declare(settings):
    table = Table('startup', 'From nothing',
                  'The first lock: from the creation of an agent, which connects to the bus, until its lock is '
                  'granted. The service runs, or is ended before and started by dbus-daemon. Its processor time '
                  'includes the end of the client, and its identification, which is 37 % of it as perf counts: '
                  '26 % are the files of /proc, and 6 % the second question to a bus that provides no pidfd.',
                  'us')
    for kind in settings.kinds:
        table.row(first(kind))
        table.row(service(kind))
    table.row(ACTIVATED)
    return table


def first_way(settings, scene):
    """A way that measures the first lock of many clients, and the service."""
    count = settings.count(200, 10)
    way = pairs_of(first(scene.kind), settings, scene.address, 'first', count)

    def measure_first():
        before = time_of_process(scene.pid)
        figures = way.measure()
        # It warms up with three more.
        return {**figures, service(scene.kind): (time_of_process(scene.pid) - before) / (count + 3)}
    return Way([first(scene.kind), service(scene.kind)], measure_first)


def measure(settings, table):
    for which in settings.cores:
        with cores(which), contextlib.ExitStack() as stack:
            ways = [first_way(settings, stack.enter_context(Scene(settings, kind))) for kind in settings.kinds]
            activated = stack.enter_context(Scene(settings, 'dbus-daemon', activated=True))
            ways.append(pairs_of(ACTIVATED, settings, activated.address, 'activated',
                                 settings.count(30, 10)))
            measure_in_turns(settings, table, which, ways, settings.repetitions)
