# SPDX-FileCopyrightText: 2026 The WebLocks for D-Bus authors
# SPDX-License-Identifier: LGPL-2.1-or-later

"""Becomes a system bus, on a machine that has another one, or none, and knows none of its users.

    launch_bus.py PASSWD dbus-daemon [ARGUMENT...]
    launch_bus.py PASSWD LISTENER JOURNAL dbus-broker-launch [ARGUMENT...]

The file PASSWD is what it finds in place of /etc/passwd. dbus-broker-launch also wants what systemd
would give it: the listening socket, here the descriptor LISTENER, as number 3; and a journal at a
fixed place in /run, here the datagram socket JOURNAL. All this is mounted for this process alone.
"""

import ctypes
import os
import socket
import sys

CLONE_NEWNS, MS_BIND, MS_REC, MS_PRIVATE = 0x20000, 4096, 16384, 1 << 18

libc = ctypes.CDLL(None, use_errno=True)


def checked(result):
    if result < 0:
        raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()))


def main():
    passwd, *command = sys.argv[1:]
    checked(libc.unshare(CLONE_NEWNS))
    checked(libc.mount(None, b'/', None, MS_REC | MS_PRIVATE, None))
    checked(libc.mount(os.fsencode(passwd), b'/etc/passwd', None, MS_BIND, None))
    if command[0].isdigit():
        listener, journal, *command = command
        checked(libc.mount(b'tmpfs', b'/run', b'tmpfs', 0, None))
        os.makedirs('/run/systemd/journal')
        socket.socket(fileno=int(journal)).bind('/run/systemd/journal/socket')
        os.dup2(int(listener), 3, inheritable=True)
        os.environ.update(LISTEN_FDS='1', LISTEN_PID=str(os.getpid()))
    os.execvp(command[0], command)


if __name__ == '__main__':
    main()
