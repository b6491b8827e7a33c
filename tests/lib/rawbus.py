# SPDX-FileCopyrightText: 2026 The WebLocks for D-Bus authors
# SPDX-License-Identifier: LGPL-2.1-or-later

"""Minimal D-Bus clients: each receives messages in their exact order, can send messages that no binding
would, and costs one socket.

Calls without unusual parts, and all that is received, are encoded and decoded by wire.py; the rest is GLib's.
"""

import os
import re
import socket
import threading
import time

from gi.repository import Gio, GLib

import buses
import wire
from calls import (LOCKS, OPTION_TYPES, ROOT, SERVICE, DBusError, Event, LockCalls, bucket_path, encode_label,
                   with_options)
from wire import Body, Call, split

DRIVER = 'org.freedesktop.DBus'
DRIVER_PATH = '/org/freedesktop/DBus'
# The principals of connections that don't belong to this process's user, by address and unique
# name: a uid, or another value that is different for each principal; for the checks of the monitor.
PRINCIPALS = {}
# The groups of clients that are in some, likewise.
GROUPS = {}
# The uids that share buckets of a cluster, by address and path.
SHARED = {}
_CAPABILITIES = Gio.DBusCapabilityFlags.UNIX_FD_PASSING


def path_of(address):
    """The socket of a `unix:path=...` address."""
    for part in address.split(';')[0].removeprefix('unix:').split(','):
        key, _, value = part.partition('=')
        if key == 'path':
            return value
    raise ValueError(f'no path in {address}')


def read_line(sock):
    line = b''
    while not line.endswith(b'\r\n'):
        byte = sock.recv(1)
        if not byte:
            raise ConnectionError('the other end closed the connection')
        line += byte
    return line


def connect(address, uid=None, descriptors=False, groups=None):
    """Returns a socket after SASL authentication; as another user if requested, for root only. `groups` are then its
    supplementary ones, and its group has the number of the user."""
    sock = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    sock.settimeout(buses.PATIENCE)
    own, own_group, own_groups = os.geteuid(), os.getegid(), os.getgroups()
    # The kernel stores the effective user and the groups at this moment.
    if groups is not None:
        os.setgroups(groups)
        os.setegid(uid)
    if uid is not None and uid != own:
        os.seteuid(uid)
    try:
        sock.connect(path_of(address))
    finally:
        if uid is not None and uid != own:
            os.seteuid(own)
        if groups is not None:
            os.setegid(own_group)
            os.setgroups(own_groups)
    name = str(own if uid is None else uid).encode().hex().encode()
    sock.sendall(b'\0AUTH EXTERNAL ' + name + b'\r\n')
    answer = read_line(sock)
    if not answer.startswith(b'OK'):
        raise RuntimeError(f'the bus refused us: {answer!r}')
    if descriptors:
        sock.sendall(b'NEGOTIATE_UNIX_FD\r\n')
        answer = read_line(sock)
        if not answer.startswith(b'AGREE_UNIX_FD'):
            raise RuntimeError(f'the bus takes no descriptors: {answer!r}')
    sock.sendall(b'BEGIN\r\n')
    return sock


def method_call(destination, path, interface, member, body=None):
    message = Gio.DBusMessage.new_method_call(destination, path, interface, member)
    if body is not None:
        message.set_body(body)
    return message


def lock_call(member, subject=None, bucket='default', reply=True, **kw):
    """A call of a bucket's method: `Request` and `Steal` have a name and options, the others an id or
    nothing."""
    body = None
    if member in ('Request', 'Steal'):
        body = with_options('(sa{sv})', OPTION_TYPES, kw, subject)
    elif subject is not None:
        body = Body('(t)', (subject,))
    return bus_call(SERVICE, bucket_path(bucket), LOCKS, member, body, reply)


def bus_call(destination, path, interface, member, body=None, reply=True):
    """A call to be sent, which with a body of GLib is a message of GLib."""
    if not isinstance(body, GLib.Variant):
        return Call(destination, path, interface, member, body, reply)
    message = method_call(destination, path, interface, member, body)
    if not reply:
        message.set_flags(Gio.DBusMessageFlags.NO_REPLY_EXPECTED)
    return message


def parse(blob):
    return wire.Message(blob) if blob[0] == wire.LITTLE_ENDIAN else \
        Gio.DBusMessage.new_from_blob(blob, _CAPABILITIES)


def unpack(message):
    if isinstance(message, wire.Message):
        return message.unpack()
    body = message.get_body()
    return body.unpack() if body is not None else ()


class RawClient(LockCalls):
    """A connection that the test controls. `log` has every message as received."""

    # As bindings do; a client that doesn't is served only a limited number of calls on the bus.
    answers_pings = True

    def __init__(self, address, hello=True, uid=None, descriptors=False, groups=None):
        self._begin(connect(address, uid, descriptors, groups))
        if hello:
            self.name = self._driver('Hello')[0]
            if uid is not None:
                PRINCIPALS[address, self.name] = uid
                GROUPS[address, self.name] = groups or ()

    @classmethod
    def on_socket(cls, sock):
        """A client on a connection that another process has opened and authenticated, before
        Hello."""
        self = cls.__new__(cls)
        sock.settimeout(buses.PATIENCE)
        self._begin(sock)
        self.name = self._driver('Hello')[0]
        return self

    def _begin(self, sock):
        self.socket = sock
        self.serial = 0
        self.log = []
        self.events = []
        self.wanted = []
        self._pings = []
        self.descriptors = []
        self.answered = 0
        self._data = bytearray()
        self._replies = {}
        self.name = None

    def close(self):
        self.socket.close()

    def next_serial(self):
        self.serial += 1
        return self.serial

    def encode(self, message):
        """The bytes of a message, with a new serial."""
        if isinstance(message, Call):
            return message.encode(self.next_serial()), self.serial
        message.set_serial(self.next_serial())
        return message.to_blob(_CAPABILITIES), self.serial

    def send(self, message):
        blob, serial = self.encode(message)
        self.socket.sendall(blob)
        return serial

    def send_all(self, messages):
        """Sends many messages in one write, so that they arrive together. Returns their serials."""
        pairs = [self.encode(message) for message in messages]
        self.socket.sendall(b''.join(blob for blob, _ in pairs))
        return [serial for _, serial in pairs]

    def send_with_descriptors(self, message, descriptors):
        # The message has a header field with their number; they are sent beside its bytes.
        fds = Gio.UnixFDList()
        for descriptor in descriptors:
            fds.append(descriptor)
        message = message.to_gio() if isinstance(message, Call) else message
        message.set_unix_fd_list(fds)
        blob, serial = self.encode(message)
        socket.send_fds(self.socket, [blob], descriptors)
        return serial

    def pump(self, timeout=0.0):
        """Reads what has arrived; waits up to the time-out if nothing has."""
        if not buses.readable(self.socket, timeout):
            return False
        chunk, descriptors, _, _ = socket.recv_fds(self.socket, 1 << 16, 16)
        self.descriptors += descriptors
        if not chunk:
            raise ConnectionError('the other end closed the connection')
        self._data += chunk
        for blob in split(self._data):
            self.take_bytes(blob)
        return True

    def take_bytes(self, blob):
        """For tests that need each message as received."""
        self._take(parse(blob))

    def watch(self, *arguments, **kw):
        # Cases of watchers that lag answer Pings themselves.
        self.answers_pings = False
        super().watch(*arguments, **kw)

    def _take(self, message):
        self.log.append(message)
        if message.get_member() == 'Ping':
            self._pings.append(message)
            if self.answers_pings:
                self.answer_pings()
        if message.get_message_type() == wire.SIGNAL:
            if message.get_interface() == LOCKS and message.get_member() == 'Wanted':
                self.wanted.append(tuple(unpack(message)))
            elif (message.get_interface() or '').startswith('org.w3.WebLocks'):
                self.events.append(Event.of(message.get_member(), message.get_path(),
                                            unpack(message), message.get_sender()))
        elif message.get_reply_serial():
            self._replies[message.get_reply_serial()] = message

    def reply_to(self, serial, timeout=buses.PATIENCE):
        """The reply to an earlier call, as a message."""
        buses.pump_until(lambda: serial in self._replies, self.pump, timeout,
                         lambda: f'no reply to call {serial} of {self.name}')
        return self._replies.pop(serial)

    def is_answered(self, serial):
        """Whether the reply to an earlier call has arrived and not been taken."""
        self.pump()
        return serial in self._replies

    def result(self, serial, timeout=buses.PATIENCE):
        """The reply's values; raises DBusError for an error."""
        reply = self.reply_to(serial, timeout)
        if reply.get_message_type() == wire.ERROR:
            values = unpack(reply)
            raise DBusError(reply.get_error_name(), values[0] if values else '')
        return unpack(reply)

    def results(self, serials):
        return [self.result(serial) for serial in serials]

    def call_all(self, messages):
        return self.results(self.send_all(messages))

    def wait_for(self, condition, timeout=buses.PATIENCE, what='condition'):
        buses.pump_until(condition, self.pump, timeout,
                         lambda: f'{what}: not within {timeout} s; events: {self.events}')

    def call(self, path, interface, member, body=None, destination='org.w3.WebLocks',
             timeout=buses.PATIENCE):
        return self.result(self.send(bus_call(destination, path, interface, member, body)),
                           timeout)

    def _driver(self, member, body=None, interface=DRIVER):
        return self.call(DRIVER_PATH, interface, member, body, destination=DRIVER)

    def pings(self):
        """The service's Pings."""
        return self._pings

    def answer_pings(self):
        for message in self.pings()[self.answered:]:
            self.answered += 1
            reply = Gio.DBusMessage.new_method_reply(message.to_gio())
            reply.set_flags(Gio.DBusMessageFlags.NO_REPLY_EXPECTED)
            self.send(reply)

    def forget(self):
        """Drops all messages; Pings among them have been replied to, or will not be."""
        self.log.clear()
        self._pings.clear()
        self.answered = 0

    def ping_the_bus(self):
        """A barrier: everything that the bus has sent so far has arrived, and the bus has received
        everything that was sent to it. The service is not involved."""
        self._driver('GetId')

    def pass_the_bus(self, witness):
        """The bus has received everything that was sent to it, and nothing was read here: another
        client gets a signal that was sent after it."""
        signal = Gio.DBusMessage.new_signal('/', 'org.example.Test', 'Passed')
        signal.set_destination(witness.name)
        start = len(witness.log)
        self.send(signal)
        witness.wait_for(lambda: any(message.get_member() == 'Passed'
                                     and message.get_sender() == self.name
                                     for message in witness.log[start:]), what='Passed')

    def add_match(self, rule):
        self._driver('AddMatch', GLib.Variant('(s)', (rule,)))


class Judge:
    """Checks that each signal was sent to its right recipient. Gets all messages in order."""

    def __init__(self, address):
        self._address = address
        self._watches = set()

    def take(self, message, services, others_broadcast):
        """Returns None, or a description of the violation."""
        if message.get_message_type() == wire.SIGNAL:
            why = self._look_at_signal(message, services, others_broadcast)
            return f'{why}: {message}' if why is not None else None
        if message.get_member() == 'Watch':
            # The end of a watch is ignored: signals that were sent before may be in transit.
            self._watches.add((message.get_sender(), message.get_path()))
        return None

    def _look_at_signal(self, message, services, others_broadcast):
        """Returns None, or a description of the violation."""
        to = message.get_destination()
        if message.get_sender() == DRIVER:
            return None
        is_service = message.get_sender() in services
        if to is None:
            return 'a broadcast' if is_service or not others_broadcast else None
        if not is_service or message.get_interface() != LOCKS:
            return None
        member, path = message.get_member(), message.get_path()
        if member == 'Wanted':
            return None if path.startswith(f'{ROOT}/bucket/') else 'not the path of its holder'
        about = unpack(message)[3] if member in ('Waiting', 'Granted', 'Released') else None
        if to == about and member != 'Waiting':
            return None
        if not {(to, path), (to, ROOT)} & self._watches:
            return f'{to} does not watch'
        if about is not None and not self._may_observe(to, about, path):
            return f'{to} is another principal than {about}'
        return None

    def _may_observe(self, to, about, path):
        """Whether it may observe the bucket, and the signal has the path that this observer uses."""
        (uid, app), (about_uid, about_app) = self._principal(to), self._principal(about)
        of_group = re.fullmatch(f'{ROOT}/bucket/group_3a([0-9]+)', path)
        if of_group:
            groups = GROUPS.get((self._address, to), ())
            return not app and (uid == 0 or int(of_group[1]) in (uid, *groups))
        if (self._address, path) in SHARED:
            return not app and uid in (0, *SHARED[self._address, path])
        if (uid, app) == (about_uid, about_app):
            return path.startswith(f'{ROOT}/bucket/')
        if path == f'{ROOT}/bucket/documents':  # the user's, with what applications have opened
            return not app and uid == about_uid
        if app or uid not in (0, about_uid):
            return False
        user = '' if uid == about_uid else f'/user/{about_uid}'
        application = f'/(flatpak|snap)/{encode_label(about_app)}' if about_app else ''
        return re.match(f'{ROOT}{user}{application}/bucket/', path) is not None

    def _principal(self, name):
        """A uid, and the id of an application."""
        listed = PRINCIPALS.get((self._address, name), os.geteuid())
        if isinstance(listed, tuple):
            return listed
        return (listed, '') if isinstance(listed, int) else (os.geteuid(), listed)


class Monitor:
    """Receives every message on the bus, in the order in which the bus processed them."""

    MARK = 'org.example.Test.Mark'

    def __init__(self, address):
        self._address = address
        # With descriptors, or dbus-broker disconnects it at the first message that contains one.
        self._client = RawClient(address, descriptors=True)
        self._marker = RawClient(address)
        self._client.call(DRIVER_PATH, 'org.freedesktop.DBus.Monitoring', 'BecomeMonitor',
                          GLib.Variant('(asu)', ([], 0)), destination=DRIVER)
        # Both steps may read ahead into the client's buffer, so parsing begins there.
        self._data = bytearray(self._client._data)
        self._lock = threading.Lock()
        self._blobs = []
        self._arrived = threading.Condition(self._lock)
        self._marks = 0
        self._marked = 0
        self._judge = Judge(address)
        self._judged = 0
        self.broken = None
        self._thread = threading.Thread(target=self._read, daemon=True)
        self._thread.start()

    def _read(self):
        # Only reads and splits; messages are parsed when they are needed.
        sock = self._client.socket
        sock.settimeout(None)
        while True:
            try:
                chunk = sock.recv(1 << 18)
            except OSError as error:
                chunk = b''
                self.broken = error
            with self._arrived:
                if not chunk:
                    self.broken = self.broken or 'closed'
                    self._arrived.notify_all()
                    return
                self._data += chunk
                self._blobs.extend(split(self._data))
                self._arrived.notify_all()

    def position(self):
        """A barrier. Returns the number of messages up to now, all of which have been received."""
        self._marks += 1
        mark = str(self._marks)
        signal = Gio.DBusMessage.new_signal('/', self.MARK, 'Mark')
        signal.set_body(GLib.Variant('(s)', (mark,)))
        self._marker.send(signal)
        deadline = time.monotonic() + buses.PATIENCE
        at = self._marked
        with self._arrived:
            while True:
                while at < len(self._blobs):
                    # A cheap check first: a mark is a signal whose header contains its name.
                    if self._blobs[at][1] == 4 and self.MARK.encode() in self._blobs[at]:
                        if unpack(parse(self._blobs[at])) == (mark,):
                            self._marked = at
                            return at
                    at += 1
                if self.broken:
                    raise ConnectionError(f'the monitor ended: {self.broken}')
                if not self._arrived.wait(deadline - time.monotonic()):
                    raise TimeoutError('the monitor does not see its mark')

    def messages(self, start=0, stop=None):
        with self._lock:
            blobs = self._blobs[start:stop]
        return [parse(blob) for blob in blobs]

    def get_misdirected(self, services, others_broadcast=False):
        """Signals to recipients that must not get them: broadcasts, and those of the services of
        these unique names to a client that is neither the one that they are about nor one of the
        same principal that has watched that bucket. Each as text. Messages are checked only
        once."""
        with self._lock:
            blobs = self._blobs[self._judged:]
            self._judged += len(blobs)
        problems = []
        for blob in blobs:
            # A cheap check first: only these signals matter.
            if blob[1] == 4 or blob[1] == 1 and b'Watch' in blob:
                message = parse(blob)
                if message.get_interface() != self.MARK:
                    problems.append(self._judge.take(message, services, others_broadcast))
        return [problem for problem in problems if problem is not None]

    def forget(self):
        """Drops the messages that get_misdirected() has checked, which may need much memory."""
        with self._lock:
            del self._blobs[:self._judged]
            self._marked = max(0, self._marked - self._judged)
            self._judged = 0

    def close(self):
        self._client.socket.shutdown(socket.SHUT_RDWR)
        self._thread.join()
        self._client.close()
        self._marker.close()
