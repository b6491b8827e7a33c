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


def measure(kind, cores):
    """Figures by name: (median, min, max) in microseconds."""
    os.sched_setaffinity(0, cores)
    bus = Bus(kind).start()
    service = None
    try:
        service = spawn([environment('WEBLOCKSD'), f'--address={bus.address}', *LIMITS])
        wait_for_service(bus)
        result = subprocess.run([environment('WEBLOCKS_BENCH_BUS'), bus.address], check=True,
                                stdout=subprocess.PIPE, text=True)
        service.terminate()
        wait_exit(service)
    finally:
        end(service)
        bus.stop()
    rows = (line.split() for line in result.stdout.splitlines())
    return {name: tuple(float(value) for value in values) for name, *values in rows}


def show(figure, unit=1.0, digits=1):
    median, low, high = (value / unit for value in figure)
    return f'{median:.{digits}f} [{low:.{digits}f}-{high:.{digits}f}]'


def main():
    everywhere = os.sched_getaffinity(0)
    kinds = ['dbus-daemon']
    if os.environ.get('WEBLOCKS_BROKER_LAUNCHER'):
        kinds.append('dbus-broker')
    head = ('bus', 'cores', 'Request+Release us', 'RequestName+ReleaseName us', 'ratio',
            'Ping us', 'Query of 10,000 held ms')
    table = [head]
    for kind in kinds:
        for label, cores in (('free', everywhere), ('one', {min(everywhere)})):
            figures = measure(kind, cores)
            table.append((kind, label, show(figures['lock-pair']), show(figures['name-pair']),
                          f"{figures['lock-pair'][0] / figures['name-pair'][0]:.2f}",
                          show(figures['ping']), show(figures['query-10000'], 1000, 2)))
    widths = [max(len(row[column]) for row in table) for column in range(len(head))]
    print('Through a bus, every call awaited; median [min-max] of 7 interleaved repetitions\n')
    for row in table:
        print('  '.join(cell.ljust(width) for cell, width in zip(row, widths)).rstrip())


if __name__ == '__main__':
    main()
