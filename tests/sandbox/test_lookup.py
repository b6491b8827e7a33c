# SPDX-FileCopyrightText: 2026 The WebLocks for D-Bus authors
# SPDX-License-Identifier: LGPL-2.1-or-later

"""A client that disconnects while it is identified, and an identification that fails: a refusal, or
no reply."""

import os
import shutil
import signal
import subprocess

import buses
from buses import die_with_parent
from harness import service_with, wait_for
from sandboxcase import APP, SandboxCase

# The stop points of tests/faults/, in their order.
STEPS = ('first-call', 'first-reply', 'pidfd', 'directory', 'mounts', 'root', 'info',
         'second-reply')
# The files of a process that are opened, in order.
OPENS = ('/proc/PID', 'mountinfo', 'root', 'fdinfo', '.flatpak-info', 'comm')


class Killed(SandboxCase):
    """The service is stopped during an identification, until the client is killed."""

    @classmethod
    def start(cls):
        return None

    def begin(self, step):
        """Starts a service that stops at this step of each look-up, with watchers that it has
        already identified."""
        cls = type(self)
        if cls.daemon is not None:
            self.assertEqual(cls.daemon.stop(), 0)
        cls.daemon = self.start_service('--no-state', program=service_with(f'stop-at-{step}'))
        self.host, self.twin = self.watcher(self.plain()), self.watcher(self.app(APP))
        self.baseline = self.descriptors()

    def watcher(self, client):
        client.send_command('call', arguments=['watch'])
        self.wait_stopped()
        self.daemon.resume()
        client._answer()
        return client

    def wait_stopped(self):
        def stopped():
            found = os.waitid(os.P_PID, self.daemon.process.pid,
                              os.WSTOPPED | os.WNOHANG | os.WEXITED | os.WNOWAIT)
            return found is not None and found.si_code == os.CLD_STOPPED
        wait_for(stopped, what='stop of the service', every=0.002)
        # The stop has to be reaped, or the next wait would find it again.
        os.waitid(os.P_PID, self.daemon.process.pid, os.WSTOPPED)

    def received(self, client):
        """The signals that a watcher has received so far."""
        client.sync()
        return [(event.signal, event.args[3]) for event in client.signals()]

    def check(self, step, make):
        self.begin(step)
        # A request of this client is visible: one that isn't killed is granted, and a watcher is
        # notified.
        surviving = make()
        surviving.send_command('call', arguments=['request', 'n'])
        self.wait_stopped()
        self.daemon.resume()
        surviving._answer()
        watcher = self.twin if make != self.plain else self.host
        unrelated = self.host if make != self.plain else self.twin
        self.assertEqual(self.received(watcher), [('Granted', surviving.name)])
        self.assertEqual(self.received(unrelated), [])

        killed = make()
        # The reply is requested, and another call is queued behind it.
        killed.send_command('call', arguments=['request', 'm'])
        self.wait_stopped()
        self.kill_and_wait(killed)
        begin = self.monitor.position()
        self.daemon.resume()
        self.wait_gone(killed.name)
        self.assertEqual(self.received(watcher), [('Granted', surviving.name)])
        self.assertEqual(self.received(unrelated), [])
        self.assertEqual(watcher.clients(), [surviving.name])
        for message in self.monitor.messages(begin, self.monitor.position()):
            if message.get_destination() == killed.name and \
                    message.get_sender() == self.daemon.name:
                self.assertEqual(message.get_error_name(), 'org.w3.WebLocks.Error.Security')
        wait_for(lambda: self.descriptors() == self.baseline, what='baseline of descriptors')

    def test_an_app(self):
        for step in STEPS:
            with self.subTest(step=step):
                self.check(step, lambda: self.app(APP))

    def test_no_app(self):
        for step in STEPS[1::2]:
            with self.subTest(step=step):
                self.check(step, self.plain)


class Errors(SandboxCase):
    """System calls fail."""

    def setUp(self):
        super().setUp()
        if shutil.which('strace') is None:
            self.skipTest('needs strace')
        self.control.ping()
        self.daemon_pid = self.daemon.process.pid

    def tracer(self):
        with open(f'/proc/{self.daemon_pid}/status', encoding='ascii') as file:
            return next(line.split()[1] for line in file if line.startswith('TracerPid'))

    def inject(self, call, error, when=1):
        """Makes calls fail from now on. Returns a function that ends it."""
        process = subprocess.Popen(
            ['strace', '-p', str(self.daemon_pid), '-o', '/dev/null', '-e', f'trace={call}',
             '-e', f'inject={call}:error={error}:when={when}'],
            stdin=subprocess.DEVNULL, stderr=subprocess.PIPE, preexec_fn=die_with_parent)
        # TracerPid is set a moment before calls are traced; this line comes after it.
        line = process.stderr.readline().decode().strip()
        if not line.endswith('attached'):
            process.wait()
            process.stderr.close()
            self.skipTest(f'strace fails: {line}')

        def stop():
            process.send_signal(signal.SIGINT)
            buses.wait_exit(process)
            process.stderr.close()
            wait_for(lambda: self.tracer() == '0', what='end of strace', every=0.002)
        return stop

    def with_error(self, client, call, error, when=1):
        """The result of a call of a new connection of that process."""
        stop = self.inject(call, error, when)
        try:
            return client.ask('again')
        finally:
            stop()

    def check(self, client, expected):
        baseline = self.descriptors()
        for error in ('EACCES', 'EPERM', 'EIO', 'ELOOP', 'EMFILE', 'ENOMEM', 'ENOENT', 'ESRCH'):
            for when, name in enumerate(OPENS, 1):
                with self.subTest(error=error, opens=name):
                    self.assertEqual(self.with_error(client, 'openat', error, when),
                                     expected(error, name))
        # After the last one, it opens no other file.
        self.assertEqual(self.with_error(client, 'openat', 'EIO', len(OPENS) + 1), '')
        wait_for(lambda: self.descriptors() == baseline, what='baseline of descriptors')

    def test_opens_for_an_app(self):
        # "No such file" is a result if the root could be opened. The command name is optional.
        self.check(self.app(APP), lambda error, name: '' if name == 'comm' or (error, name) ==
                   ('ENOENT', '.flatpak-info') else 'Security')

    def test_opens_for_no_app(self):
        """A root that the service may not open is accepted if it is the service's own."""
        fine = (('EACCES', 'root'), ('EPERM', 'root'), ('ENOENT', '.flatpak-info'))
        plain = self.plain()
        self.check(plain, lambda error, name: '' if name == 'comm' or (error, name) in fine
                   else 'Security')

    def test_no_pidfds(self):
        """A kernel without the call, or a filter."""
        plain = self.plain()
        for client in (plain, self.app(APP)):
            for error in ('ENOSYS', 'EPERM', 'EMFILE', 'EINVAL', 'ESRCH'):
                self.assertEqual(self.with_error(client, 'pidfd_open', error), 'Security')
