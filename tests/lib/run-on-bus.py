# SPDX-FileCopyrightText: 2026 The WebLocks for D-Bus authors
# SPDX-License-Identifier: LGPL-2.1-or-later

"""Runs a test program and starts buses for it: run-on-bus.py PROGRAM [ARGUMENTS]

The program requests them on a socket, whose descriptor is in WEBLOCKS_TEST_LAUNCHER (lib/private-bus.c does
this for programs in C). One packet is one request, and the next packet back is its reply:

    start         a bus, of the kind in WEBLOCKS_TEST_BUS: its address and a directory
    stop ADDRESS  done

The remaining buses end with the program, whose exit status is returned.
"""

import os
import select
import socket
import sys

from buses import Bus, spawn
from tap import take_signals

PACKET_MAX = 4096


class Launcher:
    def __init__(self):
        self.buses = {}

    def answer(self, question):
        word, *arguments = question.split(' ', 1)
        if word == 'stop':
            self.buses.pop(arguments[0]).stop()
            return 'done'
        bus = Bus().start()
        self.buses[bus.address] = bus
        return f'{bus.address} {bus.runtime}'

    def stop(self):
        for bus in self.buses.values():
            bus.stop()


def serve(launcher, sock, process):
    """Serves requests until the program ends."""
    pidfd = os.pidfd_open(process.pid)
    poll = select.poll()
    poll.register(pidfd, select.POLLIN)
    poll.register(sock, select.POLLIN)
    while process.poll() is None:
        for descriptor, _ in poll.poll():
            if descriptor != sock.fileno():
                continue
            question = sock.recv(PACKET_MAX).decode()
            if question:
                sock.send(launcher.answer(question).encode())
            else:
                poll.unregister(sock)


def main():
    take_signals()
    launcher = Launcher()
    ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    process = spawn(sys.argv[1:], pass_fds=[theirs.fileno()],
                    env=os.environ | {'WEBLOCKS_TEST_LAUNCHER': str(theirs.fileno())})
    theirs.close()
    try:
        serve(launcher, ours, process)
    finally:
        launcher.stop()
    if process.returncode < 0:
        print(f'# {sys.argv[1]}: killed by signal {-process.returncode}', flush=True)
    sys.exit(process.returncode if process.returncode >= 0 else 128 - process.returncode)


if __name__ == '__main__':
    main()
