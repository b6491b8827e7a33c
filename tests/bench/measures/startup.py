# SPDX-FileCopyrightText: 2026 The WebLocks for D-Bus authors
# SPDX-License-Identifier: LGPL-2.1-or-later

"""What begins with nothing: the first lock of a client, the start of the service, a command in a script."""

import contextlib
import os
import statistics
import tempfile
import time

from figures import CORES, Table
from measures.bounds import time_of_process
from stage import Scene, Way, cores, measure_in_turns, steady_of

ACTIVATED = 'first lock of a client, which starts the service'
FLOCK = 'flock FILE true'


def first(kind):
    return f'first lock of a client, on {kind}'


def service(kind):
    return f"of that, the service's processor time, on {kind}"


def run(kind):
    return f'weblocks run NAME true, on {kind}'


def declare(settings):
    table = Table('startup', 'From nothing',
                  'The first lock: from the creation of an agent, which connects to the bus, until its lock is '
                  'granted. The service runs, or is ended before and started by dbus-daemon. Its processor time '
                  'includes the end of the client, and its identification, which is 37 % of it as perf counts: '
                  '26 % are the files of /proc, and 6 % the second question to a bus that provides no pidfd. The '
                  'commands are run one after the other, by posix_spawn(). The ratio is `weblocks run` on the '
                  'same bus to the row.',
                  'us', 'WebLocks / it')
    for kind in settings.kinds:
        table.row(first(kind))
        table.row(service(kind))
    table.row(ACTIVATED)
    for kind in settings.kinds:
        table.row(run(kind))
    table.row(FLOCK, (run(settings.best_kind), 'self'))
    return table


def command_way(settings, row, environment, *command):
    """A way that runs a command again and again."""
    def measure_commands():
        times = []
        for _ in range(settings.count(100, 10)):
            begin = time.perf_counter()
            status = os.waitpid(os.posix_spawnp(command[0], command, environment), 0)[1]
            times.append((time.perf_counter() - begin) * 1e6)
            if status != 0:
                raise RuntimeError(f'{command} ended with {os.waitstatus_to_exitcode(status)}')
        return {row: statistics.median(times)}
    return Way(row, measure_commands)


def first_way(settings, scene):
    """A way that measures the first lock of many clients, and the service."""
    count = settings.count(200, 10)
    way = steady_of(first(scene.kind), settings, 'first', scene.address, 'running', count)

    def measure_first():
        before = time_of_process(scene.pid)
        figures = way.measure()
        # bench-first warms up with three more.
        return {**figures, service(scene.kind): (time_of_process(scene.pid) - before) / (count + 3)}
    return Way([first(scene.kind), service(scene.kind)], measure_first)


def measure(settings, table):
    program = str(settings.build / 'cli/weblocks')
    for which in CORES:
        with cores(which), contextlib.ExitStack() as stack:
            file = stack.enter_context(tempfile.NamedTemporaryFile(prefix='weblocks-bench-'))
            ways = [command_way(settings, FLOCK, dict(os.environ), 'flock', file.name, 'true')]
            for kind in settings.kinds:
                scene = stack.enter_context(Scene(settings, kind))
                ways += [command_way(settings, run(kind), scene.bus.environment(), program, 'run', 'x', 'true'),
                         first_way(settings, scene)]
            activated = stack.enter_context(Scene(settings, 'dbus-daemon', activated=True))
            ways.append(steady_of(ACTIVATED, settings, 'first', activated.address, 'activated',
                                  settings.count(30, 10)))
            measure_in_turns(settings, table, which, ways, settings.repetitions)
