# SPDX-FileCopyrightText: 2026 The WebLocks for D-Bus authors
# SPDX-License-Identifier: LGPL-2.1-or-later

"""How long a client is delayed when the service is killed."""

import contextlib
import subprocess
import threading

from figures import Table
from stage import Scene, Way, end, measure_in_turns, parse, spawn

RESTARTED = 'pause, service restarted by its parent'
ACTIVATED = 'pause, service started again by the bus'
PERCENTILES = {'median': 0.5, '99th percentile': 0.99}


def row_of(how, percentile):
    return f'{how}: {percentile}'


def declare(settings):
    table = Table('crashes', 'When the service is killed',
                  'The pause is the longest time of a pair while the service was killed with '
                  f'SIGKILL and started again, {kills(settings)} times in each repetition; the '
                  'client holds another lock all the time. A parent learns of the end when the '
                  "kernel has ended the service's watch of its files, which takes it about 13 ms; "
                  'the bus learns of it before.',
                  'us')
    for how in (RESTARTED, ACTIVATED):
        for percentile in PERCENTILES:
            table.row(row_of(how, percentile))
    return table


def kills(settings):
    return settings.count(100, 3)


@contextlib.contextmanager
def restarting(scene):
    """Starts the service whenever it has ended, as a service manager does."""
    stopped = threading.Event()

    def restart():
        while True:
            scene.service.wait()
            if stopped.is_set():
                return
            scene.spawn_service()
    thread = threading.Thread(target=restart)
    thread.start()
    try:
        yield
    finally:
        stopped.set()
        scene.service.kill()
        thread.join()


def pauses(settings, address):
    program = spawn([settings.program('pause'), address], text=True, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    samples = []
    try:
        for _ in range(kills(settings)):
            program.stdin.write('kill\n')
            program.stdin.flush()
            line = program.stdout.readline()
            if not line:
                raise RuntimeError(f'bench-pause ended with {program.wait()}')
            samples.append(parse(line)['pause'])
    finally:
        end(program)
    return sorted(samples)


def pause_way(settings, how):
    def ask():
        if how == RESTARTED:
            with Scene(settings, settings.best_kind) as scene, restarting(scene):
                samples = pauses(settings, scene.address)
        else:
            with Scene(settings, 'dbus-daemon', activated=True) as scene:
                samples = pauses(settings, scene.address)
        return {row_of(how, percentile): samples[min(len(samples) - 1, int(len(samples) * part))]
                for percentile, part in PERCENTILES.items()}
    return Way([row_of(how, percentile) for percentile in PERCENTILES], ask)


def measure(settings, table):
    ways = [pause_way(settings, how) for how in (RESTARTED, ACTIVATED)]
    measure_in_turns(settings, table, 'free', ways, settings.few_repetitions)
