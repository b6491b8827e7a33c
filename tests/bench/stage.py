# SPDX-FileCopyrightText: 2026 The WebLocks for D-Bus authors
# SPDX-License-Identifier: LGPL-2.1-or-later

"""The environment of a measurement: buses with a service each, on all cores or one, and measuring
programs that run in turns."""

import contextlib
import os
import pathlib
import shutil
import subprocess
import sys
import traceback

from buses import Bus, die_with_parent, end, spawn
from figures import CORES

HERE = pathlib.Path(__file__).resolve().parent
PATIENCE = 120
BATCH = 10
# More than any measurement needs.
LIMITS = ('requestsPerClient=200000', 'requestsPerUid=400000', 'requestsTotal=400000')


def log(text):
    print(f'bench: {text}', file=sys.stderr, flush=True)


class Settings:
    """What is measured, and how thoroughly."""

    def __init__(self, build, quick=False, peers=False):
        self.build = pathlib.Path(build).resolve()
        self.quick = quick
        self.peers = peers
        self.repetitions = 1 if quick else 7
        self.few_repetitions = 1 if quick else 5
        self.cores = ['one'] if quick else list(CORES)
        self.skipped = []
        self.failed = []
        self.kinds = ['dbus-daemon']
        if shutil.which('dbus-broker'):
            self.kinds.append('dbus-broker')
        else:
            self.skip('dbus-broker')

    @property
    def best_kind(self):
        return self.kinds[-1]

    def program(self, name):
        return str(self.build / f'tests/bench/bench-{name}')

    def has_program(self, name):
        return os.path.exists(self.program(name))

    def count(self, full, quick):
        return quick if self.quick else full

    def skip(self, text):
        if text not in self.skipped:
            log(f'skipped: {text}')
            self.skipped.append(text)

    def fail(self, text):
        log(f'FAILED: {text}')
        self.failed.append(text)


@contextlib.contextmanager
def cores(which):
    """Processes that are started inside run on one core, or on any."""
    before = os.sched_getaffinity(0)
    if which == 'one':
        os.sched_setaffinity(0, {min(before)})
    try:
        yield
    finally:
        os.sched_setaffinity(0, before)


class Scene:
    """A private bus, and a service on it."""

    def __init__(self, settings, kind, arguments=(), activated=False):
        self.settings = settings
        self.kind = kind
        self.bus = Bus(kind)
        self.service = None
        self.arguments = list(arguments)
        self.activated = activated

    def __enter__(self):
        try:
            if self.activated:
                self.bus.add_service_file(self.program)
            self.bus.start()
            if not self.activated:
                self.spawn_service()
            subprocess.run(['gdbus', 'wait', '--address', self.bus.address, '--timeout', '60',
                            *(['--activate', 'org.w3.WebLocks'] if self.activated else []),
                            'org.w3.WebLocks'], check=True, env=self.bus.environment())
        except BaseException:
            self.__exit__()
            raise
        return self

    @property
    def program(self):
        return str(self.settings.build / 'service/weblocksd')

    def spawn_service(self):
        limits = [argument for limit in LIMITS for argument in ('--limit', limit)]
        self.service = spawn([self.program, f'--address={self.bus.address}',
                              *self.arguments, *limits],
                             env=self.bus.environment(), stdin=subprocess.DEVNULL,
                             stdout=subprocess.DEVNULL)

    def __exit__(self, *_exception):
        end(self.service)
        self.bus.stop()

    @property
    def address(self):
        return self.bus.address

    @property
    def pid(self):
        return self.service.pid


def parse(output):
    """Parses `NAME VALUE` lines."""
    return {name: float(value) for name, value in (line.split() for line in output.splitlines())}


def run(settings, name, *arguments):
    """One run of a measuring program; returns its output."""
    return run_command([settings.program(name), *arguments])


def run_command(command, env=None):
    result = subprocess.run(list(map(str, command)), check=True, text=True, env=env,
                            stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, timeout=PATIENCE,
                            preexec_fn=die_with_parent)
    return parse(result.stdout)


def with_library(settings, scene):
    """The environment of a program in another language than C, on that bus."""
    library = str(settings.build / 'client-lib')
    return {**scene.bus.environment(), 'LD_LIBRARY_PATH': library, 'GI_TYPELIB_PATH': library,
            'PYTHONPATH': str(HERE.parent.parent / 'client-lib/python')}


def has_typelib(settings, language):
    """Whether there is introspection data; otherwise that language is skipped."""
    found = (settings.build / 'client-lib/WebLocks-1.typelib').exists()
    if not found:
        settings.skip(f'{language}: the introspection data was not built')
    return found


def pairs_of(row, settings, address, way, count, *bucket):
    """A way of bench-pairs, by one client that has one pair in flight."""
    return steady_of(row, settings, 'pairs', address, way, 1, 1, count, *bucket)


def per_lock(row, settings, *command):
    """A way whose program prints `rate`: the microseconds from one lock to the next, of all clients."""
    return Way(row, lambda: {row: 1e6 / run(settings, *command)['rate']})


class Bulk:
    """A bench-bulk process that is ready for commands."""

    def __init__(self, scene, state, count):
        settings = scene.settings
        self.process = spawn([settings.program('bulk'), scene.address, str(scene.pid), state,
                              str(count)], text=True, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        self._answer()

    def _answer(self):
        line = self.process.stdout.readline()
        if not line:
            raise RuntimeError(f'bench-bulk ended with {self.process.wait()}')
        return parse(line)

    def run_command(self, command, count, answers=1):
        self.process.stdin.write(f'{command} {count}\n')
        self.process.stdin.flush()
        figures = {}
        for _ in range(answers):
            figures.update(self._answer())
        return figures

    def __enter__(self):
        return self

    def __exit__(self, *_exception):
        end(self.process)


class Way:
    """One way to do what a table is about. `measure` returns {row: value}."""

    def __init__(self, rows, measure):
        self.rows = rows if isinstance(rows, list) else [rows]
        self.measure = measure
        self.failed = False


def steady_of(row, settings, *command):
    """A way whose program prints `steady`."""
    return Way(row, lambda: {row: run(settings, *command)['steady']})


def measure_in_turns(settings, table, which_cores, ways, repetitions):
    """In turns, so that other load on the machine affects all alike; and in a changing order, so
    that none always follows the same one."""
    log(f'{table.title}, {which_cores}: {len(ways)} ways, {repetitions} times')
    for repetition in range(repetitions):
        shift = repetition % len(ways)
        for way in ways[shift:] + ways[:shift]:
            if way.failed:
                continue
            try:
                for row, value in way.measure().items():
                    table.put(row, which_cores, value)
            except (OSError, RuntimeError, KeyError, ValueError, subprocess.SubprocessError):
                traceback.print_exc()
                settings.fail(f'{table.title}: {way.rows[0]}')
                way.failed = True
                for row in way.rows:
                    table.drop(row, which_cores)


def smaps(pid):
    """KiB by kind, of a process."""
    with open(f'/proc/{pid}/smaps_rollup', encoding='ascii') as file:
        lines = (line.split() for line in file)
        return {words[0].rstrip(':'): int(words[1]) for words in lines if len(words) == 3}
