# SPDX-FileCopyrightText: 2026 The WebLocks for D-Bus authors
# SPDX-License-Identifier: LGPL-2.1-or-later

"""The start of the gateway: its options, and mistakes that end it with a message and exit status."""

import os
import socket
import subprocess
import tempfile
import unittest

from buses import PATIENCE, end, environment, spawn, wait_exit, write_text
from harness import wait_for

CONFIG = '''[Cluster]
Servers=[::1]:1;127.0.0.1:1
{key}
[Bucket farm]
'''
FAILURE, CONFIGURATION = 1, 78


class Start(unittest.TestCase):
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
        os.mkdir(self.path('state'))
        self.write('state/seen', 'damaged')
        self.assert_ends(CONFIGURATION, 'state/seen')

    def test_socket(self):
        self.assert_ends(FAILURE, 'no socket was passed by systemd', socket=None)
        self.assert_ends(FAILURE, 'too long for a socket', socket=self.path('s' * 108))
        self.assert_ends(FAILURE, 'No such file', socket=self.path('none/socket'))

    def test_servers_do_not_answer(self):
        """The gateway waits for them, and ends when it is asked to."""
        gateway = spawn(self.command(), stdin=subprocess.DEVNULL)
        self.addCleanup(end, gateway)
        service = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        self.addCleanup(service.close)
        wait_for(lambda: service.connect_ex(self.options['socket']) == 0, what='socket')
        gateway.terminate()
        self.assertEqual(wait_exit(gateway), 0)
        self.assertFalse(os.path.exists(self.options['socket']))
