# SPDX-FileCopyrightText: 2026 The WebLocks for D-Bus authors
# SPDX-License-Identifier: LGPL-2.1-or-later

"""A bus with one real client, the service, and any others that the test simulates.

The test chooses the replies about clients, also those that no real bus would send."""

import contextlib
import os
import socket
import threading

from gi.repository import Gio, GLib

import buses
from rawbus import DRIVER, DRIVER_PATH, read_line, split, unpack
from wire import Call

_CAPABILITIES = Gio.DBusCapabilityFlags.UNIX_FD_PASSING
ID = '0123456789abcdef0123456789abcdef'
SERVICE_NAME = ':1.0'
LATER = 'later'


def error_reply(message, name, text='no'):
    return Gio.DBusMessage.new_method_error_literal(message, name, text)


class FakeBus:
    """`answers` contains, by unique name, the replies to GetConnectionCredentials for it, in order:
    a dict of variants, in which ProcessFD is a plain descriptor; None for an error; or LATER for a
    reply by reply_later()."""

    def __init__(self, directory):
        self.path = os.path.join(directory, 'fake-bus')
        self.address = f'unix:path={self.path}'
        self.answers = {}
        self.asked = []
        self.waiting = []
        self._listener = socket.socket(socket.AF_UNIX)
        self._listener.bind(self.path)
        self._listener.listen()
        self._condition = threading.Condition()
        self._replies = {}
        self._serial = 1000
        self._socket = None
        self.is_owned = False
        self.names = [DRIVER, SERVICE_NAME]  # on the bus, for ListNames
        self.n_lists_lost = 0                # the first calls of ListNames get no reply
        self.is_taken = False                # the name of the service is another connection's
        self.when_asked_for_name = lambda: None
        self.when_name_is_released = lambda: None  # before the reply
        self._is_reading = threading.Event()
        self._is_reading.set()
        self.statistics = None               # a list: gets the calls of GetConnectionStats
        self.refusals = []                   # the members of calls that were refused
        self.signals = []                    # that the service has sent
        self._thread = threading.Thread(target=self._run, daemon=True)
        self._thread.start()

    def close(self):
        self._listener.close()
        self.go_on_reading()
        if self._socket is not None:
            self.disconnect()
            self._thread.join()
            self._socket.close()

    def disconnect(self):
        """Ends the connection of the service; the bus still listens."""
        with contextlib.suppress(OSError):
            self._socket.shutdown(socket.SHUT_RDWR)

    def environment(self):
        """Of a service, as buses.Bus has it."""
        directory = os.path.dirname(self.path)
        return {**os.environ, 'HOME': directory, 'XDG_RUNTIME_DIR': directory}

    # ---- the bus's behaviour

    def _shake_hands(self, sock):
        assert sock.recv(1) == b'\0'
        while (line := read_line(sock)) != b'BEGIN\r\n':
            if line.startswith(b'AUTH'):
                sock.sendall(b'DATA\r\n' if line == b'AUTH EXTERNAL\r\n'
                             else f'OK {ID}\r\n'.encode())
            elif line.startswith(b'DATA'):
                sock.sendall(f'OK {ID}\r\n'.encode())
            elif line.startswith(b'NEGOTIATE'):
                sock.sendall(b'AGREE_UNIX_FD\r\n')
            else:
                sock.sendall(b'ERROR\r\n')

    def _run(self):
        self._socket, _ = self._listener.accept()
        self._shake_hands(self._socket)
        data = bytearray()
        try:
            while self._is_reading.wait() and (chunk := self._socket.recv(1 << 16)):
                self._is_reading.wait()
                data += chunk
                for blob in split(data):
                    # The service may have ended, and there may be more that it has sent.
                    with contextlib.suppress(OSError):
                        self._take(Gio.DBusMessage.new_from_blob(blob, _CAPABILITIES))
        except OSError:
            pass

    def _take(self, message):
        if message.get_message_type() == Gio.DBusMessageType.METHOD_CALL:
            self._answer_call(message)
            return
        with self._condition:
            if message.get_message_type() == Gio.DBusMessageType.SIGNAL:
                self.signals.append(message)
            elif message.get_reply_serial():
                self._replies[message.get_reply_serial()] = message
            self._condition.notify_all()

    def _answer_call(self, message):
        member = message.get_member()
        if member == 'GetConnectionCredentials':
            self._reply_credentials(message)
            return
        if member == 'ListNames' and self.n_lists_lost > 0:
            self.n_lists_lost -= 1
            return
        if member == 'GetConnectionStats' and self.statistics is not None:
            self.statistics.append(message)
            return
        body = {'Hello': lambda: GLib.Variant('(s)', (SERVICE_NAME,)),
                'AddMatch': lambda: None,
                'RequestName': lambda: GLib.Variant('(u)', (3 if self.is_taken else 1,)),
                'ReleaseName': lambda: GLib.Variant('(u)', (1,)),
                'GetId': lambda: GLib.Variant('(s)', (ID,)),
                'ListNames': lambda: GLib.Variant('(as)', (self.names,)),
                }.get(member)
        if body is None:
            self.refusals.append(member)
            self._send(error_reply(message, f'{DRIVER}.Error.UnknownMethod'))
            return
        if member == 'RequestName':
            self.when_asked_for_name()
        elif member == 'ReleaseName':
            self.when_name_is_released()
        reply = Gio.DBusMessage.new_method_reply(message)
        if body() is not None:
            reply.set_body(body())
        self._send(reply)
        if member == 'RequestName' and not self.is_taken:
            self._set_owned(True)
        elif member == 'ReleaseName':
            self._set_owned(False)

    def _set_owned(self, is_owned):
        with self._condition:
            self.is_owned = is_owned
            self._condition.notify_all()

    def _reply_credentials(self, message):
        name = unpack(message)[0]
        self.asked.append(name)
        answers = self.answers.get(name, [])
        answer = answers.pop(0) if answers else None
        if answer == LATER:
            self.waiting.append(message)
        else:
            self._reply(message, answer)

    def _reply(self, message, answer):
        if answer is None:
            self._send(error_reply(message, f'{DRIVER}.Error.NameHasNoOwner'))
            return
        reply = Gio.DBusMessage.new_method_reply(message)
        descriptors, values = [], {}
        for key, value in answer.items():
            if isinstance(value, int):
                descriptors.append(value)
                value = GLib.Variant('h', len(descriptors) - 1)
            values[key] = value
        reply.set_body(GLib.Variant('(a{sv})', (values,)))
        self._send(reply, descriptors)

    def _send(self, message, descriptors=(), sender=DRIVER):
        message.set_sender(sender)
        message.set_destination(SERVICE_NAME)
        with self._condition:
            self._serial += 1
            message.set_serial(self._serial)
            if descriptors:
                fds = Gio.UnixFDList()
                for descriptor in descriptors:
                    fds.append(descriptor)
                message.set_unix_fd_list(fds)
            socket.send_fds(self._socket, [message.to_blob(_CAPABILITIES)], list(descriptors))
            return self._serial

    # ---- functions for the test

    def stop_reading(self):
        """Handles no more messages of the service, except those that have been received with the last
        one, and soon receives no more."""
        self._is_reading.clear()

    def go_on_reading(self):
        self._is_reading.set()

    def wait_owned(self):
        with self._condition:
            if not self._condition.wait_for(lambda: self.is_owned, buses.PATIENCE):
                raise TimeoutError('the service has not requested its name')

    def wait_released(self):
        """Waits until the service has released its name, and got the reply."""
        with self._condition:
            if not self._condition.wait_for(lambda: not self.is_owned, buses.PATIENCE):
                raise TimeoutError('the service has not released its name')

    def wait_disconnected(self):
        """Waits until everything is read from a service that has ended."""
        self._thread.join(buses.PATIENCE)
        if self._thread.is_alive():
            raise TimeoutError('the service is still connected')

    def reply_later(self, answer):
        """Replies to the calls with LATER."""
        waiting, self.waiting = self.waiting, []
        for message in waiting:
            self._reply(message, answer)

    def reply_statistics(self, n_bytes):
        """Replies to the first call of GetConnectionStats that has no reply."""
        reply = Gio.DBusMessage.new_method_reply(self.statistics.pop(0))
        values = {'OutgoingBytes': GLib.Variant('u', n_bytes)}
        reply.set_body(GLib.Variant('(a{sv})', (values,)))
        self._send(reply)

    def send_as(self, sender, message):
        """The serial of a call from that client."""
        return self._send(message.to_gio() if isinstance(message, Call) else message, sender=sender)

    def send_signal(self, member, body):
        """A signal of the bus itself."""
        message = Gio.DBusMessage.new_signal(DRIVER_PATH, DRIVER, member)
        message.set_body(body)
        self._send(message)

    def has_reply(self, serial):
        return serial in self._replies

    def reply_to(self, serial):
        with self._condition:
            if not self._condition.wait_for(lambda: serial in self._replies, buses.PATIENCE):
                raise TimeoutError(f'no answer to call {serial}')
            return self._replies.pop(serial)

    def call_as(self, sender, message):
        return self.reply_to(self.send_as(sender, message))
