# SPDX-FileCopyrightText: 2026 The WebLocks for D-Bus authors
# SPDX-License-Identifier: LGPL-2.1-or-later

"""The real document portal (xdg-document-portal), for cases with sandboxes."""

import os
import shutil
import signal
import subprocess
import tempfile
import unittest

from gi.repository import GLib

from buses import spawn, wait_exit
from harness import owner_of, wait_for
from rawbus import bus_call

NAME, PATH = 'org.freedesktop.portal.Documents', '/org/freedesktop/portal/documents'
STORE = 'org.freedesktop.impl.portal.PermissionStore'
DIRECTORY = os.environ.get('WEBLOCKS_PORTAL_DIR', '/usr/libexec')
IS_DIRECTORY = 8


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
class DocumentPortal:
    """Before a SandboxCase: the portal is on its bus."""

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.portal_home = tempfile.mkdtemp(prefix='weblocks-portal-')
        cls.addClassCleanup(subprocess.run, ['rm', '-r', cls.portal_home], check=False)
        cls.start_program('xdg-permission-store', STORE)
        cls.portal = cls.start_program('xdg-document-portal', NAME)

    @classmethod
    def start_program(cls, program, name):
        """In a mount namespace of its own, so that no mount is left."""
        env = {**cls.bus.environment(), 'DBUS_SESSION_BUS_ADDRESS': cls.bus.address,
               **dict.fromkeys(('XDG_RUNTIME_DIR', 'XDG_DATA_HOME', 'HOME'), cls.portal_home)}
        process = spawn(['unshare', '--mount', os.path.join(DIRECTORY, program)], env=env)
        cls.addClassCleanup(wait_exit, process)
        cls.addClassCleanup(process.kill)

        def has_name():
            assert process.poll() is None, f'{program} has ended'
            return owner_of(cls.control, name) is not None
        wait_for(has_name, what=name)
        return process

    def stop_portal(self):
        self.portal.send_signal(signal.SIGSTOP)
        self.addCleanup(self.portal.send_signal, signal.SIGCONT)

    def export(self, path, app, *permissions, flags=0):
        """Returns the id of the document in the portal."""
        client = self.raw_client(descriptors=True)
        descriptor = os.open(path, os.O_PATH)
        call = bus_call(NAME, PATH, NAME, 'AddFull',
                        GLib.Variant('(ahusas)', ([0], flags, app, permissions)))
        serial = client.send_with_descriptors(call, [descriptor])
        os.close(descriptor)
        return client.result(serial)[0][0]
