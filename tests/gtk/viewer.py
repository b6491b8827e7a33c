# SPDX-FileCopyrightText: 2026 The WebLocks for D-Bus authors
# SPDX-License-Identifier: LGPL-2.1-or-later

"""One weblocks-viewer process, seen by its accessibility tree and used by keyboard."""

import re

from accessibility import STATE_FOCUSED
from buses import environment
from desktop import Program, gtk_environment

AGE = re.compile(r'[0-9]+ (s|min)')


class Viewer(Program):
    def __init__(self, display, accessibility, bus, **environ):
        env = {**gtk_environment(display, bus), 'GTK_A11Y': 'atspi',
               'AT_SPI_BUS_ADDRESS': accessibility.address, 'GTK_USE_PORTAL': '0',
               'ADW_DISABLE_PORTAL': '1', 'DBUS_SYSTEM_BUS_ADDRESS': 'disabled:', **environ}
        del env['GTK_THEME']  # libadwaita has its own
        super().__init__([environment('WEBLOCKS_VIEWER')], display, bus, env)
        self.accessibility = accessibility
        self.application = None
        self._list = None
        self.wait_for(self._find, 'accessible application')

    def _find(self):
        self.application = self.accessibility.find_application(self.pid)
        return self.application

    def wait_for(self, condition, what):
        try:
            return super().wait_for(condition, what)
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

    def key(self, keys):
        self.display.xdotool('windowfocus', '--sync', self.find_window())
        self.display.xdotool('key', *keys.split())

    def entry(self):
        return next(object for _role, name, object in self.shown() if name == 'GtkSearchEntry')

    def search(self):
        self.key('ctrl+f')
        self.wait_for(lambda: self.entry().has_state(STATE_FOCUSED) or any(
            child.has_state(STATE_FOCUSED) for child in self.entry().children()), 'focus')

    def type(self, text):
        self.display.xdotool('type', '--delay', 5, text)
