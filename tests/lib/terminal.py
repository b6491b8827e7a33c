# SPDX-FileCopyrightText: 2026 The WebLocks for D-Bus authors
# SPDX-License-Identifier: LGPL-2.1-or-later

"""Programs on a pseudo-terminal."""

import codecs
import os
import pty
import termios
import time

from buses import PATIENCE, die_with_parent, pump_until, readable


class Terminal:
    """A terminal with a program, which is the leader of its session and ends with the test."""

    def __init__(self, argv, env, rows=30, columns=100):
        self.pid, self.fd = pty.fork()
        if self.pid == 0:
            try:
                die_with_parent()
                termios.tcsetwinsize(0, (rows, columns))
                os.execvpe(argv[0], argv, env)
            finally:
                os._exit(99)
        os.set_blocking(self.fd, False)
        self.text = ''
        self._decoder = codecs.getincrementaldecoder('utf-8')('replace')

    def read(self):
        """The output so far."""
        try:
            while readable(self.fd, 0):
                chunk = os.read(self.fd, 1 << 16)
                if not chunk:
                    break
                self.text += self._decoder.decode(chunk)
        except OSError:
            pass  # EIO: no process has it open any more
        return self.text

    def lines(self):
        """The visible lines, with carriage returns applied, without trailing spaces."""
        lines = []
        for line in self.read().split('\n'):
            seen = ''
            for part in line.split('\r'):
                seen = part + seen[len(part):]
            lines.append(seen.rstrip())
        return lines

    def press(self, keys):
        os.write(self.fd, keys)

    def _wait(self, condition, what):
        return pump_until(condition, lambda _: time.sleep(0.01), PATIENCE,
                          lambda: f'no {what} on the terminal, but {self.text!r}')

    def wait_for(self, text):
        self._wait(lambda: text in self.read(), repr(text))

    def wait(self):
        """The exit status as in a shell."""
        def ended():
            self.read()
            pid, status = os.waitpid(self.pid, os.WNOHANG)
            return (os.waitstatus_to_exitcode(status),) if pid else None
        status, = self._wait(ended, 'end of the program')
        self.pid = None
        self.read()
        return status if status >= 0 else 128 - status

    def end(self):
        if self.pid is not None:
            os.kill(self.pid, 9)
            os.waitpid(self.pid, 0)
        os.close(self.fd)
