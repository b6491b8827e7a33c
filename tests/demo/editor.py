# SPDX-FileCopyrightText: 2026 The WebLocks for D-Bus authors
# SPDX-License-Identifier: LGPL-2.1-or-later
"""A process with a claim for the demonstration: prints its state whenever that changes.

    editor.py ADDRESS NAME

Output: `held TOKEN SECONDS` (monotonic clock), and `waiting PID` with the pid of the holder.
At EOF of its input it ends.
"""

import sys
import time

import gi
gi.require_version("WebLocks", "1")
from gi.repository import GLib, WebLocks


def on_held(claim, _pspec):
    if claim.props.held:
        print("held", claim.props.token, time.monotonic(), flush=True)


def on_holder(claim, _pspec):
    if claim.props.holder is not None:
        print("waiting", claim.props.holder.get_pid(), flush=True)


def main():
    manager = WebLocks.Manager(agent=WebLocks.Agent(address=sys.argv[1]),
                               bucket=WebLocks.DOCUMENTS_BUCKET)
    claim = WebLocks.Claim(manager=manager, name=sys.argv[2])
    claim.connect("notify::held", on_held)
    claim.connect("notify::holder", on_holder)
    claim.start()
    loop = GLib.MainLoop()
    GLib.io_add_watch(sys.stdin, GLib.PRIORITY_DEFAULT, GLib.IO_IN | GLib.IO_HUP,
                      lambda *_: loop.quit())
    loop.run()


main()
