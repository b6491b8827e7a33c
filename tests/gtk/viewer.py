# SPDX-FileCopyrightText: 2026 The WebLocks for D-Bus authors
# SPDX-License-Identifier: LGPL-2.1-or-later

"""One weblocks-viewer process, seen by its accessibility tree and used by keyboard."""

import os
import re
import subprocess

from accessibility import STATE_FOCUSED
from buses import end, environment, spawn
from harness import wait_for

AGE = re.compile(r'[0-9]+ (s|min)')


class Viewer:
    def __init__(self, display, accessibility, bus, **environ):
        self.accessibility = accessibility
        self.display = display
        self.log_path = os.path.join(bus.directory, f'viewer-{os.urandom(4).hex()}.log')
        self._log = open(self.log_path, 'wb')
        self.process = spawn(
            [environment('WEBLOCKS_VIEWER')], stdin=subprocess.DEVNULL, stdout=self._log,
            stderr=self._log,
            env={**bus.environment(), 'DISPLAY': display.name, 'GDK_BACKEND': 'x11',
                 'GSK_RENDERER': 'cairo', 'GSETTINGS_BACKEND': 'memory',
                 'AT_SPI_BUS_ADDRESS': accessibility.address, 'GTK_IM_MODULE': 'gtk-im-context-simple',
                 'DBUS_SYSTEM_BUS_ADDRESS': 'disabled:', 'G_DEBUG': 'fatal-criticals',
                 'ADW_DISABLE_PORTAL': '1', 'GTK_USE_PORTAL': '0',
                 # GTK and what it uses keep things to the end.
                 'ASAN_OPTIONS': os.environ.get('ASAN_OPTIONS', '') + ':detect_leaks=0',
                 **environ})
        self.application = None
        self._list = None
        self.wait_for(self._find, 'accessible application')

    def _find(self):
        self.application = self.accessibility.find_application(self.process.pid)
        return self.application

    def log(self):
        with open(self.log_path, encoding='utf-8', errors='replace') as file:
            return file.read()

    def wait_for(self, condition, what):
        def check():
            if self.process.poll() is not None:
                raise RuntimeError(f'weblocks-viewer ended with {self.process.returncode}, waiting '
                                   f'for {what}:\n{self.log()}')
            return condition()
        try:
            return wait_for(check, what=what, every=0.1)
        except TimeoutError as error:
            raise TimeoutError(f'{error}; it shows {self.texts()}\n{self.log()}') from None

    def shown(self):
        return list(self.application.walk()) if self.application else []

    def texts(self):
        return [name for _role, name, _object in self.shown() if name]

    def find(self, role, name):
        return next((object for its_role, its_name, object in self.shown()
                     if its_role == role and name in its_name), None)

    def rows(self):
        """The texts of each row of the list, without the ages, which tick."""
        if self._list is None:
            self._list = self.find('list', 'Locks by application')
        if self._list is None:
            return []
        return [[text for _role, text, _object in item.walk()
                 if text and not AGE.fullmatch(text)]
                for item in self._list.children()]

    def wait_rows(self, *expected):
        expected = [list(row) for row in expected]
        self.wait_for(lambda: self.rows() == expected, f'rows {expected}')

    def wait_text(self, *texts):
        def all_there():
            shown = '\n'.join(self.texts())
            return all(text in shown for text in texts)
        self.wait_for(all_there, f'texts {texts}')

    def wait_no_text(self, text):
        self.wait_for(lambda: text not in self.texts(), f'end of the text {text!r}')

    def press(self, name, role='button'):
        """Presses the first one of that name, in any window."""
        self.wait_for(lambda: self.find(role, name), f'{role} {name!r}').press()

    def window(self):
        found = self.display.xdotool('search', '--onlyvisible', '--pid', self.process.pid)
        return found.splitlines()[-1]

    def key(self, keys):
        self.display.xdotool('windowfocus', '--sync', self.window())
        self.display.xdotool('key', *keys.split())

    def entry(self):
        return next(object for _role, name, object in self.shown() if name == 'GtkSearchEntry')

    def search(self):
        self.key('ctrl+f')
        self.wait_for(lambda: self.entry().has_state(STATE_FOCUSED) or any(
            child.has_state(STATE_FOCUSED) for child in self.entry().children()), 'focus')

    def type(self, text):
        self.display.xdotool('type', '--delay', 5, text)

    def close(self):
        end(self.process)
        self._log.close()
