# SPDX-FileCopyrightText: 2026 The WebLocks for D-Bus authors
# SPDX-License-Identifier: LGPL-2.1-or-later

"""A service that is stopped, replaced, or not the only instance: no client loses anything. While clients work,
that is in ../storm."""

import fcntl
import os
import shutil
import signal
import tempfile
import time
import unittest

from buses import read_bytes
from calls import DBusError
from fakebus import FakeBus
from harness import FACTOR, PATIENCE, GLib, Service, diagnostic, owner_of, start_and_use, wait_for
from rawbus import lock_call, unpack
from statecase import GONE, StateCase


class OrderlyExit(StateCase):
    """SIGTERM, SIGINT, and the idle exit."""

    def test_locks_and_requests_survive(self):
        for number in (signal.SIGTERM, signal.SIGINT):
            with self.subTest(number):
                service = self.start()
                holder, waiter = self.raw_client(), self.raw_client()
                held, token = holder.request('x', key=1)
                waiting, _ = waiter.request('x', timeout=3600000)
                before = self.see([holder, waiter], ('default',))
                service.signal(number)
                self.assertEqual(service.wait_exit(), 0, service.stderr())
                self.assertEqual([line for line in service.stderr().splitlines()
                                  if not line.startswith('==')], [])
                self.start()
                self.assert_same(before, self.see([holder, waiter], ('default',)))
                self.assertEqual(holder.events + waiter.events, [])
                self.assertEqual(holder.request('x', key=1), (held, token))
                holder.release(held)
                self.wait_granted(waiter, waiting)
                waiter.release(waiting)
                self.assertEqual(self.current.stop(), 0)

    def test_requests_during_shutdown(self):
        """Each is served, or the bus replies that there is no service; the service never refuses one."""
        served = 0
        for round_ in range(4):
            service = self.start()
            raw = self.raw_client()
            raw.query()
            service.pause()
            keys = range(1, 501)
            serials = raw.send_all([lock_call('Request', f'{key}', key=key) for key in keys])
            raw.ping_the_bus()
            service.signal(signal.SIGTERM)
            service.resume()
            answers = {}
            for key, serial in zip(keys, serials):
                try:
                    answers[key] = raw.result(serial)
                except DBusError as error:
                    self.assertIn(error.short, GONE)
            self.assertEqual(service.wait_exit(), 0)
            served += len(answers)
            self.wait_free()
            self.start()
            by_key = {line[1]: (id_, line[4]) for id_, line in self.see_resync(raw).items()}
            for key, answer in answers.items():
                self.assertEqual(by_key.get(key), answer, round_)
            for key in keys:
                answer = raw.request(f'{key}', key=key)
                self.assertEqual(by_key.get(key, answer), answer)
            self.assertEqual(len(raw.resync()), len(keys))
            self.assertEqual(raw.events, [])
            self.assertEqual(self.current.stop(), 0)
        diagnostic(f'{served} of 2000 calls were served on the way out')
        self.assertGreater(served, 0)

    def test_idle(self):
        """It stores the ids and tokens at which the next instance continues, also of ended
        requests."""
        def start():
            return self.start('--idle-exit=0.3', ready=False)

        client = self.raw_client()
        service, (id_, token) = start_and_use(start, self.control, lambda: client.request('x'))
        client.release(id_)
        self.assertEqual(service.wait_exit(), 0)
        self.assertEqual(self.files(), ['BUS.lock', 'BUS.state', 'BUS.state.new'])
        _, (again, newer) = start_and_use(start, self.control, lambda: client.request('x'))
        self.assertGreater(again, id_)
        self.assertGreater(newer, token)
        # The service is in use, so it doesn't exit; nor does one with restored locks.
        self.crash()
        service = self.start('--idle-exit=0.3')
        with self.assertRaises(TimeoutError):
            service.wait_exit(0.8)
        client.release(again)
        self.assertEqual(service.wait_exit(), 0)


class Killed(StateCase):
    def test_what_watches_files_is_closed_last(self):
        """When a process ends, the kernel closes its descriptors from the highest number down, and takes 10 to 20 ms
        for one that watches files. The bus and whoever waits for the lock of the state would wait for that."""
        service = self.start()
        folder = f'/proc/{service.process.pid}/fd'
        targets = {int(fd): os.readlink(f'{folder}/{fd}') for fd in os.listdir(folder)}
        watching = [fd for fd, target in targets.items() if target == 'anon_inode:inotify']
        self.assertEqual(len(watching), 1, targets)
        others = [fd for fd, target in targets.items() if target.startswith('socket:') or target.endswith('.lock')]
        self.assertGreater(len(others), 1, targets)
        self.assertEqual([targets[fd] for fd in others if 2 < fd < watching[0]], [])


class Replaced(StateCase):
    def test_without_state_by_one_with_state(self):
        """Its locks are lost, and its clients notified."""
        first = self.start('--replace', '--no-state', state=False)
        client = self.raw_client()
        held, _ = client.request('x')
        self.start('--replace')
        client.wait_released(held, 'lost')
        self.assertEqual(first.wait_exit(), 0)
        self.assertEqual(client.resync(), [])

    def test_with_state_by_one_without(self):
        first = self.start('--replace')
        client = self.raw_client()
        client.request('x', key=1)
        self.start('--replace', '--no-state', state=False)
        self.assertEqual(first.wait_exit(), 0)
        self.assertEqual(client.resync(), [])


class FailedStart(unittest.TestCase):
    """An instance that can't have the name leaves the clients and the state alone, also if one of them
    disconnects meanwhile. On a fake bus, since the order of messages matters."""

    HOLDER, WAITER = ':9.1', ':9.2'

    def setUp(self):
        self.directory = tempfile.mkdtemp(prefix='weblocks-fake-')
        self.addCleanup(shutil.rmtree, self.directory, ignore_errors=True)
        self.bus = None

    def start(self):
        """On a new bus with the same id."""
        self.end_bus()
        self.bus = FakeBus(self.directory)
        for name in (self.HOLDER, self.WAITER):
            self.bus.answers[name] = [{'UnixUserID': GLib.Variant('u', os.getuid()),
                                       'ProcessID': GLib.Variant('u', os.getpid())}] * 2
        self.addCleanup(self.end_bus)

    def end_bus(self):
        if self.bus is not None:
            self.bus.close()
            os.unlink(self.bus.path)
            self.bus = None

    def service(self):
        service = Service(self.bus, [f'--state-dir={self.directory}'])
        self.addCleanup(service.end)
        return service

    def request(self, name):
        return unpack(self.bus.call_as(name, lock_call('Request', 'x', key=1)))

    def disconnect_waiter(self):
        self.bus.send_signal('NameOwnerChanged', GLib.Variant('(sss)', (self.WAITER, self.WAITER, '')))

    def check(self, meanwhile):
        """The name is taken; `meanwhile` is called when it is requested."""
        self.start()
        first = self.service()
        self.bus.wait_owned()
        self.assertNotEqual(self.request(self.HOLDER)[1], 0)
        id_, token = self.request(self.WAITER)
        self.assertEqual(token, 0)
        first.end()
        # The holder is gone, and the waiter has called.
        self.start()
        self.bus.names.append(self.WAITER)
        self.bus.is_taken = True
        self.bus.when_asked_for_name = meanwhile
        second = self.service()
        self.assertEqual(second.wait_exit(), 1, second.stderr())
        self.assertIn('another instance is running', second.stderr())
        self.bus.wait_disconnected()
        self.assertEqual(self.bus.signals, [])
        # The next one continues.
        self.start()
        self.bus.names.append(self.WAITER)
        third = self.service()
        self.bus.wait_owned()
        self.assertEqual(self.request(self.WAITER)[0], id_)
        self.assertEqual(third.stop(), 0, third.stderr())

    def test_no_client_is_notified(self):
        self.check(lambda: None)

    def test_a_client_disconnects(self):
        self.check(self.disconnect_waiter)

    def test_the_list_of_names_is_late(self):
        """It is behind all that clients send meanwhile, on a slow machine for longer than the service waits for
        one reply. They have called already."""
        self.start()
        self.bus.n_lists_lost = 1
        service = self.service()
        self.bus.wait_owned()
        self.assertNotEqual(self.request(self.HOLDER)[1], 0)
        self.assertEqual(self.bus.n_lists_lost, 0)
        self.assertEqual(service.stop(), 0, service.stderr())


class Several(StateCase):
    def test_ten_at_the_same_time(self):
        """One serves, with the whole state; the others exit with 1."""
        self.start()
        client = self.raw_client()
        held, token = client.request('x', key=1)
        waiting, _ = client.request('x')
        self.crash()
        services = [self.start(ready=False) for _ in range(10)]
        wait_for(lambda: sum(service.process.poll() is None for service in services) <= 1,
                 what='nine to give up', timeout=PATIENCE * 2)
        alive = [service for service in services if service.process.poll() is None]
        self.assertEqual(len(alive), 1)
        alive[0].wait_ready(self.control)
        for service in services:
            if service is not alive[0]:
                self.assertEqual(service.process.returncode, 1, service.stderr())
        self.assertEqual(sorted(self.see_resync(client)), [held, waiting])
        self.assertEqual(client.request('x', key=1), (held, token))
        self.assertEqual(self.files(), ['BUS.lock', 'BUS.state', 'BUS.state.new'])
        self.current = alive[0]
        self.restart()
        client.release(held)
        self.wait_granted(client, waiting)


class Locked(StateCase):
    """Another process has locked the state, and isn't on the bus."""

    def take_lock(self):
        file = open(self.path('lock'), 'rb+')
        self.addCleanup(file.close)
        fcntl.lockf(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        return file

    def test_for_a_while(self):
        """Longer than an instance takes to end, which is five seconds at most."""
        self.start()
        client = self.raw_client()
        held, _ = client.request('x')
        self.crash()
        lock = self.take_lock()
        service = self.start(ready=False)
        end = time.monotonic() + 6
        while time.monotonic() < end:
            with self.assertRaises(TimeoutError, msg=service.stderr()):
                service.wait_exit(0.1)
            self.assertIsNone(owner_of(self.control), 'it serves without the lock')
        lock.close()
        service.wait_ready(self.control)
        client.release(held)

    def test_indefinitely(self):
        """The service exits after 15 seconds, and changes nothing."""
        self.start()
        client = self.raw_client()
        client.request('x')
        self.crash()
        before = read_bytes(self.path())
        self.take_lock()
        begun = time.monotonic()
        service = self.start(ready=False)
        self.assertEqual(service.wait_exit(), 1, service.stderr())
        self.assertIn(self.directory, service.stderr())
        self.assertTrue(14.9 < time.monotonic() - begun < 15 + 3 * FACTOR)
        self.assertEqual(read_bytes(self.path()), before)

    def test_another_instance_has_the_name(self):
        """That one serves, so this one does not wait as long."""
        self.start()
        self.crash()
        self.take_lock()
        other = self.start(state=False)
        begun = time.monotonic()
        service = self.start(ready=False)
        self.assertEqual(service.wait_exit(), 1, service.stderr())
        self.assertIn('uses the state', service.stderr())
        self.assertLess(time.monotonic() - begun, 5 + 3 * FACTOR)
        self.assertEqual(other.stop(), 0, other.stderr())
