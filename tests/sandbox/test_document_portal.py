# SPDX-FileCopyrightText: 2026 The WebLocks for D-Bus authors
# SPDX-License-Identifier: LGPL-2.1-or-later

"""Documents that a sandboxed application has from the real document portal (xdg-document-portal)."""

import os
import pathlib
import signal
import time

from documentportal import IS_DIRECTORY, DocumentPortal
from sandboxcase import APP, OTHER_APP, SandboxCase

HOST, APPS = 'documents', 'user:documents'
PATIENCE = 2  # seconds, of the service


class Portal(DocumentPortal, SandboxCase):
    def setUp(self):
        super().setUp()
        self.directory = os.path.join(self.shared, self._testMethodName)
        os.mkdir(self.directory)
        self.path = os.path.join(self.directory, 'document')
        pathlib.Path(self.path).write_text('text', encoding='ascii')

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

    def test_many_of_one_application(self):
        """With many clients it doesn't keep another application from being served."""
        app, other = self.app(APP), self.app(OTHER_APP)
        id_ = self.export(self.path, OTHER_APP, 'read', 'write')
        self.stop_portal()
        app.ask('flood_documents', portal=f'{id_}/document', clients=32, count=8)
        begin = time.monotonic()
        self.assert_error('Unavailable', other.ask, 'open_document', portal=f'{id_}/document')
        self.assertGreaterEqual(time.monotonic() - begin, PATIENCE * 0.9, 'the portal was not asked')
        self.assertEqual(app.ask('flooded'), ['Unavailable'] * 256)

    def test_a_portal_that_is_stopped(self):
        """The reply comes in time, and others are served meanwhile."""
        app, other = self.app(APP), self.client()
        id_ = self.export(self.path, APP, 'read', 'write')
        self.stop_portal()
        begin = time.monotonic()
        app.send_command('open_document', portal=f'{id_}/document')
        self.control.ping()
        self.assertNotEqual(other.request('n')[1], 0)
        self.assertLess(time.monotonic() - begin, PATIENCE * 0.9, 'others had to wait')
        self.assert_error('Unavailable', app._answer)
        self.assertGreaterEqual(time.monotonic() - begin, PATIENCE * 0.9)
        self.portal.send_signal(signal.SIGCONT)
        app.ask('open_document', portal=f'{id_}/document')
