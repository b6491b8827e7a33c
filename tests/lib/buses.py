# SPDX-FileCopyrightText: 2026 The WebLocks for D-Bus authors
# SPDX-License-Identifier: LGPL-2.1-or-later

"""Private buses: a dbus-daemon or a dbus-broker for one test."""

import ctypes
import functools
import os
import pathlib
import resource
import select
import shutil
import signal
import socket
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
_PR_SET_CHILD_SUBREAPER = 36


def environment(name):
    """A variable that the build sets. It is an error if it is missing."""
    value = os.environ.get(name)
    if not value:
        raise RuntimeError(f'{name} is not set: see tests/README.md')
    return value


def full_size(quick, full, with_all=None):
    """The size of a test, which is full on request only, and may be larger with `./dev test --all`: see
    tests/README.md."""
    if FULL_SIZE:
        return full
    return with_all if TEST_ALL and with_all is not None else quick


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


def adopt_orphans():
    """From now on, a process below this one whose parent has ended becomes a child of this one."""
    _libc.prctl(_PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)


# fork() doesn't release what a thread has locked of AddressSanitizer's library (LD_PRELOAD), so the child may not
# allocate memory, as Python would.
_BEFORE_EXEC = die_with_parent if 'libasan' not in os.environ.get('LD_PRELOAD', '') else None


def spawn(argv, **options):
    return subprocess.Popen(argv, preexec_fn=_BEFORE_EXEC, **options)


def readable(fd, timeout):
    """Waits for input, with poll(), since select() supports no descriptors above 1023."""
    poll = select.poll()
    poll.register(fd, select.POLLIN)
    return bool(poll.poll(max(0, timeout) * 1000))


def pump_until(condition, pump, timeout, complaint):
    """Until the condition holds, `pump` is called with the seconds that are left. Returns the condition's value;
    `complaint` makes the error's text."""
    deadline = time.monotonic() + timeout
    while not (value := condition()):
        left = deadline - time.monotonic()
        if left <= 0:
            raise TimeoutError(complaint())
        pump(left)
    return value


def interval(every, waited):
    """After how many seconds to look again at what takes long: a twentieth of the wait, within bounds."""
    return max(every, min(waited / 20, 0.1))


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


def read_text(path):
    return pathlib.Path(path).read_text(encoding='utf-8')


def read_bytes(path):
    return pathlib.Path(path).read_bytes()


def write_text(path, text):
    pathlib.Path(path).write_text(text, encoding='utf-8')


def write_bytes(path, data):
    pathlib.Path(path).write_bytes(data)


def process_stat(pid):
    """The fields of /proc/PID/stat from the third on, the state."""
    with open(f'/proc/{pid}/stat', encoding='ascii', errors='replace') as file:
        return file.read().rpartition(')')[2].split()


def processor_us(pid):
    """The processor time of a process without threads, from the scheduler."""
    return int(read_text(f'/proc/{pid}/schedstat').split()[0]) / 1000


def status_kib(pid, key):
    """A line of /proc/PID/status, such as `VmRSS:`."""
    with open(f'/proc/{pid}/status', encoding='ascii') as file:
        return next(int(line.split()[1]) for line in file if line.startswith(key))


# The policy of a bus that refuses its statistics to all clients.
_NO_STATISTICS = '''
    <deny send_destination="org.freedesktop.DBus"
          send_interface="org.freedesktop.DBus.Debug.Stats"/>
  </policy>'''


# What may be done on a dbus-broker: connect, own names, send, receive. The last match with the highest priority
# counts; for each uid, each group or range of uids, each SELinux label; AppArmor; the kind of bus.
_RULES = 'bta(btbs)a(btssssuutt)a(btssssuutt)'
_POLICY = f'(a(u({_RULES}))a(buu({_RULES}))a(ss)bs)'


def add_listener(descriptor, allows_statistics):
    """The message to a dbus-broker that adds a socket, with a policy that allows everything, or all but
    org.freedesktop.DBus.Debug.Stats."""
    from gi.repository import Gio, GLib

    passes = (True, 1, '', '', '', '', 0, 0, 0, 2 ** 64 - 1)
    statistics = (allows_statistics, 2, 'org.freedesktop.DBus', '', 'org.freedesktop.DBus.Debug.Stats', '', 0, 0, 0,
                  2 ** 64 - 1)
    rules = (True, 1, [(True, 1, True, '')], [passes, statistics], [passes])
    call = Gio.DBusMessage.new_method_call(None, '/org/bus1/DBus/Broker', 'org.bus1.DBus.Broker', 'AddListener')
    call.set_body(GLib.Variant('(ohv)', ('/org/bus1/DBus/Listener/0', 0, GLib.Variant(
        _POLICY, ([(2 ** 32 - 1, rules)], [], [], False, 'session')))))
    call.set_unix_fd_list(Gio.UnixFDList.new_from_array([os.dup(descriptor)]))
    call.set_serial(1)
    return call.to_blob(Gio.DBusCapabilityFlags.UNIX_FD_PASSING)


class Bus:
    """A private bus. `kind` is dbus-daemon or dbus-broker; `config` is for the former, the options
    are for the latter."""

    def __init__(self, kind=None, config=DAEMON_CONFIG, broker_options=(), allows_statistics=True):
        self.config = config if allows_statistics else config.replace('</policy>', _NO_STATISTICS)
        self.broker_options = broker_options
        self.allows_statistics = allows_statistics
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
        self._controller = None
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
        write_text(config, self.config.format(socket=self.socket, services=self.services))
        self.process = spawn(['dbus-daemon', f'--config-file={config}', '--nofork', '--nopidfile',
                              '--print-address=1'], stdout=subprocess.PIPE,
                             stderr=self._log, stdin=subprocess.DEVNULL,
                             env=self.environment(), bufsize=0)
        self.address = read_lines(self.process, 1)[0]
        self.pid = self.process.pid

    def _start_broker(self):
        """dbus-broker only passes messages. Who starts it is its controller, without which it ends, and gives it
        a socket to listen on, with a policy."""
        self._controller, theirs = socket.socketpair()
        with socket.socket(socket.AF_UNIX) as listener:
            listener.bind(self.socket)
            # Tests of two users need a socket that both may open.
            os.chmod(self.socket, 0o666)
            listener.listen(4096)
            for one in (theirs, listener):
                one.setblocking(False)
            # Later options take precedence.
            self.process = spawn(['dbus-broker', f'--controller={theirs.fileno()}', '--machine-id=' + '1'.zfill(32),
                                  '--max-bytes=1000000000', '--max-fds=1000000', '--max-matches=1000000',
                                  '--max-objects=100000000', *self.broker_options],
                                 pass_fds=(theirs.fileno(),), stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
                                 stderr=self._log, env=self.environment())
            theirs.close()
            self._controller.settimeout(PATIENCE)
            self._controller.sendall(b'\0AUTH EXTERNAL\r\nDATA\r\nNEGOTIATE_UNIX_FD\r\n')
            answer = b''
            while not answer.endswith(b'AGREE_UNIX_FD\r\n'):
                answer += self._receive()
            self._controller.sendall(b'BEGIN\r\n')
            socket.send_fds(self._controller, [add_listener(listener.fileno(), self.allows_statistics)],
                            [listener.fileno()])
            answer = self._receive()
        if answer[1] != 2:  # a method return
            raise RuntimeError(f'dbus-broker: {answer}')
        self.address, self.pid = f'unix:path={self.socket}', self.process.pid

    def _receive(self):
        data = self._controller.recv(4096)
        if not data:
            raise RuntimeError(f'dbus-broker has ended: {self.log()}')
        return data

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
        write_text(path, f'[D-BUS Service]\nName=org.w3.WebLocks\nExec={command}\n')

    def log(self):
        with open(self._log.name, encoding='utf-8', errors='replace') as file:
            return file.read()

    def pause(self):
        """Sends SIGSTOP, and waits until it has stopped. It need not be a child of this process."""
        os.kill(self.pid, signal.SIGSTOP)
        pump_until(lambda: process_stat(self.pid)[0] == 'T', lambda _: time.sleep(0.001), PATIENCE,
                   lambda: f'the bus ({self.pid}) does not stop')

    def resume(self):
        os.kill(self.pid, signal.SIGCONT)

    def kill(self):
        """Kills the bus."""
        os.kill(self.pid, signal.SIGKILL)

    def stop(self):
        end(self.process)
        if self._controller is not None:
            self._controller.close()
        self.process = None
        self._log.close()
        shutil.rmtree(self.directory, ignore_errors=True)
        shutil.rmtree(self.runtime, ignore_errors=True)
