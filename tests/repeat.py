# SPDX-FileCopyrightText: 2026 The WebLocks for D-Bus authors
# SPDX-License-Identifier: LGPL-2.1-or-later

"""Runs each test program of some suites several times while the machine is busy with something else.

    repeat.py BUILD [--times N] [--load COMMAND] [--again] [SUITE...]

A run takes long, so it can be interrupted at any time: what has finished is in the folder BUILD/repeat/
(the logs of meson), and the next run with the same build goes on there. --again begins from nothing. The
last line is `N passed, N failed, N skipped`, test programs and not cases; before it, each failure is
printed with its log.
"""

import argparse
import json
import os
import pathlib
import shlex
import shutil
import subprocess
import sys

LOAD = 'stress-ng --quiet --cpu 4 --io 2 --fork 2'
SUITES = ('cluster', 'storm', 'bus')
# Two for each processor: the load is stress-ng, not the suite itself.
AT_A_TIME = 2 * os.cpu_count()
TIMEOUT_FACTOR = 4


def names_of(build, suites):
    """All tests of these suites; meson prints each as "weblocks:SUITE / NAME"."""
    suite_options = [f'--suite={suite}' for suite in suites]
    listed = subprocess.run(['meson', 'test', '-C', build, '--list', *suite_options],
                            check=True, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
    return [line.split(' / ')[1] for line in listed.stdout.splitlines() if ' / ' in line]


def finished(log):
    """The programs that meson has entered in this log; a last line that is cut off was none."""
    for line in log.read_text(errors='replace').splitlines():
        try:
            yield json.loads(line)
        except json.JSONDecodeError:
            return


def runs_of(results, number):
    """What has finished of one of the repetitions, by name."""
    return {program['name'].split(' / ')[-1]: program
            for log in sorted(results.glob(f'{number}-*.json')) for program in finished(log)}


def repeat(build, results, number, names):
    """Runs these programs once. Its log grows with each that finishes."""
    attempt = len(list(results.glob(f'{number}-*.json'))) + 1
    base = f'repeat-{number}-{attempt}'
    log = pathlib.Path(build, 'meson-logs', f'{base}.json')
    log.unlink(missing_ok=True)
    (results / f'{number}-{attempt}.json').symlink_to(log.resolve())
    subprocess.run(['tests/open-to-others.sh', 'meson', 'test', '-C', build, '--no-rebuild',
                    f'--logbase={base}', f'--num-processes={AT_A_TIME}',
                    f'--timeout-multiplier={TIMEOUT_FACTOR}', *names], check=False)


def summarize(results, names, times):
    counts = {'passed': 0, 'failed': 0, 'skipped': 0}
    for number in range(1, times + 1):
        runs = runs_of(results, number)
        for name in names:
            result = runs[name]['result'] if name in runs else 'did not finish'
            kind = {'OK': 'passed', 'SKIP': 'skipped'}.get(result, 'failed')
            counts[kind] += 1
            if kind == 'failed':
                print(f'FAILED   {name}, repetition {number}: {result}')
                print(runs.get(name, {}).get('stdout', ''), runs.get(name, {}).get('stderr', ''))
    print(', '.join(f'{count} {kind}' for kind, count in counts.items()))
    return 1 if counts['failed'] or not counts['passed'] else 0


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument('build')
    parser.add_argument('suites', nargs='*', default=SUITES)
    parser.add_argument('--times', type=int, default=10)
    parser.add_argument('--load', default=LOAD)
    parser.add_argument('--again', action='store_true')
    args = parser.parse_intermixed_args()
    results = pathlib.Path(args.build, 'repeat')
    if args.again:
        shutil.rmtree(results, ignore_errors=True)
    results.mkdir(exist_ok=True)
    names = names_of(args.build, args.suites)
    load = subprocess.Popen(shlex.split(args.load))
    try:
        for number in range(1, args.times + 1):
            runs = runs_of(results, number)
            missing = [name for name in names if name not in runs]
            if missing:
                print(f'== repetition {number} of {args.times}: {len(missing)} of {len(names)} programs',
                      flush=True)
                repeat(args.build, results, number, missing)
            if load.poll() is not None:
                raise SystemExit(f'{args.load} ended with {load.returncode}')
    finally:
        load.terminate()
        load.wait()
    return summarize(results, names, args.times)


if __name__ == '__main__':
    sys.exit(main())
