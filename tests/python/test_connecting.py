# SPDX-FileCopyrightText: 2026 The WebLocks for D-Bus authors
# SPDX-License-Identifier: LGPL-2.1-or-later

"""Connecting to buses to which connecting takes long: asynchronous calls do not block the main loop, nor other
threads that use the same agent, and fail in bounded time. Which address is connected to."""

import os
import re
import socket
import tempfile
import threading
import time
import unittest.mock

from harness_python import FACTOR, PATIENCE, Errors, Gio, GLib, PythonTestCase, WebLocks, run_async, wait_for

from buses import write_text

# As documented, and what a busy machine may take more; and much shorter than that.
BOUND, SLACK, SOON = 25, 20 * FACTOR, 10 * FACTOR
NOWHERE = 'unix:path=/nonexistent/bus'

REFUSED = ('', 'unix:', 'unix', 'unix:path=', 'unix:path', NOWHERE, 'unix:abstract=weblocks-nonexistent',
           'unix:path=%zz', 'unix:path=/a,abstract=b', 'unix:path=/a,path=/b', 'unix:tmpdir=/tmp',
           'unix:path=/a,color=red', 'nonsense', 'nonsense:key=value', 'disabled:', 'unixexec:path=/bin/false',
           'autolaunch:', 'tcp:host=127.0.0.1,port=1', 'nonce-tcp:', 'launchd:env=X', 'unix:path=/a;;',
           'unix:path=/' + 200 * 'x')


class SilentBus:
    """A bus whose process is stopped: the kernel queues connections and what they send, and nothing is answered. Its
    queue may be full, and then no connection is made."""

    def __init__(self, case, is_full):
        directory = case.enterContext(tempfile.TemporaryDirectory(prefix='silent-bus-'))
        path = os.path.join(directory, 'bus')
        self.address = f'unix:path={path}'
        self.socket = socket.socket(socket.AF_UNIX)
        case.addCleanup(self.socket.close)
        self.socket.bind(path)
        self.socket.listen(0 if is_full else 128)
        self.socket.setblocking(False)
        self.fillers = []
        while is_full:
            filler = socket.socket(socket.AF_UNIX)
            case.addCleanup(filler.close)
            filler.setblocking(False)
            try:
                filler.connect(path)
            except BlockingIOError:
                break
            self.fillers.append(filler)
        self.accepted = []
        case.addCleanup(lambda: [each.close() for each in self.accepted])

    def accept(self):
        """Accepts all connections that are queued. Returns how many it has accepted so far, without those that filled
        the queue."""
        while True:
            try:
                self.accepted.append(self.socket.accept()[0])
            except BlockingIOError:
                return max(0, len(self.accepted) - len(self.fillers))


class Connecting(PythonTestCase):
    def agent_of(self, address):
        agent = WebLocks.Agent(address=address)
        self.addCleanup(agent.close)
        return agent

    def ticks(self, count):
        """Returns when the main loop has run so often."""
        ticks = []
        source = GLib.timeout_add(10, lambda: ticks.append(None) or True)
        wait_for(lambda: len(ticks) >= count, what='ticks')
        GLib.source_remove(source)

    def begin(self, agent, cancellable=None):
        """Starts to connect. The list gets True, or the error."""
        ended = []

        def on_end(agent, result):
            try:
                ended.append(agent.init_finish(result))
            except GLib.Error as error:
                ended.append(error)
        agent.init_async(GLib.PRIORITY_DEFAULT, cancellable, on_end)
        return ended

    def assert_cancelled(self, ended):
        wait_for(lambda: ended, what='the end of a call')
        self.assertTrue(ended[0].matches(Gio.io_error_quark(), Gio.IOErrorEnum.CANCELLED), ended)

    def check_silent(self, is_full):
        agent = self.agent_of(SilentBus(self, is_full).address)
        manager, cancellable, requested = WebLocks.Manager.new(agent, self.bucket), Gio.Cancellable(), []

        def on_end(manager, result):
            try:
                requested.append(manager.request_finish(result))
            except GLib.Error as error:
                requested.append(error)
        began = time.monotonic()
        connected = self.begin(agent, cancellable)
        manager.request_async('a', None, cancellable, on_end)
        self.assertLess(time.monotonic() - began, SOON)
        self.ticks(20)
        self.manager.request_sync('b', None, None).release_sync(None)
        seen = []
        thread = threading.Thread(target=lambda: seen.append(agent.get_connected()), daemon=True)
        thread.start()
        thread.join(PATIENCE)
        self.assertEqual((seen, connected, requested), ([False], [], []))
        cancellable.cancel()
        self.assert_cancelled(requested)
        self.assert_cancelled(connected)
        self.assertLess(time.monotonic() - began, SOON)

    def test_silent(self):
        self.check_silent(is_full=False)

    def test_full(self):
        self.check_silent(is_full=True)

    def test_full_for_a_while(self):
        """It is connected to when it accepts again."""
        bus, cancellable = SilentBus(self, is_full=True), Gio.Cancellable()
        agent = self.agent_of(bus.address)
        connected = self.begin(agent, cancellable)
        self.ticks(5)
        wait_for(lambda: bus.accept() > 0, what='the connection')
        cancellable.cancel()
        self.assert_cancelled(connected)

    def test_time_out_of_a_request_includes_connecting(self):
        manager = WebLocks.Manager.new(self.agent_of(SilentBus(self, is_full=False).address), self.bucket)
        options = WebLocks.Options(timeout=50)
        self.assert_fails(Errors.TIMEOUT, manager.request_sync, 'a', options, None)
        self.assert_fails(Errors.TIMEOUT, run_async, lambda done: manager.request_async('a', options, None, done),
                          manager.request_finish)

    def test_bound(self):
        full, silent = SilentBus(self, is_full=True), SilentBus(self, is_full=False)
        began = time.monotonic()
        agents = [self.agent_of(address) for address in (full.address, silent.address, f'{full.address};{NOWHERE}')]
        for ended in [self.begin(agent) for agent in agents]:
            wait_for(lambda: ended, timeout=BOUND + SLACK, what='the end')
            self.assert_error_is(ended[0], Errors.UNAVAILABLE)
        self.assertLess(time.monotonic() - began, BOUND + SLACK)

    def test_lists(self):
        """The first one that can be connected to."""
        for address in (f'{NOWHERE};tcp:host=127.0.0.1,port=1;{self.bus.address}', f'{self.bus.address};{NOWHERE}',
                        f'{SilentBus(self, is_full=True).address};{self.bus.address}'):
            agent = self.agent_of(address)
            agent.init(None)
            self._names.append(agent.get_client_id())
            WebLocks.Manager.new(agent, self.bucket).request_sync('a', None, None).release_sync(None)

    def test_refused(self):
        for address in REFUSED:
            with self.subTest(address):
                agent = self.agent_of(address)
                self.assert_fails(Errors.UNAVAILABLE, agent.init, None)
                ended = self.begin(agent)
                wait_for(lambda: ended, what='the end')
                self.assert_error_is(ended[0], Errors.UNAVAILABLE)

    def test_session_bus(self):
        """Without an address in the environment, that of the session bus is a socket in the user's runtime directory.
        No program is started if there is none."""
        directory = self.enterContext(tempfile.TemporaryDirectory())
        program, started = os.path.join(directory, 'dbus-launch'), os.path.join(directory, 'started')
        write_text(program, f'#!/bin/sh\n>>{started}\n')
        os.chmod(program, 0o755)
        # GLib starts the program only with a display.
        self.enterContext(unittest.mock.patch.dict(os.environ, {
            'PATH': f'{directory}:{os.environ["PATH"]}', 'DISPLAY': ':99', 'XDG_RUNTIME_DIR': directory}))
        os.environ.pop('DBUS_SESSION_BUS_ADDRESS', None)
        agent = WebLocks.Agent(bus_type=Gio.BusType.SESSION)
        self.addCleanup(agent.close)
        self.assert_fails(Errors.UNAVAILABLE, agent.init, None)
        self.assert_fails(Errors.UNAVAILABLE, self.agent_of('autolaunch:').init, None)
        self.assertFalse(os.path.exists(started))
        os.symlink(re.search('path=([^,]+)', self.bus.address)[1], os.path.join(directory, 'bus'))
        self.assertTrue(agent.init(None))
        self._names.append(agent.get_client_id())
