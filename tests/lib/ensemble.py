# SPDX-FileCopyrightText: 2026 The WebLocks for D-Bus authors
# SPDX-License-Identifier: LGPL-2.1-or-later

"""ZooKeeper servers of a test: on the loopback interface, or each in a network of its own that can be
cut. The network also has places for hosts."""

import contextlib
import ctypes
import functools
import os
import re
import shutil
import signal
import socket
import subprocess
import tempfile
import time

from buses import FACTOR, PATIENCE, RUNTIME_PARENT, end, interval, pause, pump_until, read_text, spawn, write_text

# Debian's; the manifest of the second names the others that it needs. The first is for the log.
JARS = '/usr/share/java/slf4j-simple.jar:/usr/share/java/zookeeper.jar'
# Starts fast and stays small; the log's space is not reserved in blocks of 64 MB.
JAVA = ['java', '-Xss512k', '-XX:TieredStopAtLevel=1', '-XX:+UseSerialGC', '-Xshare:auto',
        '-Dorg.slf4j.simpleLogger.defaultLogLevel=warn',
        '-Dorg.slf4j.simpleLogger.log.org.apache.zookeeper.server.NIOServerCnxn=error',
        '-Dzookeeper.preAllocSize=64',
        '-Dzookeeper.forceSync=no', '-cp', JARS]
# What make-java-archive.py has made, if that was possible: a third of what starts a server is loading classes.
ARCHIVE = os.environ.get('WEBLOCKS_JAVA_ARCHIVE')
if ARCHIVE and os.path.exists(ARCHIVE) and os.path.getsize(ARCHIVE):
    JAVA.insert(1, f'-XX:SharedArchiveFile={ARCHIVE}')
# Enough for some 20,000 names.
HEAP_MB = 96
STANDALONE = 'org.apache.zookeeper.server.ZooKeeperServerMain'
QUORUM = 'org.apache.zookeeper.server.quorum.QuorumPeerMain'
# Sessions are checked for expiry once in a tick. A follower that is cut off from its leader
# continues for this number of ticks to reply to requests that don't need the leader.
TICK_MS = 250
SYNC_TICKS = 8
# As in docs/cluster.md: for tests of the time rules.
DOCUMENTED_TICK_MS = 2000
DOCUMENTED_SYNC_TICKS = 5
# How long a server may take to get the data: as in docs/cluster.md, and not less than a busy machine needs.
INIT_TICKS = 10
INIT_MS = 10000
CONFIG = '''tickTime={tick}
initLimit={init}
syncLimit={sync}
minSessionTimeout=500
maxSessionTimeout=60000
maxClientCnxns=0
dataDir={directory}
clientPort={port}
clientPortAddress={address}
admin.enableServer=false
4lw.commands.whitelist=srvr,cons,mntr
{servers}'''
STARTING = 180 * FACTOR
CLONE_NEWNET = 0x40000000


def why_no_servers():
    """Why there can be no servers; '' if there can."""
    if not shutil.which('java') or not all(os.path.exists(jar) for jar in JARS.split(':')):
        return 'needs ZooKeeper: libzookeeper-java, libslf4j-java and a Java'
    return ''


@functools.cache
def why_no_networks():
    """Why there can be no networks of a test; '' if there can."""
    if not all(shutil.which(program) for program in ('ip', 'bridge', 'unshare', 'nsenter')):
        return 'needs iproute2 and util-linux'
    tried = subprocess.run(['unshare', '--net', 'ip', 'link', 'add', 'try', 'type', 'bridge'],
                           stderr=subprocess.DEVNULL, check=False)
    return '' if tried.returncode == 0 else 'needs root, network namespaces and bridges'


def run(*argv):
    subprocess.run(argv, check=True, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL)


@functools.cache
def leave_network():
    """Moves this process to a network of its own, which ends with it and all that it starts."""
    libc = ctypes.CDLL(None, use_errno=True)
    if libc.unshare(CLONE_NEWNET) != 0:
        raise OSError(ctypes.get_errno(), 'unshare')
    run('ip', 'link', 'set', 'lo', 'up')


def own_address():
    """An address of the loopback interface that no other process of the tests uses: on one that all
    use, a port that is free may be taken before a server has it, or while it is restarted."""
    pid = os.getpid()
    return f'127.{1 + (pid >> 16)}.{pid >> 8 & 255}.{pid & 255}'


def free_ports(count, address):
    """Ports of an address that are not in use."""
    with contextlib.ExitStack() as stack:
        sockets = [stack.enter_context(socket.create_server((address, 0)))
                   for _ in range(count)]
        return [one.getsockname()[1] for one in sockets]


class Place:
    """A network namespace with one interface, or (by default) this process's own."""

    def __init__(self, address=None, device=None):
        self.address = address or own_address()
        self.device = device
        self.holder = None
        if device:
            self.holder = spawn(['unshare', '--net', 'sleep', 'infinity'],
                                stdin=subprocess.DEVNULL)

    def command(self, argv):
        """The command line that runs a program here."""
        return [*self.enter(), *argv] if self.holder else list(argv)

    def enter(self):
        return ['nsenter', '-t', str(self.holder.pid), '-n']


class SlowPlace(Place):
    """Where it takes seconds until something is on the disk. Each time is a line of the file `trace`."""

    def __init__(self, seconds, trace):
        super().__init__()
        self.trace = trace
        # The leak sanitizer doesn't work in a traced process.
        self.tracer = ['env', f'ASAN_OPTIONS={os.environ.get("ASAN_OPTIONS", "")}:detect_leaks=0',
                       'strace', '-D', '-f', '-qq', '-o', trace, '-e', 'trace=fsync,fdatasync',
                       '-e', f'inject=fsync,fdatasync:delay_enter={seconds}000000']

    def command(self, argv):
        return self.tracer + super().command(argv)

    def has_written(self):
        """Whether it has begun to."""
        if not os.path.exists(self.trace):
            return False
        return 'fsync(' in read_text(self.trace)


class Network:
    """A bridge with places and this process. All can reach each other, until they are cut off."""

    def __init__(self):
        self.places = []
        self._faults = []
        self._is_split = False

    def __enter__(self):
        leave_network()
        run('ip', 'link', 'add', 'bridge0', 'type', 'bridge', 'forward_delay', '0')
        run('ip', 'link', 'set', 'bridge0', 'addrgenmode', 'none')
        run('ip', 'address', 'add', '10.99.0.254/24', 'dev', 'bridge0')
        run('ip', 'link', 'set', 'bridge0', 'up')
        return self

    def __exit__(self, *_exception):
        for place in self.places:
            # The kernel deletes the interfaces of a network some time after its last process has
            # exited.
            subprocess.run(['ip', 'link', 'del', place.device], check=False)
            end(place.holder)
        self.places.clear()
        for bridge in ('bridge0', 'bridge1') if self._is_split else ('bridge0',):
            subprocess.run(['ip', 'link', 'del', bridge], check=False)

    def add(self):
        number = len(self.places) + 1
        place = Place(f'10.99.0.{number}', f'place{number}')
        self.places.append(place)
        own = os.readlink('/proc/self/ns/net')
        pump_until(lambda: os.readlink(f'/proc/{place.holder.pid}/ns/net') != own, lambda _: time.sleep(0.005),
                   PATIENCE, lambda: 'unshare makes no namespace')
        run('ip', 'link', 'add', place.device, 'type', 'veth', 'peer', 'name', 'eth0', 'netns',
            str(place.holder.pid))
        # ZooKeeper's client doesn't resolve 127.0.0.1 if the other interfaces only have IPv6.
        run('ip', 'link', 'set', place.device, 'addrgenmode', 'none')
        run('ip', 'link', 'set', place.device, 'master', 'bridge0', 'up')
        run(*place.enter(), 'ip', 'address', 'add', f'{place.address}/24', 'dev', 'eth0')
        run(*place.enter(), 'ip', 'link', 'set', 'eth0', 'up')
        run(*place.enter(), 'ip', 'link', 'set', 'lo', 'up')
        return place

    def cut(self, *places):
        """These no longer reach each other; the rest is unchanged. One cut at a time."""
        for place in places:
            run('bridge', 'link', 'set', 'dev', place.device, 'isolated', 'on')

    def cut_off(self, place):
        """This place reaches no other."""
        run('ip', 'link', 'set', place.device, 'down')

    def cut_one_way(self, sender, receiver):
        """Packets of the sender don't reach the receiver."""
        run(*sender.enter(), 'ip', 'neigh', 'replace', receiver.address, 'lladdr',
            '02:00:00:00:00:01', 'dev', 'eth0', 'nud', 'permanent')
        self._faults.append((sender, receiver))

    def split(self, *places):
        """These reach each other, and no other place."""
        run('ip', 'link', 'add', 'bridge1', 'type', 'bridge', 'forward_delay', '0')
        run('ip', 'link', 'set', 'bridge1', 'addrgenmode', 'none')
        run('ip', 'link', 'set', 'bridge1', 'up')
        self._is_split = True
        for place in places:
            run('ip', 'link', 'set', place.device, 'master', 'bridge1')

    def restore(self):
        """Ends all cuts."""
        if self._is_split:
            self._is_split = False
            for place in self.places:
                run('ip', 'link', 'set', place.device, 'master', 'bridge0')
            run('ip', 'link', 'del', 'bridge1')
        for place in self.places:
            run('bridge', 'link', 'set', 'dev', place.device, 'isolated', 'off')
            run('ip', 'link', 'set', place.device, 'up')
        for sender, receiver in self._faults:
            run(*sender.enter(), 'ip', 'neigh', 'del', receiver.address, 'dev', 'eth0')
        self._faults.clear()


class Server:
    """One server. It can be killed, paused and started again, with its data."""

    def __init__(self, number, place, directory, port, heap_mb):
        self.number = number
        self.place = place
        self.directory = directory
        self.port = port
        self.heap_mb = heap_mb
        self.config = os.path.join(directory, 'zoo.cfg')
        self.process = None

    @property
    def address(self):
        return f'{self.place.address}:{self.port}'

    def write_config(self, servers, sync_ticks, tick_ms):
        os.mkdir(self.directory)
        write_text(os.path.join(self.directory, 'myid'), f'{self.number}\n')
        with open(self.config, 'w', encoding='ascii') as file:
            file.write(CONFIG.format(tick=tick_ms, init=max(INIT_TICKS, INIT_MS // tick_ms),
                                     sync=sync_ticks, directory=self.directory, port=self.port,
                                     address=self.place.address, servers=servers))

    def start(self):
        end(self.process)
        main = QUORUM if 'server.1=' in read_text(self.config) else STANDALONE
        with open(os.path.join(self.directory, 'log'), 'ab') as log:
            self.process = spawn(self.place.command([*JAVA, f'-Xmx{self.heap_mb}m', main, self.config]),
                                 stdin=subprocess.DEVNULL, stdout=log, stderr=log)

    def pause(self):
        pause(self.process)

    def resume(self):
        self.process.send_signal(signal.SIGCONT)

    def kill(self):
        end(self.process)

    def copy_data(self):
        """Copies its data while it isn't running."""
        shutil.copytree(self._data(), self._data() + '.copy')

    def put_back_data(self):
        """Replaces its data by the copy, as an administrator may do with a backup."""
        shutil.rmtree(self._data())
        shutil.copytree(self._data() + '.copy', self._data())

    def _data(self):
        return os.path.join(self.directory, 'version-2')

    def mode(self):
        """`standalone`, `leader`, `follower`, or None if it does not serve."""
        if self.process is None or self.process.poll() is not None:
            return None
        return next((line.split()[1] for line in ask(self.place.address, self.port).splitlines()
                     if line.startswith('Mode: ')), None)

    def n_received(self):
        """How many packets it has received since it was started."""
        return next(int(line.split()[1]) for line in ask(self.place.address, self.port).splitlines()
                    if line.startswith('Received: '))

    def n_sessions(self):
        """How many sessions there are; -1: it does not serve."""
        found = re.search(r'^zk_global_sessions\s+(\d+)', ask(self.place.address, self.port, b'mntr'), re.MULTILINE)
        return int(found[1]) if found else -1

    def n_received_from(self, place):
        """How many packets it has received on connections from a place."""
        found = re.findall(rf'/{re.escape(place.address)}:.*?recved=(\d+)',
                           ask(self.place.address, self.port, b'cons'))
        return sum(map(int, found))

    def log(self):
        try:
            with open(os.path.join(self.directory, 'log'), encoding='utf-8',
                      errors='replace') as file:
                return file.read()[-2000:]
        except FileNotFoundError:
            return ''


def ask(address, port, command=b'srvr'):
    """The answer to a command of four letters; '' if there is none."""
    data = b''
    try:
        with socket.create_connection((address, port), timeout=2) as one:
            one.sendall(command)
            while chunk := one.recv(4096):
                data += chunk
    except OSError:
        pass
    return data.decode()


class Ensemble:
    """One server, or several that elect a leader: on places of a network, or all on loopback."""

    def __init__(self, size=1, network=None, sync_ticks=SYNC_TICKS, tick_ms=TICK_MS, heap_mb=HEAP_MB):
        parent = RUNTIME_PARENT if os.access(RUNTIME_PARENT, os.W_OK) else None
        self.directory = tempfile.mkdtemp(prefix='weblocks-zookeeper-', dir=parent)
        # The ports of each server: for clients, for followers, for elections.
        ports = free_ports(3 * size, own_address()) if network is None else [2181, 2888, 3888] * size
        self.servers = []
        lines = ''
        for i in range(size):
            place = Place() if network is None else network.add()
            port, following, electing = ports[3 * i:3 * i + 3]
            self.servers.append(Server(i + 1, place, os.path.join(self.directory, str(i + 1)),
                                       port, heap_mb))
            lines += f'server.{i + 1}={place.address}:{following}:{electing}\n'
        for server in self.servers:
            server.write_config(lines if size > 1 else '', sync_ticks, tick_ms)

    def __enter__(self):
        try:
            for server in self.servers:
                server.start()
            self.restore()
        except BaseException:
            self.__exit__()
            raise
        return self

    def __exit__(self, *_exception):
        for server in self.servers:
            server.kill()
        shutil.rmtree(self.directory, ignore_errors=True)

    def restore(self):
        """Starts servers that have ended, and waits until all serve again."""
        for server in self.servers:
            server.resume()
            if server.process.poll() is not None:
                server.start()
        self.wait_for(lambda: all(server.mode() for server in self.servers), STARTING,
                      'servers that serve')

    @property
    def addresses(self):
        return ','.join(server.address for server in self.servers)

    def wait_for(self, condition, timeout=PATIENCE, what='condition'):
        return pump_until(condition, lambda left: time.sleep(interval(0.02, timeout - left)), timeout,
                          lambda: f'{what}: not within {timeout} s\n{self.log()}')

    def leader(self):
        return self.wait_for(lambda: next((server for server in self.servers
                                           if server.mode() == 'leader'), None), what='a leader')

    def followers(self):
        return [server for server in self.servers if server.mode() == 'follower']

    def log(self):
        return '\n'.join(f'server {server.number}:\n{server.log()}' for server in self.servers)
