# SPDX-FileCopyrightText: 2026 The WebLocks for D-Bus authors
# SPDX-License-Identifier: LGPL-2.1-or-later

"""weblocks-viewer, seen by its accessibility tree and used by keyboard and by what a screen reader
does: each page, and that the list follows what happens to locks, service and bus."""

import os
import re
import shlex
import subprocess
import unittest

from accessibility import CONFIG, REGISTRY, STATE_FOCUSED, AccessibilityBus
from buses import end, environment, spawn
from desktop import Display, missing_tools
from harness import BusTestCase, main, wait_for

NO_LOCKS = 'No Locks'
AGE = re.compile(r'[0-9]+ (s|min)')


class Viewer:
    """One weblocks-viewer process."""

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

    def key(self, keys):
        window = self.display.xdotool('search', '--onlyvisible', '--pid', self.process.pid)
        self.display.xdotool('windowfocus', '--sync', window.splitlines()[-1])
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


class ViewerTestCase(BusTestCase):
    time_limit = 120.0
    others_broadcast = True  # GApplication tells the whole bus of its actions

    @classmethod
    def setUpClass(cls):
        missing = missing_tools() + [file for file in (CONFIG, REGISTRY) if not os.path.exists(file)]
        if missing:
            raise unittest.SkipTest(f'not installed: {", ".join(missing)}')
        super().setUpClass()
        cls.display = Display()
        cls.addClassCleanup(cls.display.stop)
        cls.accessibility = AccessibilityBus(cls.display)
        cls.addClassCleanup(cls.accessibility.stop)

    def open(self, **environ):
        viewer = Viewer(self.display, self.accessibility, self.bus, **environ)
        self.addCleanup(viewer.close)
        return viewer


class List(ViewerTestCase):
    def test_follows_locks(self):
        viewer = self.open()
        viewer.wait_text(NO_LOCKS)
        name = self.unique()
        holder, waiter = self.process_client(), self.client()
        holder.request(name, why='nightly copy')
        viewer.wait_rows(['python3', '1 lock or request'],
                         [name, 'default: nightly copy', 'Held'])
        waiter.request(name, mode='shared')
        viewer.wait_rows(['python3', '2 locks and requests'],
                         [name, 'default: nightly copy', 'Held'],
                         ['1. python3', 'Waiting, shared'],
                         [name, 'default', 'Waiting, shared'])
        holder.kill()
        viewer.wait_rows(['python3', '1 lock or request'], [name, 'default', 'Held, shared'])
        waiter.close()
        viewer.wait_text(NO_LOCKS)

    def test_search_and_filter(self):
        holder, waiter = self.client(), self.client()
        one, other = self.unique('one'), self.unique('other')
        for name in (one, other):
            holder.request(name)
        waiter.request(one)
        viewer = self.open()
        held = [[one, 'default', 'Held'], ['1. python3', 'Waiting'], [other, 'default', 'Held']]
        viewer.wait_rows(['python3', '3 locks and requests'], *held[:2],
                         [one, 'default', 'Waiting'], held[2])
        viewer.press('Held')
        viewer.wait_rows(['python3', '2 locks and requests'], *held)
        viewer.press('Waiting')
        viewer.wait_rows(['python3', '1 lock or request'], [one, 'default', 'Waiting'])
        viewer.press('All')
        viewer.search()
        viewer.type('other')
        viewer.wait_rows(['python3', '1 lock or request'], held[2])
        viewer.type('x')
        viewer.wait_text('No Results')


class Lock(ViewerTestCase):
    def test_is_ended_after_a_question(self):
        name = self.unique()
        holder, waiter = self.client(), self.client()
        held_id, _held = holder.request(name)
        waiting_id, _held = waiter.request(name, why='is next')
        viewer = self.open()
        viewer.wait_for(viewer.rows, 'rows')
        # The row after that of the application.
        viewer.key('Tab Tab Tab Tab Tab Tab Down Down Return')
        viewer.wait_text('Held by', 'is next', 'Waits for: python3')
        viewer.press('End…')
        viewer.wait_text(f'End the Lock “{name}”?')
        viewer.press('Cancel')
        self.assertEqual(holder.signals('Released'), [])
        viewer.press('End…')
        viewer.press('End Lock')
        holder.wait_released(held_id, 'stolen')
        waiter.wait_granted(waiting_id)
        viewer.wait_text('Nobody waits for it.',
                         f'python3 (process {os.getpid()}) no longer has the lock')


    def test_command_is_copied(self):
        holder = self.client()
        name = self.unique("it's")
        holder.request(name)
        viewer = self.open()
        viewer.wait_for(viewer.rows, 'rows')
        viewer.key('Tab Tab Tab Tab Tab Tab Down Down Return')
        viewer.press('Copy as Command')
        viewer.search()
        viewer.key('ctrl+v')
        viewer.wait_text('No Results')
        command = shlex.split(viewer.entry().text())
        self.assertEqual(command, ['weblocks', 'break', '--bucket', 'default', '--client',
                                   holder.name, '--', name])


class Pages(ViewerTestCase):
    service = False
    # The bus ends in the middle.

    @classmethod
    def tearDownClass(cls):
        """There is no bus left to ask."""

    def test_without_a_service_or_bus(self):
        viewer = self.open()
        viewer.wait_text('No Lock Service')
        # It need not be asked: a service that starts is seen.
        service = self.start_service()
        viewer.wait_text(NO_LOCKS)
        client = self.client()
        name = self.unique()
        client.request(name)
        viewer.wait_rows(['python3', '1 lock or request'], [name, 'default', 'Held'])
        service.end()
        viewer.wait_text('The lock service has stopped. Locks will appear again when it is back.')
        service = self.start_service()
        # After a restart the service knows the process only by its number.
        viewer.wait_rows([f'Process {os.getpid()}', '1 lock or request'], [name, 'default', 'Held'])
        viewer.wait_no_text('The lock service has stopped. Locks will appear again when it is back.')
        client.close()
        self.bus.kill()
        viewer.wait_text('No Message Bus', 'Try Again')

    def wait_gone(self, *names):
        """There is no bus to ask."""


if __name__ == '__main__':
    main()
