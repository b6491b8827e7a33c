# SPDX-FileCopyrightText: 2026 The WebLocks for D-Bus authors
# SPDX-License-Identifier: LGPL-2.1-or-later

"""What is not installed: the commands of CONTRIBUTING.md with `meson devenv`, as printed, and the bus of
docs/guides/testing.md, in an environment that has nothing."""

import os
import re
import shutil
import subprocess
import sys
import tempfile
import unittest

from buses import PATIENCE, environment, read_text, write_text
from installation import why_no_bindings

SOURCE = environment('WEBLOCKS_SOURCE_DIR')
BUILD = environment('WEBLOCKS_BUILD_DIR')
# Kills the service while a lock is held, and prints whether the next instance has it: the exit status of `list`.
KILL = """
import os, subprocess
from gi.repository import Gio, GLib, WebLocks
lock = WebLocks.Manager().request_sync('x')
bus = Gio.bus_get_sync(Gio.BusType.SESSION)
pid, = bus.call_sync('org.freedesktop.DBus', '/', 'org.freedesktop.DBus', 'GetConnectionUnixProcessID',
                     GLib.Variant('(s)', ('org.w3.WebLocks',)), None, 0, -1)
os.kill(pid, 9)
print(subprocess.call(['weblocks', 'list', 'x'], stdout=subprocess.DEVNULL))
"""


def printed(path, pattern):
    """The lines of the page that are commands and match."""
    return re.findall(rf'^    ({pattern}.*)$', read_text(os.path.join(SOURCE, path)), re.MULTILINE)


@unittest.skipIf(why_no_bindings(BUILD), why_no_bindings(BUILD))
@unittest.skipUnless(shutil.which('dbus-run-session'), 'no dbus-run-session')
class NotInstalled(unittest.TestCase):
    def run_line(self, line, **env):
        """With nothing in the environment but a path."""
        done = subprocess.run(['env', '-i', 'PATH=/usr/bin:/bin', 'sh', '-c', line], cwd=SOURCE, text=True, env=env,
                              stdin=subprocess.DEVNULL, capture_output=True, timeout=PATIENCE, check=False)
        self.assertEqual(done.returncode, 0, f'{line}\n{done.stderr}')
        return done.stdout

    def with_build(self, line):
        return line.replace('meson devenv -C build', f"{environment('WEBLOCKS_MESON')} devenv -C {BUILD}")

    def test_devenv_as_printed(self):
        command, python, gjs = printed('CONTRIBUTING.md', 'meson devenv')
        self.run_line(self.with_build(command))
        self.assertRegex(self.run_line(self.with_build(python)), '^[1-9][0-9]*\n$')
        if shutil.which('gjs'):
            self.assertRegex(self.run_line(self.with_build(gjs)), '^[1-9][0-9]*\n$')

    def test_a_killed_service_under_dbus_run_session(self):
        """Without the directory for the state the lock is lost, as the page says; with it, it is not."""
        without, within = printed('docs/guides/testing.md', '.*dbus-run-session')
        with tempfile.TemporaryDirectory(prefix='weblocks-devenv-') as directory:
            script = os.path.join(directory, 'kill.py')
            write_text(script, KILL)
            for line, status in ((without, 1), (within, 0)):
                with self.subTest(line):
                    line = line.replace('./run-my-tests', f'{sys.executable} {script}')
                    line = line.replace('mktemp -d', f'mktemp -d -p {directory}')
                    line = line.replace('dbus-run-session', 'meson devenv -C build dbus-run-session')
                    self.assertEqual(self.run_line(self.with_build(line)), f'{status}\n')
