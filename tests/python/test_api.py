# SPDX-FileCopyrightText: 2026 The WebLocks for D-Bus authors
# SPDX-License-Identifier: LGPL-2.1-or-later

"""The library in PyGObject: every class, nullability and ownership."""

import os
import time

from harness_python import Errors, Gio, GLib, PythonTestCase, WebLocks, run_async, wait_for

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

    def test_slots_and_downgrade(self):
        options = WebLocks.Options(slots=2)
        first, second = [self.manager.request_sync('x', options) for _ in range(2)]
        self.assertEqual([info.slots for info in self.manager.inspect_sync(None).held], [2, 2])
        with self.manager.lock('x', slots=2, if_available=True) as third:
            self.assertIsNone(third)
        self.assert_fails(Errors.INVALID_STATE, first.downgrade_sync)
        second.release_sync()
        modes = []
        first.connect('notify::mode', lambda lock, _: modes.append(lock.mode))
        self.assertTrue(first.downgrade_sync())
        self.assertEqual(first.mode, WebLocks.Mode.SHARED)
        wait_for(lambda: modes == [WebLocks.Mode.SHARED])
        with self.manager.lock('x', mode='shared', if_available=True) as reader:
            self.assertTrue(reader.held)
        with self.assertRaises(GLib.Error) as caught:
            self.manager.request_sync('y', WebLocks.Options(slots=0))
        self.assertTrue(caught.exception.matches(Gio.io_error_quark(),
                                                 Gio.IOErrorEnum.INVALID_ARGUMENT))
        first.release_sync()

    def test_observable_and_break(self):
        lock = self.manager.request_sync('x')
        for managers in (self.agent.list_observable_sync(None),
                         run_async(lambda done: self.agent.list_observable_async(None, done),
                                   self.agent.list_observable_finish)):
            manager, = managers
            self.assertEqual((manager.get_bucket(), manager.get_application(), manager.get_uid(),
                              manager.get_observed()), (self.bucket, None, os.getuid(), False))
            self.assertEqual((manager.props.application, manager.props.uid, manager.props.observed),
                             (None, os.getuid(), False))
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

    def test_lost(self):
        lock = self.manager.request_sync('x')
        losses = []
        lock.connect('lost', lambda _lock, error: losses.append((error.code, lock.get_held())))
        self.other.steal('x', bucket=self.bucket)
        wait_for(lambda: losses, what='lost')
        self.assertEqual(losses, [(Errors.STOLEN, False)])
        self.assertTrue(lock.get_error().matches(WebLocks.error_quark(), Errors.STOLEN))
        self.assert_fails(Errors.STOLEN, lock.release_sync)

    def test_fields_not_in_a_query(self):
        lock = self.manager.request_sync('x')
        info, = self.manager.query_sync().get_held()
        self.assertEqual((info.get_token(), info.get_why(), info.get_pid(), info.get_process()),
                         (0, '', 0, ''))
        self.assertIn(info.get_blocked_by(), (None, []))
        lock.release_sync()
