# SPDX-FileCopyrightText: 2026 The WebLocks for D-Bus authors
# SPDX-License-Identifier: LGPL-2.1-or-later

"""Editors with libweblocks, in a sandbox behind its proxy and outside, that claim one document, which the
sandboxed one has directly or from the document portal."""

import os
import pathlib
import subprocess
import sys

import buses
from buses import end, environment, spawn
from documentportal import DocumentPortal
from sandboxcase import APP, OTHER_APP, SandboxCase, StoredState, info

BUILD = os.path.dirname(environment('WEBLOCKS_LIBRARY_DIR'))
PROGRAM = os.path.join(os.path.dirname(os.path.abspath(__file__)), 'claim-app.py')
HOST = 'documents'


class Editor:
    def __init__(self, command, env, descriptors=()):
        self.process = spawn(command, env=env, stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                             pass_fds=descriptors, bufsize=0)
        for descriptor in descriptors:
            os.close(descriptor)
        self._data = b''

    def line(self):
        while b'\n' not in self._data:
            assert buses.readable(self.process.stdout, buses.PATIENCE), f'nothing after {self._data!r}'
            chunk = os.read(self.process.stdout.fileno(), 1 << 12)
            assert chunk, 'the editor has ended'
            self._data += chunk
        line, _, self._data = self._data.partition(b'\n')
        return line.decode()

    def tell(self, command):
        self.process.stdin.write(command.encode() + b'\n')

    def close(self):
        end(self.process)
        self.process.stdin.close()
        self.process.stdout.close()


class ClaimCase(StoredState, SandboxCase):
    def setUp(self):
        super().setUp()
        self.directory = os.path.join(self.shared, self._testMethodName)
        os.mkdir(self.directory)
        self.path = os.path.join(self.directory, 'document')
        self.save()

    def save(self):
        """By rename."""
        new = os.path.join(self.directory, 'new')
        pathlib.Path(new).write_text('text', encoding='ascii')
        os.rename(new, self.path)

    def run_editor(self, address, command=(), descriptors=(), options=(), path=None, **environ):
        library = environment('WEBLOCKS_LIBRARY_DIR')
        env = {**self.bus.environment(), 'DBUS_SESSION_BUS_ADDRESS': address,
               'GI_TYPELIB_PATH': library, 'LD_LIBRARY_PATH': library, **environ}
        editor = Editor([*command, sys.executable, PROGRAM, path or self.path, *options], env, descriptors)
        self.addCleanup(editor.close)
        return editor

    def outside(self, *options):
        return self.run_editor(self.bus.address, options=options)

    def inside(self, *options, app=APP, mounts=(), command=(), **kw):
        more, descriptors = self.info_mounts(info(app))
        command = [*command, *self.bwrap('--bind', BUILD, BUILD, *mounts, *more)]
        return self.run_editor(self.proxy(info(app)), command, descriptors, options, **kw)

    def assert_lines(self, editor, *lines):
        self.assertEqual([editor.line() for _ in lines], list(lines))

    def wait_pending(self, count):
        client = self.raw_client()
        client.watch(bucket=HOST)
        client.wait_for(lambda: len(client.query(HOST)[1]) == count, what=f'{count} that wait')


class Claims(ClaimCase):
    def test_each_after_the_other(self):
        host = self.outside()
        self.assert_lines(host, 'waiting False', 'held True')
        app = self.inside()
        self.assert_lines(app, 'waiting False')
        self.wait_pending(1)
        self.save()
        other = self.inside(app=OTHER_APP)
        self.assert_lines(other, 'waiting False')
        self.wait_pending(2)
        host.close()
        self.assert_lines(app, 'held True')
        self.save()
        again = self.outside()
        self.assert_lines(again, 'waiting False')
        self.wait_pending(2)
        app.close()
        self.assert_lines(other, 'held True')
        other.tell('stop')
        self.assert_lines(other, 'idle True')
        self.assert_lines(again, 'held True')

    def test_the_service_is_killed(self):
        app, host = self.inside(), None
        self.assert_lines(app, 'waiting False', 'held True')
        self.restart()
        host = self.outside()
        self.assert_lines(host, 'waiting False')
        self.wait_pending(1)
        app.tell('stop')
        self.assert_lines(app, 'idle True')
        self.assert_lines(host, 'held True')
        app.tell('start')
        self.assert_lines(app, 'waiting True')
        self.wait_pending(1)
        self.restart()
        host.close()
        self.assert_lines(app, 'held True')

    def test_killed_between_opening_and_request(self):
        """The new service has not opened the document: the claim opens it again."""
        app = self.inside('--pause')
        self.assert_lines(app, 'waiting False')
        self.assertRegex(app.line(), '^opened document:')
        self.restart()
        app.tell('continue')
        self.assert_lines(app, 'held True')

    def test_no_service(self):
        """With `reclaim` it waits for one."""
        self.daemon.stop()
        app = self.inside('--reclaim')
        self.assert_lines(app, 'waiting False', 'unavailable False')
        self.assertRegex(app.line(), '^error ')
        type(self).daemon = self.start_service(f'--state-dir={self.state}')
        self.assert_lines(app, 'held True')

    def test_not_proved(self):
        """It excludes its own application."""
        mounts = ('--ro-bind', self.directory, self.directory)
        one, host = self.inside(mounts=mounts), self.outside()
        self.assert_lines(one, 'waiting False', 'held False')
        self.assert_lines(host, 'waiting False', 'held True')
        two = self.inside(mounts=mounts)
        self.assert_lines(two, 'waiting False')
        one.close()
        self.assert_lines(two, 'held False')

    def test_a_document_that_is_not_there_yet(self):
        os.unlink(self.path)
        app = self.inside()
        self.assert_lines(app, 'waiting False', 'held True')
        self.save()
        host = self.outside()
        self.assert_lines(host, 'waiting False')
        self.wait_pending(1)
        app.close()
        self.assert_lines(host, 'held True')

    def test_taking_over(self):
        host = self.outside()
        self.assert_lines(host, 'waiting False', 'held True')
        app = self.inside()
        self.assert_lines(app, 'waiting False')
        self.wait_pending(1)
        app.tell('take-over')
        self.assert_lines(app, 'refused security')
        host.close()
        self.assert_lines(app, 'held True')
        again = self.outside()
        self.assert_lines(again, 'waiting False')
        again.tell('take-over')
        self.assert_lines(again, 'held True')
        self.assert_lines(app, 'lost True')


class FromThePortal(DocumentPortal, ClaimCase):
    """What the application has is below a mount of the portal, where Flatpak makes it visible."""

    def inside_at(self, directory, *permissions, **environ):
        """With the portal's directory for the application mounted there."""
        id_ = self.export(self.path, APP, *permissions)
        return self.inside(mounts=('--bind', f'{self.portal_home}/doc/by-app/{APP}', directory),
                           command=('nsenter', f'--mount=/proc/{self.portal.pid}/ns/mnt'),
                           path=f'{directory}/{id_}/document', **environ)

    def check_excluded(self, directory, **environ):
        """Each waits for the other, also after it has saved the document by rename."""
        host = self.outside()
        self.assert_lines(host, 'waiting False', 'held True')
        app = self.inside_at(directory, 'read', 'write', **environ)
        self.assert_lines(app, 'waiting False')
        self.wait_pending(1)
        self.save()
        host.close()
        self.assert_lines(app, 'held True')
        before = os.stat(self.path).st_ino
        app.tell('save')
        self.assert_lines(app, 'saved')
        self.assertNotEqual(os.stat(self.path).st_ino, before)
        again = self.outside()
        self.assert_lines(again, 'waiting False')
        self.wait_pending(1)
        app.close()
        self.assert_lines(again, 'held True')
        again.close()

    def test_at_a_fixed_path(self):
        self.check_excluded('/run/flatpak/doc')

    def test_in_the_directory_of_the_user(self):
        self.check_excluded('/run/user/doc', XDG_RUNTIME_DIR='/run/user')

    def test_what_it_may_not_write(self):
        """It excludes its own application."""
        one, host = self.inside_at('/run/flatpak/doc', 'read'), self.outside()
        self.assert_lines(one, 'waiting False', 'held False')
        self.assert_lines(host, 'waiting False', 'held True')
