# SPDX-FileCopyrightText: 2026 The WebLocks for D-Bus authors
# SPDX-License-Identifier: LGPL-2.1-or-later

"""Lock operations never use the bus, as a monitor of it sees."""

from harness_python import PythonTestCase, WebLocks, run_async, wait_for


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
        self.use(manager)
        self.assert_by_socket(agent, start)
