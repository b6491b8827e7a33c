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
from calls import ADMIN, ROOT, SERVICE, DBusError, Path
from gi.repository import GLib
from lineclient import LineClient, write
from rawbus import RawClient, connect, method_call
from sockets import LockSocket, open_socket, open_socket_call

_libc = ctypes.CDLL(None, use_errno=True)
_PR_SET_DUMPABLE = 4
_MNT_DETACH = 2


def open_document_call(**values):
    """Values are those of GLib.Variant, or strings; `file` is an index of the message's descriptors."""
    types = {'file': 'h', 'name': 's', 'portal': 's'}
    body = {key: value if isinstance(value, GLib.Variant) else GLib.Variant(types[key], value)
            for key, value in values.items()}
    return method_call(SERVICE, ROOT, ADMIN, 'OpenDocument', GLib.Variant('(a{sv})', (body,)))


def descriptor_of(kind, path):
    """A descriptor of a document, or of what is none; most are O_PATH."""
    if kind in ('memfd', 'pipe', 'tmpfile', 'readable'):
        fd = {'memfd': lambda: os.memfd_create('document'),
              'pipe': lambda: os.pipe()[0],
              'tmpfile': lambda: os.open(path, os.O_TMPFILE | os.O_RDWR),
              'readable': lambda: os.open(path, os.O_RDONLY)}[kind]()
        return fd if kind == 'readable' else os.open(f'/proc/self/fd/{fd}', os.O_PATH)
    fd = os.open(path, os.O_PATH | (os.O_NOFOLLOW if kind == 'link' else 0))
    if kind in ('deleted', 'decoy'):
        os.unlink(path)
    if kind == 'decoy':
        with open(f'{path} (deleted)', 'x', encoding='ascii'):
            pass
    if kind == 'replaced':
        with open(f'{path}.new', 'x', encoding='ascii'):
            pass
        os.rename(f'{path}.new', path)
    if kind == 'unmounted' and _libc.umount2(os.path.dirname(path).encode(), _MNT_DETACH) < 0:
        raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()))
    return fd


class AppClient(LineClient):
    def __init__(self, address):
        self.address = address
        self.client = RawClient(address, descriptors=True)
        self.n_written = 0
        self.sock = None
        self.others = []
        self.flood = []
        write(name=self.client.name)

    def do_call_at(self, member, *arguments, path):
        """The same on the object path of a bucket."""
        return getattr(self.client, member)(*arguments, bucket=Path(path))

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

    def do_open_document(self, path=None, kind='path', **values):
        """With that descriptor, or with other options only."""
        descriptors = [descriptor_of(kind, path)] if path is not None else []
        if descriptors:
            values['file'] = 0
        call = open_document_call(**values)
        serial = self.client.send_with_descriptors(call, descriptors) if descriptors else \
            self.client.send(call)
        for descriptor in descriptors:
            os.close(descriptor)
        return self.client.result(serial)

    @staticmethod
    def do_make(path):
        with open(path, 'x', encoding='ascii'):
            pass

    def do_flood_documents(self, portal, clients, count):
        """That many calls of each of that many new clients; returns when the service has them."""
        flood = [RawClient(self.address) for _ in range(clients)]
        for client in flood:
            client.query()
        self.flood = [(client, client.send(open_document_call(portal=portal)))
                      for client in flood for _ in range(count)]
        for client in flood:
            client.query()

    def do_flooded(self):
        """Returns the errors of these calls, or '' for each that is opened."""
        errors = []
        for client, serial in self.flood:
            try:
                client.result(serial)
                errors.append('')
            except DBusError as error:
                errors.append(error.short)
        return errors

    def do_give_document(self, path, document):
        """Sends a descriptor of the document there."""
        self.give(path, descriptor_of('path', document))

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
