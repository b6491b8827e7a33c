# SPDX-FileCopyrightText: 2026 The WebLocks for D-Bus authors
# SPDX-License-Identifier: LGPL-2.1-or-later

"""Private buses: a dbus-daemon or a dbus-broker for one test."""

import ctypes
import functools
import os
import resource
import select
import shutil
import signal
import subprocess
import tempfile
import time

FACTOR = float(os.environ.get('WEBLOCKS_TEST_TIMEOUT_FACTOR', '1'))
# The time limit for anything that usually takes almost no time. A test with a planted fault has to fail, often by
# it.
PATIENCE = (20.0 if 'WEBLOCKS_TEST_FAULT' in os.environ else 60.0) * FACTOR

# How often something is repeated in a quick run, and at full size.
FULL_SIZE = os.environ.get('WEBLOCKS_FULL_SIZE', '0') != '0'
# Whether cases run, too, that take long and find little that the others don't.
TEST_ALL = FULL_SIZE or os.environ.get('WEBLOCKS_TEST_ALL', '0') != '0'

# A user and a group that exist on each system.
NOBODY = 65534

RUNTIME_PARENT = '/dev/shm'

DAEMON_CONFIG = '''<!DOCTYPE busconfig PUBLIC
  "-//freedesktop//DTD D-Bus Bus Configuration 1.0//EN"
  "http://www.freedesktop.org/standards/dbus/1.0/busconfig.dtd">
<busconfig>
  <type>session</type>
  <listen>unix:path={socket}</listen>
  <auth>EXTERNAL</auth>
  <servicedir>{services}</servicedir>
  <policy context="default">
    <allow user="*"/>
    <allow own="*"/>
    <allow send_destination="*" eavesdrop="true"/>
    <allow receive_sender="*" eavesdrop="true"/>
  </policy>
  <limit name="max_incoming_bytes">1000000000</limit>
  <limit name="max_outgoing_bytes">1000000000</limit>
  <limit name="max_message_size">1000000000</limit>
  <limit name="max_message_unix_fds">4096</limit>
  <limit name="max_incoming_unix_fds">100000</limit>
  <limit name="max_outgoing_unix_fds">100000</limit>
  <limit name="max_completed_connections">100000</limit>
  <limit name="max_incomplete_connections">10000</limit>
  <limit name="max_connections_per_user">100000</limit>
  <limit name="max_pending_service_starts">10000</limit>
  <limit name="max_names_per_connection">50000</limit>
  <limit name="max_match_rules_per_connection">50000</limit>
  <limit name="max_replies_per_connection">50000</limit>
</busconfig>
'''

# The environment of a service whose memory is measured: sanitizers keep what was freed, unless configured
# not to.
KEEPS_LITTLE = {'ASAN_OPTIONS': 'quarantine_size_mb=1:thread_local_quarantine_size_kb=64:'
                                'exitcode=99'}

# Some tests have more connections than the usual soft limit allows.
resource.setrlimit(resource.RLIMIT_NOFILE, (resource.getrlimit(resource.RLIMIT_NOFILE)[1],) * 2)

_libc = ctypes.CDLL(None, use_errno=True)
_PR_SET_PDEATHSIG = 1


def environment(name):
    """A variable that the build sets. It is an error if it is missing."""
    value = os.environ.get(name)
    if not value:
        raise RuntimeError(f'{name} is not set: see tests/README.md')
    return value


def full_size(quick, full):
    """The size of a test, which is full on request only: see tests/README.md."""
    return full if FULL_SIZE else quick


@functools.cache
def can_be_others():
    """Whether processes of other users can be created, which is not possible as root of a user
    namespace."""
    try:
        subprocess.run(['true'], user=NOBODY, group=NOBODY, extra_groups=[], check=True)
    except OSError:
        return False
    return True


@functools.cache
def why_no_other_users():
    """Returns why programs of this tree cannot run as other users; '' if they can."""
    if not can_be_others():
        return 'only root can start programs as other users'
    if subprocess.run(['test', '-r', __file__], user=NOBODY, group=NOBODY, extra_groups=[],
                      check=False).returncode != 0:
        return 'other users cannot enter this tree: see tests/open-to-others.sh'
    return ''


def die_with_parent():
    """For a new child process, which must not outlive a test that crashes."""
    _libc.prctl(_PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0)


def spawn(argv, **options):
    return subprocess.Popen(argv, preexec_fn=die_with_parent, **options)


def readable(fd, timeout):
    """Waits for input, with poll(), since select() supports no descriptors above 1023."""
    poll = select.poll()
    poll.register(fd, select.POLLIN)
    return bool(poll.poll(max(0, timeout) * 1000))


def pause(process):
    """Sends SIGSTOP to a child process, and waits until it has stopped: until then it may still reply."""
    process.send_signal(signal.SIGSTOP)
    if process.poll() is None:
        os.waitid(os.P_PID, process.pid, os.WSTOPPED | os.WEXITED | os.WNOWAIT)


def wait_exit(process, timeout=PATIENCE):
    """Waits for a child without polling. Returns its exit code (minus the signal, if killed)."""
    if process.poll() is None:
        pidfd = os.pidfd_open(process.pid)
        try:
            if not readable(pidfd, timeout):
                raise TimeoutError(f'{process.args[0]} ({process.pid}) still runs '
                                   f'after {timeout} s')
        finally:
            os.close(pidfd)
    return process.wait()


def write_counters(process):
    """Kills the child by a signal that writes the counters of gcov (dump-counters.c)."""
    process.send_signal(signal.SIGRTMAX)
    process.send_signal(signal.SIGCONT)
    try:
        process.wait(5)
    except subprocess.TimeoutExpired:
        pass


def end(process):
    """Kills and reaps a child, whatever state it is in. Can be called twice."""
    if process is None:
        return
    if process.poll() is None:
        if os.environ.get('WEBLOCKS_TEST_COVERAGE'):
            write_counters(process)
        process.kill()
        process.wait()
    for stream in (process.stdin, process.stdout, process.stderr):
        if stream is not None and not stream.closed:
            try:
                stream.close()
            except BrokenPipeError:
                pass


def read_lines(process, count):
    """Returns the first lines that a child prints; raises an error if it ends or stalls before."""
    deadline = time.monotonic() + PATIENCE
    data = b''
    while data.count(b'\n') < count:
        left = deadline - time.monotonic()
        if left <= 0 or not readable(process.stdout, left):
            raise TimeoutError(f'{process.args[0]} wrote only {data!r}')
        chunk = os.read(process.stdout.fileno(), 4096)
        if not chunk:
            raise RuntimeError(f'{process.args[0]} ended after {data!r}')
        data += chunk
    return data.decode().splitlines()


def process_stat(pid):
    """The fields of /proc/PID/stat from the third on, the state."""
    with open(f'/proc/{pid}/stat', encoding='ascii', errors='replace') as file:
        return file.read().rpartition(')')[2].split()


def processor_us(pid):
    """The processor time of a process without threads, from the scheduler."""
    with open(f'/proc/{pid}/schedstat', encoding='ascii') as file:
        return int(file.read().split()[0]) / 1000


def status_kib(pid, key):
    """A line of /proc/PID/status, such as `VmRSS:`."""
    with open(f'/proc/{pid}/status', encoding='ascii') as file:
        return next(int(line.split()[1]) for line in file if line.startswith(key))


# The policy of a bus that refuses its statistics to all clients.
_NO_STATISTICS = '''
    <deny send_destination="org.freedesktop.DBus"
          send_interface="org.freedesktop.DBus.Debug.Stats"/>
  </policy>'''


def bus_without_statistics():
    """A private bus that refuses org.freedesktop.DBus.Debug.Stats."""
    kind = environment('WEBLOCKS_TEST_BUS')
    return Bus(config=DAEMON_CONFIG.replace('</policy>', _NO_STATISTICS),
               broker_options=('--refuse-statistics',) if kind == 'dbus-broker' else ())


class Bus:
    """A private bus. `kind` is dbus-daemon or dbus-broker; `config` is for the former, the options
    are for the latter."""

    def __init__(self, kind=None, config=DAEMON_CONFIG, broker_options=()):
        self.config = config
        self.broker_options = broker_options
        self.kind = kind or environment('WEBLOCKS_TEST_BUS')
        if self.kind not in ('dbus-daemon', 'dbus-broker'):
            raise RuntimeError(f'WEBLOCKS_TEST_BUS={self.kind} is no bus that we know')
        self.directory = tempfile.mkdtemp(prefix='weblocks-test-')
        # The tests of two users need a socket that both can access.
        os.chmod(self.directory, 0o755)
        self.services = os.path.join(self.directory, 'services')
        # In memory, like a user's own.
        parent = RUNTIME_PARENT if os.access(RUNTIME_PARENT, os.W_OK) else None
        self.runtime = tempfile.mkdtemp(prefix='weblocks-test-', dir=parent)
        os.mkdir(self.services)
        self.socket = os.path.join(self.directory, 'bus')
        # The log of the bus; the directory is removed with the bus.
        self._log = open(os.path.join(self.directory, 'log'), 'wb+')
        self.process = None
        self.pid = None
        self.address = None

    def start(self):
        try:
            if self.kind == 'dbus-daemon':
                self._start_daemon()
            else:
                self._start_broker()
        except BaseException:
            self.stop()
            raise
        return self

    def _start_daemon(self):
        config = os.path.join(self.directory, 'bus.conf')
        with open(config, 'w', encoding='utf-8') as file:
            file.write(self.config.format(socket=self.socket, services=self.services))
        self.process = spawn(['dbus-daemon', f'--config-file={config}', '--nofork', '--nopidfile',
                              '--print-address=1'], stdout=subprocess.PIPE,
                             stderr=self._log, stdin=subprocess.DEVNULL,
                             env=self.environment(), bufsize=0)
        self.address = read_lines(self.process, 1)[0]
        self.pid = self.process.pid

    def _start_broker(self):
        self.process = spawn([environment('WEBLOCKS_BROKER_LAUNCHER'), self.socket,
                              *self.broker_options],
                             stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=self._log,
                             env=self.environment(), bufsize=0)
        self.address, pid = read_lines(self.process, 2)
        self.pid = int(pid)

    def environment(self):
        """The environment for processes on this bus, without the user's session."""
        env = {key: value for key, value in os.environ.items()
               if not key.startswith(('DBUS_', 'XDG_', 'WEBLOCKS_'))}
        env.update(HOME=self.directory, XDG_RUNTIME_DIR=self.runtime)
        if self.address:
            env['DBUS_SESSION_BUS_ADDRESS'] = self.address
        return env

    def add_service_file(self, command):
        """Makes the bus start the service on demand (dbus-daemon only)."""
        path = os.path.join(self.services, 'org.w3.WebLocks.service')
        with open(path, 'w', encoding='utf-8') as file:
            file.write(f'[D-BUS Service]\nName=org.w3.WebLocks\nExec={command}\n')

    def log(self):
        with open(self._log.name, encoding='utf-8', errors='replace') as file:
            return file.read()

    def pause(self):
        """Sends SIGSTOP, and waits until it has stopped. It need not be a child of this process."""
        os.kill(self.pid, signal.SIGSTOP)
        deadline = time.monotonic() + PATIENCE
        while process_stat(self.pid)[0] != 'T':
            if time.monotonic() > deadline:
                raise TimeoutError(f'the bus ({self.pid}) does not stop')
            time.sleep(0.001)

    def resume(self):
        os.kill(self.pid, signal.SIGCONT)

    def kill(self):
        """Kills the bus."""
        os.kill(self.pid, signal.SIGKILL)

    def stop(self):
        if self.process is not None and self.kind == 'dbus-broker':
            # The launcher terminates the broker at EOF on its standard input.
            self.process.stdin.close()
            try:
                wait_exit(self.process)
            except TimeoutError:
                pass
        end(self.process)
        self.process = None
        self._log.close()
        shutil.rmtree(self.directory, ignore_errors=True)
        shutil.rmtree(self.runtime, ignore_errors=True)
