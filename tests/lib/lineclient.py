# SPDX-FileCopyrightText: 2026 The WebLocks for D-Bus authors
# SPDX-License-Identifier: LGPL-2.1-or-later

"""A client in a separate process, which a test can stop or kill like any program.

Reads commands, one JSON object a line, and writes replies and signals the same way.
"""

import json
import os
import select
import signal
import sys

from calls import DBusError
from rawbus import RawClient, lock_call


def write(**what):
    sys.stdout.write(json.dumps(what) + '\n')
    sys.stdout.flush()


def call_of(kind, bucket, subject, options=None):
    """A message: kind is `request`, with a name and options, or `release`, with an id."""
    return lock_call(kind.capitalize(), subject, bucket, **(options or {}))


class LineClient:
    def __init__(self, address):
        self.client = RawClient(address)
        self.n_written = 0
        write(name=self.client.name)

    def write_signals(self):
        for event in self.client.events[self.n_written:]:
            write(signal=event.signal, path=event.path, args=event.args, sender=event.sender,
                at=event.at)
        self.n_written = len(self.client.events)
        for wanted in self.client.wanted:
            write(wanted=wanted)
        self.client.wanted.clear()

    def do_call(self, member, *arguments, **options):
        """Calls any method of LockCalls, by its name there."""
        return getattr(self.client, member)(*arguments, **options)

    def do_many(self, steps):
        """Sends all, then collects all replies."""
        serials = self.client.send_all([call_of(*step) for step in steps])
        return [self.client.result(serial) for serial in serials]

    def do_send_and_die(self, steps):
        """Sends all and is killed immediately, without having read anything."""
        self.client.send_all([call_of(*step) for step in steps])
        os.kill(os.getpid(), signal.SIGKILL)

    def run(self):
        data = b''
        while True:
            self.write_signals()
            ready = select.select([0, self.client.socket], [], [])[0]
            if self.client.socket in ready:
                self.client.pump()
            if 0 not in ready:
                continue
            chunk = os.read(0, 1 << 16)
            if not chunk:
                return
            *lines, data = (data + chunk).split(b'\n')
            for line in lines:
                self.obey(json.loads(line))

    def obey(self, command):
        arguments = command.pop('arguments', ())
        method = getattr(self, 'do_' + command.pop('do'))
        try:
            write(result=method(*arguments, **command))
        except DBusError as error:
            write(error=[error.name, error.message])


if __name__ == '__main__':
    LineClient(sys.argv[1]).run()
