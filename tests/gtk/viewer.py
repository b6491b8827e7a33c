# SPDX-FileCopyrightText: 2026 The WebLocks for D-Bus authors
# SPDX-License-Identifier: LGPL-2.1-or-later

"""A weblocks-viewer process, observed by its accessibility tree and used by keyboard; and its test
case."""

import os
import re

from accessibility import CONFIG, REGISTRY, STATE_FOCUSED, AccessibilityBus, Snapshot
from buses import PATIENCE, environment
from desktop import DisplayTestCase, Program, gtk_environment

AGE = re.compile(r'[0-9]+ (s|min)')
# The pages of the buses, in their order.
SESSION, SYSTEM = 0, 1


def viewer_environment(display, accessibility, bus):
    env = {**gtk_environment(display, bus), 'GTK_A11Y': 'atspi',
           'AT_SPI_BUS_ADDRESS': accessibility.address, 'GTK_USE_PORTAL': '0',
           'ADW_DISABLE_PORTAL': '1', 'DBUS_SYSTEM_BUS_ADDRESS': 'disabled:'}
    del env['GTK_THEME']  # libadwaita has its own
    return env


class Viewer(Program):
    """`translate` returns the translation of a text that it shows, which is in English without it."""

    def __init__(self, display, accessibility, bus, translate=str, **environ):
        program = environment('WEBLOCKS_VIEWER' + ('' if translate is str else '_TRANSLATED'))
        super().__init__([program], display, bus,
                         {**viewer_environment(display, accessibility, bus), **environ})
        self.accessibility = accessibility
        self.translate = translate
        self.application = None
        self.wait_for(self._find, 'accessible application')

    def _find(self):
        self.application = self.accessibility.find_application(self.pid)
        return self.application

    def wait_for(self, condition, what):
        try:
            # One look at everything that is shown takes hundreds of calls.
            return super().wait_for(condition, what, 3 * PATIENCE)
        except TimeoutError as error:
            raise TimeoutError(f'{error}; it shows {self.texts()}\n{self.log()}') from None

    def shown(self):
        return list(self.application.walk(Snapshot(self.application))) if self.application else []

    def texts(self):
        return [name for _role, name, _object in self.shown() if name]

    def find(self, role, name):
        return next((object for its_role, its_name, object in self.shown()
                     if its_role == role and name in its_name), None)

    def rows(self, bus=SESSION):
        """The texts of each row of the list, without the ages, which change."""
        snapshot = Snapshot(self.application)
        return [[text for _role, text, _object in item.walk(snapshot)
                 if text and not AGE.fullmatch(text)]
                for item in self.items(bus, snapshot)]

    def items(self, bus=SESSION, snapshot=None):
        """The accessible objects of the rows."""
        snapshot = snapshot or Snapshot(self.application)
        pages = [object for _role, name, object in self.application.walk(snapshot)
                 if name == 'ViewerBusPage']
        found = next((object for role, _name, object in pages[bus].walk(snapshot)
                      if role == 'list'), None) if len(pages) > bus else None
        return found.children() if found else []

    def wait_rows(self, *expected, bus=SESSION):
        expected = [list(row) for row in expected]
        self.wait_for(lambda: self.rows(bus) == expected, f'rows {expected}')

    def open_item(self, title):
        """Opens the page of the first lock of that name."""
        self._tab_until(lambda focused: focused.role() == 'list item')
        # Tab may have moved the focus to a row in the middle.
        rows = self.accessibility.focused.parent()
        self.key('Home')
        self.wait_for(lambda: rows.children()[0] == self.accessibility.focused, 'first row')
        if not self.accessibility.focused.name().startswith(title + ', '):
            self.walk_by_tab(title + ', ')
        self.key('Return')
        self.wait_text(self.translate('Held by'))

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

    def _tab_until(self, condition):
        seen = []
        while not seen or not condition(self.accessibility.focused):
            before = self.accessibility.focused
            self.key('Tab')
            self.wait_for(lambda: self.accessibility.focused != before, f'focus behind {seen}')
            seen.append(self.accessibility.focused.name())
            if len(seen) > 20:
                raise AssertionError(f'what Tab reaches is {seen}')
        return seen

    def walk_by_tab(self, until):
        """The names of the objects that Tab reaches, until one begins with `until`."""
        return self._tab_until(lambda focused: focused.name().startswith(until))

    def resize(self, width, height):
        self.display.xdotool('windowsize', '--sync', self.find_window(), width, height)

    def entry(self):
        return next(object for _role, name, object in self.shown() if name == 'GtkSearchEntry')

    def search(self):
        self.key('ctrl+f')
        self.wait_for(lambda: self.entry().has_state(STATE_FOCUSED) or any(
            child.has_state(STATE_FOCUSED) for child in self.entry().children()), 'focus')

    def type(self, text):
        self.display.xdotool('windowfocus', '--sync', self.find_window())
        self.display.xdotool('type', '--delay', 5, text)


class ViewerTestCase(DisplayTestCase):
    time_limit = 300.0

    @classmethod
    def missing(cls):
        return super().missing() + [file for file in (CONFIG, REGISTRY) if not os.path.exists(file)]

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.accessibility = AccessibilityBus(cls.display)
        cls.addClassCleanup(cls.accessibility.stop)

    def open(self, **environ):
        viewer = Viewer(self.display, self.accessibility, self.bus, **environ)
        self.addCleanup(viewer.close)
        return viewer
