#!/usr/bin/python3
# SPDX-FileCopyrightText: 2026 The WebLocks for D-Bus authors
# SPDX-License-Identifier: LGPL-2.1-or-later

"""An uncontended lock requested and released in Python. Prints the median of means in microseconds a
pair, as bench_samples_steady() has it.

    bench-python.py with COUNT           `with manager.lock()`
    bench-python.py async COUNT          `async with manager.lock()`
    bench-python.py flock COUNT FILE     fcntl.flock() on a file that is there
    bench-python.py handle COUNT         `with handle:`
    bench-python.py compete-handle COUNT, compete-flock COUNT FILE
                                         the same of four processes that want the lock all the time
"""

import asyncio
import fcntl
import os
import statistics
import sys
import time

BATCH = 10
WARM_UP = 200
NAME = 'printer'
PROCESSES = 4


def new_manager():
    import gi
    gi.require_version('WebLocks', '1')
    from gi.repository import WebLocks
    return WebLocks.Manager(bucket='bench')


def measure(run_batch, count):
    """`run_batch` runs BATCH pairs."""
    means = []
    for _ in range(WARM_UP // BATCH):
        run_batch()
    for _ in range(count // BATCH):
        begin = time.perf_counter()
        run_batch()
        means.append((time.perf_counter() - begin) * 1e6 / BATCH)
    return statistics.median(means)


def with_locks(count):
    manager = new_manager()

    def run_batch():
        for _ in range(BATCH):
            with manager.lock(NAME):
                pass
    return measure(run_batch, count)


def with_flock(count, path):
    with open(path, 'rb') as file:
        def run_batch():
            for _ in range(BATCH):
                fcntl.flock(file, fcntl.LOCK_EX)
                fcntl.flock(file, fcntl.LOCK_UN)
        return measure(run_batch, count)


def with_handle(count):
    handle = new_manager().prepare(NAME)

    def run_batch():
        for _ in range(BATCH):
            with handle:
                pass
    return measure(run_batch, count)


def competing(run, count, *rest):
    """The time for one lock of all, which take it for `count` milliseconds."""
    ready, go, done = os.pipe(), os.pipe(), os.pipe()
    for _ in range(PROCESSES):
        if os.fork() == 0:
            run_pair = run(*rest)
            run_pair()
            os.write(ready[1], b'+')
            os.read(go[0], 1)
            pairs, end = 0, time.perf_counter() + count / 1000
            while time.perf_counter() < end:
                run_pair()
                pairs += 1
            os.write(done[1], pairs.to_bytes(8, sys.byteorder))
            os._exit(0)
        os.read(ready[0], 1)
    os.write(go[1], PROCESSES * b'+')
    for _ in range(PROCESSES):
        if os.wait()[1] != 0:
            raise ChildProcessError('a process has failed')
    pairs = sum(int.from_bytes(os.read(done[0], 8), sys.byteorder) for _ in range(PROCESSES))
    return count * 1000 / pairs


def pair_of_handle():
    handle = new_manager().prepare(NAME)

    def run_pair():
        with handle:
            pass
    return run_pair


def pair_of_flock(path):
    file = open(path, 'rb')

    def run_pair():
        fcntl.flock(file, fcntl.LOCK_EX)
        fcntl.flock(file, fcntl.LOCK_UN)
    return run_pair


async def with_locks_awaited(count):
    manager = new_manager()
    means = []
    for i in range((WARM_UP + count) // BATCH):
        begin = time.perf_counter()
        for _ in range(BATCH):
            async with manager.lock(NAME):
                pass
        if i >= WARM_UP // BATCH:
            means.append((time.perf_counter() - begin) * 1e6 / BATCH)
    return statistics.median(means)


def main():
    way, count, *rest = sys.argv[1:]
    if way == 'async':
        steady = asyncio.run(with_locks_awaited(int(count)))
    elif way.startswith('compete-'):
        run = {'handle': pair_of_handle, 'flock': pair_of_flock}[way.removeprefix('compete-')]
        steady = competing(run, int(count), *rest)
    else:
        steady = {'with': with_locks, 'flock': with_flock, 'handle': with_handle}[way](int(count), *rest)
    print(f'steady {steady}')


main()
