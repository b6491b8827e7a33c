# SPDX-FileCopyrightText: 2026 The WebLocks for D-Bus authors
# SPDX-License-Identifier: LGPL-2.1-or-later

"""Executes a system bus, on a machine that has another one, or none, and none of its users.

    launch_bus.py PASSWD dbus-daemon [ARGUMENT...]
    launch_bus.py PASSWD LISTENER JOURNAL dbus-broker-launch [ARGUMENT...]

The file PASSWD replaces /etc/passwd. dbus-broker-launch also needs what systemd would provide: the
listening socket, here the descriptor LISTENER, as number 3; and a journal at a fixed path in /run,
here the datagram socket JOURNAL. All this is mounted for this process only."""

import os
import socket
import sys

from kernel import CLONE_NEWNS, MS_BIND, MS_PRIVATE, MS_REC, mount, unshare


def main():
    passwd, *command = sys.argv[1:]
    unshare(CLONE_NEWNS)
    mount(None, '/', flags=MS_REC | MS_PRIVATE)
    mount(passwd, '/etc/passwd', flags=MS_BIND)
    if command[0].isdigit():
        listener, journal, *command = command
        mount('tmpfs', '/run', 'tmpfs')
        os.makedirs('/run/systemd/journal')
        socket.socket(fileno=int(journal)).bind('/run/systemd/journal/socket')
        os.dup2(int(listener), 3, inheritable=True)
        os.environ.update(LISTEN_FDS='1', LISTEN_PID=str(os.getpid()))
    os.execvp(command[0], command)


if __name__ == '__main__':
    main()
