#!/usr/bin/python3
# SPDX-FileCopyrightText: 2026 The WebLocks for D-Bus authors
# SPDX-License-Identifier: LGPL-2.1-or-later

"""Measures locks and common alternatives, and checks the targets.

Starts private buses, services and peers, runs the small measuring programs in turns, and prints a page
of Markdown. Uses only unix sockets and the loopback interface; all processes that it starts are ended.
"""

import argparse
import importlib
import os
import pathlib
import signal
import subprocess
import sys
import traceback

from buses import TEST_ALL
from stage import Settings, log
import machine
import plots
import report as page
import targets

# In the order of the page; each has a module in measures/.
MEASURES = ('pairs', 'bounds', 'handovers', 'throughput', 'growth', 'memory', 'calm', 'crashes', 'startup', 'state',
            'node', 'node_holders', 'gjs', 'python', 'flock', 'cluster', 'cluster_many')
ROOT = pathlib.Path(__file__).resolve().parent.parent.parent


class Report:
    """All results."""

    def __init__(self, settings):
        self.settings = settings
        self.machine = machine.describe(settings)
        self.tables = {}
        self.targets = []

    def measure(self, key):
        try:
            module = importlib.import_module(f'measures.{key}')
            self.tables[key] = module.declare(self.settings)
            module.measure(self.settings, self.tables[key])
        except (OSError, RuntimeError, KeyError, ValueError, subprocess.SubprocessError):
            traceback.print_exc()
            self.settings.fail(key)


def parse_arguments():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument('build', help='the build directory')
    parser.add_argument('--peers', action='store_true',
                        help='Chromium too, where it is installed')
    parser.add_argument('--quick', action='store_true',
                        help='only see that all works, in less than a minute')
    parser.add_argument('--only', nargs='+', choices=MEASURES, default=(),
                        help='only these; `cluster` and `node` are both of their measures')
    parser.add_argument('--write', action='store_true',
                        help='write docs/benchmarks.md and its pictures too')
    return parser.parse_args()


def write_page(report):
    docs = ROOT / 'docs'
    pictures = plots.pictures(report.settings, report.tables)
    images = docs / page.IMAGES
    images.mkdir(exist_ok=True)
    for key, text in pictures.items():
        (images / page.image_name(key)).write_text(text, encoding='utf-8')
    (docs / 'benchmarks.md').write_text(f'{page.SPDX}\n{page.markdown(report, pictures)}',
                                        encoding='utf-8')


def main():
    arguments = parse_arguments()
    # So that child processes are terminated.
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(128 + signal.SIGTERM))
    os.environ.update(DBUS_SESSION_BUS_ADDRESS='disabled:', DBUS_SYSTEM_BUS_ADDRESS='disabled:')
    settings = Settings(arguments.build, arguments.quick, arguments.peers)
    report = Report(settings)
    # They start the most processes; `./dev test --all` has them, too.
    left_out = ('cluster', 'cluster_many') if settings.quick and not TEST_ALL else ()
    for key in MEASURES:
        if (key in arguments.only or key.split('_')[0] in arguments.only
                or not arguments.only and key not in left_out):
            report.measure(key)
    if not settings.quick:
        report.targets = targets.all_targets(settings, report.tables)
    if arguments.write:
        write_page(report)
    print(page.markdown(report))
    log(page.summary(report))
    return 1 if settings.failed else 0


if __name__ == '__main__':
    sys.exit(main())
