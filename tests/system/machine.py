# SPDX-FileCopyrightText: 2026 The WebLocks for D-Bus authors
# SPDX-License-Identifier: LGPL-2.1-or-later

"""The contents of a machine for boot_systemd.py: the programs of this one, the build under test as
installed, additional users, and few units: those of the bus and of user managers from the
distribution, and those of the build."""

import os
import shutil
import subprocess
import sys
import tempfile
import uuid

from buses import end, read_lines, read_text, wait_exit, why_no_other_users, write_text
from installation import run

HERE = os.path.dirname(os.path.abspath(__file__))
SYSTEMD_UNITS = '/lib/systemd'
TOOLS = ('systemd-sysusers', 'systemctl', 'nsenter', 'journalctl')
# In addition to the users that the system needs.
USERS = {'alice': 64001, 'bob': 64002, **{f'user-{uid}': uid for uid in range(64100, 64108)}}

# Units of the distribution; a target pulls in only units that are in this list.
STOCK = {
    'system': ('basic.target', 'dbus.socket', 'shutdown.target', 'sockets.target', 'sysinit.target',
               'systemd-journald-dev-log.socket', 'systemd-journald.service',
               'systemd-journald.socket', 'user@.service'),
    'user': ('basic.target', 'dbus.socket', 'default.target', 'session.slice', 'shutdown.target',
             'sockets.target'),
}
# Settings of those units that refer to others.
REMOVED = ('PAMName=', 'Requires=user-runtime-dir@')
# Replacements: the file below a directory of units, and its text. Without logind, which would
# create the runtime directory of a user.
REPLACED = {
    'system/machine.target': '''[Unit]
Requires=dbus.socket systemd-journald.service
Requires=systemd-journald.socket systemd-journald-dev-log.socket
After=dbus.socket basic.target
Wants=basic.target
''',
    'system/user@.service.d/machine.conf': '''[Service]
ExecStartPre=+mkdir -p /run/user
ExecStartPre=+install -d -m 0700 -o %i -g %i /run/user/%i
Environment=XDG_RUNTIME_DIR=/run/user/%i DBUS_SESSION_BUS_ADDRESS=unix:path=/run/user/%i/bus
Environment=SYSTEMD_UNIT_PATH=/etc/machine/user
''',
    'user/basic.target.d/machine.conf': '''[Unit]
Wants=dbus.socket
''',
}


def get_skip_reason():
    """Returns the reason why no such machine can be started here; '' if it may be possible."""
    if why_no_other_users():
        return why_no_other_users()
    if not os.path.exists('/lib/systemd/systemd'):
        return 'no systemd'
    for tool in TOOLS:
        if shutil.which(tool) is None:
            return f'no {tool}'
    return ''


class Refused(Exception):
    """No machine can be started; the message is the reason."""


class Machine:
    """A running machine. `installation` is staged; each of `shared` is visible in it, read-only."""

    def __init__(self, installation, kind, shared=()):
        self.directory = tempfile.mkdtemp(prefix='weblocks-machine-')
        self.installation = installation
        self.kind = kind
        self.process = None
        try:
            self._make_tree()
            self._start(shared)
        except BaseException:
            self.stop()
            raise

    def path(self, *parts):
        return os.path.join(self.directory, 'tree', *parts)

    def _write(self, text, *parts):
        path = self.path(*parts)
        os.makedirs(os.path.dirname(path), exist_ok=True)
        write_text(path, text)

    def _make_tree(self):
        os.chmod(self.directory, 0o755)
        for name in ('etc', 'run/dbus', 'usr'):
            os.makedirs(self.path(name))
        shutil.copytree(os.path.join(self.installation.root, 'usr'), self.path('usr'),
                        dirs_exist_ok=True)
        self._write(f'{uuid.uuid4().hex}\n', 'etc/machine-id')
        self._write('passwd: files\ngroup: files\n', 'etc/nsswitch.conf')
        self._write('[Journal]\nStorage=volatile\nRateLimitBurst=0\nAudit=no\n',
                    'etc/systemd/journald.conf')
        self._make_users()
        for name in ('ld.so.cache', 'ld.so.conf', 'ld.so.conf.d'):
            if os.path.isdir(f'/etc/{name}'):
                shutil.copytree(f'/etc/{name}', self.path('etc', name))
            elif os.path.exists(f'/etc/{name}'):
                shutil.copy(f'/etc/{name}', self.path('etc', name))
        # A system bus reads rules there and in /usr/share.
        self._copy_installed('system.d/org.w3.WebLocks.conf', 'etc/dbus-1/system.d')
        for scope in ('system', 'user'):
            self._make_units(scope)

    def _installed(self, ending):
        return [path for path in self.installation.files() if path.endswith(f'/{ending}')]

    def _copy_installed(self, ending, directory):
        source, = self._installed(ending)
        os.makedirs(self.path(directory), exist_ok=True)
        return shutil.copy(source, self.path(directory))

    def _make_users(self):
        """From the installed file, as when a package is installed."""
        text = ''
        # The second file is for the gateway to a cluster, if it is built.
        for source in self._installed('sysusers.d/weblocks.conf') + \
                self._installed('sysusers.d/weblocks-cluster.conf'):
            text += read_text(source)
        text += 'u root 0 "root" /root /bin/sh\nu nobody 65534\nu messagebus -\n' \
                'g systemd-journal -\n'
        text += ''.join(f'u {name} {uid} "{name}" /tmp /bin/sh\n' for name, uid in USERS.items())
        run('/bin/sh', '-c', 'printf %s "$2" | systemd-sysusers --root="$1" -', 'sh',
            self.path(), text)

    def _make_units(self, scope):
        directory = f'etc/machine/{scope}'
        os.makedirs(self.path(directory))
        for name in STOCK[scope]:
            with open(os.path.join(SYSTEMD_UNITS, scope, name), encoding='utf-8') as file:
                lines = [line for line in file if not line.startswith(REMOVED)]
            self._write(''.join(lines), directory, name)
        name = {'dbus-daemon': 'dbus.service', 'dbus-broker': 'dbus-broker.service'}[self.kind]
        shutil.copy(os.path.join(SYSTEMD_UNITS, scope, name),
                    self.path(directory, 'dbus.service'))
        self._copy_installed(f'{scope}/weblocksd.service', directory)
        for kind in ('service', 'socket'):
            for source in self._installed(f'{scope}/weblocks-clusterd.{kind}'):
                shutil.copy(source, self.path(directory))
        for path, text in REPLACED.items():
            if path.startswith(f'{scope}/'):
                self._write(text, 'etc/machine', path)

    def _start(self, shared):
        # It doesn't end with this process's group, since it has to clean up; it ends at EOF on its
        # standard input.
        self.process = subprocess.Popen([sys.executable, os.path.join(HERE, 'boot_systemd.py'),
                              self.directory, 'SYSTEMD_UNIT_PATH=/etc/machine/system', '--',
                              *shared], stdin=subprocess.PIPE, stdout=subprocess.PIPE, bufsize=0)
        line = read_lines(self.process, 1)[0]
        if line.startswith('refused: '):
            raise Refused(line.removeprefix('refused: '))
        self.pid = int(line)

    def command(self, *words):
        """The command line to run these words in this machine."""
        return ['nsenter', f'--target={self.pid}', '--all', '--', *words]

    def stop(self):
        if self.process is not None:
            self.process.stdin.close()
            try:
                if wait_exit(self.process) != 0:
                    raise RuntimeError('something of the machine is left')
            finally:
                end(self.process)
        shutil.rmtree(self.directory, ignore_errors=True)
