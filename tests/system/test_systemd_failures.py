# SPDX-FileCopyrightText: 2026 The WebLocks for D-Bus authors
# SPDX-License-Identifier: LGPL-2.1-or-later

"""The installed system unit with systemd, when the service fails; and mistakes in the unit."""

from harness import wait_for
from machinecase import BOB, KILL, UNIT, UnitChecks, main
from rawbus import lock_call


class Failures(UnitChecks):
    """Failures of the service, and that mistakes in the unit would be detected."""

    def end_service(self):
        self.unit.systemctl('stop', UNIT)
        self.unit.systemctl('reset-failed')
        self.unit.change(self.drop_in)

    def wait_logged(self, words):
        wait_for(lambda: words in self.unit.journal(self.begin_of_journal), every=0.05, what=words)

    LIMIT = '[Unit]\nStartLimitBurst=3\nStartLimitIntervalSec='

    def test_a_refused_call(self):
        """A denied system call kills it; a service that fails at every start is not restarted
        indefinitely, but for a later call."""
        self.unit.change(f'{KILL}\nSystemCallFilter=~poll ppoll\n{self.LIMIT}1h')
        # With some buses the caller waits for a long time.
        self.control.send(lock_call('Query'))
        self.wait_logged('Start request repeated too quickly')
        self.unit.wait_inactive()
        log = self.unit.journal(self.begin_of_journal)
        self.assertEqual(log.count('status=31/SYS'), 3, log)
        self.unit.change(f'{KILL}\n{self.LIMIT}2')
        wait_for(self.is_back, every=0.1, what='a start later')

    def is_back(self):
        try:
            self.unit.systemctl('start', UNIT)
        except AssertionError:
            return False
        return self.unit.is_active()

    def test_state_not_kept(self):
        self.unit.change(f'{KILL}\nRuntimeDirectoryPreserve=no')
        with self.assertRaises(AssertionError):
            self.check_preserved(lambda pid: self.unit.systemctl('stop', UNIT))

    def test_the_limit_of_memory(self):
        """A service that exceeds it is killed; the next one continues."""
        self.unit.change(f'{KILL}\nMemoryMax=16M')
        self.begin()
        if self.group().memory_limit() is None:
            self.skipTest('this manager has no such controller here')

        def take_memory(pid):
            self.raw_client(uid=BOB).send(lock_call('Request', 'n' * (28 << 20)))
            self.wait_logged('status=9/KILL')
            wait_for(lambda: self.unit.is_active() and self.unit.pid() != pid, every=0.02,
                     what='next service')
        self.check_preserved(take_memory)


if __name__ == '__main__':
    main()
