# SPDX-FileCopyrightText: 2026 The WebLocks for D-Bus authors
# SPDX-License-Identifier: LGPL-2.1-or-later

"""A private display, the programs on it, and the test cases that have one; weblocks-notes, used by
keyboard."""

import os
import re
import shutil
import signal
import subprocess
import unittest

from buses import end, environment, readable, spawn, wait_exit, PATIENCE
from harness import BusTestCase, wait_for

TOOLS = ('Xvfb', 'xdotool')


def missing_tools():
    return [tool for tool in TOOLS if shutil.which(tool) is None]


class Display:
    """An X server without a screen, on the first display that is free. It needs no window manager:
    the test sets the keyboard focus."""

    def __init__(self, size='1280x800'):
        read_end, write_end = os.pipe()
        self.process = spawn(['Xvfb', '-displayfd', str(write_end), '-screen', '0', f'{size}x24',
                              '-nolisten', 'tcp', '-noreset', '-dpi', '96'],
                             stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
                             stderr=subprocess.DEVNULL, pass_fds=(write_end,))
        os.close(write_end)
        try:
            data = b''
            while not data.endswith(b'\n'):
                if not readable(read_end, PATIENCE):
                    raise TimeoutError('Xvfb has not reported its display')
                chunk = os.read(read_end, 64)
                if not chunk:
                    raise RuntimeError(f'Xvfb ended with {self.process.wait()}')
                data += chunk
        except BaseException:
            self.stop()
            raise
        finally:
            os.close(read_end)
        self.name = ':' + data.decode().strip()

    def xdotool(self, *arguments):
        """Its output, or None if it fails, as it does if it finds no window."""
        result = subprocess.run(['xdotool', *map(str, arguments)], stdout=subprocess.PIPE,
                                stderr=subprocess.PIPE, encoding='utf-8', check=False,
                                env={**os.environ, 'DISPLAY': self.name}, timeout=PATIENCE)
        return result.stdout.strip() if result.returncode == 0 else None

    def stop(self):
        """It must get SIGTERM, since it leaves a lock file and a socket in /tmp otherwise."""
        if self.process.poll() is None:
            self.process.terminate()
            wait_exit(self.process)
        end(self.process)


def gtk_environment(display, bus):
    """The environment of a GTK program on that display and bus."""
    return {**bus.environment(), 'DISPLAY': display.name, 'GDK_BACKEND': 'x11',
            'GSK_RENDERER': 'cairo', 'GSETTINGS_BACKEND': 'memory', 'GTK_A11Y': 'none',
            'GTK_IM_MODULE': 'gtk-im-context-simple', 'GTK_THEME': 'Default',
            'LANG': 'C.UTF-8', 'LC_ALL': 'C.UTF-8', 'G_DEBUG': 'fatal-criticals',
            # GTK and its libraries do not free everything.
            'ASAN_OPTIONS': os.environ.get('ASAN_OPTIONS', '') + ':detect_leaks=0'}


class DisplayTestCase(BusTestCase):
    others_broadcast = True  # GApplication broadcasts its actions

    @classmethod
    def missing(cls):
        """The tools that the tests need and that are not installed."""
        return missing_tools()

    @classmethod
    def setUpClass(cls):
        missing = cls.missing()
        if missing:
            raise unittest.SkipTest(f'not installed: {", ".join(missing)}')
        super().setUpClass()
        cls.display = Display()
        cls.addClassCleanup(cls.display.stop)


class Program:
    """A process with a window. Its output is written to a file."""

    def __init__(self, command, display, bus, env, stdin=subprocess.DEVNULL, stdout=None, pass_fds=()):
        self.display = display
        self.name = os.path.basename(command[0])
        self.log_path = os.path.join(bus.directory, f'{self.name}-{os.urandom(4).hex()}.log')
        self._log = open(self.log_path, 'wb')
        self.process = spawn(command, stdin=stdin, stdout=stdout or self._log, stderr=self._log,
                             env=env, pass_fds=pass_fds)

    @property
    def pid(self):
        return self.process.pid

    def log(self):
        with open(self.log_path, encoding='utf-8', errors='replace') as file:
            return file.read()

    def wait_for(self, condition, what, timeout=PATIENCE):
        def check():
            if self.process.poll() is not None:
                raise RuntimeError(f'{self.name} ({self.pid}) ended with '
                                   f'{self.process.returncode}, waiting for {what}:\n{self.log()}')
            return condition()
        return wait_for(check, timeout, f'{what} of {self.name} ({self.pid})', every=0.4)

    def find_window(self):
        found = self.display.xdotool('search', '--onlyvisible', '--pid', self.pid)
        return found.splitlines()[-1] if found else None

    def close(self):
        end(self.process)
        self._log.close()


class Notes(Program):
    """A weblocks-notes process, and its window."""

    TITLE = re.compile(r'(?P<unsaved>• )?(?P<file>.*?) – (?P<read_only>Read only: )?'
                       r'(?P<holder>.*?)(?: \(pid (?P<pid>[0-9]+)\) is editing)?,'
                       r' (?P<waiting>[0-9]+) waiting$')

    def __init__(self, display, bus, path, **environ):
        super().__init__([environment('WEBLOCKS_NOTES'), path], display, bus,
                         {**gtk_environment(display, bus), **environ})
        self.path = path
        self.window = self.wait_for(self.find_window, 'window')

    def title(self):
        return self.display.xdotool('getwindowname', self.window) or ''

    def state(self):
        """The parts of the title, as a dictionary."""
        match = self.TITLE.match(self.title())
        return match.groupdict() if match else {}

    def is_editing(self):
        state = self.state()
        return bool(state) and not state['read_only']

    def wait_state(self, **expected):
        """Waits until the title matches: file, read_only, unsaved, holder, pid, waiting."""
        def holds():
            state = self.state()
            return state and all(
                bool(state[key]) == value if isinstance(value, bool) else state[key] == str(value)
                for key, value in expected.items())
        try:
            self.wait_for(holds, f'title with {expected}')
        except TimeoutError as error:
            raise TimeoutError(f'{error}; it is {self.title()!r}') from None

    def wait_editing(self, **expected):
        self.wait_state(read_only=False, **expected)

    def wait_read_only(self, **expected):
        self.wait_state(read_only=True, **expected)

    def focus(self):
        self.display.xdotool('windowfocus', '--sync', self.window)

    def type(self, text):
        self.focus()
        self.display.xdotool('type', '--delay', 5, text)

    def press(self, keys):
        self.focus()
        self.display.xdotool('key', keys)

    def freeze(self):
        """SIGSTOP, and wait until it has stopped."""
        self.process.send_signal(signal.SIGSTOP)
        os.waitid(os.P_PID, self.pid, os.WSTOPPED | os.WNOWAIT)

    def thaw(self):
        self.process.send_signal(signal.SIGCONT)

    def kill(self):
        self.process.kill()
        self.process.wait()

    def terminate(self):
        """As at the end of a session; returns its exit code."""
        self.process.terminate()
        return wait_exit(self.process)
