# SPDX-FileCopyrightText: 2026 The WebLocks for D-Bus authors
# SPDX-License-Identifier: LGPL-2.1-or-later
"""A client process for the demonstration: executes commands from standard input, prints the replies.

    client.py ADDRESS

Input, a line each: `request NAME exclusive|shared|steal TIMEOUT_MS WHY`, `release ID`.
Output: `I am CLIENT_ID`, `reply ID TOKEN`, `released-by-me ID`, and for signals
`granted ID TOKEN NANOSECONDS` and `released ID REASON NANOSECONDS` (monotonic clock at receipt).
At EOF it disconnects, which ends its locks.
"""

import sys
import time

from gi.repository import Gio, GLib

BUCKET = "/org/w3/WebLocks/bucket/default"


def write(*words):
    print(*words, flush=True)


def on_signal(_connection, _sender, _path, _interface, member, arguments):
    now = time.monotonic_ns()
    if member == "Granted":
        lock, _, _, _, token = arguments.unpack()
        write("granted", lock, token, now)
    elif member == "Released":
        lock, _, _, _, reason = arguments.unpack()
        write("released", lock, reason, now)


def call(connection, method, arguments):
    return connection.call_sync("org.w3.WebLocks", BUCKET, "org.w3.WebLocks", method, arguments,
                                None, Gio.DBusCallFlags.NONE, -1, None)


def request(connection, name, mode, timeout, why):
    options = {"why": GLib.Variant("s", why)}
    if mode == "shared":
        options["mode"] = GLib.Variant("s", "shared")
    if mode == "steal":
        options["steal"] = GLib.Variant("b", True)
    if timeout != "0":
        options["timeout"] = GLib.Variant("u", int(timeout))
    write("reply", *call(connection, "Request", GLib.Variant("(sa{sv})", (name, options))).unpack())


def on_input(channel, _condition, connection, loop):
    line = channel.readline()
    if not line:
        loop.quit()
        return GLib.SOURCE_REMOVE
    verb, *words = line.split()
    if verb == "request":
        request(connection, *words)
    elif verb == "release":
        call(connection, "Release", GLib.Variant("(t)", (int(words[0]),)))
        write("released-by-me", *words)
    return GLib.SOURCE_CONTINUE


def main():
    connection = Gio.DBusConnection.new_for_address_sync(
        sys.argv[1],
        Gio.DBusConnectionFlags.AUTHENTICATION_CLIENT
        | Gio.DBusConnectionFlags.MESSAGE_BUS_CONNECTION,
        None, None)
    # Signals are unicast to this client: no match rule is needed.
    connection.signal_subscribe("org.w3.WebLocks", "org.w3.WebLocks", None, BUCKET, None,
                                Gio.DBusSignalFlags.NO_MATCH_RULE, on_signal)
    loop = GLib.MainLoop()
    GLib.io_add_watch(sys.stdin, GLib.PRIORITY_DEFAULT, GLib.IO_IN | GLib.IO_HUP,
                      on_input, connection, loop)
    write("I am", connection.get_unique_name())
    loop.run()


if __name__ == "__main__":
    main()
