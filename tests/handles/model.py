#!/usr/bin/python3
# SPDX-FileCopyrightText: 2026 The WebLocks for D-Bus authors
# SPDX-License-Identifier: LGPL-2.1-or-later

"""Runs the Spin model handles.pml in one size.

    model.py [--megabytes N] [NAME[=VALUE]]...

Each argument is a macro of the model, as CRASHES=2 or a fault M_...; README.md lists them. Prints the number of
states, the depth, the time and the memory. Exit status: 0 exhausted without an error, 1 an error, with the steps that
lead to it in handles.pml.trail of the directory that is printed, 2 not exhausted."""

import os
import re
import shutil
import subprocess
import sys
import tempfile

MODEL = os.path.join(os.path.dirname(os.path.abspath(__file__)), 'handles.pml')
DEPTH = 1000000


def run(directory, macros, megabytes=2000, optimise=True, seconds=None):
    """Returns (error or None, whether it is exhausted, what the verifier printed)."""
    shutil.copy(MODEL, directory)
    subprocess.run(['spin', '-a', *('-D' + macro for macro in macros), 'handles.pml'], cwd=directory, check=True,
                   stdout=subprocess.DEVNULL)
    # NOREDUCE: with partial-order reduction `atomic` hides nothing more here, and it would need a proof.
    subprocess.run(['cc', '-w', '-O2' if optimise else '-O0', '-DSAFETY', '-DNOREDUCE', '-DCOLLAPSE',
                    f'-DMEMLIM={megabytes}', '-o', 'verifier', 'pan.c'], cwd=directory, check=True)
    out = subprocess.run(['./verifier', f'-m{DEPTH}'], cwd=directory, check=False, stdout=subprocess.PIPE,
                         stderr=subprocess.STDOUT, text=True, timeout=seconds).stdout
    errors = re.search(r'errors: (\d+)', out)
    if errors is None:
        raise RuntimeError(out)
    error = re.search(r'^pan:\d+: (.*)$', out, re.MULTILINE)
    is_exhausted = errors.group(1) == '0' and 'Search not completed' not in out and 'max search depth' not in out
    if errors.group(1) == '0':
        return None, is_exhausted, out
    return error.group(1), False, out


def get_figures(out):
    """States, depth, seconds and MiB, as the verifier prints them."""
    def find(pattern):
        match = re.search(pattern, out)
        return match.group(1) if match else '?'

    return (int(float(find(r'([\d.e+]+) states, stored'))), int(find(r'depth reached (\d+)')),
            find(r'elapsed time ([\d.]+)'), find(r'([\d.]+)\ttotal actual memory'))


def main():
    arguments = sys.argv[1:]
    megabytes = 2000
    if arguments[:1] == ['--megabytes']:
        megabytes = int(arguments[1])
        arguments = arguments[2:]
    directory = tempfile.mkdtemp(prefix='weblocks-model-')
    error, is_exhausted, out = run(directory, arguments, megabytes)
    states, depth, seconds, memory = get_figures(out)
    print(f'{" ".join(arguments)}: {states:,} states, depth {depth:,}, {seconds} s, {memory} MiB')
    if error is not None:
        print(f'{error}: see {directory}')
        return 1
    shutil.rmtree(directory)
    if not is_exhausted:
        print('not exhausted')
        return 2
    return 0


if __name__ == '__main__':
    sys.exit(main())
