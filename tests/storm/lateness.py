# SPDX-FileCopyrightText: 2026 The WebLocks for D-Bus authors
# SPDX-License-Identifier: LGPL-2.1-or-later

"""Measures how late the machine schedules processes: a pause that affects all of them is not a fault of
the service."""

import threading
import time

# The interval of wake-ups, and which delay counts as late; both in seconds.
STEP = 0.02
NOTICED = 0.05


class Lateness:
    """A thread that sleeps, and records when it wakes up late. Ends with stop()."""

    def __init__(self):
        self._lates = []  # (when it was woken, how late that was), in order
        self._due = time.monotonic() + STEP
        self._end = threading.Event()
        self._thread = threading.Thread(target=self._run, daemon=True)
        self._thread.start()

    def _run(self):
        while not self._end.wait(STEP):
            late = self._now()
            if late > 0:
                self._lates.append((time.monotonic(), late))
            self._due = time.monotonic() + STEP

    def _now(self):
        """The present lateness."""
        late = time.monotonic() - self._due
        return late if late > NOTICED else 0.0

    def stop(self):
        self._end.set()
        self._thread.join()

    def since(self, begin):
        """The sum of delays since then."""
        # In this order, delays that are recorded meanwhile count twice rather than not at all.
        late = self._now()
        return late + sum(length for woken, length in self._lates if woken > begin)

    def worst(self, window):
        """The maximum sum of delays within this number of seconds."""
        return max((sum(length for woken, length in self._lates if at - window < woken <= at)
                    for at, _ in self._lates), default=0.0)

    def between(self, begin, end):
        """The sum of delays in a part of the time from `begin` to `end`."""
        return sum(length for woken, length in self._lates if woken > begin and woken - length < end)

    def stalls(self, least):
        """The single delays of at least this length: (begin, end) of each."""
        return [(at - length, at) for at, length in self._lates if length >= least]
