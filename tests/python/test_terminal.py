# SPDX-FileCopyrightText: 2026 The WebLocks for D-Bus authors
# SPDX-License-Identifier: LGPL-2.1-or-later

"""Ctrl-C on a terminal while a program waits for a lock, holds it, and takes and releases it."""

import time

from buses import read_text
from harness_python import CTRL_C, PythonTestCase, wait_for

ROUNDS = 20

BEGIN = '''
import os, signal, sys, threading, time, gi
gi.require_version('WebLocks', '1')
from gi.repository import GLib, WebLocks
manager = WebLocks.Manager(bucket=os.environ['BUCKET'])

def say(text):
    print(f'<{text}>', flush=True)

# A signal that comes just before a sleep does not interrupt it.
def sleep():
    while True:
        time.sleep(0.05)

signal.signal(signal.SIGINT, signal.default_int_handler)
'''

WAIT = '''
def wait():
    try:
        with manager.lock('name'):
            say('granted')
            sleep()
    except KeyboardInterrupt:
        say('interrupted')

say('ready')
%s
sys.stdin.readline()
with manager.lock('other'):
    say('goes on')
'''

IN_CALLBACK = '''
ended = []
GLib.idle_add(lambda: ended.append(wait()))
while not ended:
    GLib.MainContext.default().iteration(True)
'''

RAISES = '''
signal.signal(signal.SIGINT, lambda *_: sys.exit(7))
say('ready')
with manager.lock('name'):
    say('granted')
'''

HANDLER = '''
seen = []
signal.signal(signal.SIGINT, lambda *_: say(f'seen {len(seen)}') or seen.append(None))
say('ready')
with manager.lock('name'):
    say('granted')
    sys.stdin.readline()
say('left')
'''

THREADS = '''
def run(number):
    with manager.lock('name', mode='shared'):
        say(f'granted to {number}')
        done.wait()

done = threading.Event()
threads = [threading.Thread(target=run, args=(number,)) for number in range(3)]
for thread in threads:
    thread.start()
signal.signal(signal.SIGUSR1, lambda *_: None)
while len(manager.query_sync().pending) < 3:
    pass
for thread in threads:
    signal.pthread_kill(thread.ident, signal.SIGUSR1)
say('ready')
try:
    with manager.lock('name', mode='shared'):
        say('granted to the main thread')
except KeyboardInterrupt:
    say('interrupted')
while True:
    try:
        sys.stdin.readline()
        break
    except KeyboardInterrupt:
        pass
done.set()
for thread in threads:
    thread.join()
say('joined')
'''

# Pairs, interrupted at any moment. What is held afterwards would make the next pair wait.
PAIRS = '''
say('ready')
for i in range(%d):
    pairs = 0
    try:
        while True:
            with manager.lock('name', timeout=10):
                pass
            pairs += 1
            if pairs == 20:
                say(f'runs {i}')
    except KeyboardInterrupt:
        pass
    snapshot = manager.query_sync()
    say(f'interrupted {i}, left {len(snapshot.held)} {len(snapshot.pending)}')
''' % ROUNDS


class CtrlC(PythonTestCase):
    def start(self, code):
        return self.start_on_terminal(BEGIN + code)

    def interrupt(self, program):
        """Presses the keys when the main thread is asleep: a signal that comes just before a blocking
        call of Python does not interrupt that."""
        def switches():
            status = read_text(f'/proc/{program.pid}/status')
            return status.count('State:\tS') and status.partition('voluntary_ctxt_switches:')[2]

        def is_asleep():
            before = switches()
            time.sleep(0.02)
            return before and before == switches()
        wait_for(is_asleep, what='a program that waits', every=0.005)
        program.press(CTRL_C)

    def hold(self):
        self.first, _token = self.other.request('name', bucket=self.bucket)

    def let_go(self):
        self.other.release(self.first, bucket=self.bucket)

    def assert_goes_on(self, program):
        self.assert_nothing_left()
        program.press(b'\n')
        program.wait_for('<goes on>')
        self.assertEqual(program.wait(), 0)

    def check_interrupted(self, program, is_stopped=False):
        """With `is_stopped` while the service is stopped: nothing waits for it."""
        if is_stopped:
            self.daemon.pause()
            self.addCleanup(self.daemon.resume)
        self.interrupt(program)
        program.wait_for('<interrupted>')
        if is_stopped:
            self.daemon.resume()

    def check_while_waiting(self, wait='wait()', **more):
        self.hold()
        program = self.start(WAIT % wait)
        self.wait_pending('name')
        self.check_interrupted(program, **more)
        self.wait_pending()
        self.let_go()
        self.assert_goes_on(program)

    def test_while_waiting(self):
        self.check_while_waiting()

    def test_while_waiting_in_a_callback(self):
        self.check_while_waiting(IN_CALLBACK)

    def test_while_waiting_and_the_service_is_stopped(self):
        self.check_while_waiting(is_stopped=True)

    def check_while_holding(self, **more):
        program = self.start(WAIT % 'wait()')
        program.wait_for('<granted>')
        self.assertEqual(self.held(), ['name'])
        self.check_interrupted(program, **more)
        self.assert_goes_on(program)

    def test_while_holding(self):
        self.check_while_holding()

    def test_while_holding_and_the_service_is_stopped(self):
        self.check_while_holding(is_stopped=True)

    def test_handler_that_raises(self):
        self.hold()
        program = self.start(RAISES)
        self.wait_pending('name')
        self.interrupt(program)
        self.assertEqual(program.wait(), 7)
        self.let_go()
        self.assert_nothing_left()

    def test_while_taking_and_releasing(self):
        self.interrupt_rounds(self.start(PAIRS), ROUNDS, 'left 0 0')

    def test_handler_that_does_not_raise(self):
        """It runs while the program waits, which keeps its place in the queue."""
        self.hold()
        program = self.start(HANDLER)
        self.wait_pending('name')
        second = self.client()
        second.request('name', bucket=self.bucket)
        for i in range(5):
            self.interrupt(program)
            program.wait_for(f'<seen {i}>')
            self.assertEqual(self.pending(), ['name', 'name'])
        self.let_go()
        program.wait_for('<granted>')
        program.press(b'\n')
        program.wait_for('<left>')
        self.assertEqual(program.wait(), 0)
        wait_for(lambda: self.state()[0] == [('name', 'exclusive', second.name)], what='grant')

    def test_other_threads_wait_on(self):
        """Only the main thread gets signals of Python."""
        self.hold()
        program = self.start(THREADS)
        self.wait_pending(*4 * ['name'])
        self.interrupt(program)
        program.wait_for('<interrupted>')
        self.wait_pending(*3 * ['name'])
        self.let_go()
        for number in range(3):
            program.wait_for(f'<granted to {number}>')
        self.assertNotIn('granted to the main thread', program.text)
        program.press(b'\n')
        program.wait_for('<joined>')
        self.assertEqual(program.wait(), 0)
        self.assert_nothing_left()
