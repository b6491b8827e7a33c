# SPDX-FileCopyrightText: 2026 The WebLocks for D-Bus authors
# SPDX-License-Identifier: LGPL-2.1-or-later

"""A file system with one directory, served by this process until it stops replying."""

import ctypes
import errno
import os
import stat
import struct
import threading

_libc = ctypes.CDLL(None, use_errno=True)
_LOOKUP, _GETATTR, _INIT = 1, 3, 26
_DIRECTORY = 2
NAME = 'directory'
# The look-up of this name gets the last reply.
_LAST = 'last'


def mount(path):
    """Returns the descriptor of a mount that is not served yet. OSError if FUSE is not available."""
    fuse = os.open('/dev/fuse', os.O_RDWR)
    options = f'fd={fuse},rootmode=40755,user_id=0,group_id=0'
    if _libc.mount(b'nobody', path.encode(), b'fuse', 0, options.encode()) < 0:
        raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()))
    return fuse


def _attributes(node):
    return struct.pack('<6Q10I', node, *[0] * 5, 0, 0, 0, stat.S_IFDIR | 0o755, 2, *[0] * 5)


def _answer(kind, node, body):
    """A reply: an error, and data."""
    if kind == _INIT:
        return 0, struct.pack('<4I2H2I2H8I', 7, 31, 0, 0, 0, 0, 4096, 1, 0, 0, *[0] * 8)
    if kind == _GETATTR:
        return 0, struct.pack('<Q2I', 0, 0, 0) + _attributes(node)
    if kind == _LOOKUP and body == NAME.encode() + b'\0':
        return 0, struct.pack('<4Q2I', _DIRECTORY, 0, 0, 0, 0, 0) + _attributes(_DIRECTORY)
    return (-errno.ENOENT if kind == _LOOKUP else -errno.ENOSYS), b''


def _serve(fuse):
    request = b''
    while not request.endswith(_LAST.encode() + b'\0'):
        request = os.read(fuse, 1 << 17)
        _, kind, unique, node = struct.unpack_from('<2I2Q', request)
        error, reply = _answer(kind, node, request[40:])
        os.write(fuse, struct.pack('<IiQ', 16 + len(reply), error, unique) + reply)


def chroot_below(path):
    """Makes a directory in such a file system the root of this process, and stops replying. Returns
    a descriptor that has to stay open: otherwise there would be a reply, an error."""
    fuse = mount(path)
    server = threading.Thread(target=_serve, args=(fuse,), daemon=True)
    server.start()
    os.chroot(os.path.join(path, NAME))
    os.chdir('/')
    os.path.exists(f'/{_LAST}')
    server.join()
    return fuse
