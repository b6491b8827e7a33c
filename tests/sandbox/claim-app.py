# SPDX-FileCopyrightText: 2026 The WebLocks for D-Bus authors
# SPDX-License-Identifier: LGPL-2.1-or-later

"""An editor that claims a document with libweblocks: writes each state as a line, with whether it excludes
all. Reads commands, one a line. With `--pause` it stops when the document is opened, until the next line.

    claim-app.py FILE [--pause]"""

import os
import sys

import gi
gi.require_version('WebLocks', '1')
from gi.repository import Gio, GLib, WebLocks


def write(*words):
    print(*words, flush=True)


def on_state(claim, _pspec):
    write(claim.props.state.value_nick, claim.props.excludes_all)
    if claim.props.state in (WebLocks.ClaimState.FAILED, WebLocks.ClaimState.UNAVAILABLE):
        write('error', claim.props.error.message)


def on_name(claim, _pspec):
    write('opened', claim.props.name)
    sys.stdin.readline()


def on_taken(claim, result):
    try:
        claim.take_over_finish(result)
    except GLib.Error as error:
        write('refused', WebLocks.Error(error.code).value_nick)


def main():
    claim = WebLocks.Claim.new_for_file(None, Gio.File.new_for_path(sys.argv[1]))
    claim.set_reclaim('--reclaim' in sys.argv)
    claim.set_grace(0)
    claim.connect('notify::state', on_state)
    if '--pause' in sys.argv:
        claim.connect('notify::name', on_name)
    claim.start()
    loop = GLib.MainLoop()

    def on_command(stdin, _condition):
        command = stdin.readline().strip()
        if command == 'start':
            claim.start()
        elif command == 'stop':
            claim.stop()
        elif command == 'save':  # by rename
            new = sys.argv[1] + '.new'
            with open(new, 'x', encoding='ascii') as file:
                file.write('saved')
            os.rename(new, sys.argv[1])
            write('saved')
        elif command == 'take-over':
            claim.take_over_async(None, on_taken)
        else:
            loop.quit()
        return True
    GLib.io_add_watch(sys.stdin, GLib.PRIORITY_DEFAULT, GLib.IO_IN | GLib.IO_HUP, on_command)
    loop.run()


main()
