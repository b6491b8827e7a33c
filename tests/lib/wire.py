# SPDX-FileCopyrightText: 2026 The WebLocks for D-Bus authors
# SPDX-License-Identifier: LGPL-2.1-or-later

"""The bytes of D-Bus messages: what tests send most is encoded here, and what they receive is decoded.

GLib does both, but its introspection takes several times as long for each value, and the tests exchange
millions of them. Messages that a test composes in an unusual way are GLib's, see rawbus.py.
"""

import collections
import functools
import struct

from gi.repository import Gio, GLib

METHOD_CALL, METHOD_RETURN, ERROR, SIGNAL = 1, 2, 3, 4
NO_REPLY_EXPECTED = 1
LITTLE_ENDIAN = ord('l')
# The fields of a header.
PATH, INTERFACE, MEMBER, ERROR_NAME, REPLY_SERIAL, DESTINATION, SENDER, SIGNATURE = range(1, 9)

_PREFIX = struct.Struct('<BBBBII')
_u32 = struct.Struct('<I').unpack_from
_pack_u32 = struct.Struct('<I').pack
_FIXED = {'y': 'B', 'n': 'h', 'q': 'H', 'i': 'i', 'u': 'I', 'h': 'I', 'x': 'q', 't': 'Q', 'd': 'd'}
_ALIGNMENTS = {'y': 1, 'g': 1, 'v': 1, 'n': 2, 'q': 2, 'x': 8, 't': 8, 'd': 8, '(': 8, '{': 8}


class Body(collections.namedtuple('Body', 'signature values')):
    """As GLib.Variant(signature, values), whose signature is that of a tuple. A variant in it is a pair
    of a signature and a value, in a dictionary."""

    def variant(self):
        return GLib.Variant(self.signature, tuple(
            {key: GLib.Variant(*pair) for key, pair in value.items()}
            if isinstance(value, dict) else value for value in self.values))


def _split_first(signature):
    """The first complete type, and the rest."""
    at = 0
    while signature[at] == 'a':
        at += 1
    depth = 0
    while True:
        depth += (signature[at] in '({') - (signature[at] in ')}')
        at += 1
        if depth == 0:
            return signature[:at], signature[at:]


def _split_all(signature):
    while signature:
        first, signature = _split_first(signature)
        yield first


# Readers: from the bytes of the message and a position, the value and the position behind it.

def _read_bool(data, at):
    at = (at + 3) & -4
    return data[at] != 0, at + 4


def _read_string(data, at):
    start = ((at + 3) & -4) + 4
    end = start + _u32(data, start - 4)[0]
    return data[start:end].decode(), end + 1


def _read_signature(data, at):
    end = at + 1 + data[at]
    return data[at + 1:end].decode(), end + 1


def _read_variant(data, at):
    signature, at = _read_signature(data, at)
    return _reader(signature)(data, at)


def _fixed_reader(code):
    unpack = struct.Struct('<' + code).unpack_from
    size = struct.calcsize('<' + code)

    def read(data, at):
        at = (at + size - 1) & -size
        return unpack(data, at)[0], at + size
    return read


def _struct_reader(signature):
    readers = [_reader(part) for part in _split_all(signature)]

    def read(data, at):
        at = (at + 7) & -8
        values = []
        for read_one in readers:
            value, at = read_one(data, at)
            values.append(value)
        return tuple(values), at
    return read


def _array_reader(element):
    read_one = _struct_reader(element[1:-1]) if element[0] == '{' else _reader(element)
    mask = _ALIGNMENTS.get(element[0], 4)

    def read(data, at):
        start = ((at + 3) & -4) + 4
        at = (start + mask - 1) & -mask
        end = at + _u32(data, start - 4)[0]
        values = []
        while at < end:
            value, at = read_one(data, at)
            values.append(value)
        return (dict(values) if element[0] == '{' else values), at
    return read


@functools.cache
def _reader(signature):
    """Of one complete type."""
    kind = signature[0]
    if kind in _FIXED:
        return _fixed_reader(_FIXED[kind])
    if kind == 'a':
        return _array_reader(signature[1:])
    if kind == '(':
        return _struct_reader(signature[1:-1])
    return {'b': _read_bool, 's': _read_string, 'o': _read_string, 'g': _read_signature,
            'v': _read_variant}[kind]


_body_reader = functools.cache(_struct_reader)


# Writers append a value to the bytes of a body, or of the fields of a header.

def _pad(out, alignment):
    out += bytes(-len(out) % alignment)


def _write_string(out, value):
    data = value.encode()
    _pad(out, 4)
    out += _pack_u32(len(data))
    out += data
    out.append(0)


def _write_signature(out, value):
    out.append(len(value))
    out += value.encode()
    out.append(0)


def _write_variant(out, pair):
    signature, value = pair
    _write_signature(out, signature)
    _writer(signature)(out, value)


def _fixed_writer(code):
    pack = struct.Struct('<' + code).pack
    size = struct.calcsize('<' + code)

    def write(out, value):
        _pad(out, size)
        out += pack(value)
    return write


def _struct_writer(signature):
    writers = [_writer(part) for part in _split_all(signature)]

    def write(out, values):
        _pad(out, 8)
        for write_one, value in zip(writers, values, strict=True):
            write_one(out, value)
    return write


def _array_writer(element):
    write_one = _struct_writer(element[1:-1]) if element[0] == '{' else _writer(element)
    alignment = _ALIGNMENTS.get(element[0], 4)

    def write(out, values):
        _pad(out, 4)
        size = len(out)
        out += bytes(4)
        _pad(out, alignment)
        start = len(out)
        for value in values.items() if element[0] == '{' else values:
            write_one(out, value)
        out[size:size + 4] = _pack_u32(len(out) - start)
    return write


@functools.cache
def _writer(signature):
    """Of one complete type."""
    kind = signature[0]
    if kind == 'b':
        return _fixed_writer('I')
    if kind in _FIXED:
        return _fixed_writer(_FIXED[kind])
    if kind == 'a':
        return _array_writer(signature[1:])
    if kind == '(':
        return _struct_writer(signature[1:-1])
    return {'s': _write_string, 'o': _write_string, 'g': _write_signature, 'v': _write_variant}[kind]


@functools.lru_cache(4096)
def _encode_fields(destination, path, interface, member, signature):
    """The part of a header that begins with the length of the fields."""
    out = bytearray()
    for code, kind, value in ((PATH, 'o', path), (DESTINATION, 's', destination),
                              (INTERFACE, 's', interface), (MEMBER, 's', member),
                              (SIGNATURE, 'g', signature)):
        if value:
            _pad(out, 8)
            out.append(code)
            _write_variant(out, (kind, value))
    size = _pack_u32(len(out))
    _pad(out, 8)
    return size + bytes(out)


class Call:
    """A method call that can be sent any number of times; its body is a Body, or None."""

    __slots__ = ('_header', '_flags', '_body', '_rest', '_n_body')

    def __init__(self, destination, path, interface, member, body=None, reply=True):
        self._header = destination, path, interface, member
        self._flags = 0 if reply else NO_REPLY_EXPECTED
        self._body = body
        self._rest = None

    def encode(self, serial):
        if self._rest is None:
            data, signature = bytearray(), ''
            if self._body is not None:
                signature = self._body.signature
                _writer(signature)(data, self._body.values)
            self._n_body = len(data)
            self._rest = _encode_fields(*self._header, signature[1:-1]) + data
        return _PREFIX.pack(LITTLE_ENDIAN, METHOD_CALL, self._flags, 1, self._n_body,
                            serial) + self._rest

    def to_gio(self):
        message = Gio.DBusMessage.new_method_call(*self._header)
        if self._body is not None:
            message.set_body(self._body.variant())
        message.set_flags(Gio.DBusMessageFlags(self._flags))
        return message


class Message:
    """A received message. Its functions have the names of those of Gio.DBusMessage."""

    __slots__ = ('blob', '_fields')

    def __init__(self, blob):
        self.blob = blob
        self._fields = fields = {}
        at, end = 16, 16 + _u32(blob, 12)[0]
        while at < end:
            at = (at + 7) & -8
            code = blob[at]
            fields[code], at = _read_variant(blob, at + 1)

    def get_message_type(self):
        return self.blob[1]

    def get_path(self):
        return self._fields.get(PATH)

    def get_interface(self):
        return self._fields.get(INTERFACE)

    def get_member(self):
        return self._fields.get(MEMBER)

    def get_error_name(self):
        return self._fields.get(ERROR_NAME)

    def get_reply_serial(self):
        return self._fields.get(REPLY_SERIAL, 0)

    def get_destination(self):
        return self._fields.get(DESTINATION)

    def get_sender(self):
        return self._fields.get(SENDER)

    def unpack(self):
        """The values of the body."""
        signature = self._fields.get(SIGNATURE)
        if not signature:
            return ()
        return _body_reader(signature)(self.blob, 16 + _u32(self.blob, 12)[0])[0]

    def get_arg0(self):
        return self.unpack()[0]

    def to_gio(self):
        return Gio.DBusMessage.new_from_blob(self.blob, Gio.DBusCapabilityFlags.UNIX_FD_PASSING)

    def __str__(self):
        return self.to_gio().print_(0)


def split(data):
    """Removes complete messages from a bytearray; yields their bytes."""
    while len(data) >= 16:
        if data[0] == LITTLE_ENDIAN:
            size = ((_u32(data, 12)[0] + 23) & -8) + _u32(data, 4)[0]
        else:
            size = Gio.DBusMessage.bytes_needed(bytes(data[:16]))
        if len(data) < size:
            return
        blob = bytes(data[:size])
        del data[:size]
        yield blob
