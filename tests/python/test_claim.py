# SPDX-FileCopyrightText: 2026 The WebLocks for D-Bus authors
# SPDX-License-Identifier: LGPL-2.1-or-later

"""WebLocks.Claim in PyGObject, and the monitor of what it waits for."""

import gc
import weakref

from gi.repository import GObject

from harness_python import Gio, GLib, PythonTestCase, WebLocks, run_async, wait_for

State = WebLocks.ClaimState


class Claims(PythonTestCase):
    def new_claim(self, manager=None, name='a', **properties):
        """A claim, and the list of the states that it notifies of."""
        claim = WebLocks.Claim(manager=manager or self.manager, name=name, **properties)
        states = []
        claim.connect('notify::state', lambda claim, _pspec: states.append(claim.props.state))
        self.addCleanup(claim.stop)
        return claim, states

    def wait_until(self, claim, state):
        wait_for(lambda: claim.props.state == state, what=f'state {state.value_nick}')

    def test_held_and_stopped(self):
        claim, states = self.new_claim(why='to test')
        self.assertEqual((claim.props.manager, claim.props.name, claim.props.mode, claim.props.why,
                          claim.props.reclaim),
                         (self.manager, 'a', WebLocks.Mode.EXCLUSIVE, 'to test', False))
        self.assertEqual((claim.props.state, claim.props.held, claim.props.lock, claim.props.token,
                          claim.props.holder, claim.props.position, claim.props.error),
                         (State.IDLE, False, None, 0, None, 0, None))
        action = Gio.SimpleAction(name='save')
        claim.bind_property('held', action, 'enabled', GObject.BindingFlags.SYNC_CREATE)
        self.assertFalse(action.props.enabled)
        claim.start()
        self.wait_until(claim, State.HELD)
        self.assertTrue(action.props.enabled)
        self.assertEqual(claim.props.lock.get_token(), claim.props.token)
        self.assertEqual(self.held(), ['a'])
        claim.stop()
        self.assertFalse(action.props.enabled)
        self.assert_nothing_left()
        self.assertEqual(states, [State.WAITING, State.HELD, State.IDLE])

    def test_ends_with_its_last_reference(self):
        claim = WebLocks.Claim.new(self.manager, 'a')
        claim.start()
        self.wait_until(claim, State.HELD)
        gone = weakref.ref(claim)
        del claim
        gc.collect()
        self.assertIsNone(gone())
        wait_for(lambda: not self.held(), what='release')

    def test_monitor_of_a_name(self):
        """What a claim waits for, as lists."""
        lock = self.new_manager().request_sync('a')
        claim = WebLocks.Claim.new(self.manager, 'a')
        monitor = WebLocks.Monitor.new_for_name(self.manager, 'a')
        changes = []
        monitor.connect('changed', lambda _monitor: changes.append(len(monitor.pending)))
        claim.start()
        wait_for(lambda: changes and changes[-1] == 1, what='request in the list')
        self.assertEqual([info.token for info in monitor.held], [lock.token])
        self.assertEqual(monitor.pending[0].position, 1)
        claim.stop()
        wait_for(lambda: changes[-1] == 0, what='end of the request')
        with self.assertRaises(GLib.Error):
            WebLocks.Monitor.new_for_name(self.manager, 'n' * 100_000)

    def test_documents(self):
        file = Gio.File.new_for_path('/nonexistent/a b')
        claim = WebLocks.Claim(agent=self.manager.get_agent(), file=file)
        self.assertEqual((claim.get_file(), claim.get_name(), claim.get_manager(), claim.props.excludes_all),
                         (file, None, None, False))
        claim.start()
        wait_for(claim.get_held, what='lock')
        self.assertEqual((claim.get_name(), claim.get_manager().get_bucket(), claim.props.excludes_all),
                         (GLib.filename_to_uri('/nonexistent/a b'), WebLocks.DOCUMENTS_BUCKET, True))
        other = WebLocks.Claim.new_for_file(self.new_manager().get_agent(), file)
        other.set_grace(0)
        # Without a start, it is opened by this.
        self.assertTrue(run_async(lambda done: other.take_over_async(None, done), other.take_over_finish))
        self.assertTrue(other.get_held())
        wait_for(lambda: not claim.get_held(), what='loss')
