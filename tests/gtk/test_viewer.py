# SPDX-FileCopyrightText: 2026 The WebLocks for D-Bus authors
# SPDX-License-Identifier: LGPL-2.1-or-later

"""weblocks-viewer, observed by its accessibility tree: each page, and that the list is updated with
locks, service and bus."""

import hashlib
import os
import pathlib
import shlex
import signal
import subprocess

from buses import NOBODY, Bus, can_be_others, end, environment
from harness import Client, RawClient, Service
from rawbus import PRINCIPALS
from sandboxcase import APP, Sandboxes
from tap import WHO
from viewer import SYSTEM, ViewerTestCase

NO_LOCKS = 'No Locks'
OTHER = 'lineclient.py'  # the script of another client


class List(ViewerTestCase):
    def test_follows_locks(self):
        viewer = self.open()
        viewer.wait_text(NO_LOCKS)
        name = self.unique()
        holder, waiter = self.process_client(), self.client()
        holder.request(name, why='nightly copy')
        held = [OTHER, '1 lock or request'], [name, 'nightly copy · default', 'Held']
        viewer.wait_rows(*held)
        waiter.request(name, mode='shared')
        viewer.wait_rows(*held, [f'1. {WHO}', 'Waiting, shared'],
                         [WHO, '1 lock or request'], [name, 'default', 'Waiting, shared'])
        holder.kill()
        viewer.wait_rows([WHO, '1 lock or request'], [name, 'default', 'Held, shared'])
        waiter.close()
        viewer.wait_text(NO_LOCKS)

    def test_counting_locks(self):
        viewer = self.open()
        name = self.unique()
        holders = [self.process_client() for _ in range(2)]
        for holder in holders:
            holder.request(name, slots=2)
        self.client().request(name, slots=2)
        held = [name, 'default', 'Held, 2 slots'], [f'1. {WHO}', 'Waiting, 2 slots']
        viewer.wait_rows([OTHER, '2 locks and requests'], *held, *held,
                         [WHO, '1 lock or request'], [name, 'default', 'Waiting, 2 slots'])

    def test_name_of_several_lines(self):
        holder = self.client()
        names = [self.unique('one'), self.unique('several') + '\n' * 20]
        for name in names:
            holder.request(name, why=name)
        viewer = self.open()
        viewer.wait_rows([WHO, '2 locks and requests'],
                         *[[name, f'{name} · default', 'Held'] for name in names])
        _application, one, several = [item.extents()[3] for item in viewer.items()]
        self.assertEqual(one, several)

    def test_search_and_filter(self):
        holder, waiter = self.client(), self.client()
        one, other = self.unique('one'), self.unique('other')
        for name in (one, other):
            holder.request(name)
        waiter.request(one)
        viewer = self.open()
        held = [[one, 'default', 'Held'], [f'1. {WHO}', 'Waiting'], [other, 'default', 'Held']]
        viewer.wait_rows([WHO, '3 locks and requests'], *held[:2],
                         [one, 'default', 'Waiting'], held[2])
        viewer.press('Held')
        viewer.wait_rows([WHO, '2 locks and requests'], *held)
        viewer.press('Waiting')
        viewer.wait_rows([WHO, '1 lock or request'], [one, 'default', 'Waiting'])
        viewer.press('All')
        viewer.search()
        viewer.type('other')
        viewer.wait_rows([WHO, '1 lock or request'], held[2])
        viewer.type('x')
        viewer.wait_text('No Results')


class Lock(ViewerTestCase):
    def test_is_ended_after_a_question(self):
        name = self.unique()
        holder, waiter = self.client(), self.client()
        held_id, _held = holder.request(name)
        waiting_id, _held = waiter.request(name, why='is next')
        viewer = self.open()
        viewer.open_item(name)
        viewer.wait_text('Held by', 'is next', f'Waits for: {WHO}')
        viewer.press('End this Lock…')
        viewer.wait_text(f'End the Lock “{name}”?')
        viewer.press('Cancel')
        viewer.wait_no_text(f'End the Lock “{name}”?')
        self.assertEqual(holder.signals('Released'), [])
        viewer.press('End this Lock…')
        viewer.press('End Lock')
        holder.wait_released(held_id, 'stolen')
        waiter.wait_granted(waiting_id)
        viewer.wait_text('Nobody waits for it.',
                         f'{WHO} (process {os.getpid()}) no longer has the lock')

    def test_of_a_document(self):
        """It is shown, and found, by the file's name."""
        name = 'file:///srv/house/plans%20of%20the%20roof.odt'
        client = self.client()
        client.request(name, bucket='documents', why='editing')
        client.request('sha256:00', bucket='documents')
        viewer = self.open()
        roof = ['plans of the roof.odt', 'editing · /srv/house', 'Held']
        viewer.wait_rows([WHO, '2 locks and requests'], roof,
                         ['sha256:00', 'documents', 'Held'])
        viewer.search()
        viewer.type('the roof')
        viewer.wait_rows([WHO, '1 lock or request'], roof)
        viewer.open_item('plans of the roof.odt')
        viewer.wait_text('/srv/house')

    def test_of_a_private_session(self):
        """It is shown by the beginning of its public name, and can be ended."""
        bucket = 'private-0123456789abcdef0123456789abcdef'
        holder = self.client()
        held_id, _ = holder.request('x', bucket=bucket)
        viewer = self.open()
        place = f'private session {hashlib.sha256(bucket.encode()).hexdigest()[:8]}'
        viewer.wait_rows([WHO, '1 lock or request'], ['x', place, 'Held'])
        viewer.open_item('x')
        viewer.wait_text(place)
        viewer.press('End this Lock…')
        viewer.press('End Lock')
        holder.wait_released(held_id, 'stolen')


class Names(ViewerTestCase):
    """What people know: a command, and the purposes of several windows of one process."""

    def test_command(self):
        name, other, client = self.unique(), self.unique('other'), self.client()
        client.request(name, why='nightly', **{'for': 'rsync (pid 12)'})
        client.request(other, **{'for': 'tar (pid 13)'})
        viewer = self.open()
        viewer.wait_rows(['rsync', '1 lock or request'], [name, 'nightly · default', 'Held'],
                         ['tar', '1 lock or request'], [other, 'default', 'Held'])
        viewer.open_item(name)
        viewer.wait_text('rsync', 'nightly\nProcess 12 · Token')

    def test_windows_of_one_process(self):
        name, client = self.unique(), self.client()
        client.request(name, why='left window')
        client.request(name, why='right window')
        viewer = self.open()
        viewer.open_item(name)
        viewer.wait_text('Waits for: left window')


class Evidence(ViewerTestCase):
    def test_a_holder_is_stopped(self):
        """While its page is open beside the list."""
        name = self.unique()
        holder, waiter = self.process_client(), self.client()
        holder.request(name)
        waiter.request(name)
        viewer = self.open()
        others = [[f'1. {WHO}', 'Waiting'], [WHO, '1 lock or request'], [name, 'default', 'Waiting']]
        viewer.wait_rows([OTHER, '1 lock or request'], [name, 'default', 'Held'], *others)
        viewer.open_item(name)
        os.kill(holder.pid, signal.SIGSTOP)
        self.addCleanup(os.kill, holder.pid, signal.SIGCONT)
        stopped = 'The process is stopped.'
        viewer.wait_rows([OTHER, '1 lock or request'], [name, 'default', stopped, 'Held'], *others)
        viewer.wait_text(f'{stopped}\npython3 (process {holder.pid})', f'{name}, Held, default, {stopped}')
        os.kill(holder.pid, signal.SIGCONT)
        viewer.wait_rows([OTHER, '1 lock or request'], [name, 'default', 'Held'], *others)


class BusesCase(ViewerTestCase):
    """Both buses."""

    def setUp(self):
        super().setUp()
        self.system = Bus().start()
        self.addCleanup(self.system.stop)
        service = Service(self.system)
        self.addCleanup(service.end)
        control = RawClient(self.system.address)
        self.addCleanup(control.close)
        service.wait_ready(control)

    def open(self, **environ):
        return super().open(DBUS_SYSTEM_BUS_ADDRESS=self.system.address, **environ)

    def on_system_bus(self, kind=Client, **kw):
        client = kind(self.system.address, **kw)
        self.addCleanup(client.close)
        return client

    def run_copied_command(self, viewer):
        """Copies it on the page of a lock, pastes it into the search, and runs it."""
        def copy():
            viewer.press('Copy as Command')
            return any('Command copied' in viewer.texts() for _ in range(10))
        # GTK activates a button some time after the call, and not if it is hidden by then. On a busy
        # machine the notice may have gone again before it is seen; there is one for each copy.
        viewer.wait_for(copy, 'notice')
        viewer.search()

        def paste():
            # Until it has been copied: GTK shows the button as pressed before it calls its handler.
            viewer.key('ctrl+a ctrl+v')
            return viewer.entry().text()
        command = viewer.wait_for(paste, 'copied command')
        viewer.wait_text('No Results')
        program, *arguments = shlex.split(command)
        self.assertEqual(program, 'weblocks')
        subprocess.run([environment('WEBLOCKS_CLI'), *arguments], check=True,
                       stdout=subprocess.DEVNULL,
                       env={**self.bus.environment(),
                            'DBUS_SYSTEM_BUS_ADDRESS': self.system.address})
        return command


class Buses(BusesCase):
    """What is shown of each bus and of other users, and the command that ends such a lock."""

    def test_system_bus(self):
        """The page of the session bus is not affected."""
        name = self.unique()
        self.client().request(name)
        viewer = self.open()
        own_rows = [WHO, '1 lock or request'], [name, 'default', 'Held']
        viewer.wait_rows(*own_rows)
        viewer.wait_for(lambda: viewer.find('tab', 'System'), 'page of the system bus')
        viewer.key('alt+2')
        holder = self.on_system_bus()
        lock, _held = holder.request('updates', why='new packages')
        viewer.wait_rows([WHO, '1 lock or request'],
                         ['updates', 'new packages · default', 'Held'], bus=SYSTEM)
        viewer.wait_rows(*own_rows)
        viewer.open_item('updates')
        self.assertIn(' --system ', self.run_copied_command(viewer))
        holder.wait_released(lock, 'stolen')
        viewer.wait_rows(bus=SYSTEM)

    def test_other_user_for_root(self):
        if not can_be_others():
            self.skipTest('only root sees the locks of other users')
        viewer = self.open()
        viewer.wait_for(lambda: viewer.find('tab', 'System'), 'page of the system bus')
        viewer.key('alt+2')
        client = self.on_system_bus(RawClient, uid=NOBODY)
        client.request('others')
        viewer.wait_for(lambda: any('Of user nobody' in row for row in viewer.rows(SYSTEM)),
                        'lock of nobody')
        viewer.open_item('others')
        self.assertIn(f' --uid {NOBODY} ', self.run_copied_command(viewer))
        viewer.wait_rows(bus=SYSTEM)


class Sandboxed(Sandboxes, BusesCase):
    def setUp(self):
        super().setUp()
        applications = os.path.join(self.bus.directory, '.local/share/applications')
        os.makedirs(applications, exist_ok=True)
        with open(os.path.join(applications, APP + '.desktop'), 'w', encoding='utf-8') as file:
            file.write('[Desktop Entry]\nType=Application\nName=Sketches\nExec=true\n')

    def application(self):
        app = self.app()
        PRINCIPALS[self.bus.address, app.name] = (os.geteuid(), APP)
        return app

    def test_sandboxed_application(self):
        app, name = self.application(), self.unique("it's")
        lock, _held = app.call('request', name)
        viewer = self.open()
        viewer.wait_rows(['Sketches', 'Sandboxed', '1 lock or request'], [name, 'default', 'Held'])
        viewer.open_item(name)
        self.assertIn(f'--app {APP} ', self.run_copied_command(viewer))
        app.wait_released(lock, 'stolen')
        viewer.wait_text(NO_LOCKS)

    def test_document_of_an_application(self):
        """It is shown by its own name, with the application that holds it."""
        path = os.path.join(self.shared, 'plans of the roof.odt')
        pathlib.Path(path).write_text('text', encoding='ascii')
        app = self.application()
        bucket, name = app.ask('open_document', path=path)
        lock, _held = app.call('request', name, bucket, why='editing')
        viewer = self.open()
        viewer.wait_rows(['Sketches', 'Sandboxed', '1 lock or request'],
                         ['plans of the roof.odt', f'editing · {self.shared}', 'Held'])
        viewer.open_item('plans of the roof.odt')
        viewer.wait_text('Sketches', self.shared)
        self.assertIn(" --bucket 'documents' ", self.run_copied_command(viewer))
        app.wait_released(lock, 'stolen')
        viewer.wait_text(NO_LOCKS)


class Pages(ViewerTestCase):
    service = False
    # The bus ends during the case.

    @classmethod
    def tearDownClass(cls):
        """The bus has ended."""

    def test_without_a_service_or_bus(self):
        # Without the identity of this bus: another one is started later.
        viewer = self.open(DBUS_SESSION_BUS_ADDRESS=f'unix:path={self.bus.socket}')
        viewer.wait_text('No Lock Service')
        # Without a call: the start of a service is noticed.
        service = self.start_service()
        viewer.wait_text(NO_LOCKS)
        client = self.client()
        name = self.unique()
        client.request(name)
        viewer.wait_rows([WHO, '1 lock or request'], [name, 'default', 'Held'])
        service.end()
        viewer.wait_text('The lock service has stopped. Locks will appear again when it is back.')
        service = self.start_service()
        # After a restart the service only has the pid of the process, which began before the lock.
        viewer.wait_rows([WHO, '1 lock or request'], [name, 'default', 'Held'])
        viewer.wait_no_text('The lock service has stopped. Locks will appear again when it is back.')
        client.close()
        self.bus.kill()
        end(self.bus.process)
        viewer.wait_text('No Message Bus', 'Try Again')
        self.bus.start()
        viewer.press('Try Again')
        viewer.wait_text('No Lock Service')

    def wait_gone(self, *names):
        """The bus has ended."""
