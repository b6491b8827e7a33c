# SPDX-FileCopyrightText: 2026 The WebLocks for D-Bus authors
# SPDX-License-Identifier: LGPL-2.1-or-later

"""Connections to the bus that are used by another process than the one that opened them."""

import os
import signal
import socket

from buses import PATIENCE, die_with_parent
from rawbus import RawClient, connect


def _begin_and_wait(address, child_end):
    die_with_parent()
    signal.setitimer(signal.ITIMER_REAL, 0)
    with connect(address) as sock:
        socket.send_fds(child_end, [b'x'], [sock.fileno()])
    child_end.recv(1)


class HandedOver:
    """A child process that has opened a connection, and `client`, which uses it in this process."""

    def __init__(self, address):
        parent_end, child_end = socket.socketpair()
        self._parent_end = parent_end
        self.pid = os.fork()
        if self.pid == 0:
            parent_end.close()
            try:
                _begin_and_wait(address, child_end)
            finally:
                os._exit(0)
        child_end.close()
        parent_end.settimeout(PATIENCE)
        _, descriptors, _, _ = socket.recv_fds(parent_end, 1, 1)
        self.client = RawClient.on_socket(socket.socket(fileno=descriptors[0]))

    def end(self):
        """The child has exited; the connection remains."""
        if self.pid is not None:
            # The other children may have inherited it, so closing it in one is not enough.
            self._parent_end.shutdown(socket.SHUT_RDWR)
            self._parent_end.close()
            os.waitpid(self.pid, 0)
            self.pid = None
