# SPDX-FileCopyrightText: 2026 The WebLocks for D-Bus authors
# SPDX-License-Identifier: LGPL-2.1-or-later

"""The state directory: its location, owner and mode, and files that are left there."""

import os
import shlex
import shutil
import signal
import stat
import subprocess

import fakebus
from buses import read_bytes, wait_exit, why_no_other_users, write_bytes
from fakebus import FakeBus
from harness import (PATIENCE, Bus, BusTestCase, RawClient, Service, diagnostic, environment,
                     owner_of, service_with, wait_for)
from rawbus import lock_call
from sockets import open_socket_and_cells
from statecase import StateCase, bus_id, mode_of


def warnings(service):
    """The lines that the service logged, except for empty ones and valgrind's."""
    return [line for line in service.stderr().splitlines()
            if line.strip() and not line.startswith('==')]


def remove(path):
    if os.path.isdir(path) and not os.path.islink(path):
        shutil.rmtree(path)
    elif os.path.lexists(path):
        os.unlink(path)


class Directory(StateCase):
    def check_keeps(self, path, *arguments, state=False, **kw):
        """A lock is restored from that directory after a kill."""
        self.start(*arguments, state=state, **kw)
        client = self.raw_client()
        held = client.request('x', key=1)
        self.restart(*arguments, state=state, **kw)
        self.assertEqual(client.request('x', key=1), held)
        # On a tmpfs there is a directory for cells, too.
        self.assertEqual(sorted(name for name in os.listdir(path) if not name.endswith('.cells')),
                         [bus_id(client) + suffix for suffix in ('.lock', '.state', '.state.new')])
        client.release(held[0])
        self.assertEqual(self.current.stop(), 0, self.current.stderr())

    def test_option(self):
        self.check_keeps(self.directory, state=True)
        self.assertFalse(os.path.exists(os.path.join(self.bus.runtime, 'weblocks')))

    def test_a_missing_directory_is_created(self):
        path = os.path.join(self.directory, 'a', 'b')
        self.check_keeps(path, f'--state-dir={path}')
        self.assertEqual(mode_of(path), 0o700)

    def test_a_relative_path(self):
        here = os.getcwd()
        os.chdir(self.directory)
        try:
            self.check_keeps(os.path.join(self.directory, 'sub'), '--state-dir=sub')
        finally:
            os.chdir(here)

    def test_the_default(self):
        path = os.path.join(self.bus.runtime, 'weblocks')
        self.addCleanup(shutil.rmtree, path, ignore_errors=True)
        self.check_keeps(path)
        self.assertEqual(mode_of(path), 0o700)

    def test_of_systemd(self):
        """RUNTIME_DIRECTORY, which can list several."""
        for index, tail in enumerate(('', ':/nowhere', ':')):
            with self.subTest(tail):
                path = os.path.join(self.directory, str(index))
                self.check_keeps(path, env={'RUNTIME_DIRECTORY': path + tail})
        self.assertFalse(os.path.exists(os.path.join(self.bus.runtime, 'weblocks')))

    def test_the_option_takes_precedence(self):
        self.check_keeps(self.directory, state=True,
                         env={'RUNTIME_DIRECTORY': os.path.join(self.directory, 'not')})

    def test_nowhere(self):
        """It serves, logs once that there is no stored state, and notifies of losses."""
        for env in ({'XDG_RUNTIME_DIR': ''}, {'XDG_RUNTIME_DIR': 'relative'},
                    {'XDG_RUNTIME_DIR': '', 'RUNTIME_DIRECTORY': ''}):
            with self.subTest(env):
                service = self.start(state=False, env=env)
                client = self.raw_client()
                held, _ = client.request('x')
                self.assertEqual(len(warnings(service)), 1, service.stderr())
                service.signal(signal.SIGTERM)
                client.wait_released(held, 'lost')
                self.assertEqual(service.wait_exit(), 0)
        # The system's bus has no user's directory.
        service = self.start('--system', state=False, address_option=False,
                             env={'DBUS_SYSTEM_BUS_ADDRESS': self.bus.address})
        self.assertEqual(len(warnings(service)), 1, service.stderr())
        self.assertEqual(os.listdir(self.bus.runtime), [])

    def test_modes(self):
        """No other user can read the files, whatever the umask."""
        old = os.umask(0)
        try:
            self.directory = os.path.join(self.directory, 'new')
            self.start()
            self.control.request('x')
            self.crash()
            with open(self.path(), 'r+b') as file:
                file.write(b'x' * 8192)
            self.start()
        finally:
            os.umask(old)
        self.assertEqual(mode_of(self.directory), 0o700)
        self.assertEqual(self.files(), ['BUS.lock', 'BUS.state', 'BUS.state.aside',
                                        'BUS.state.new'])
        for name in os.listdir(self.directory):
            self.assertEqual(mode_of(os.path.join(self.directory, name)), 0o600, name)

    def refused(self, *arguments, status=1, mentions=''):
        service = self.start(*arguments, state=False, ready=False)
        self.assertEqual(service.wait_exit(), status, service.stderr())
        self.assertIn(mentions, service.stderr())
        self.assertLess(len(service.stderr().splitlines()), 10)
        self.assertIsNone(owner_of(self.control))

    def test_not_a_directory(self):
        file = os.path.join(self.directory, 'file')
        write_bytes(file, b'')
        for path in (file, file + '/sub', '/proc/weblocks', '/dev/null'):
            with self.subTest(path):
                self.refused(f'--state-dir={path}', mentions=path)
        self.assertEqual(os.stat(file).st_size, 0)
        self.refused('--state-dir', status=2, mentions='state-dir')
        self.refused('--state-dir=', status=1)
        self.refused('--no-state', f'--state-dir={self.directory}', status=2, mentions='no-state')

    def test_a_directory_open_to_others(self):
        """Directory and files belong to the service's user alone: SECURITY.md."""
        for mode in (0o777, 0o1777, 0o755, 0o750, 0o710, 0o701):
            with self.subTest(oct(mode)):
                os.chmod(self.directory, mode)
                self.refused(f'--state-dir={self.directory}',
                             mentions=f'{self.directory} lets other users in')
                self.assertEqual(mode_of(self.directory), mode)
                self.assertEqual(os.listdir(self.directory), [])

    def test_a_link(self):
        link = os.path.join(self.directory, 'link')
        os.mkdir(os.path.join(self.directory, 'real'), 0o700)
        os.symlink('real', link)
        for tail in ('', '/', '//'):
            with self.subTest(tail):
                self.refused(f'--state-dir={link}{tail}', mentions=f'{link} is a symbolic link')
        self.assertEqual(os.listdir(link), [])

    def test_a_directory_of_another_user(self):
        try:
            os.chown(self.directory, 65534, 65534)
        except OSError:
            self.skipTest('only root can give a directory to another user')
        self.refused(f'--state-dir={self.directory}',
                     mentions=f'{self.directory} belongs to another user')

    def test_another_object_as_lock_file(self):
        """It is not written to, whatever its type."""
        self.start()
        self.crash()
        other = os.path.join(self.directory, 'precious')
        for make, says in ((os.link, 'a hard link'), (os.symlink, ''),
                           (lambda _, path: os.mkfifo(path), 'is not a regular file'),
                           (lambda _, path: os.mkdir(path), '')):
            with self.subTest(says), open(other, 'wb') as file:
                file.write(b'precious bytes')
                file.flush()
                remove(self.path('lock'))
                make(other, self.path('lock'))
                self.refused(f'--state-dir={self.directory}', mentions=says)
                self.assertIn(self.path('lock'), self.current.stderr())
                self.assertEqual(read_bytes(other), b'precious bytes')
        remove(self.path('lock'))
        self.start()
        self.control.request('x')

    def test_a_directory_that_cannot_be_written(self):
        """For a user other than root."""
        if why_no_other_users():
            self.skipTest(why_no_other_users())
        os.chmod(self.directory, 0o755)
        process = subprocess.run(
            [*shlex.split(os.environ.get('WEBLOCKS_TEST_WRAPPER', '')), environment('WEBLOCKSD'),
             f'--address={self.bus.address}', f'--state-dir={self.directory}'],
            user=65534, group=65534, capture_output=True, text=True, timeout=PATIENCE, check=False,
            env=self.bus.environment(), stdin=subprocess.DEVNULL)
        self.assertEqual(process.returncode, 1, process.stderr)
        self.assertIn(self.directory, process.stderr)


class Whose(StateCase):
    """State is for one bus and one format; another state is renamed, with one line in the log."""

    def put_aside(self, service):
        self.assertEqual(len(warnings(service)), 1, service.stderr())
        self.assertIn('.aside', service.stderr())
        self.assertEqual(self.files(), ['BUS.lock', 'BUS.state', 'BUS.state.aside',
                                        'BUS.state.new'])

    def test_of_another_bus(self):
        """Another client with the same unique name on another bus gets nothing of it."""
        self.start()
        holder, waiter = self.raw_client(), self.raw_client()
        held, _ = holder.request('x')
        waiter.request('x')
        self.crash()
        other = Bus().start()
        self.addCleanup(other.stop)
        clients_of_other = [RawClient(other.address)]
        while clients_of_other[-1].name not in (holder.name, waiter.name):
            self.assertLess(len(clients_of_other), 10000)
            clients_of_other.append(RawClient(other.address))
        self.assertNotEqual(bus_id(clients_of_other[0]), bus_id(self.control))
        # Beside the first bus's file, and with that in place of its own.
        path = os.path.join(self.directory, bus_id(clients_of_other[0]) + '.state')
        for n_warnings in (0, 1):
            service = Service(other, [f'--state-dir={self.directory}'])
            self.addCleanup(service.end)
            service.wait_ready(clients_of_other[0])
            self.check_has_nothing(clients_of_other[-1], held)
            self.assertEqual(len(warnings(service)), n_warnings, service.stderr())
            service.end()
            shutil.copy(self.path(), path)
        self.assertEqual(read_bytes(self.path()), read_bytes(path + '.aside'))


        # And the first bus's file is unchanged.
        self.start()
        self.assertEqual(holder.query()[0], [('x', 'exclusive', holder.name)])
        for client in clients_of_other:
            client.close()

    def test_the_bus_ends(self):
        """Then its state can't be used any more, and would fill the memory of the session."""
        for end in 'stop', 'kill':
            with self.subTest(end):
                bus = Bus().start()
                client = RawClient(bus.address, descriptors=True)
                service = Service(bus, [f'--state-dir={self.directory}'])
                self.addCleanup(service.end)
                service.wait_ready(client)
                client.request('x', key=1)
                open_socket_and_cells(client)
                self.assertNotEqual(os.listdir(self.directory), [])
                getattr(bus, end)()
                self.assertEqual(wait_exit(service.process), 1)
                self.assertEqual(os.listdir(self.directory), [])
                self.assertEqual(warnings(service), [])
                client.close()
                if end == 'kill':
                    bus.stop()

    def test_only_the_connection_ends(self):
        """The next instance on this bus has the state."""
        bus = FakeBus(self.bus.directory)
        self.addCleanup(bus.close)
        service = Service(bus, [f'--state-dir={self.directory}'])
        self.addCleanup(service.end)
        files = [f'{fakebus.ID}.{suffix}' for suffix in ('lock', 'state', 'state.new')]
        wait_for(lambda: set(files) <= set(os.listdir(self.directory)), what='state')
        bus.disconnect()
        self.assertEqual(wait_exit(service.process), 1)
        self.assertEqual(sorted(os.listdir(self.directory)), files)
        self.assertEqual(len(warnings(service)), 1, service.stderr())

    def check_has_nothing(self, client, held):
        self.assertEqual(client.resync(), [])
        self.assertEqual(client.query(), ([], []))
        self.assert_error('NotHeld', client.release, held)
        id_, token = client.request('x')
        self.assertNotEqual(token, 0)
        client.release(id_)

    def test_garbage(self):
        """Only the last renamed file remains."""
        self.start()
        client = self.raw_client()
        id_, token = client.request('x')
        for content in (b'', b'x', os.urandom(100000), bytes(8192)):
            with self.subTest(content[:10]):
                self.crash()
                write_bytes(self.path(), content)
                self.put_aside(self.start())
                self.assertEqual(read_bytes(self.path('state.aside')), content)
                self.assertEqual(client.resync(), [])
                self.assert_error('NotHeld', client.release, id_)
                id_, newer = client.request('x')
                self.assertGreater(newer, token)
                token = newer

    def test_other_objects_in_the_places(self):
        """In place of the state, and of what is put aside: the service starts, and stores."""
        def directory(path):
            os.mkdir(path)
            write_bytes(os.path.join(path, 'file'), b'')

        def garbage(path):
            write_bytes(path, b'garbage')

        def sparse(path):
            garbage(path)
            os.truncate(path, 1 << 40)

        def link(path):
            os.symlink('/dev/zero', path)

        def dangling(path):
            os.symlink('/nowhere', path)

        for make, make_aside in ((directory, None), (link, None), (sparse, None), (dangling, None), (os.mkfifo, None),
                                 (directory, garbage), (garbage, directory)):
            with self.subTest(make, aside=make_aside):
                self.start()
                self.assertEqual(self.current.stop(), 0)
                for suffix, maker in (('state', make), ('state.aside', make_aside)):
                    remove(self.path(suffix))
                    if maker is not None:
                        maker(self.path(suffix))
                self.assertLessEqual(len(warnings(self.start())), 1, self.current.stderr())
                client = self.raw_client()
                id_, _ = client.request('x')
                self.restart()
                self.assertEqual(client.resync()[0][1], id_)
                self.assertTrue(stat.S_ISREG(os.lstat(self.path()).st_mode))
                self.assertEqual(self.current.stop(), 0)

    def test_files_of_an_interrupted_start(self):
        """The spare file, and the file of the crash guard, with any contents."""
        self.start()
        client = self.raw_client()
        held = client.request('x', key=1)
        for content in (b'', b'garbage', os.urandom(200), bytes(64), b'\xff' * 64):
            self.crash()
            for suffix in ('state.new', 'crash-guard'):
                write_bytes(self.path(suffix), content)
            self.start()
            self.assertEqual(client.request('x', key=1), held)
            self.assertEqual(self.files(), ['BUS.lock', 'BUS.state', 'BUS.state.new'])


class Poison(StateCase):
    """A request at which the service crashes while restoring is left out at the fourth start."""

    def start_faulty(self, name, **kw):
        return self.start(program=service_with('poisoned-record'),
                          env={'WEBLOCKS_POISON': name}, **kw)

    def fill(self):
        self.start()
        self.holder, self.other = self.raw_client(), self.raw_client()
        self.kept, _ = self.holder.request('good')
        self.waiting, _ = self.other.request('good')
        self.lost, _ = self.holder.request('bad', self.unique('bucket'), mode='shared')
        self.behind, _ = self.other.request('last')
        self.crash()

    def die(self, times):
        for _ in range(times):
            service = self.start_faulty('bad', ready=False)
            self.assertEqual(service.wait_exit(), -signal.SIGTRAP, service.stderr())
            self.wait_free()

    def check_left_out(self):
        self.assertEqual(self.files(), ['BUS.lock', 'BUS.state', 'BUS.state.aside',
                                        'BUS.state.new'])
        self.assertEqual(len(warnings(self.current)), 1, self.current.stderr())
        event = self.holder.wait_released(self.lost, 'lost')
        self.assertEqual(event.args, (self.lost, 'bad', 'shared', self.holder.name, 'lost'))
        self.assertEqual(list(self.see_resync(self.holder)), [self.kept])
        self.assertEqual(list(self.see_resync(self.other)), [self.waiting, self.behind])
        self.assertEqual(self.other.events, [])

    def test_three_deaths(self):
        self.fill()
        before = read_bytes(self.path())
        self.die(3)
        self.start_faulty('bad')
        self.check_left_out()
        self.assertEqual(read_bytes(self.path('state.aside')), before)
        self.restart()
        self.assertEqual(list(self.see_resync(self.holder)), [self.kept])
        self.holder.release(self.kept)
        self.wait_granted(self.other, self.waiting)
        self.assertEqual([event.signal for event in self.holder.events], ['Released'])


class NoRecord(BusTestCase):
    """Names and purposes of locks that have ended are in no file of the state."""

    def test_files_stay_small(self):
        client = self.raw_client()
        path = os.path.join(self.bus.runtime, 'weblocks', bus_id(client) + '.state')
        first = None
        for _ in range(20):
            serials = client.send_all([lock_call('Request', f'{number}' + 'n' * 900)
                                       for number in range(500)])
            ids = [client.result(serial)[0] for serial in serials]
            client.call_all([lock_call('Release', id_) for id_ in ids])
            first = first or os.stat(path).st_size
        last = os.stat(path).st_size
        diagnostic(f'{first // 1024} KiB after 500 long names, {last // 1024} KiB after 10000')
        self.assertLessEqual(last, 2 * first + (1 << 20))


class Memory(StateCase):
    def allocated(self):
        return [os.stat(self.path(suffix)).st_blocks * 512 for suffix in ('state', 'state.new')]

    def test_it_is_given_back(self):
        """After many requests the files are small again, whether they were released or their client has gone; and
        what is held meanwhile stays, also after a kill."""
        self.start()
        holder = self.raw_client()
        holder.request('held', key=1)
        small = self.allocated()
        for end in 'release', 'close':
            with self.subTest(end):
                clients = [self.raw_client() for _ in range(5)]
                for client in clients:
                    serials = client.send_all([lock_call('Request', f'{client.name} {number}' + 'n' * 900)
                                               for number in range(600)])
                    ids = [client.result(serial)[0] for serial in serials]
                    if end == 'close':
                        continue
                    self.assertGreater(min(self.allocated()), 2 * max(small))
                    for serial in client.send_all([lock_call('Release', id_) for id_ in ids]):
                        client.result(serial)
                self.assertTrue(end == 'release' or min(self.allocated()) > 16 * max(small), self.allocated())
                for client in clients:
                    client.close()
                wait_for(lambda: self.control.query()[0] == [('held', 'exclusive', holder.name)], what='end')
                holder.release(holder.request('other')[0])
                self.assertLessEqual(max(self.allocated()), 8 * max(small), self.allocated())
                before = holder.resync()
                self.restart()
                self.assertEqual(holder.resync(), before)
