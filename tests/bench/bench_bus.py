# SPDX-FileCopyrightText: 2026 The WebLocks for D-Bus authors
# SPDX-License-Identifier: LGPL-2.1-or-later

"""Runs bench-bus on a private bus of each kind and prints a table, with ratios.

    WEBLOCKSD=... WEBLOCKS_BENCH_BUS=... WEBLOCKS_BROKER_LAUNCHER=... bench_bus.py

Once with the processes where the kernel puts them, and once with all of them on one core, where
what is measured is work and not wake-ups of the other core.
"""

import os
import pathlib
import subprocess
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / 'bus'))
from buses import Bus, end, environment, spawn, wait_exit  # pylint: disable=wrong-import-position

LIMITS = ['--limit', 'requestsPerClient=20000', '--limit', 'requestsPerUid=20000']


def wait_for_service(bus):
    subprocess.run(['gdbus', 'wait', '--address', bus.address, '--timeout', '20',
                    'org.w3.WebLocks'], check=True, env=bus.environment())


def measure(kind, cores, program):
    """Figures by name, as that program says them: (median, low, high)."""
    os.sched_setaffinity(0, cores)
    bus = Bus(kind).start()
    service = None
    try:
        service = spawn([environment('WEBLOCKSD'), f'--address={bus.address}', *LIMITS])
        wait_for_service(bus)
        result = subprocess.run([program, bus.address], check=True, stdout=subprocess.PIPE,
                                text=True)
        service.terminate()
        wait_exit(service)
    finally:
        end(service)
        bus.stop()
    rows = (line.split() for line in result.stdout.splitlines())
    return {name: tuple(float(value) for value in values) for name, *values in rows}


def all_measurements(program_variable):
    """(kind of bus, 'free' or 'one' core, figures) for each."""
    everywhere = os.sched_getaffinity(0)
    kinds = ['dbus-daemon']
    if os.environ.get('WEBLOCKS_BROKER_LAUNCHER'):
        kinds.append('dbus-broker')
    for kind in kinds:
        for label, cores in (('free', everywhere), ('one', {min(everywhere)})):
            yield kind, label, measure(kind, cores, environment(program_variable))


def show(figure, unit=1.0, digits=1):
    median, low, high = (value / unit for value in figure)
    return f'{median:.{digits}f} [{low:.{digits}f}-{high:.{digits}f}]'


def print_table(table):
    widths = [max(len(row[column]) for row in table) for column in range(len(table[0]))]
    for row in table:
        print('  '.join(cell.ljust(width) for cell, width in zip(row, widths)).rstrip())


def main():
    table = [('bus', 'cores', 'Request+Release us', 'RequestName+ReleaseName us', 'ratio',
              'Ping us', 'Query of 10,000 held ms')]
    for kind, label, figures in all_measurements('WEBLOCKS_BENCH_BUS'):
        table.append((kind, label, show(figures['lock-pair']), show(figures['name-pair']),
                      f"{figures['lock-pair'][0] / figures['name-pair'][0]:.2f}",
                      show(figures['ping']), show(figures['query-10000'], 1000, 2)))
    print('Through a bus, every call awaited; median [min-max] of 7 interleaved repetitions\n')
    print_table(table)


if __name__ == '__main__':
    main()
