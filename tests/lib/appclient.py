# SPDX-FileCopyrightText: 2026 The WebLocks for D-Bus authors
# SPDX-License-Identifier: LGPL-2.1-or-later

"""A line client (see lineclient.py) with additional commands for the sandbox tests.

It runs in sandboxes, so it needs only what the test makes available there.
"""

import ctypes
import os
import socket
import sys

import fusedir
from calls import DBusError, Path
from lineclient import LineClient, write
from rawbus import RawClient, connect
from sockets import LockSocket, open_socket, open_socket_call

_libc = ctypes.CDLL(None, use_errno=True)
_PR_SET_DUMPABLE = 4


class AppClient(LineClient):
    def __init__(self, address):
        self.address = address
        self.client = RawClient(address, descriptors=True)
        self.n_written = 0
        self.sock = None
        self.others = []
        write(name=self.client.name)

    def do_call(self, member, *arguments, **options):
        """Calls any method of LockCalls, by its name there."""
        return getattr(self.client, member)(*arguments, **options)

    def do_call_at(self, member, *arguments, path):
        """The same on the object path of a bucket."""
        return getattr(self.client, member)(*arguments, bucket=Path(path))

    def obey(self, command):
        arguments = command.pop('arguments', ())
        method = getattr(self, 'do_' + command.pop('do'))
        try:
            write(result=method(*arguments, **command))
        except DBusError as error:
            write(error=[error.name, error.message])

    def do_again(self):
        """Makes a call on another connection of this process. Returns the error's name, or ''."""
        client = RawClient(self.address)
        try:
            client.query()
        except DBusError as error:
            return error.short
        finally:
            client.close()
        return ''

    @staticmethod
    def give(path, descriptor):
        """Sends a descriptor to the socket at that path."""
        with socket.socket(socket.AF_UNIX) as sock:
            sock.connect(path)
            socket.send_fds(sock, [b'x'], [descriptor])

    def do_open_socket(self):
        self.sock = open_socket(self.client)

    def do_give_socket(self, path):
        """Sends its lock socket there."""
        self.client.result(self.client.send(open_socket_call()))
        self.give(path, self.client.descriptors.pop())

    def do_give_connection(self, path):
        """Opens a connection to the bus, which belongs to this application, and sends it there."""
        with connect(self.address, descriptors=True) as sock:
            self.give(path, sock.fileno())

    def do_take_socket(self, path):
        """Receives the lock socket of another client from the socket at that path."""
        with socket.socket(socket.AF_UNIX) as sock:
            sock.connect(path)
            _, descriptors, _, _ = socket.recv_fds(sock, 1, 1)
        self.sock = LockSocket(descriptors[0])

    def do_by_socket(self, member, *arguments):
        return getattr(self.sock, member)(*arguments)

    def do_protect(self):
        """As ssh-agent does: only root can access this process."""
        _libc.prctl(_PR_SET_DUMPABLE, 0, 0, 0, 0)

    def do_hang(self, path):
        """Mounts a file system that does not reply, at that path."""
        fuse = os.open('/dev/fuse', os.O_RDWR)
        self.others.append(fuse)
        options = f'fd={fuse},rootmode=100444,user_id=0,group_id=0'
        if _libc.mount(b'nobody', path.encode(), b'fuse', 0, options.encode()) < 0:
            return os.strerror(ctypes.get_errno())
        return ''

    def do_chroot(self, path):
        os.chroot(path)
        os.chdir('/')

    def do_hang_around(self, path):
        """The same, with the root of this process in it."""
        try:
            self.others.append(fusedir.chroot_below(path))
        except OSError as error:
            return error.strerror
        return ''


if __name__ == '__main__':
    AppClient(sys.argv[1]).run()
