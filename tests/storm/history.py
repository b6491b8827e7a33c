# SPDX-FileCopyrightText: 2026 The WebLocks for D-Bus authors
# SPDX-License-Identifier: LGPL-2.1-or-later

"""The records of a storm, in the format of history.h: those of the supervisor are written here, and all of
them are read."""

import collections
import enum
import struct
import time

MAGIC = 0x31524F5453494857
HEADER = struct.Struct('<QIIIIIIQ24x')
RECORD = struct.Struct('<QQQQIIHBBBBH12xI')
N_NAMES = 8
ALL_NAMES = (1 << N_NAMES) - 1

Header = collections.namedtuple('Header', 'magic client principal bus pid unique has_unique seed')
Record = collections.namedtuple('Record', 'time request token detail client subject kind name mode '
                                          'flags outcome position valid')

FLAG_IF_AVAILABLE = 1 << 0
FLAG_STEAL = 1 << 1
FLAG_HELD = 1 << 2
FLAG_QUIET = 1 << 3
FLAG_KILL = 1 << 4


class Kind(enum.IntEnum):
    """As in history.h."""
    REQUEST = 1
    ENTER = 2
    END = 3
    ABORT = 4
    LEAVE = 5
    RELEASE = 6
    LOST = 7
    ORACLE = 8
    FENCE = 9
    QUERY = 10
    ROW = 11
    ROWS = 12
    QUIET = 13
    SENT = 14
    EXIT = 15
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


class Outcome(enum.IntEnum):
    """As in history.h."""
    OK = 0
    UNAVAILABLE = 1
    CANCELLED = 2
    TIMEOUT = 3
    STOLEN = 4
    GONE = 5
    FAILED = 6
    REFUSED = 7
    UNREACHABLE = 8


class Fault(enum.IntEnum):
    """As in history.h."""
    STALL = 0
    PARTITION = 1
    KILL = 2
    STOP = 3
    STOP_SERVICE = 4
    CUT_OFF = 5


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


def read_file(path):
    """The header and the complete records of a file; None for the header if the client was killed before it
    wrote one."""
    with open(path, 'rb') as file:
        data = file.read()
    header = Header._make(HEADER.unpack_from(data)) if len(data) >= HEADER.size else None
    if header is None or header.magic == 0:
        return None, []
    if header.magic != MAGIC:
        raise ValueError(f'{path} has no records of a storm')
    records = []
    end = len(data) - (len(data) - HEADER.size) % RECORD.size
    for fields in RECORD.iter_unpack(memoryview(data)[HEADER.size:end]):
        if fields[-1] != len(records) + 1:
            break
        records.append(Record._make(fields))
    return header, records


def unique_of(path):
    """The unique name of a client, from its file; None if it had none."""
    try:
        with open(path, 'rb') as file:
            header = Header._make(HEADER.unpack(file.read(HEADER.size)))
    except (OSError, struct.error):
        return None
    return f':1.{header.unique}' if header.has_unique else None


def text_of(record, start):
    """One readable line, with times from `start` on."""
    words = [f'{(record.time - start) / 1e9:12.6f} ',
             f'client {record.client}:' if record.client else 'supervisor:',
             Kind(record.kind).name.lower().replace('_', ' ')]
    if record.kind < Kind.QUIET:
        words.append(str(record.request))
    if record.kind < Kind.QUERY or record.kind == Kind.ROW:
        words.append(f'lock {record.name}')
    if record.kind == Kind.ROW:
        words.append(f'of :1.{record.subject}')
        words.append('held' if record.flags & FLAG_HELD else 'pending')
    elif record.kind >= Kind.FAULT:
        words.append(f'{record.request} of host {record.subject}')
    elif record.subject:
        words.append(f'of {record.subject}')
    if record.kind in (Kind.ROW, Kind.REQUEST):
        words.append('shared' if record.mode else 'exclusive')
    words += [text for flag, text in ((FLAG_IF_AVAILABLE, 'ifAvailable'), (FLAG_STEAL, 'steal'))
              if record.flags & flag]
    words += [f'{field} {getattr(record, field)}' for field in ('token', 'position', 'detail')
              if getattr(record, field)]
    if record.outcome:
        words.append(f': {Outcome(record.outcome).name.lower()}')
    return ' '.join(words)
