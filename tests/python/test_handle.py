# SPDX-FileCopyrightText: 2026 The WebLocks for D-Bus authors
# SPDX-License-Identifier: LGPL-2.1-or-later

"""`with handle:`, in one thread, in several, on asyncio, and interrupted by Ctrl-C."""

import asyncio
import dis
import sys
import threading

from harness_python import CTRL_C, Errors, GLib, PythonTestCase, WebLocks

ROUNDS = 20
THREADS = 3
PAIRS = 200

# Interrupted at any moment. Who has entered and not left could not enter again.
INTERRUPTED = '''
import os, signal, sys, gi
gi.require_version('WebLocks', '1')
from gi.repository import WebLocks

def say(text):
    print(f'<{text}>', flush=True)

signal.signal(signal.SIGINT, signal.default_int_handler)
handle = WebLocks.Manager(bucket=os.environ['BUCKET']).prepare('name')
with handle:
    pass
say('ready')
for i in range(%d):
    pairs = 0
    try:
        while True:
            with handle:
                pass
            pairs += 1
            if pairs == 20:
                say(f'runs {i}')
    except KeyboardInterrupt:
        pass
    say(f'interrupted {i}, entered {handle.get_entered()}, held {handle.held}')
''' % ROUNDS

WAITING = '''
import os, signal, sys, gi
gi.require_version('WebLocks', '1')
from gi.repository import WebLocks
signal.signal(signal.SIGINT, signal.default_int_handler)
handle = WebLocks.Manager(bucket=os.environ['BUCKET']).prepare('name')
print('<ready>', flush=True)
try:
    with handle:
        print('<granted>', flush=True)
except KeyboardInterrupt:
    print('<interrupted>', flush=True)
sys.stdin.readline()
with handle:
    print('<goes on>', flush=True)
'''


class Handles(PythonTestCase):
    arguments = ('--no-cells',)
    has_cells = False

    def setUp(self):
        super().setUp()
        self.handle = self.manager.prepare('x', why='to test')

    def test_body(self):
        handle = self.handle
        tokens = [handle.token]
        self.assertEqual(repr(handle), "<WebLocks.Handle 'x', not held>")
        for _ in range(3):
            with handle as entered:
                self.assertIs(entered, handle)
                self.assertTrue(handle.held)
                self.assertEqual(repr(handle), "<WebLocks.Handle 'x', held>")
                tokens.append(handle.token)
            self.assertFalse(handle.held)
        self.assertEqual(tokens, sorted(set(tokens)))
        self.assertEqual(handle.try_enter(), self.has_cells)
        if self.has_cells:
            handle.leave()
        with handle:
            self.assertEqual(self.state(), ([('x', 'exclusive', self.agent.client_id)], []))
            self.assertEqual(self.manager.inspect_sync(None).held[0].why, 'to test')
        self.assert_nothing_left()

    def test_body_that_raises_or_returns(self):
        def body():
            with self.handle:
                return self.handle.held
        for _ in range(2):
            with self.assertRaises(ZeroDivisionError):
                with self.handle:
                    raise ZeroDivisionError
            self.assertFalse(self.handle.held)
            self.assertTrue(body())
            self.assertFalse(self.handle.held)
        self.assert_nothing_left()

    def test_nested(self):
        for _ in range(2):
            with self.handle:
                with self.assertRaises(GLib.Error) as caught:
                    with self.handle:
                        self.fail('the body ran')
                self.assert_error_is(caught.exception, Errors.INVALID_STATE)
                self.assertTrue(self.handle.held)
            self.assertFalse(self.handle.held)

    def test_request_of_another(self):
        """Its lock is not that of the handle."""
        other = self.manager.prepare('y')
        for request in (other.request(None), WebLocks.Request.new(self.manager, 'z', None, None)):
            while not request.wait():
                pass
            with self.assertRaises(GLib.Error) as caught:
                self.handle.take(request)
            self.assert_error_is(caught.exception, Errors.INVALID_STATE)
            self.assertFalse(self.handle.get_entered())
            del request
        with other:
            pass

    def test_left_in_the_body(self):
        with self.handle:
            self.handle.leave()
        with self.handle:
            self.assertTrue(self.handle.held)

    def test_stolen_in_the_body(self):
        with self.assertRaises(GLib.Error) as caught:
            with self.handle:
                self.other.steal('x', bucket=self.bucket)
                self.other.ping()
        self.assert_error_is(caught.exception, Errors.STOLEN)
        self.assertFalse(self.handle.get_entered())
        with self.assertRaises(ZeroDivisionError):
            with self.manager.prepare('y'):
                self.other.steal('y', bucket=self.bucket)
                self.other.ping()
                raise ZeroDivisionError

    def test_threads(self):
        """A handle that all share, and one of each; `count` is only changed inside."""
        count, wrong = [0], []

        def run(mine):
            for i in range(PAIRS):
                with mine if i % 2 else self.handle:
                    before = count[0]
                    count[0] = None
                    if before is None:
                        wrong.append(i)
                        before = 0
                    count[0] = before + 1
        threads = [threading.Thread(target=run, args=(self.manager.prepare('x'),))
                   for _ in range(THREADS)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        self.assertEqual((wrong, count), ([], [THREADS * PAIRS]))

    def test_asyncio(self):
        order = []

        async def hold(text):
            async with self.handle:
                order.append(f'{text} in')
                await asyncio.sleep(0.01)
                order.append(f'{text} out')

        async def cancelled():
            task = asyncio.ensure_future(hold('never'))
            while not self.pending():
                await asyncio.sleep(0.01)
            task.cancel()
            with self.assertRaises(asyncio.CancelledError):
                await task

        async def both():
            await asyncio.gather(hold('a'), hold('b'), hold('c'))
            async with self.handle:
                await cancelled()
        asyncio.run(both())
        self.assertEqual(order, ['a in', 'a out', 'b in', 'b out', 'c in', 'c out'])
        self.assert_nothing_left()


class CtrlC(PythonTestCase):
    arguments = ('--no-cells',)
    has_cells = False

    def test_while_entering_and_leaving(self):
        self.interrupt_rounds(self.start_on_terminal(INTERRUPTED), ROUNDS, 'entered False, held False')

    def test_while_waiting(self):
        id_, _token = self.other.request('name', bucket=self.bucket)
        program = self.start_on_terminal(WAITING)
        self.wait_pending('name')
        while 'interrupted' not in program.text:
            program.press(CTRL_C)  # one that comes just before the wait has no effect
            program.wait_for('<interrupted>')
        self.wait_pending()
        self.other.release(id_, bucket=self.bucket)
        program.press(b'\n')
        program.wait_for('<goes on>')
        self.assertEqual(program.wait(), 0)
        self.assert_nothing_left()

    # The instructions after which Python 3.11 and later runs handlers of signals.
    CHECKED = 'RESUME', 'CALL', 'JUMP_BACKWARD', 'CALL_FUNCTION_EX'

    def test_at_any_instruction(self):
        """A handler that raises wherever Python runs handlers, one place after the other."""
        handle = self.manager.prepare('name')
        with handle:
            pass
        outcomes = set()

        def run(at):
            seen, last = [0], {}

            def trace(frame, event, _argument):
                frame.f_trace_opcodes = True
                code = frame.f_code
                if event != 'opcode' or not code.co_filename.endswith('WebLocks.py'):
                    return trace
                if last.get(frame) in self.CHECKED:
                    seen[0] += 1
                    if seen[0] == at:
                        sys.settrace(None)
                        raise KeyboardInterrupt
                last[frame] = dis.opname[code.co_code[frame.f_lasti]]
                return trace
            sys.settrace(trace)
            try:
                with handle:
                    pass
            except KeyboardInterrupt:
                return True
            finally:
                sys.settrace(None)
            return False
        at = 1
        while run(at):
            outcomes.add((handle.get_entered(), handle.held))
            if self.has_cells and at % 2:
                self.other.query(self.bucket)  # so that the next one needs a request
            at += 1
        self.assertGreater(at, 2)
        self.assertEqual(outcomes, {(False, False)})


class InCells:
    arguments = ()
    has_cells = True


class HandlesInCells(InCells, Handles):
    pass


class CtrlCInCells(InCells, CtrlC):
    pass
