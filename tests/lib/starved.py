# SPDX-FileCopyrightText: 2026 The WebLocks for D-Bus authors
# SPDX-License-Identifier: LGPL-2.1-or-later

"""Cases whose processes must run in time, as those that keep a session with servers alive. If the machine
was too busy to run them, a failure shows nothing, and the case is repeated."""

import functools
import glob
import os
import traceback
import unittest

from buses import read_text
from tap import diagnostic

ATTEMPTS = 3
# In seconds. The shortest session of a case is three times as long.
LONGEST_DELAY = 1.0


def descendants(pid):
    """All processes that this one has started, and those that they have started."""
    for path in glob.glob(f'/proc/{pid}/task/*/children'):
        try:
            children = [int(word) for word in read_text(path).split()]
        except OSError:
            continue
        for child in children:
            yield child
            yield from descendants(child)


def run_delays():
    """For each thread of this process and its descendants: how long it has been runnable, and was not
    run, in seconds."""
    delays = {}
    for pid in (os.getpid(), *descendants(os.getpid())):
        for path in glob.glob(f'/proc/{pid}/task/*/schedstat'):
            try:
                delays[path] = int(read_text(path).split()[1]) / 1e9
            except OSError:
                pass
    return delays


def repeated(method):
    """The case is repeated if it fails, and one of the threads was not run for too long meanwhile."""
    @functools.wraps(method)
    def run(self):
        for self.attempt in range(ATTEMPTS):
            if self.attempt:
                self.tearDown()
                self.doCleanups()
                self.setUp()
            before = run_delays()
            try:
                return method(self)
            except unittest.SkipTest:
                raise
            except Exception:
                delay = max(total - before.get(path, 0) for path, total in run_delays().items())
                if delay < LONGEST_DELAY or self.attempt == ATTEMPTS - 1:
                    raise
                diagnostic(f'a thread was runnable for {delay:.1f} s without being run; repeated after:\n'
                           f'{traceback.format_exc()}')
    return run


class RepeatedIfStarved:
    """A base of such cases. `attempt` counts from 0. A name that must be new has to contain it."""

    attempt = 0

    def __init_subclass__(cls):
        super().__init_subclass__()
        for name, value in list(vars(cls).items()):
            if name.startswith('test_'):
                setattr(cls, name, repeated(value))
