# SPDX-FileCopyrightText: 2026 The WebLocks for D-Bus authors
# SPDX-License-Identifier: LGPL-2.1-or-later

"""The records of the supervisor of a storm, in the format of history.h."""

import enum
import struct
import time

MAGIC = 0x31524F5453494857
HEADER = struct.Struct('<QIIIIIIQ24x')
RECORD = struct.Struct('<QQQQIIHBBBBH12xI')
N_NAMES = 8
ALL_NAMES = (1 << N_NAMES) - 1

FLAG_HELD = 1 << 2
FLAG_QUIET = 1 << 3
FLAG_KILL = 1 << 4
FAILED = 6


class Kind(enum.IntEnum):
    """As in history.h."""
    QUERY = 10
    ROW = 11
    ROWS = 12
    SPAWN = 32
    KILL = 33
    REAPED = 34
    STOP = 35
    CONTINUE = 36
    UNSETTLED = 37
    SERVICE_KILL = 38
    SERVICE_DEAD = 39
    SERVICE_READY = 40
    BARRIER = 41
    BUS = 42
    LEFT = 43
    STORM_END = 44
    FAULT = 45
    FAULT_END = 46


class Fault(enum.IntEnum):
    """As in history.h."""
    PARTITION = 1
    KILL = 2
    STOP = 3
    STOP_SERVICE = 4


class Left(enum.IntEnum):
    """As in history.h."""
    ROWS = 0
    STATE = 1
    DESCRIPTORS = 2
    MEMORY = 3


def now():
    return time.monotonic_ns()


class Log:
    """The supervisor's file. It isn't killed, so it needs no shared memory."""

    def __init__(self, path, seed):
        self._file = open(path, 'wb')
        self._file.write(HEADER.pack(MAGIC, 0, 0, 0, 0, 0, 0, seed))
        self._count = 0

    def note(self, kind, at=None, request=0, token=0, detail=0, subject=0, name=0, mode=0,
             flags=0, outcome=0, position=0):
        """`at` is an earlier time, if the event was reported by another process."""
        self._count += 1
        self._file.write(RECORD.pack(now() if at is None else at, request, token, detail, 0,
                                     subject, kind, name, mode, flags, outcome, position,
                                     self._count))

    def close(self):
        self._file.close()


def unique_of(path):
    """The unique name of a client, from its file; None if it had none."""
    try:
        with open(path, 'rb') as file:
            fields = HEADER.unpack(file.read(HEADER.size))
    except (OSError, struct.error):
        return None
    return f':1.{fields[5]}' if fields[6] else None
