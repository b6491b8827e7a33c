# SPDX-FileCopyrightText: 2026 The WebLocks for D-Bus authors
# SPDX-License-Identifier: LGPL-2.1-or-later

"""weblocks run: the lock is lost, or could not be acquired."""

import os
import signal
import tempfile
import time

from buses import Bus, process_stat
from cli import PRINT_AND_WAIT, CliTestCase
from harness import RawClient, wait_for
from test_signals import LISTEN

# Ignores SIGTERM; only SIGKILL terminates it.
IGNORE_SIGTERM = ('sh', '-c', 'trap "" TERM; echo on; while :; do sleep 0.05; done')


class Stolen(CliTestCase):
    def setUp(self):
        super().setUp()
        self.name = self.unique()

    def steal(self):
        return self.client().steal(self.name)

    def test_the_command_gets_sigterm_and_has_time_to_exit(self):
        job = self.running(self.name, command=LISTEN)
        self.steal()
        self.assertEqual(job.line(), f'got {int(signal.SIGTERM)}')
        job.write_line()
        self.assertEqual((job.line(), job.wait()), (None, 75))
        self.assertEqual(job.stderr(),
                         f"weblocks: the lock '{self.name}' was stolen; terminating the command\n")

    def test_it_is_killed_when_the_grace_is_over(self):
        job = self.running('--grace', '0.3', self.name, command=IGNORE_SIGTERM)
        start = time.monotonic()
        self.steal()
        self.assertEqual(job.wait(), 75)
        self.assertGreaterEqual(time.monotonic() - start, 0.3)
        self.assertIn("weblocks: 'sh' is still running; killing it\n", job.stderr())

    def test_a_standard_error_that_nobody_reads(self):
        for option in ('--grace=0', '-v'):
            name = self.unique()
            job = self.running('--grace=0', option, name, command=IGNORE_SIGTERM,
                               stderr=self.full_pipe())
            self.client().steal(name)
            self.assertEqual(job.wait(), 75)

    def test_a_command_that_is_stopped(self):
        job = self.running('--grace=1000', self.name,
                           command=('sh', '-c', 'echo on; kill -STOP $$'))
        child = job.child()
        wait_for(lambda: process_stat(child)[0] == 'T', what='the command to stop')
        self.steal()
        self.assertEqual(job.wait(), 75)

    def test_on_loss_ignore(self):
        for option in (('--on-loss=ignore',), ('--on-loss', 'ignore')):
            job = self.running(*option, self.name, command=LISTEN)
            other = self.client()
            lock, _ = other.steal(self.name)
            wait_for(job.stderr, what='a message')
            self.assertEqual(job.stderr(), f"weblocks: the lock '{self.name}' was stolen; "
                                         'the command continues without it\n')
            job.write_line()
            self.assertEqual((job.line(), job.wait()), (None, 7))
            # The lock of the other client isn't released.
            self.assertEqual(self.held(self.name), ['exclusive'])
            other.release(lock)

    def test_lost_at_the_end_of_the_command(self):
        """The command succeeds, but its lock was stolen."""
        for option, status in (('--on-loss=kill', 75), ('--on-loss=ignore', 3)):
            name = self.unique()
            job = self.running(option, name, command=('sh', '-c', 'echo on; read x; exit 3'))
            keeper, child = job.keeper(), job.child()
            job.stop_keeper()
            self.client().steal(name)
            job.write_line()
            wait_for(lambda: process_stat(child)[0] == 'Z', what='end of the command')
            os.kill(keeper, signal.SIGCONT)
            self.assertEqual(job.wait(), status)
            self.assertIn(f"weblocks: the lock '{name}' was ", job.stderr())

    def test_before_the_command_began(self):
        """Granted and stolen before the grant is processed: the command never runs."""
        holder = self.client()
        lock, _ = holder.request(self.name)
        for option in ('--on-loss=kill', '--on-loss=ignore'):
            job = self.job('run', option, self.name, 'echo', 'ran')
            self.wait_pending(self.name)
            job.stop_keeper()
            holder.release(lock)
            lock, _ = holder.steal(self.name)
            os.kill(job.keeper(), signal.SIGCONT)
            self.assertEqual((job.line(), job.wait()), (None, 75))
            self.assertRegex(job.stderr(), f"^weblocks: the lock '{self.name}' was .*\n$")


class ServiceGone(CliTestCase):
    """Each test has a separate service, and terminates it."""

    service = False

    def setUp(self):
        super().setUp()
        self.name = self.unique()
        self.own = self.start_service()

    def start_all(self):
        self.holding = self.running(self.name, command=LISTEN)
        self.ignoring = self.running('--on-loss=ignore', '-b', 'other', self.name, command=LISTEN)
        self.waiting = self.job('run', self.name, 'echo', 'ran')
        self.wait_pending(self.name)

    def kill(self):
        self.own.signal(signal.SIGKILL)
        self.own.wait_exit()

    def check_lost(self):
        self.assertEqual(self.holding.line(), f'got {int(signal.SIGTERM)}')
        self.holding.write_line()
        self.assertEqual(self.holding.wait(), 75)
        self.assertIn(f"weblocks: the lock '{self.name}' was lost", self.holding.stderr())
        wait_for(self.ignoring.stderr, what='a message')
        self.ignoring.write_line()
        self.assertEqual((self.ignoring.line(), self.ignoring.wait()), (None, 7))

    def test_killed_and_back(self):
        """Neither command notices the restart."""
        self.start_all()
        for _ in range(3):
            self.kill()
            self.own = self.start_service()
            self.assertEqual((self.held(self.name), self.held(self.name, 'other')),
                             (['exclusive'], ['exclusive']))
            self.wait_pending(self.name)
        self.holding.write_line()
        self.assertEqual((self.holding.line(), self.holding.wait(), self.holding.stderr()),
                         (None, 7, ''))
        self.assertEqual((self.waiting.line(), self.waiting.wait()), ('ran', 0))
        self.ignoring.write_line()
        self.assertEqual((self.ignoring.line(), self.ignoring.wait()), (None, 7))
        self.assertEqual(self.ignoring.stderr(), '')

    def test_killed_and_back_without_its_state(self):
        """Held locks are lost; pending requests continue, and are granted."""
        self.start_all()
        self.kill()
        self.own = self.start_service('--no-state')
        self.check_lost()
        self.assertEqual((self.waiting.line(), self.waiting.wait()), ('ran', 0))

    def test_killed_and_not_back(self):
        """The command continues, and its exit status is returned."""
        self.start_all()
        self.kill()
        self.holding.write_line()
        self.assertEqual((self.holding.line(), self.holding.wait()), (None, 7))
        self.assertEqual(self.holding.stderr(), 'weblocks: the service does not answer\n')

    def test_service_terminates(self):
        """A service without stored state notifies of the loss; there is no next one."""
        self.own.stop()
        self.own = self.start_service('--no-state')
        self.start_all()
        self.own.stop()
        self.check_lost()
        self.assertEqual(self.waiting.wait(), 69)
        self.assertIsNone(self.waiting.line())

    def test_hangs_when_the_command_ends(self):
        job = self.running(self.name)
        self.own.pause()
        job.write_line('3')
        self.assertEqual(job.wait(), 3)
        self.assertEqual(job.stderr(), 'weblocks: the service does not answer\n')
        self.own.resume()
        self.wait_free(self.name)

    def tearDown(self):
        self.own.end()
        super().tearDown()


class Missing(CliTestCase):
    """No service, no bus."""

    service = False

    def check_all(self, **env):
        for line in (('run', 'x', 'echo', 'ran'), ('run', '-n', 'x', 'echo', 'ran'), ('list',),
                     ('list', '--all'), ('list', 'x', '--json'),
                     ('watch',), ('steal', 'x'), ('hold', 'x')):
            done = self.weblocks(*line, env=self.env(**env))
            self.assertEqual((done.returncode, done.stdout), (69, ''), (line, done.stderr))
            self.assertRegex(done.stderr, '^weblocks: .+\n$')

    def test_no_service(self):
        self.check_all()

    def test_no_bus(self):
        self.check_all(DBUS_SESSION_BUS_ADDRESS='unix:path=/no/such/socket')

    def check_message(self, message, *arguments, **env):
        """The message has the missing part and what to do about it, with synchronous and
        asynchronous connections."""
        for line in (('list',), ('run', 'x', 'true'), ('hold', 'x'), ('watch',), ('break', 'x')):
            done = self.weblocks(*line[:1], *arguments, *line[1:], env={'HOME': '/', **env})
            self.assertEqual((done.returncode, done.stdout), (69, ''), line)
            self.assertRegex(done.stderr, f'^weblocks: {message}\n$')

    def test_no_address(self):
        """As under cron."""
        folder = f'/run/user/{os.getuid()}'
        todo = (f'; set XDG_RUNTIME_DIR={folder}, or use --system, whose locks are separate'
                if os.path.exists(f'{folder}/bus') else
                f", and there is no {folder}/bus, since the user is not logged in; use 'loginctl "
                "enable-linger', or --system, whose locks are separate")
        self.check_message(f'no session bus: XDG_RUNTIME_DIR is not set, as under cron{todo}')

    def test_wrong_addresses(self):
        self.check_message("no session bus: .*; check DBUS_SESSION_BUS_ADDRESS, which is "
                        "'unix:path=/nowhere', or use --system, whose locks are separate",
                        DBUS_SESSION_BUS_ADDRESS='unix:path=/nowhere')
        self.check_message("no session bus: .*; check XDG_RUNTIME_DIR, which is '/nowhere', or use "
                        '--system, whose locks are separate', XDG_RUNTIME_DIR='/nowhere')
        self.check_message('no system bus: .*; start dbus.service', '--system',
                        DBUS_SYSTEM_BUS_ADDRESS='unix:path=/nowhere')


class WithoutBus(CliTestCase):
    """--no-bus=run, as for cron."""

    service = False
    NO_BUS = {'DBUS_SESSION_BUS_ADDRESS': 'unix:path=/no/such/socket'}

    def test_the_command_runs(self):
        env = self.env(**self.NO_BUS, WEBLOCKS_NAME='old', WEBLOCKS_TOKEN='1')
        for options in (), ('-F',), ('--and', 'y'):
            done = self.weblocks('run', '--no-bus=run', *options, 'x', 'sh', '-c',
                                 'echo "$WEBLOCKS_NAME,$WEBLOCKS_TOKEN"; exit 5', env=env)
            self.assertEqual((done.returncode, done.stdout), (5, ',\n'))
            self.assertRegex(done.stderr, '^weblocks: no session bus: .*; running without the lock\n$')
        for options in (), ('--no-bus=fail',):
            done = self.weblocks('run', *options, 'x', 'echo', 'ran', env=env)
            self.assertEqual((done.returncode, done.stdout), (69, ''))

    def test_the_file_is_locked(self):
        with tempfile.NamedTemporaryFile() as file:
            done = self.weblocks('run', '--no-bus=run', f'--also-flock={file.name}', 'x', 'flock', '-n',
                                 '-E', '9', file.name, 'true', env=self.env(**self.NO_BUS))
            self.assertEqual(done.returncode, 9)

    def test_not_without_a_service(self):
        """There is a bus, so others may hold the lock soon."""
        self.check(69, 'run', '--no-bus=run', 'x', 'echo', 'ran')


class Limits(CliTestCase):
    arguments = ('--limit=requestsPerClient=1', '--limit=requestsPerUid=2')

    def test_a_limit_of_the_service(self):
        for _ in range(2):
            self.client().request(self.unique())
        done = self.weblocks('run', self.unique(), 'echo', 'ran')
        self.assertEqual((done.returncode, done.stdout), (69, ''))
        self.assertIn('requestsPerUid', done.stderr)


class BusGone(CliTestCase):
    """With a bus that the test may terminate."""

    service = False

    def test_the_bus_terminates(self):
        bus = Bus().start()
        self.addCleanup(bus.stop)
        own_bus = self.bus
        type(self).bus, type(self).control = bus, RawClient(bus.address)
        try:
            service = self.start_service()
            job = self.running(self.unique(), command=LISTEN)
            waiting = self.job('run', '-s', self.unique(), *PRINT_AND_WAIT)
            self.assertEqual(waiting.line(), 'on')
            watch = self.job('watch')
            self.assertIsNotNone(watch.line())
        finally:
            type(self).control.close()
            type(self).bus, type(self).control = own_bus, RawClient(own_bus.address)
        bus.kill()
        self.assertEqual(job.line(), f'got {int(signal.SIGTERM)}')
        job.write_line()
        self.assertEqual(job.wait(), 75)
        self.assertIn('was lost: the connection to the bus has ended', job.stderr())
        self.assertEqual(waiting.wait(), 75)
        self.assertEqual((watch.wait(), watch.stderr()),
                         (69, 'weblocks: the connection to the bus has ended\n'))
        service.wait_exit()
        self.services.remove(service)
