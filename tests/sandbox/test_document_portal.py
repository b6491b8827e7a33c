# SPDX-FileCopyrightText: 2026 The WebLocks for D-Bus authors
# SPDX-License-Identifier: LGPL-2.1-or-later

"""Documents that a sandboxed application has from the real document portal (xdg-document-portal)."""

import os
import pathlib
import shutil
import signal
import subprocess
import tempfile
import time
import unittest

from gi.repository import GLib

from buses import spawn, wait_exit
from harness import main, owner_of, wait_for
from rawbus import bus_call
from sandboxcase import APP, OTHER_APP, SandboxCase

HOST, APPS = 'documents', 'user:documents'
NAME, PATH = 'org.freedesktop.portal.Documents', '/org/freedesktop/portal/documents'
STORE = 'org.freedesktop.impl.portal.PermissionStore'
DIRECTORY = os.environ.get('WEBLOCKS_PORTAL_DIR', '/usr/libexec')
IS_DIRECTORY = 8
PATIENCE = 2  # seconds, of the service


def why_not():
    """Why there is no portal here; '' if there is one."""
    if os.geteuid() != 0:
        return 'needs root, to mount'
    if not os.path.exists(os.path.join(DIRECTORY, 'xdg-document-portal')):
        return 'needs xdg-document-portal'
    if shutil.which('fusermount3') is None:
        return 'needs fusermount3'
    try:
        os.close(os.open('/dev/fuse', os.O_RDWR))
    except OSError as error:
        return f'/dev/fuse: {error.strerror}'
    return ''


@unittest.skipIf(why_not(), why_not())
class Portal(SandboxCase):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.start_program('xdg-permission-store', STORE)
        cls.portal = cls.start_program('xdg-document-portal', NAME)

    @classmethod
    def start_program(cls, program, name):
        """In a mount namespace of its own, so that no mount is left."""
        home = tempfile.mkdtemp(prefix='weblocks-portal-')
        cls.addClassCleanup(subprocess.run, ['rm', '-r', home], check=False)
        env = {**cls.bus.environment(), 'XDG_RUNTIME_DIR': home, 'XDG_DATA_HOME': home, 'HOME': home,
               'DBUS_SESSION_BUS_ADDRESS': cls.bus.address}
        process = spawn(['unshare', '--mount', os.path.join(DIRECTORY, program)], env=env)
        cls.addClassCleanup(wait_exit, process)
        cls.addClassCleanup(process.kill)

        def has_name():
            assert process.poll() is None, f'{program} has ended'
            return owner_of(cls.control, name) is not None
        wait_for(has_name, what=name)
        return process

    def setUp(self):
        super().setUp()
        self.directory = os.path.join(self.shared, self._testMethodName)
        os.mkdir(self.directory)
        self.path = os.path.join(self.directory, 'document')
        pathlib.Path(self.path).write_text('text', encoding='ascii')

    def export(self, path, app, *permissions, flags=0):
        """Returns the id of the document in the portal."""
        client = self.raw_client(descriptors=True)
        descriptor = os.open(path, os.O_PATH)
        call = bus_call(NAME, PATH, NAME, 'AddFull',
                        GLib.Variant('(ahusas)', ([0], flags, app, permissions)))
        serial = client.send_with_descriptors(call, [descriptor])
        os.close(descriptor)
        return client.result(serial)[0][0]

    def test_a_document_that_it_may_write(self):
        app, host = self.app(APP), self.client()
        id_ = self.export(self.path, APP, 'read', 'write')
        bucket, name = app.ask('open_document', portal=f'{id_}/document')
        self.assertEqual(bucket, APPS)
        # The same as by its descriptor.
        self.assertEqual(app.ask('open_document', path=self.path), [APPS, name])
        self.assertNotEqual(app.call('request', name, APPS)[1], 0)
        self.assertEqual(host.request(pathlib.Path(self.path).as_uri(), HOST)[1], 0)

    def test_in_a_directory(self):
        app, host = self.app(APP), self.client()
        id_ = self.export(self.directory, APP, 'read', 'write', flags=IS_DIRECTORY)
        base = f'{id_}/{os.path.basename(self.directory)}'
        for rest in ('document', 'new', 'below/new'):
            _, name = app.ask('open_document', portal=f'{base}/{rest}')
            self.assertNotEqual(app.call('request', name, APPS)[1], 0)
            self.assertEqual(
                host.request(pathlib.Path(self.directory, rest).as_uri(), HOST)[1], 0)

    def assert_refused(self, app, document):
        self.assert_error('Security', app.ask, 'open_document', portal=document)

    def test_what_it_may_not_write(self):
        app = self.app(APP)
        id_ = self.export(self.path, APP, 'read')
        self.assert_refused(app, f'{id_}/document')
        other = self.export(self.path, OTHER_APP, 'read', 'write')
        self.assert_refused(app, f'{other}/document')
        self.app(OTHER_APP).ask('open_document', portal=f'{other}/document')

    def test_what_is_not_there(self):
        app = self.app(APP)
        id_ = self.export(self.path, APP, 'read', 'write')
        self.assert_refused(app, f'{id_}/other')
        self.assert_refused(app, 'ffffffff/document')

    def test_many_at_a_time(self):
        """A client waits for eight at most."""
        client, sent = self.app(APP), 20
        id_ = self.export(self.path, APP, 'read', 'write')
        self.portal.send_signal(signal.SIGSTOP)
        self.addCleanup(self.portal.send_signal, signal.SIGCONT)
        begin = time.monotonic()
        errors = client.ask('open_many', portal=f'{id_}/document', count=sent)
        self.assertEqual(errors, ['Unavailable'] * sent)
        self.assertGreaterEqual(time.monotonic() - begin, PATIENCE * 0.9)

    def test_a_portal_that_is_stopped(self):
        """The reply comes in time, and others are served meanwhile."""
        app, other = self.app(APP), self.client()
        id_ = self.export(self.path, APP, 'read', 'write')
        self.portal.send_signal(signal.SIGSTOP)
        self.addCleanup(self.portal.send_signal, signal.SIGCONT)
        begin = time.monotonic()
        app.send_command('open_document', portal=f'{id_}/document')
        self.control.ping()
        self.assertNotEqual(other.request('n')[1], 0)
        self.assertLess(time.monotonic() - begin, PATIENCE * 0.9, 'others had to wait')
        self.assert_error('Unavailable', app._answer)
        self.assertGreaterEqual(time.monotonic() - begin, PATIENCE * 0.9)
        self.portal.send_signal(signal.SIGCONT)
        app.ask('open_document', portal=f'{id_}/document')


if __name__ == '__main__':
    main()
