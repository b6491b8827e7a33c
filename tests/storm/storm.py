#!/usr/bin/python3
# SPDX-FileCopyrightText: 2026 The WebLocks for D-Bus authors
# SPDX-License-Identifier: LGPL-2.1-or-later

"""A storm: many clients on private buses, killed, stopped and restarted, while the service is killed,
too; then their records are checked.

    storm.py BUILD --seconds 60 --seed 1

Runs in rounds, each with a separate bus, state directory and seed. Exits with 0 if all passed, 1 if there
was a violation, 2 if too little happened to show anything, 3 if the storm itself failed.
"""

import argparse
import os
import random
import shutil
import sys
import tempfile
import time

from checker import check_directory

# A round's files fit into memory, and its checking takes seconds.
ROUND_SECONDS = 20
# Some faults of a cluster take this long.
HOSTS_ROUND_SECONDS = 120
TICKS_ROUND_SECONDS = 300
# A storm with too few events is extended at most this number of times.
EXTENSIONS = 3


def parse_arguments(argv=None):
    parser = argparse.ArgumentParser(description=__doc__.split('\n\n', maxsplit=1)[0])
    parser.add_argument('build', help='the build directory')
    parser.add_argument('--seconds', type=float, default=60)
    parser.add_argument('--seed', type=int, default=None)
    parser.add_argument('--bus', choices=['dbus-daemon', 'dbus-broker', 'both'], default='both',
                        help='both: in turns')
    parser.add_argument('--steal', action='store_true', help='with steals')
    parser.add_argument('--watch', action='store_true',
                        help='with watchers that rebuild the state from signals')
    parser.add_argument('--activation', action='store_true',
                        help='the bus starts the service (dbus-daemon only)')
    parser.add_argument('--service', help='another weblocksd')
    parser.add_argument('--service-option', action='append', default=[], dest='service_options')
    parser.add_argument('--fault', help='one of tests/faults')
    parser.add_argument('--clients', type=int, help='16, or 8 for each host, or 2 with --ticks')
    parser.add_argument('--kill-service', type=float, default=2.0, metavar='PER_SECOND')
    parser.add_argument('--kill-clients', type=float, metavar='PER_SECOND')
    parser.add_argument('--stop', type=float, default=5.0, metavar='PER_SECOND')
    parser.add_argument('--quiet-every', type=float, default=2.5, metavar='SECONDS')
    parser.add_argument('--restart-bus', type=int, default=0, metavar='TIMES',
                        help='in each round')
    parser.add_argument('--full', type=float, default=0, metavar='PER_SECOND',
                        help='fill the file system of the state so often; needs mounts of its own: '
                             'unshare --mount')
    parser.add_argument('--hosts', type=int, default=0, metavar='N',
                        help='a cluster of so many hosts; needs root and ZooKeeper')
    parser.add_argument('--ticks', type=int, default=0, metavar='MS',
                        help='of the servers, which users have: hosts are idle, and cut off with a server')
    parser.add_argument('--gateway', help='another weblocks-clusterd')
    parser.add_argument('--kill-majority', action='store_true',
                        help='of the servers of a cluster, too')
    parser.add_argument('--one-user', action='store_false', dest='two_users')
    parser.add_argument('--round', type=float, dest='round_seconds', metavar='SECONDS')
    parser.add_argument('--directory', help='where the files go while they are needed')
    parser.add_argument('--keep', action='store_true', help='keep the files of rounds that passed')
    options = parser.parse_args(argv)
    return complete(options)


def complete(options):
    options.build = os.path.abspath(options.build)
    if options.seed is None:
        options.seed = random.SystemRandom().randrange(1 << 31)
    if options.service is None:
        program = f'tests/faults/weblocksd-{options.fault}' if options.fault else 'service/weblocksd'
        options.service = os.path.join(options.build, program)
    if options.clients is None:
        options.clients = (2 if options.ticks else 8) * options.hosts or 16
    if options.kill_clients is None:
        options.kill_clients = 0.05 if options.ticks else 1.0 if options.hosts else 20.0
    if options.round_seconds is None:
        options.round_seconds = (TICKS_ROUND_SECONDS if options.ticks else
                                 HOSTS_ROUND_SECONDS if options.hosts else ROUND_SECONDS)
    options.round_seconds = min(options.round_seconds, options.seconds)
    if options.hosts:
        os.environ.update(WEBLOCKSD=options.service, WEBLOCKS_CLUSTERD=options.gateway or os.path.join(
            options.build, 'cluster', 'weblocks-clusterd'))
    return options


def needs(options, seconds):
    """How often a storm of that length has to hit what, to have shown something: far less than it
    does on an idle machine."""
    if options.ticks:
        return {'n_grants': seconds, 'hand_overs': seconds / 10, 'margins': seconds / 100,
                'partitions': seconds / 100, 'kills': seconds / 60}
    if options.hosts:
        # 200 in an hour.
        return {'n_grants': 5 * seconds, 'hand_overs': seconds,
                'partitions': seconds / 18, 'kills': seconds / 18}
    kills, clients = options.kill_service * seconds, options.kill_clients * seconds
    return {
        'n_grants': 20 * seconds,
        'service_kills': kills / 4,
        'service_kills_with_held': kills / 20,
        'service_kills_with_waiting': kills / 20,
        'service_kills_unanswered': kills / 40,
        'held_over_kills': kills / 20,
        'granted_after_kills': kills / 20,
        'client_kills': clients / 5,
        'client_kills_inside': clients / 100,
        'client_kills_waiting': clients / 100,
        'quiet_points': seconds / options.quiet_every / 5 if options.quiet_every else 0,
        'watched_signals': 1 if options.watch else 0,
        'starts_while_full': 1 if options.full else 0,
    }


def scratch(options):
    """A directory in memory, since many processes write to it all the time."""
    place = options.directory
    if place is None and os.access('/dev/shm', os.W_OK) and \
            shutil.disk_usage('/dev/shm').free > 1 << 30:
        place = '/dev/shm'
    return tempfile.mkdtemp(prefix='weblocks-storm-', dir=place)


class Outcome:
    """The sums of all rounds so far; `least` are the required numbers."""

    def __init__(self, least):
        self.least = least
        self.verdict = 'void'
        self.report = ''
        self.directory = None
        self.power = {}
        self.margins = []
        self.seconds = 0.0
        self.rounds = 0
        self.seed = None

    def add(self, verdict, report, seconds, checker):
        self.verdict, self.report = verdict, report
        self.seconds += seconds
        self.rounds += 1
        self.margins += checker.margins
        for name, number in checker.power.items():
            self.count(name, number)
        self.count('violations', report.count('VIOLATION of'))

    def count(self, name, number):
        self.power[name] = self.power.get(name, 0) + number

    def summary(self):
        """The events, and whether there were enough."""
        lines, missing = [], []
        for name, number in self.power.items():
            needed = int(self.least.get(name, 0))
            lines.append(f'{name:28} {number}' + (f', at least {needed}' if needed else ''))
            if number < needed:
                missing.append(name)
        for timeout in sorted({timeout for timeout, _ in self.margins}):
            margins = [margin for each, margin in self.margins if each == timeout]
            lines.append(f'session of {timeout} s: lost {min(margins):.2f} s or more before the grant')
        lines.append(f'too few: {", ".join(missing)}' if missing else 'enough of everything')
        return '\n'.join(lines)


def run_storm(options, say=print):
    """Runs rounds until the time is over, or one fails. Returns an Outcome."""
    if options.ticks:
        from ticks import TicksStorm as Storm
    elif options.hosts:
        from hosts import HostsStorm as Storm
    else:
        from supervisor import Storm
    total = needs(options, options.seconds)
    outcome = Outcome(total)
    limit = options.seconds * (1 + EXTENSIONS)
    while outcome.seconds < options.seconds or (outcome.verdict == 'void'
                                                and outcome.seconds < limit):
        seed = options.seed + outcome.rounds
        buses = ['dbus-daemon', 'dbus-broker'] if options.bus == 'both' else [options.bus]
        options.bus, both = buses[outcome.rounds % len(buses)], options.bus
        directory = scratch(options)
        os.environ['WEBLOCKS_TEST_BUS'] = options.bus
        storm = Storm(options, directory, seed)
        begin = time.monotonic()
        storm.run()
        taken = time.monotonic() - begin
        left = {name: int(number - outcome.power.get(name, 0)) for name, number in total.items()}
        checker = check_directory(directory, storm.patience(), options.activation, options.hosts > 0,
                                  storm.lateness.between)
        checker.power.update(storm.watched)
        if storm.small is not None:
            checker.power['starts_while_full'] += storm.starts_while_full
        verdict, missing = checker.judge(left)
        report = [f'VIOLATION of watched: {text}' for text in storm.differences[:5]]
        if report:
            verdict = 'violation'
        report = '\n'.join([*report, str(checker), *missing])
        outcome.add(verdict, report, options.round_seconds, checker)
        so_far = verdict if outcome.seconds >= options.seconds else verdict.replace('void', 'pass')
        say(f'round {outcome.rounds} (seed {seed}, {options.bus}): {so_far}, '
            f'{taken:.1f} s and {time.monotonic() - begin - taken:.1f} s for checking, '
            f'with a patience of {storm.patience():.1f} s')
        options.bus = both
        if verdict == 'violation':
            outcome.directory, outcome.seed = directory, seed
            break
        if options.keep:
            say(f'the files are in {directory}')
        else:
            storm.remove()
    return outcome


def main():
    options = parse_arguments()
    print(f'seed {options.seed}, {options.seconds:.0f} s, bus {options.bus}'
          f'{", steals" if options.steal else ""}', flush=True)
    try:
        outcome = run_storm(options, lambda line: print(line, flush=True))
    except Exception as error:
        from supervisor import StormError
        if not isinstance(error, (StormError, TimeoutError, RuntimeError)):
            raise
        print(f'the storm failed (seed {options.seed}): {error}')
        return 3
    if outcome.verdict == 'violation':
        print(outcome.report)
        print(outcome.summary())
        print(f'the files are in {outcome.directory}; again: --seed {outcome.seed} '
              f'--round {options.round_seconds:.0f}')
    else:
        print(outcome.summary())
    print(f'verdict: {outcome.verdict}', flush=True)
    return {'pass': 0, 'violation': 1, 'void': 2}[outcome.verdict]


if __name__ == '__main__':
    sys.exit(main())
