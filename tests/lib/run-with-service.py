# SPDX-FileCopyrightText: 2026 The WebLocks for D-Bus authors
# SPDX-License-Identifier: LGPL-2.1-or-later

"""Runs a test program on a private bus with a service on it.

run-with-service.py [--no-service] PROGRAM [ARGUMENT]...

Its lines of TAP are passed through. One more line reports whether it exited in time and successfully, and
whether the program or the service printed warnings: in GJS, an unhandled rejection is one.
"""

import os
import re
import subprocess
import sys
import tempfile
import threading

from buses import FACTOR, Bus, end, spawn, wait_exit
from harness import Monitor, RawClient, Service
from tap import diagnostic

# What a process without faults never writes.
COMPLAINTS = ('Unhandled promise rejection', '-CRITICAL', '-WARNING', '-ERROR', 'JS ERROR',
              'GLib-GObject', 'Fatal glibc', 'corrupted', 'AddressSanitizer', 'ThreadSanitizer',
              'runtime error:')
TIME_LIMIT = 90.0


def test_environment(bus):
    """The bus's environment with the variables of the build."""
    env = bus.environment()
    for name in ('WEBLOCKSD', 'WEBLOCKS_COUNT_SENDS', 'WEBLOCKS_FULL_SIZE', 'WEBLOCKS_GLIB_LOOP',
                 'WEBLOCKS_NODE_PACKAGE', 'WEBLOCKS_TEST_SEED', 'WEBLOCKS_TEST_TIMEOUT_FACTOR'):
        if name in os.environ:
            env[name] = os.environ[name]
    return env


def run_program(bus, command):
    """Prints its TAP. Returns its exit code, its last test number, its warnings."""
    count = 0
    planned = None
    with tempfile.TemporaryFile() as errors:
        process = spawn(command, stdin=subprocess.DEVNULL,
                        stdout=subprocess.PIPE, stderr=errors, env=test_environment(bus),
                        text=True, errors='replace')
        watchdog = threading.Timer(TIME_LIMIT * FACTOR, process.kill)
        watchdog.start()
        try:
            for line in process.stdout:
                if match := re.fullmatch(r'1\.\.(\d+)\n', line):
                    planned = int(match[1])
                    continue
                count += bool(re.match(r'(not )?ok ', line))
                print(line, end='', flush=True)
            code = wait_exit(process)
        finally:
            watchdog.cancel()
            end(process)
        errors.seek(0)
        output = errors.read().decode(errors='replace')
    problems = [line for line in output.splitlines() if any(word in line for word in COMPLAINTS)]
    if planned != count or planned == 0:
        problems.append(f'{count} tests ran, and {planned} were planned')
    if code not in (0, 1):
        problems.append(f'{command[0]} ended with {code}')
    if problems and output:
        diagnostic(output)
    return code, count, problems


def main():
    arguments = sys.argv[1:]
    with_service = arguments[0] != '--no-service'
    if not with_service:
        arguments.pop(0)
    bus = Bus().start()
    service = None
    try:
        if with_service:
            monitor = Monitor(bus.address)
            control = RawClient(bus.address)
            service = Service(bus).wait_ready(control)
        code, count, problems = run_program(bus, arguments)
        if service is not None:
            control.close()
            if service.process.poll() is not None:
                problems.append('weblocksd ended early')
            elif service.stop() != 0:
                problems.append(f'weblocksd ended with {service.process.returncode}')
            problems += service.complaints()
            monitor.position()
            problems += monitor.get_misdirected({service.name})
            monitor.close()
            if problems:
                diagnostic(service.stderr())
    finally:
        if service is not None:
            service.end()
        bus.stop()
    for problem in problems:
        diagnostic(problem)
    print(f"{'not ok' if problems else 'ok'} {count + 1} - no complaints at the end")
    print(f'1..{count + 1}', flush=True)
    sys.exit(1 if problems or code != 0 else 0)


main()
