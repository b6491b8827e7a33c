# SPDX-FileCopyrightText: 2026 The WebLocks for D-Bus authors
# SPDX-License-Identifier: LGPL-2.1-or-later

"""The library in PyGObject: every class, nullability and ownership."""

import os
import time

from harness_python import (Errors, Gio, GLib, PythonTestCase, WebLocks, main, run_async,
                            wait_for)

class Classes(PythonTestCase):
    def test_agent(self):
        agent = WebLocks.Agent.new(Gio.BusType.NONE, self.bus.address)
        self.assertFalse(agent.get_connected())
        self.assertTrue(agent.init(None))
        self.assertTrue(agent.get_connected())
        self.assertTrue(agent.service_running)
        self.assertRegex(agent.get_client_id(), r'^:\d')
        agent.close()
        self.assertFalse(agent.get_connected())
        self.assert_fails(Errors.INVALID_STATE, WebLocks.Manager.new(agent, 'b').query_sync)

    def test_agent_without_a_bus(self):
        nowhere = WebLocks.Agent(address='unix:path=/nonexistent/bus')
        self.assert_fails(Errors.UNAVAILABLE, nowhere.init, None)
        self.assert_fails(Errors.UNAVAILABLE,
                          WebLocks.Manager(agent=nowhere, bucket='b').request_sync, 'x')

    def test_agent_async(self):
        agent = WebLocks.Agent(address=self.bus.address)
        self.assertTrue(run_async(
            lambda done: agent.init_async(GLib.PRIORITY_DEFAULT, None, done), agent.init_finish))
        self.assertTrue(agent.get_connected())
        agent.close()

    def test_manager_is_constructed_with_properties(self):
        manager = WebLocks.Manager(agent=self.agent, bucket=self.bucket)
        self.assertEqual((manager.agent, manager.bucket), (self.agent, self.bucket))
        lock = manager.request_sync('x')
        self.assertEqual(self.held(), ['x'])
        lock.release_sync()
        self.assertEqual(WebLocks.Manager().bucket, 'default')
        with self.assertRaises(GLib.Error) as caught:
            WebLocks.Manager(bucket='').request_sync('x')
        self.assertTrue(caught.exception.matches(Gio.io_error_quark(),
                                                 Gio.IOErrorEnum.INVALID_ARGUMENT))

    def test_default_agent_is_one_and_not_connected_yet(self):
        agent = WebLocks.Agent.dup_default(Gio.BusType.SESSION)
        self.assertIs(WebLocks.Agent.dup_default(Gio.BusType.SESSION), agent)
        self.assertIsNone(agent.get_client_id())
        self.assertFalse(agent.get_connected())
        self.assertIsNot(WebLocks.Agent.dup_default(Gio.BusType.SYSTEM), agent)

    def test_huge_names(self):
        name = 'ä' * 10**7
        for call in (lambda: self.manager.request_sync(name),
                     lambda: self.manager.request_many_sync(['x', name]),
                     lambda: self.manager.inspect_sync(name),
                     lambda: self.manager.lock(name).__enter__()):
            self.assert_fails(Errors.LIMITS, call)
        self.assert_nothing_left()

    def test_bucket_names(self):
        for bad in ('', 'x' * 256):
            with self.assertRaises(GLib.Error) as caught:
                WebLocks.Manager.new(self.agent, bad).query_sync()
            self.assertTrue(caught.exception.matches(Gio.io_error_quark(),
                                                     Gio.IOErrorEnum.INVALID_ARGUMENT))
        manager = WebLocks.Manager.new(self.agent, 'x' * 255)
        self.assertEqual(manager.get_bucket(), 'x' * 255)
        self.assertIs(manager.get_agent(), self.agent)
        private = self.agent.create_private_manager()
        self.assertNotEqual(private.get_bucket(), self.agent.create_private_manager().get_bucket())

    def test_observable_and_break(self):
        lock = self.manager.request_sync('x')
        for managers in (self.agent.list_observable_sync(None),
                         run_async(lambda done: self.agent.list_observable_async(None, done),
                                   self.agent.list_observable_finish)):
            manager, = managers
            self.assertEqual((manager.get_bucket(), manager.get_application(), manager.get_uid(),
                              manager.get_observed()), (self.bucket, None, os.getuid(), False))
        held, = manager.inspect_sync(None).get_held()
        self.assertEqual((held.get_application(), held.get_uid()), ('', os.getuid()))
        self.assertGreater(held.get_id(), 0)
        self.assertLess(abs(held.get_since() / 1e6 - time.time()), 60)
        self.assertEqual(manager.break_sync('x', held), 1)
        self.assertEqual(manager.break_sync('x'), 0)
        self.assert_fails(Errors.NOT_SUPPORTED, lambda: manager.break_sync('-x'))
        self.assert_fails(Errors.STOLEN, lock.release_sync)

    def test_options(self):
        options = WebLocks.Options()
        self.assertEqual((options.get_mode(), options.get_if_available(), options.get_steal(),
                          options.get_timeout(), options.get_why()),
                         (WebLocks.Mode.EXCLUSIVE, False, False, 0, None))
        options = WebLocks.Options(mode=WebLocks.Mode.SHARED, if_available=True, steal=True,
                                   timeout=4294967295, why='ä')
        self.assertEqual((options.props.mode, options.props.if_available, options.props.steal,
                          options.props.timeout, options.props.why),
                         (WebLocks.Mode.SHARED, True, True, 4294967295, 'ä'))
        options.set_why(None)
        self.assertIsNone(options.get_why())

    def test_request_sync(self):
        options = WebLocks.Options(mode=WebLocks.Mode.SHARED)
        lock = self.manager.request_sync('x', options, Gio.Cancellable())
        self.assertEqual((lock.get_name(), lock.get_mode(), lock.get_held()),
                         ('x', WebLocks.Mode.SHARED, True))
        self.assertGreater(lock.get_token(), 2**32)
        self.assertEqual(self.state(), ([('x', 'shared', self.agent.get_client_id())], []))
        self.assertTrue(lock.release_sync())
        self.assertFalse(lock.get_held())
        self.assert_nothing_left()
        self.assert_fails(Errors.NOT_HELD, lock.release_sync)

    def test_release(self):
        lock = self.manager.request_sync('x')
        self.assertIsNone(lock.release())
        self.assertFalse(lock.get_held())
        self.assertIsNone(lock.get_error())
        self.assertEqual(len(self.manager.query_sync().held), 0)
        self.assertIsNone(lock.release())

    def test_held_without_a_main_loop(self):
        lock = self.manager.request_sync('x')
        self.assertTrue(lock.get_held())
        self.other.steal('x', bucket=self.bucket)
        self.other.ping()
        self.assertEqual((lock.get_held(), lock.props.held), (False, False))
        self.assertTrue(lock.get_error().matches(WebLocks.error_quark(), Errors.STOLEN))

    def test_none_without_an_error(self):
        self.other.request('x', bucket=self.bucket)
        options = WebLocks.Options(if_available=True)
        self.assertIsNone(self.manager.request_sync('x', options))
        # PyGObject returns NULL arrays as empty lists.
        self.assertEqual(self.manager.request_many_sync(['a', 'x'], options), [])
        self.assertIsNone(run_async(
            lambda done: self.manager.request_async('x', options, None, done),
            self.manager.request_finish))
        self.assertEqual(self.held(), ['x'])

    def test_errors(self):
        request = self.manager.request_sync
        self.assert_fails(Errors.NOT_SUPPORTED, request, '-x')
        self.other.request('x', bucket=self.bucket)
        error = self.assert_fails(Errors.TIMEOUT, request, 'x', WebLocks.Options(timeout=1))
        self.assertEqual(error.domain, GLib.quark_to_string(WebLocks.error_quark()))
        self.assertFalse(error.matches(WebLocks.error_quark(), Errors.CLOSED))
        self.assert_fails(Errors.LIMITS, request, 'x' * 1025)
        cancelled = Gio.Cancellable()
        cancelled.cancel()
        with self.assertRaises(GLib.Error) as caught:
            request('y', None, cancelled)
        self.assertTrue(caught.exception.matches(Gio.io_error_quark(), Gio.IOErrorEnum.CANCELLED))

    def test_cancellable_ends_an_async_wait(self):
        id_, _token = self.other.request('x', bucket=self.bucket)
        cancellable = Gio.Cancellable()
        results = []
        self.manager.request_async('x', None, cancellable,
                                   lambda _manager, result: results.append(result))
        self.wait_pending('x')
        cancellable.cancel()
        wait_for(lambda: results, what='callback')
        with self.assertRaises(GLib.Error) as caught:
            self.manager.request_finish(results[0])
        self.assertTrue(caught.exception.matches(Gio.io_error_quark(), Gio.IOErrorEnum.CANCELLED))
        self.wait_pending()
        self.other.release(id_, bucket=self.bucket)

    def test_request_many(self):
        locks = self.manager.request_many_sync(['c', 'a', 'b', 'a'])
        self.assertEqual([lock.get_name() for lock in locks], ['a', 'b', 'c'])
        # The list owns one reference of each, and there is no other.
        self.assertEqual([lock.__grefcount__ for lock in locks], [1, 1, 1])
        self.assertEqual(self.held(), ['a', 'b', 'c'])
        del locks[1]
        self.wait_held('a', 'c')
        del locks
        self.wait_held()
        self.assertEqual(self.manager.request_many_sync([]), [])

    def test_lost(self):
        lock = self.manager.request_sync('x')
        losses = []
        lock.connect('lost', lambda _lock, error: losses.append((error.code, lock.get_held())))
        self.other.steal('x', bucket=self.bucket)
        wait_for(lambda: losses, what='lost')
        self.assertEqual(losses, [(Errors.STOLEN, False)])
        self.assertTrue(lock.get_error().matches(WebLocks.error_quark(), Errors.STOLEN))
        self.assert_fails(Errors.STOLEN, lock.release_sync)

    def test_dropping_the_last_reference_releases(self):
        lock = self.manager.request_sync('x')
        self.assertEqual(self.held(), ['x'])
        del lock
        self.wait_held()

    def test_inspect(self):
        lock = self.manager.request_sync('x', WebLocks.Options(why='to test'))
        self.other.request('x', bucket=self.bucket)
        snapshot = self.manager.inspect_sync(None)
        held, = snapshot.get_held()
        self.assertEqual((held.get_name(), held.get_mode(), held.get_held(), held.get_client_id(),
                          held.get_token(), held.get_why(), held.get_position(),
                          held.get_blocked_by()),
                         ('x', WebLocks.Mode.EXCLUSIVE, True, self.agent.get_client_id(),
                          lock.get_token(), 'to test', 0, []))
        self.assertGreater(held.get_pid(), 0)
        self.assertTrue(held.get_process())
        self.assertLess(abs(time.time() - held.get_since() / 1e6), 60)
        pending, = snapshot.get_pending()
        self.assertEqual((pending.get_held(), pending.get_position(), pending.get_blocked_by()),
                         (False, 1, [self.agent.get_client_id()]))
        self.assertEqual(len(self.manager.inspect_sync('y').get_held()), 0)
        lock.release_sync()

    def test_fields_not_in_a_query(self):
        lock = self.manager.request_sync('x')
        info, = self.manager.query_sync().get_held()
        self.assertEqual((info.get_token(), info.get_why(), info.get_pid(), info.get_process()),
                         (0, '', 0, ''))
        self.assertIn(info.get_blocked_by(), (None, []))
        lock.release_sync()

    def test_monitor(self):
        monitor = WebLocks.Monitor.new_sync(self.manager)
        self.assertIs(monitor.get_manager(), self.manager)
        changes = []
        monitor.get_held().connect('items-changed',
                                   lambda _list, *change: changes.append(change))
        id_, _token = self.other.request('x', bucket=self.bucket)
        wait_for(lambda: len(monitor.get_held()) == 1, what='item')
        self.assertEqual(monitor.get_held()[0].get_client_id(), self.other.name)
        self.other.release(id_, bucket=self.bucket)
        wait_for(lambda: len(monitor.get_held()) == 0, what='no item')
        self.assertEqual(changes, [(0, 0, 1), (0, 1, 0)])
        del monitor

    def test_monitor_of_all_buckets(self):
        monitor = WebLocks.Monitor.new_all_sync(self.agent)
        self.assertIsNone(monitor.get_manager())
        other_bucket = self.bucket + '/other'
        self.other.request('x', bucket=other_bucket)
        wait_for(lambda: len(monitor.get_held()) == 1, what='item')
        info, = monitor.get_held()
        manager = info.get_manager()
        self.assertEqual((manager.get_bucket(), info.get_client_id()),
                         (other_bucket, self.other.name))
        self.assertEqual(manager.break_sync('x', info), 1)
        wait_for(lambda: len(monitor.get_held()) == 0, what='no item')
        monitors = (monitor, run_async(lambda done: WebLocks.Monitor.new_all_async(
            self.agent, None, done), WebLocks.Monitor.new_all_finish))
        lock = self.manager.request_sync('y')
        for each in monitors:
            wait_for(lambda each=each: [item.get_manager().get_bucket()
                                        for item in each.get_held()] == [self.bucket],
                     what='item of the own bucket')
        lock.release_sync()

    def test_names_of_all_scripts(self):
        for name in ('', 'ä€😀', 'a' * 1024, '\t\n\x01'):
            with self.subTest(name=name):
                lock = self.manager.request_sync(name)
                self.assertEqual(lock.get_name(), name)
                self.assertEqual(self.held(), [name])
                lock.release_sync()


if __name__ == '__main__':
    main()
