# SPDX-FileCopyrightText: 2026 The WebLocks for D-Bus authors
# SPDX-License-Identifier: LGPL-2.1-or-later

"""Runs a program that prints TAP on a private bus with a service on it.

run.py PROGRAM [ARGUMENT]...
"""

import subprocess
import sys

from buses import Bus, end, spawn, wait_exit
from harness import Monitor, RawClient, Service
from tap import diagnostic

COMPLAINTS = ('-CRITICAL', '-WARNING', 'GLib-GObject', 'AddressSanitizer', 'runtime error:')


def main():
    bus = Bus().start()
    service = process = None
    try:
        monitor = Monitor(bus.address)
        service = Service(bus).wait_ready(RawClient(bus.address))
        process = spawn(sys.argv[1:], env=bus.environment(), stdin=subprocess.DEVNULL,
                        stderr=subprocess.PIPE)
        # What there is to say fits into a pipe.
        code = wait_exit(process)
        said = process.stderr.read().decode(errors='replace')
        diagnostic(said)
        problems = [line for line in said.splitlines()
                    if any(word in line for word in COMPLAINTS)]
        if service.stop() != 0:
            problems.append(f'weblocksd ended with {service.process.returncode}')
        problems += service.complaints()
        monitor.position()
        problems += monitor.told_too_much({service.name})
        monitor.close()
    finally:
        end(process)
        if service is not None:
            service.end()
        bus.stop()
    for problem in problems:
        diagnostic(problem)
    sys.exit(code or bool(problems))


main()
