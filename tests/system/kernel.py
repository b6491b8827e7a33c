# SPDX-FileCopyrightText: 2026 The WebLocks for D-Bus authors
# SPDX-License-Identifier: LGPL-2.1-or-later

"""System calls that Python does not provide: mounts, namespaces, and prctl()."""

import ctypes
import os

CLONE_NEWNS, CLONE_NEWCGROUP, CLONE_NEWUTS, CLONE_NEWIPC = 0x20000, 0x2000000, 0x4000000, 0x8000000
CLONE_NEWPID, CLONE_NEWNET = 0x20000000, 0x40000000
MS_RDONLY, MS_NOSUID, MS_NODEV, MS_NOEXEC, MS_REMOUNT, MS_BIND, MS_REC, MS_PRIVATE = \
    1, 2, 4, 8, 32, 4096, 16384, 1 << 18
PR_SET_PDEATHSIG, PR_CAPBSET_DROP = 1, 24

libc = ctypes.CDLL(None, use_errno=True)


def checked(result, what):
    if result < 0:
        raise OSError(ctypes.get_errno(), f'{what}: {os.strerror(ctypes.get_errno())}')


def unshare(flags):
    checked(libc.unshare(flags), 'unshare')


def prctl(option, value):
    checked(libc.prctl(option, value, 0, 0, 0), f'prctl {option}')


def mount(source, target, kind=None, flags=0, data=None):
    encoded = [None if part is None else os.fsencode(part) for part in (source, target, kind)]
    checked(libc.mount(*encoded, flags, None if data is None else data.encode()),
            f'mount of {kind or source} on {target}')
