# SPDX-FileCopyrightText: 2026 The WebLocks for D-Bus authors
# SPDX-License-Identifier: LGPL-2.1-or-later

"""What it costs that locks outlive the service, and how long its death is noticed."""

import contextlib
import subprocess
import threading

from figures import CORES, Table
from stage import Scene, Way, cores, end, measure_in_turns, parse, run, spawn

KEPT = 'request and release, locks kept'
NOT_KEPT = 'request and release, --no-state'
COMMITS = 'what keeping them adds'
RESTARTED = 'pause, service started again by who started it'
ACTIVATED = 'pause, service started again by the bus'
PERCENTILES = {'median': 0.5, '99th percentile': 0.99}


def row_of(how, percentile):
    return f'{how}: {percentile}'


def declare(settings):
    table = Table('crashes', 'When the service dies',
                  'Request and release: one client, sync calls, on '
                  f'{settings.best_kind}. The pause is the longest that a pair took while the '
                  f'service was killed with SIGKILL and started again, {kills(settings)} times in '
                  'each repetition; the client holds another lock over all of it.',
                  'us', 'to --no-state')
    table.row(NOT_KEPT)
    table.row(KEPT, ('self', NOT_KEPT))
    table.row(COMMITS)
    for how in (RESTARTED, ACTIVATED):
        for percentile in PERCENTILES:
            table.row(row_of(how, percentile))
    return table


def kills(settings):
    return settings.count(100, 3)


def pair_way(settings, kept, not_kept):
    count = settings.count(1500, 200)

    def ask():
        times = [run(settings, 'lock-pair', scene.address, 'sync', count)['steady'] for scene in (kept, not_kept)]
        return {KEPT: times[0], NOT_KEPT: times[1], COMMITS: times[0] - times[1]}
    return Way([KEPT, NOT_KEPT, COMMITS], ask)


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
    for which in CORES:
        with (cores(which), Scene(settings, settings.best_kind) as kept,
              Scene(settings, settings.best_kind, arguments=('--no-state',)) as not_kept):
            measure_in_turns(settings, table, which, [pair_way(settings, kept, not_kept)],
                             settings.repetitions)
    ways = [pause_way(settings, how) for how in (RESTARTED, ACTIVATED)]
    measure_in_turns(settings, table, 'free', ways, settings.few_repetitions)
