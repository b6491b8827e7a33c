# SPDX-FileCopyrightText: 2026 The WebLocks for D-Bus authors
# SPDX-License-Identifier: LGPL-2.1-or-later

"""The lock socket: lock operations never use the bus, as a monitor of it sees; which process has the socket; a main
loop that does not run."""

from harness_python import FACTOR, PythonTestCase, WebLocks, run_async, wait_for

# Holds `a`, and forks a child that stays until its input ends; both print how many sockets of the agent they have, of
# which the child has none: there are others in their places.
FORK = '''
import os, sys, gi
gi.require_version('WebLocks', '1')
from gi.repository import WebLocks

def links():
    found = {}
    for name in os.listdir('/proc/self/fd'):
        try:
            found[name] = os.readlink('/proc/self/fd/' + name)
        except FileNotFoundError:
            pass
    return found

before = links()
lock = WebLocks.Manager(bucket=os.environ['BUCKET']).request_sync('a', None, None)
sockets = {fd for fd, to in links().items() if to.startswith('socket:') and before.get(fd) != to}
print(len(sockets), flush=True)
if os.fork() == 0:
    now = links()
    print(len([fd for fd in sockets if now[fd] == '/dev/null']), flush=True)
sys.stdin.readline()
'''


class Socket(PythonTestCase):
    def use(self, manager):
        """All kinds of calls and events."""
        lock, dropped = [manager.request_sync(name, None, None) for name in ('a', 'b')]
        del dropped
        self.wait_held('a')
        stolen = manager.request_sync('a', WebLocks.Options(steal=True), None)
        wait_for(lambda: not lock.get_held(), what='the loss')
        waiting = []
        manager.request_async('a', None, None, lambda _source, result: waiting.append(manager.request_finish(result)))
        self.wait_pending('a')
        run_async(lambda done: stolen.release_async(None, done), stolen.release_finish)
        wait_for(lambda: waiting, what='the grant')
        waiting.pop().release_sync(None)
        many = manager.request_many_sync(['x', 'y'], None, None)
        self.assertEqual(len(manager.query_sync(None).get_held()), 2)
        del many
        self.assert_nothing_left()

    def assert_by_socket(self, agent, start):
        used = {message.get_member() for message in self.monitor.messages(start, self.monitor.position())
                if (message.get_interface() or '').startswith('org.w3.WebLocks')
                and agent.get_client_id() in (message.get_sender(), message.get_destination())}
        self.assertEqual(used - {'Query', 'Watch'}, {'OpenSocket'})

    def test_an_agent_that_connects_when_it_is_used(self):
        start = self.monitor.position()
        agent = WebLocks.Agent(address=self.bus.address)
        self.addCleanup(agent.close)
        self.use(WebLocks.Manager.new(agent, self.bucket))
        self.assert_by_socket(agent, start)

    def test_an_agent_that_connects_without_a_service(self):
        """It is used with two successive ones."""
        start = self.monitor.position()
        self.daemon.stop()
        agent = self.new_agent()
        type(self).daemon = self.start_service()
        manager = WebLocks.Manager.new(agent, self.bucket)
        self.use(manager)
        self.kill_and_restart()
        # This bus doesn't start the service. An attempt to open the socket meanwhile has failed before this reply.
        manager.query_sync()
        self.use(manager)
        self.assert_by_socket(agent, start)

    def test_the_lock_of_a_process_that_has_forked_ends_with_it(self):
        process = self.script(FORK)
        # To the bus, and to the service.
        self.assertEqual([process.stdout.readline() for _ in range(2)], ['2\n', '2\n'])
        waiting = []
        self.manager.request_async('a', None, None, lambda _source, result: waiting.append(
            self.manager.request_finish(result)))
        self.wait_pending('a')
        process.kill()
        wait_for(lambda: waiting, what='the lock, although the child is still running')
        process.stdin.close()
        self.assertEqual(process.stdout.read(), '')  # the end of the child

    def test_a_lock_is_released_although_no_main_loop_runs(self):
        """It is dropped in a callback, which waits until another agent has it."""
        other = self.new_manager()
        options = WebLocks.Options(timeout=5000 * FACTOR)
        for _ in range(20):
            manager, done = self.new_manager(), []

            def on_lock(manager, result):
                manager.request_finish(result).release()
                other.request_sync('a', options, None).release_sync(None)
                done.append(None)
                if len(done) < 4:
                    manager.request_async('a', None, None, on_lock)
            manager.request_async('a', None, None, on_lock)
            wait_for(lambda: len(done) == 4, what='all callbacks')
