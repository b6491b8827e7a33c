# SPDX-FileCopyrightText: 2026 The WebLocks for D-Bus authors
# SPDX-License-Identifier: LGPL-2.1-or-later

"""The start of the gateway: its options, and mistakes that end it with a message and exit status. And its end of the
connection to weblocksd, which is this test. There are no servers."""

import os
import re
import socket
import subprocess
import tempfile
import unittest

import clusterpackets as packets
from buses import NOBODY, PATIENCE, end, environment, spawn, wait_exit, write_bytes, write_text
from harness import wait_for

CONFIG = '''[Cluster]
Servers=[::1]:1;127.0.0.1:1
{key}
[Bucket farm]
'''
FAILURE, CONFIGURATION = 1, 78


class StartCase(unittest.TestCase):
    def setUp(self):
        directory = tempfile.TemporaryDirectory(prefix='weblocks-start-')
        self.addCleanup(directory.cleanup)
        self.directory = directory.name
        self.options = {'config': self.path('conf'), 'socket': self.path('socket'),
                        'state-directory': self.path('state'), 'service-user': 'root', 'host': 'alpha'}
        self.write('conf', CONFIG.format(key=''))

    def path(self, name):
        return os.path.join(self.directory, name)

    def write(self, name, text):
        write_text(self.path(name), text)

    def command(self, **options):
        """None leaves an option out."""
        options = {**self.options, **{key.replace('_', '-'): value for key, value in options.items()}}
        return [environment('WEBLOCKS_CLUSTERD')] + [
            f'--{key}={value}' for key, value in options.items() if value is not None]

    def start(self, command=None, **options):
        gateway = spawn(command or self.command(), stdin=subprocess.DEVNULL, **options)
        self.addCleanup(end, gateway)
        return gateway

    def connect(self, *sent, path=None):
        """A connection of weblocksd, which has sent these packets."""
        service = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        self.addCleanup(service.close)
        wait_for(lambda: service.connect_ex(path or self.options['socket']) == 0, what='socket')
        service.settimeout(PATIENCE)
        for data in sent:
            service.send(data)
        return service


class Start(StartCase):
    def run_to_end(self, command):
        env = {key: value for key, value in os.environ.items() if key != 'STATE_DIRECTORY'}
        return subprocess.run(command, env=env, capture_output=True, text=True, check=False,
                              timeout=PATIENCE)

    def assert_ends(self, status, message, **options):
        done = self.run_to_end(self.command(**options))
        self.assertEqual(done.returncode, status, done.stderr)
        self.assertRegex(done.stderr, f'^weblocks-clusterd: .*{message}')

    def test_version(self):
        done = self.run_to_end([environment('WEBLOCKS_CLUSTERD'), '--version'])
        self.assertEqual(done.returncode, 0)
        self.assertRegex(done.stdout, r'^weblocks-clusterd [0-9.]+\n$')

    def test_options(self):
        self.assert_ends(FAILURE, 'Unknown option --foo', foo=1)
        done = self.run_to_end(self.command(config=self.path('none')) + ['foo'])
        self.assertEqual((done.returncode, done.stderr),
                         (FAILURE, "weblocks-clusterd: unexpected argument 'foo'\n"))
        self.assert_ends(CONFIGURATION, 'No such file', config=self.path('none'))
        self.assert_ends(CONFIGURATION, 'user of weblocksd does not exist', service_user='no such user')
        self.assert_ends(CONFIGURATION, 'name of this host is not valid', host='a/b')

    def test_credential(self):
        self.write('conf', CONFIG.format(key=f'CredentialFile={self.path("credential")}'))
        self.assert_ends(CONFIGURATION, 'No such file')
        self.write('credential', 'no colon\n')
        self.assert_ends(CONFIGURATION, 'is not of the form USER:PASSWORD')

    def test_state_directory(self):
        self.assert_ends(CONFIGURATION, 'there is no state directory', state_directory=None)
        self.assert_ends(CONFIGURATION, 'Not a directory', state_directory=self.path('conf/state'))
        os.makedirs(self.path('state/seen'))
        self.assert_ends(CONFIGURATION, 'Is a directory')
        os.rmdir(self.path('state/seen'))

    def test_damaged_data(self):
        """A file with a mistake was changed by somebody: nothing is assumed of the rest."""
        os.mkdir(self.path('state'))
        good = b'[Data]\nInstance=0123\n'
        for data in (b'', b'0123', b'[Data]\n', b'[Data]\nInstance=\n', b'[Data]\nInstance=\xff\n', b'[Blocks]\nfarm=1\n',
                     good + b'[Blocks]\nfarm=\n', good + b'[Blocks]\nfarm=-1\n', good + b'[Blocks]\nfarm=0\n',
                     good + b'[Blocks]\nfarm=7x\n', good + b'Refused=\n', good + b'Refused=false\n'):
            with self.subTest(data=data):
                write_bytes(self.path('state/seen'), data)
                self.assert_ends(CONFIGURATION, re.escape(self.path('state/seen')))

    def test_socket(self):
        self.assert_ends(FAILURE, 'no socket was passed by systemd', socket=None)
        self.assert_ends(FAILURE, 'too long for a socket', socket=self.path('s' * 108))
        self.assert_ends(FAILURE, 'No such file', socket=self.path('none/socket'))

    def test_servers_do_not_answer(self):
        """The gateway waits for them, and ends when it is asked to."""
        gateway = self.start()
        self.connect()
        gateway.terminate()
        self.assertEqual(wait_exit(gateway), 0)
        self.assertFalse(os.path.exists(self.options['socket']))


HELLO, READY = packets.hello(), packets.packet(packets.READY)
DEMANDS = [packets.demand(handle, 'x', bucket='farm', want=packets.EXCLUSIVE) for handle in (1, 2)]


class Socket(StartCase):
    def answers(self, service, *serials):
        """Asks, and reads the answers, or all until the end. Returns their serials."""
        found = []
        for serial in serials:
            service.send(packets.ask(serial))
        while not serials or len(found) < len(serials):
            try:
                data = service.recv(packets.MAX_PACKET)
            except ConnectionResetError:
                continue  # what was sent before can still be read
            if not data:
                break
            kind, members = packets.unpack(data)
            found += [members[0]] if kind == packets.STATUS else []
        return found

    def test_replaced(self):
        """A weblocksd that is restarted connects before the end of its predecessor's connection is noticed."""
        self.start()
        first, second = self.connect(HELLO), self.connect(HELLO)
        self.assertEqual(self.answers(first), [])
        self.assertEqual(self.answers(second, 5), [5])

    def test_refused_packets(self):
        """The connection is closed, and the next one is served."""
        self.start()
        for name, *sent in (('not greeted', READY), ('another version', packets.hello(packets.VERSION + 1)),
                            ('cut off', HELLO, READY[:-1]), ('of a gateway', HELLO, packets.packet(packets.SYNCED)),
                            ('greeted twice', HELLO, HELLO), ('zeros', HELLO, bytes(8)),
                            ('too long', HELLO, bytes(packets.MAX_PACKET + 8)),
                            ('two handles of one name', HELLO, *DEMANDS)):
            with self.subTest(name):
                self.assertEqual(self.answers(self.connect(*sent)), [])
        self.assertEqual(self.answers(self.connect(HELLO), 5), [5])

    def test_slow_reader(self):
        """What does not fit into the socket is sent later, in order."""
        self.start()
        self.assertEqual(self.answers(self.connect(HELLO), *range(1, 5000)), [*range(1, 5000)])

    def test_unread(self):
        """Who reads nothing is disconnected before much output is queued for it."""
        self.start()
        service = self.connect(HELLO)
        with self.assertRaises((BrokenPipeError, ConnectionResetError)):
            for serial in range(1, 1_000_000):
                service.send(packets.ask(serial))
        self.assertGreater(serial, 5000)

    def test_other_user(self):
        """A peer that is neither the user of weblocksd nor root is refused."""
        self.start(self.command(service_user='daemon'))
        wait_for(lambda: os.path.exists(self.options['socket']), what='socket')
        self.assertEqual(os.stat(self.options['socket']).st_mode & 0o777, 0o600)
        os.chmod(self.options['socket'], 0o666)
        os.chmod(self.directory, 0o755)
        if os.geteuid() == 0:
            self.addCleanup(os.seteuid, 0)
            os.seteuid(NOBODY)
        self.assertEqual(self.answers(self.connect()), [])

    def test_inherited(self):
        """As with systemd's socket activation."""
        with socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET) as listener:
            listener.bind(self.path('inherited'))
            listener.listen()
            gateway = subprocess.Popen(
                ['sh', '-c', 'LISTEN_PID=$$ LISTEN_FDS=1 exec "$@" 3<&0', 'sh', *self.command(socket=None)], stdin=listener)
            self.addCleanup(end, gateway)
        self.assertEqual(self.answers(self.connect(HELLO, path=self.path('inherited')), 5), [5])
