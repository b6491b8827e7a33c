#!/usr/bin/python3
# SPDX-FileCopyrightText: 2026 The WebLocks for D-Bus authors
# SPDX-License-Identifier: LGPL-2.1-or-later

"""A storm of handles: clients that enter and leave are killed, and so is the service, or it is replaced.

handle-clients.c has the rules of who may be inside. This ends when all counts are reached.
"""

import argparse
import dataclasses
import os
import pathlib
import random
import subprocess
import sys
import tempfile
import time

from buses import Bus, die_with_parent, end
from harness import Client, Service, wait_exit

PATIENCE = 120


@dataclasses.dataclass
class Counts:
    pairs: int
    kills: int
    service_kills: int


class Storm:
    def __init__(self, build, counts, clients, seed):
        self.counts = counts
        self.clients = clients
        self.seed = seed
        self.random = random.Random(seed)
        self.programs = pathlib.Path(build, 'tests/storm')
        self.seen = {}
        self.service_kills = self.replacements = 0

    def ask(self):
        self.process.stdin.write('\n')
        self.process.stdin.flush()
        words = self.process.stdout.readline().split()
        if not words:
            raise RuntimeError(f'handle-clients ended with {self.process.wait()}')
        self.seen = dict(zip(words[::2], map(int, words[1::2])))

    def is_over(self):
        return (self.seen['violations'] > 0 or
                (self.seen['pairs'] >= self.counts.pairs and self.seen['kills'] >= self.counts.kills and
                 self.service_kills >= self.counts.service_kills))

    def start_service(self):
        service = Service(self.bus, ['--replace'])
        return service.wait_ready(self.control, PATIENCE)

    def change_service(self):
        """Kills it, or starts another one that takes over."""
        if self.random.random() < 0.2:
            old, self.service = self.service, self.start_service()
            if wait_exit(old.process) != 0:
                raise RuntimeError(f'the service that was replaced has failed:\n{old.stderr()}')
            self.replacements += 1
            return
        if self.service.process.poll() is not None:
            raise RuntimeError(f'the service has ended:\n{self.service.stderr()}')
        self.service.process.kill()
        self.service.process.wait()
        self.service_kills += 1
        self.service = self.start_service()

    def run(self, report_every=10):
        self.bus = Bus().start()
        try:
            with tempfile.TemporaryDirectory(dir='/dev/shm') as directory:
                self.run_on_bus(directory, report_every)
        finally:
            self.bus.stop()
        return self

    def run_on_bus(self, directory, report_every):
        self.control = Client(self.bus.address)
        self.service = self.start_service()
        self.process = subprocess.Popen([self.programs / 'handle-clients', self.bus.address, directory,
                                         str(self.clients), str(self.seed)], text=True, stdin=subprocess.PIPE,
                                        stdout=subprocess.PIPE, preexec_fn=die_with_parent,
                                        env={**self.bus.environment(), 'LD_LIBRARY_PATH':
                                             str(self.programs.parent.parent / 'client-lib')})
        try:
            reported = time.monotonic()
            self.ask()
            while not self.is_over():
                time.sleep(self.random.uniform(0.005, 0.12))
                if self.service_kills < self.counts.service_kills or self.random.random() < 0.1:
                    self.change_service()
                self.ask()
                if time.monotonic() >= reported + report_every:
                    reported = time.monotonic()
                    print(self.show(), file=sys.stderr, flush=True)
        finally:
            self.process.stdin.close()
            end(self.process)
            self.service.end()
            self.control.close()

    def show(self):
        return ', '.join([*(f'{name} {value:,}' for name, value in self.seen.items()),
                          f'service_kills {self.service_kills:,}', f'replacements {self.replacements:,}'])


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument('build', help='the build directory')
    parser.add_argument('--pairs', type=int, default=10_000_000)
    parser.add_argument('--kills', type=int, default=10_000, help='of clients')
    parser.add_argument('--service-kills', type=int, default=1000)
    parser.add_argument('--clients', type=int, default=8)
    parser.add_argument('--seed', type=int, default=random.randrange(2**31))
    arguments = parser.parse_args()
    os.environ.setdefault('WEBLOCKS_TEST_BUS', 'dbus-broker')
    os.environ['WEBLOCKSD'] = str(pathlib.Path(arguments.build, 'service/weblocksd'))
    print(f'seed {arguments.seed}', file=sys.stderr)
    storm = Storm(arguments.build, Counts(arguments.pairs, arguments.kills, arguments.service_kills),
                  arguments.clients, arguments.seed).run()
    print(storm.show())
    return 1 if storm.seen['violations'] else 0


if __name__ == '__main__':
    sys.exit(main())
