# SPDX-FileCopyrightText: 2026 The WebLocks for D-Bus authors
# SPDX-License-Identifier: LGPL-2.1-or-later

"""Runs the unittest cases of a file and prints one TAP line for each:

    python3 -m tap FILE [ARGUMENT]... [CLASS[.CASE]]...

The arguments are those that the file takes itself, from sys.argv, when it is loaded."""

import importlib.util
import os
import signal
import sys
import time
import traceback
import unittest

# How the command shows this process.
WHO = 'tap'


def diagnostic(text):
    """Prints lines that a TAP reader shows but does not count."""
    for line in str(text).splitlines():
        print('#', line, flush=True)


class TapResult(unittest.TestResult):
    """Prints each result immediately; the plan is last, when the count is known."""

    def __init__(self, module):
        super().__init__()
        self._prefix = f'{module.__name__}.'
        self.count = 0
        self._failed = None
        self._started = 0.0

    def _line(self, good, test, directive=''):
        # A case can fail more than once (in subtests, in cleanups): that is one line.
        if not good:
            if test is self._failed:
                return
            self._failed = test
        self.count += 1
        name = test.id().replace(self._prefix, '').replace('#', '')
        print(f"{'ok' if good else 'not ok'} {self.count} - {name}{directive}", flush=True)

    def _bad(self, test, error):
        diagnostic(''.join(traceback.format_exception(*error)))
        report = getattr(test, 'report', None)
        if report is not None:
            diagnostic(report())

    def startTest(self, test):
        super().startTest(test)
        self._started = time.monotonic()

    def stopTest(self, test):
        super().stopTest(test)
        taken = time.monotonic() - self._started
        if taken > 2:
            diagnostic(f'that took {taken:.1f} s')

    def addSuccess(self, test):
        # Before Python 3.11, a case with failed subtests is also reported as successful.
        if test is not self._failed:
            self._line(True, test)

    def addFailure(self, test, error):
        super().addFailure(test, error)
        self._bad(test, error)
        self._line(False, test)

    def addError(self, test, error):
        # Also called for a failed setUpClass or tearDownClass, as a separate test.
        super().addError(test, error)
        self._bad(test, error)
        self._line(False, test)

    def addSkip(self, test, reason):
        super().addSkip(test, reason)
        self._line(True, test, f' # SKIP {reason}')

    def addSubTest(self, test, subtest, error):
        super().addSubTest(test, subtest, error)
        if error is not None:
            diagnostic(f'failed part: {subtest}')
            self._bad(test, error)
            self._line(False, test)


def take_signals():
    """As a program in the foreground: in a shell's background processes, and in their children,
    Ctrl-C is ignored."""
    for number in (signal.SIGINT, signal.SIGQUIT, signal.SIGHUP):
        if signal.getsignal(number) == signal.SIG_IGN:
            signal.signal(number, signal.SIG_DFL)


def run(module):
    """Its cases, or those that sys.argv names."""
    take_signals()
    loader = unittest.TestLoader()
    if len(sys.argv) > 1:
        suite = loader.loadTestsFromNames(sys.argv[1:], module)
    else:
        suite = loader.loadTestsFromModule(module)
    result = TapResult(module)
    suite.run(result)
    print(f'1..{result.count}', flush=True)
    sys.exit(0 if result.wasSuccessful() else 1)


def main():
    """Of the calling script."""
    run(sys.modules['__main__'])


def load(path):
    """Other files in its folder can be imported."""
    folder, name = os.path.split(os.path.abspath(path))
    sys.path[0] = folder
    spec = importlib.util.spec_from_file_location(name.removesuffix('.py'), path)
    module = sys.modules[spec.name] = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


if __name__ == '__main__':
    sys.argv.pop(0)
    run(load(sys.argv[0]))
