# SPDX-FileCopyrightText: 2026 The WebLocks for D-Bus authors
# SPDX-License-Identifier: LGPL-2.1-or-later

"""What the bus tests share: a bus, a service, clients, and checks at the end.

The cases of one class share one bus and one service, so they use separate names or buckets:
self.unique().
"""

import contextlib
import faulthandler
import json
import os
import shlex
import signal
import subprocess
import sys
import tempfile
import time
import unittest

import gi
gi.require_version('Gio', '2.0')
from gi.repository import Gio, GLib

import buses
from buses import (FACTOR, PATIENCE, Bus, can_be_others, end, environment, full_size, interval,
                   pump_until, spawn, wait_exit)
from calls import SERVICE, DBusError, Event, LockCalls
from rawbus import DRIVER, DRIVER_PATH, Monitor, RawClient
from sockets import LockError, SocketClient, open_socket
from tap import diagnostic, main
from wire import Body

HERE = os.path.dirname(os.path.abspath(__file__))
ERRORS = 'org.freedesktop.DBus.Error.'
OWN_ERRORS = 'org.w3.WebLocks.Error.'
# What sanitizers and valgrind write when they find something.
REPORTS = ('AddressSanitizer', 'LeakSanitizer', 'runtime error:', 'ThreadSanitizer',
           'MemorySanitizer', 'ERROR SUMMARY: ', 'definitely lost', 'Invalid read',
           'Invalid write', 'uninitialised', 'assertion failed', 'CRITICAL')


def error_name(short):
    """The full name of an error of the contract."""
    own = ('NotSupported', 'Security', 'InvalidState', 'NotHeld', 'Unavailable', 'Timeout',
           'Abort')
    return (OWN_ERRORS if short in own else ERRORS) + short


def iterate(timeout):
    """Dispatches pending events; waits up to this time if there are none."""
    context = GLib.MainContext.default()
    if context.iteration(False) or timeout <= 0:
        return
    source = GLib.timeout_add(max(1, int(timeout * 1000)), lambda: True)
    context.iteration(True)
    GLib.source_remove(source)


def wait_for(condition, timeout=PATIENCE, what='condition', every=0.02):
    """Waits until the condition holds; it is evaluated again after each event, and less often after seconds."""
    return pump_until(condition, lambda left: iterate(min(left, interval(every, timeout - left))), timeout,
                      lambda: f'{what}: not within {timeout} s')


class Client(LockCalls):
    """A private GDBus connection. `events` are the service's signals, and `wanted` those of that name."""

    def __init__(self, address):
        flags = Gio.DBusConnectionFlags
        self.connection = Gio.DBusConnection.new_for_address_sync(
            address, flags.AUTHENTICATION_CLIENT | flags.MESSAGE_BUS_CONNECTION, None, None)
        self.connection.set_exit_on_close(False)
        self.name = self.connection.get_unique_name()
        self.events = []
        self.wanted = []
        # No match rule: the service's signals are unicast, so none is needed.
        self._subscription = self.connection.signal_subscribe(
            None, SERVICE, None, None, None, Gio.DBusSignalFlags.NO_MATCH_RULE, self._on_signal)

    def _on_signal(self, _connection, sender, path, _interface, member, parameters):
        if member == 'Wanted':
            self.wanted.append(parameters.unpack())
            return
        self.events.append(Event.of(member, path, parameters.unpack(), sender))
        self.on_event(self.events[-1])

    def on_event(self, event):
        """For tests that make calls in the handler."""

    def call(self, path, interface, member, body=None, destination=SERVICE, timeout=PATIENCE):
        if isinstance(body, Body):
            body = body.variant()
        try:
            result = self.connection.call_sync(destination, path, interface, member, body, None,
                                               Gio.DBusCallFlags.NONE, int(timeout * 1000), None)
        except GLib.Error as error:
            name = Gio.DBusError.get_remote_error(error)
            if name is None:
                raise
            # GLib puts the error's name before the message.
            raise DBusError(name, error.message.removeprefix(f'GDBus.Error:{name}: ')) from None
        return result.unpack()

    def sync(self):
        """Calls Ping, and records all signals that arrived before the reply."""
        self.ping()
        while GLib.MainContext.default().iteration(False):
            pass

    def wait_for(self, condition, timeout=PATIENCE, what='signal'):
        try:
            wait_for(condition, timeout, what)
        except TimeoutError as error:
            raise TimeoutError(f'{error}; {self.name} has {self.events}') from None

    def close(self):
        if not self.connection.is_closed():
            self.connection.signal_unsubscribe(self._subscription)
            self.connection.close_sync(None)


class ProcessClient:
    """A client in a separate process, to be stopped or killed. See lineclient.py."""

    def __init__(self, address, env):
        self.begin(spawn([sys.executable, os.path.join(HERE, 'lineclient.py'), address],
                         stdin=subprocess.PIPE, stdout=subprocess.PIPE, env=env, bufsize=0))

    def begin(self, process):
        self.process = process
        self.events = []
        self.wanted = []
        self._data = b''
        self._answers = []
        self.name = self._answer()['name']

    @property
    def pid(self):
        return self.process.pid

    def _pump(self, timeout):
        if not buses.readable(self.process.stdout, timeout):
            return
        chunk = os.read(self.process.stdout.fileno(), 1 << 16)
        if not chunk:
            raise RuntimeError(f'client process {self.pid} ended ({self.process.poll()})')
        *lines, self._data = (self._data + chunk).split(b'\n')
        for line in map(json.loads, lines):
            if 'wanted' in line:
                self.wanted.append(tuple(line['wanted']))
            elif 'signal' in line:
                self.events.append(Event(line['signal'], line['path'], tuple(line['args']),
                                         line['sender'], line['at']))
            else:
                self._answers.append(line)

    def _answer(self):
        self.wait_for(lambda: self._answers, what='answer')
        answer = self._answers.pop(0)
        if 'error' in answer:
            raise DBusError(*answer['error'])
        return answer

    def wait_for(self, condition, timeout=PATIENCE, what='condition'):
        pump_until(condition, self._pump, timeout, lambda: f'client process {self.pid}: no {what} within {timeout} s')

    def send_command(self, command, **arguments):
        """Sends a command without a reply, or with a later one."""
        line = json.dumps({'do': command, **arguments}) + '\n'
        self.process.stdin.write(line.encode())

    def ask(self, command, **arguments):
        self.send_command(command, **arguments)
        return self._answer().get('result')

    def call(self, member, *arguments, **options):
        return self.ask('call', arguments=[member, *arguments], **options)

    def request(self, name, bucket='default', **kw):
        return tuple(self.call('request', name, bucket, **kw))

    def steal(self, name, bucket='default', **kw):
        return tuple(self.call('steal', name, bucket, **kw))

    def release(self, id_, bucket='default'):
        self.call('release', id_, bucket)

    def ping(self):
        self.call('ping')

    signals = LockCalls.signals
    granted = LockCalls.granted
    wait_granted = LockCalls.wait_granted
    wait_released = LockCalls.wait_released

    def signal(self, number):
        os.kill(self.pid, number)

    def stop(self):
        """Sends SIGSTOP, and waits until it has stopped."""
        self.signal(signal.SIGSTOP)
        os.waitid(os.P_PID, self.pid, os.WSTOPPED | os.WNOWAIT)

    def kill(self):
        """Sends SIGKILL. Returns the time."""
        at = time.monotonic()
        self.signal(signal.SIGKILL)
        return at

    def close(self):
        end(self.process)


def service_with(fault=None):
    """The service with that fault of tests/faults/, or the one that WEBLOCKS_TEST_FAULT names, or
    without any."""
    fault = fault or os.environ.get('WEBLOCKS_TEST_FAULT')
    if fault:
        return os.path.join(environment('WEBLOCKS_FAULTS_DIR'), f'weblocksd-{fault}')
    return environment('WEBLOCKSD')


class Service:
    """A weblocksd process. Its stderr is a file, so that it never blocks."""

    def __init__(self, bus, arguments=(), address_option=True, env=None, program=None):
        command = shlex.split(os.environ.get('WEBLOCKS_TEST_WRAPPER', ''))
        command.append(program or service_with())
        if address_option:
            command.append(f'--address={bus.address}')
        self.bus = bus
        self.command = command + list(arguments)
        self._stderr = tempfile.TemporaryFile()
        self.process = spawn(self.command, stdin=subprocess.DEVNULL, stdout=self._stderr,
                             stderr=self._stderr, env={**bus.environment(), **(env or {})})
        self.name = None

    def wait_ready(self, control, timeout=PATIENCE):
        """Waits until this process owns the name, and answers: it asks for the name before it has
        read its state. Stores its unique name."""
        def ready():
            if self.process.poll() is not None:
                raise RuntimeError(f'weblocksd ended with {self.process.returncode} at start:\n'
                                   f'{self.stderr()}')
            owner = owner_of(control)
            if owner is None or pid_of(control, owner) != self.process.pid:
                return False
            self.name = owner
            return True
        wait_for(ready, timeout, what='weblocksd on the bus', every=0.005)
        control.ping()
        return self

    def count_descriptors(self):
        return len(os.listdir(f'/proc/{self.process.pid}/fd'))

    def stderr(self):
        size = self._stderr.seek(0, os.SEEK_END)
        return os.pread(self._stderr.fileno(), size, 0).decode(errors='replace')

    def signal(self, number):
        self.process.send_signal(number)

    def pause(self):
        """Sends SIGSTOP: it will receive everything that is sent meanwhile together."""
        self.signal(signal.SIGSTOP)
        os.waitid(os.P_PID, self.process.pid, os.WSTOPPED | os.WNOWAIT)

    def resume(self):
        self.signal(signal.SIGCONT)

    @contextlib.contextmanager
    def paused(self):
        self.pause()
        try:
            yield
        finally:
            self.resume()

    def wait_exit(self, timeout=PATIENCE):
        return wait_exit(self.process, timeout)

    def complaints(self):
        return [line for line in self.stderr().splitlines()
                if any(report in line for report in REPORTS)
                and 'ERROR SUMMARY: 0 errors' not in line]

    def stop(self):
        """Sends SIGTERM. Returns the exit code."""
        if self.process.poll() is None:
            self.signal(signal.SIGCONT)
            self.signal(signal.SIGTERM)
            self.wait_exit()
        return self.process.returncode

    def end(self):
        end(self.process)


def owner_of(client, name=SERVICE):
    """The unique name of the owner of a name, or None."""
    try:
        return client.call(DRIVER_PATH, DRIVER, 'GetNameOwner', GLib.Variant('(s)', (name,)),
                           destination=DRIVER)[0]
    except DBusError as error:
        if error.short != 'NameHasNoOwner':
            raise
        return None


def pid_of(client, name):
    try:
        return client.call(DRIVER_PATH, DRIVER, 'GetConnectionUnixProcessID',
                           GLib.Variant('(s)', (name,)), destination=DRIVER)[0]
    except DBusError:
        return None


def start_and_use(start, control, use):
    """A service that exits when idle, and the result of `use()`, after which it is in use or not.
    On a machine that stalls the service may exit before: then another one is started. `start()`
    doesn't wait for it."""
    for left in reversed(range(5)):
        service = start()
        try:
            service.wait_ready(control)
            return service, use()
        except (RuntimeError, DBusError, ConnectionError):
            if left == 0 or service.wait_exit() != 0:
                raise
        wait_for(lambda: owner_of(control) is None, what='free name', every=0.005)
    raise AssertionError('not reached')


class TestTimeout(Exception):
    """Raised if a test takes longer than any normal run."""


class BusTestCase(unittest.TestCase):
    """One bus, one monitor and, unless `service` is False, one service for each class."""

    arguments = ()
    service = True
    time_limit = 180.0
    # Cases that end the service themselves check its end themselves.
    expect_exit = 0
    # Whether other clients may send broadcasts: the service never may.
    others_broadcast = False
    bus_config = buses.DAEMON_CONFIG

    @classmethod
    def setUpClass(cls):
        environment('WEBLOCKSD')
        cls.bus = cls.make_bus().start()
        cls.addClassCleanup(cls.bus.stop)
        cls.control = RawClient(cls.bus.address)
        cls.addClassCleanup(cls.control.close)
        cls.monitor = Monitor(cls.bus.address)
        cls.addClassCleanup(cls.monitor.close)
        cls.services = []
        cls.addClassCleanup(cls._end_services)
        cls.daemon = cls.start_service(*cls.arguments) if cls.service else None

    @classmethod
    def make_bus(cls):
        return Bus(config=cls.bus_config)

    @classmethod
    def _end_services(cls):
        for service in cls.services:
            service.end()

    @classmethod
    def start_service(cls, *arguments, ready=True, **kw):
        service = Service(cls.bus, arguments, **kw)
        cls.services.append(service)
        return service.wait_ready(cls.control) if ready else service

    @classmethod
    def kill_and_restart(cls, *arguments):
        """Kills the service of the class, and starts the next one with these arguments only."""
        cls.daemon.signal(signal.SIGKILL)
        cls.daemon.wait_exit()
        cls.daemon = cls.start_service(*arguments)

    @classmethod
    def tearDownClass(cls):
        problems = []
        if cls.daemon is not None:
            if cls.daemon.process.poll() is not None:
                problems.append(f'weblocksd ended early with {cls.daemon.process.returncode}')
            elif cls.daemon.stop() != cls.expect_exit:
                problems.append(f'weblocksd ended with {cls.daemon.process.returncode} '
                                f'on SIGTERM, not {cls.expect_exit}')
        for service in cls.services:
            problems += [f'weblocksd wrote: {line}' for line in service.complaints()]
        if cls.monitor.broken is None:
            cls.monitor.position()
        else:
            problems.append(f'the monitor ended before its time: {cls.monitor.broken}')
        names = {service.name for service in cls.services}
        problems += cls.monitor.get_misdirected(names, cls.others_broadcast)[:5]
        if problems:
            text = '\n'.join(problems + [service.stderr() for service in cls.services])
            raise AssertionError(text)

    def setUp(self):
        def on_alarm(_number, _frame):
            raise TestTimeout(f'{self.id()} took more than {self.time_limit * FACTOR} s')
        signal.signal(signal.SIGALRM, on_alarm)
        signal.setitimer(signal.ITIMER_REAL, self.time_limit * FACTOR)
        self.addCleanup(signal.setitimer, signal.ITIMER_REAL, 0)
        # If even the exception can't get through: print the stack, and exit; the
        # children die with us.
        faulthandler.dump_traceback_later(self.time_limit * FACTOR * 1.5, exit=True)
        self.addCleanup(faulthandler.cancel_dump_traceback_later)
        self._counter = 0
        self._names = []
        self.bucket = self.unique('bucket')
        # Registered first, so it runs after all the clients are closed.
        self.addCleanup(self._settle)

    def _settle(self):
        """Disconnects the clients of a test, so that the next one finds nothing of them."""
        self.wait_gone(*self._names)

    def unique(self, part='name'):
        """A lock or bucket name that no other test uses."""
        self._counter += 1
        return f'{self._testMethodName}.{part}.{self._counter}'

    def client(self):
        return self._adopt(Client(self.bus.address))

    def raw_client(self, **kw):
        return self._adopt(RawClient(self.bus.address, **kw))

    def lock_socket(self, client=None, **options):
        """Opens the lock socket of a raw client with descriptors; of a new one by default."""
        sock = open_socket(client or self.raw_client(descriptors=True), **options)
        self.addCleanup(sock.close)
        # The monitor is sent the descriptor too, and until it has read that, a close is none.
        self.monitor.position()
        return sock

    def socket_client(self, **kw):
        """A client with lock operations by socket and all others by the bus."""
        client = self._adopt(SocketClient(RawClient(self.bus.address, descriptors=True, **kw)))
        self.monitor.position()
        return client

    def process_client(self):
        return self._adopt(ProcessClient(self.bus.address, self.bus.environment()))

    def _adopt(self, client):
        self.addCleanup(client.close)
        self._names.append(client.name)
        return client

    def other_uid_client(self, uid=65534, **kw):
        """A client of another user, which only root can make."""
        if not can_be_others():
            self.skipTest('needs root, to connect as another user')
        return self.raw_client(uid=uid, **kw)

    def wait_gone(self, *names):
        """Waits until none of these unique names is on the bus, and the service has been notified."""
        def gone():
            known = self.control.call(DRIVER_PATH, DRIVER, 'ListNames', destination=DRIVER)[0]
            return not set(names) & set(known)
        wait_for(gone, what='end of connections', every=0.005)
        # The bus notified the service before it serves anything sent from now on.
        if self.daemon is not None and self.daemon.process.poll() is None:
            self.control.ping()

    def assert_error(self, short, function, *args, mentions='', **kw):
        """The call fails with that error of the contract, and its message names a thing; also on
        a lock socket, where that is the limit."""
        try:
            result = function(*args, **kw)
        except LockError as error:
            self.assertEqual(error.short, short)
            self.assertEqual(error.message, mentions or error.message)
            return error
        except DBusError as error:
            self.assertEqual(error.name, error_name(short), error.message)
            self.assertIn(mentions, error.message)
            return error
        raise AssertionError(f'expected {short}, got the answer {result!r}')

    def report(self):
        """Diagnostics of a failed test."""
        parts = [f'{service.command} ({service.process.poll()}) wrote:\n{service.stderr()[-4000:]}'
                for service in self.services]
        return '\n'.join(parts + ['the bus wrote:', self.bus.log()[-2000:]])


__all__ = ['Bus', 'BusTestCase', 'Client', 'DBusError', 'DRIVER', 'DRIVER_PATH', 'FACTOR',
           'GLib', 'Gio', 'LockError', 'Monitor', 'PATIENCE', 'ProcessClient', 'RawClient', 'Service',
           'SocketClient', 'buses', 'diagnostic', 'environment', 'error_name', 'full_size',
           'main', 'owner_of', 'pid_of', 'service_with', 'start_and_use', 'wait_exit',
           'wait_for']
