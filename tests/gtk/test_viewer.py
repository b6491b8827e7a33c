# SPDX-FileCopyrightText: 2026 The WebLocks for D-Bus authors
# SPDX-License-Identifier: LGPL-2.1-or-later

"""weblocks-viewer, seen by its accessibility tree and used by keyboard and by what a screen reader
does: each page, and that the list follows what happens to locks, service and bus."""

import os
import shlex

from accessibility import CONFIG, REGISTRY, AccessibilityBus
from desktop import DisplayTestCase
from harness import main
from viewer import Viewer

NO_LOCKS = 'No Locks'


class ViewerTestCase(DisplayTestCase):
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


class List(ViewerTestCase):
    def test_follows_locks(self):
        viewer = self.open()
        viewer.wait_text(NO_LOCKS)
        name = self.unique()
        holder, waiter = self.process_client(), self.client()
        holder.request(name, why='nightly copy')
        viewer.wait_rows(['python3', '1 lock or request'],
                         [name, 'nightly copy · default', 'Held'])
        waiter.request(name, mode='shared')
        viewer.wait_rows(['python3', '2 locks and requests'],
                         [name, 'nightly copy · default', 'Held'],
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
        viewer.press('End this Lock…')
        viewer.wait_text(f'End the Lock “{name}”?')
        viewer.press('Cancel')
        self.assertEqual(holder.signals('Released'), [])
        viewer.press('End this Lock…')
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
