# SPDX-FileCopyrightText: 2026 The WebLocks for D-Bus authors
# SPDX-License-Identifier: LGPL-2.1-or-later

"""What the tests of the Python binding share: a bus, a service, agents in this process."""

import os
import subprocess
import sys

import gi
gi.require_version('WebLocks', '1')
from gi.repository import Gio, GLib, WebLocks

from harness import FACTOR, PATIENCE, BusTestCase, diagnostic, main, wait_exit, wait_for
from terminal import Terminal

assert os.path.realpath(sys.modules['gi.overrides.WebLocks'].__file__).startswith(
    os.path.realpath(os.environ['WEBLOCKS_PYTHON_DIR'])), 'another override was found'

Errors = WebLocks.Error
CTRL_C = b'\x03'


class PythonTestCase(BusTestCase):
    """`manager` belongs to the agent under test; `other` is another client."""

    def setUp(self):
        super().setUp()
        self.agent = self.new_agent()
        self.bucket = self.unique('bucket')
        self.manager = WebLocks.Manager.new(self.agent, self.bucket)
        self.other = self.client()

    def new_agent(self):
        agent = WebLocks.Agent(address=self.bus.address)
        agent.init(None)
        self._names.append(agent.props.client_id)
        self.addCleanup(agent.close)
        return agent

    def new_manager(self):
        """Another client in the bucket under test."""
        return WebLocks.Manager.new(self.new_agent(), self.bucket)

    def state(self):
        """The service's Query of the bucket: (name, mode, clientId) of held and pending."""
        return self.other.query(self.bucket)

    def held(self):
        return sorted(name for name, _mode, _client in self.state()[0])

    def pending(self):
        return sorted(name for name, _mode, _client in self.state()[1])

    def assert_nothing_left(self):
        """What has been released without waiting may not have been read by the service yet."""
        wait_for(lambda: self.state() == ([], []), what='no lock and no request', every=0.005)

    def wait_pending(self, *names):
        wait_for(lambda: self.pending() == sorted(names), what=f'requests of {names}', every=0.005)

    def wait_held(self, *names):
        wait_for(lambda: self.held() == sorted(names), what=f'locks of {names}', every=0.005)

    def assert_fails(self, code, function, *args, **kw):
        """The call raises that error of the library."""
        with self.assertRaises(GLib.Error) as caught:
            function(*args, **kw)
        self.assert_error_is(caught.exception, code)
        return caught.exception

    def assert_error_is(self, error, code):
        self.assertTrue(error.matches(WebLocks.error_quark(), code),
                        f'expected {code.value_nick}, got {error.domain} {error.code}: {error}')

    def script(self, code, **options):
        """A Python process on the bus; it prints, and gets commands on its stdin."""
        env = {**self.bus.environment(), 'BUCKET': self.bucket}
        process = subprocess.Popen([sys.executable, '-c', code], stdin=subprocess.PIPE,
                                   stdout=subprocess.PIPE, text=True, bufsize=1,
                                   env=env, **options)
        self.addCleanup(process.stdout.close)
        self.addCleanup(process.stdin.close)
        self.addCleanup(process.wait)
        self.addCleanup(process.kill)
        return process

    def start_on_terminal(self, code):
        """A Python program on the bus and on a terminal, which has printed that it is ready."""
        program = Terminal([sys.executable, '-c', code],
                           {**self.bus.environment(), 'BUCKET': self.bucket})
        self.addCleanup(program.end)
        program.wait_for('<ready>')
        return program

    def interrupt_rounds(self, program, n_rounds, after):
        """Presses Ctrl-C in each round of the program, which then prints that it was interrupted, and `after`."""
        for i in range(n_rounds):
            program.wait_for(f'<runs {i}>')
            program.press(CTRL_C)
            program.wait_for(f'<interrupted {i}, {after}>')
        self.assertEqual(program.wait(), 0)
        self.assert_nothing_left()


def run_async(start, finish):
    """Calls start(callback), iterates the main context until the callback, returns
    finish(result)."""
    results = []
    start(lambda _source, result, *_data: results.append(result))
    wait_for(lambda: results, what='callback')
    return finish(results[0])


__all__ = ['Errors', 'FACTOR', 'Gio', 'GLib', 'PATIENCE', 'PythonTestCase', 'WebLocks',
           'diagnostic', 'main', 'run_async', 'wait_exit', 'wait_for']
