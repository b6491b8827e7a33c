# SPDX-FileCopyrightText: 2026 The WebLocks for D-Bus authors
# SPDX-License-Identifier: LGPL-2.1-or-later

"""The files that `meson install` installs are complete, correct and work unchanged."""

import configparser
import os
import re
import select
import shutil
import subprocess
import tempfile
import unittest
import xml.etree.ElementTree as ElementTree

from buses import PATIENCE, TEST_ALL, Bus, environment, read_bytes, read_text
from gi.repository import Gio
from harness import RawClient, owner_of, pid_of
from installation import Installation, Superproject, meson, run, why_no_bindings
from smallfs import has_own_mounts, take_own_mounts

take_own_mounts()

NAME = 'org.w3.WebLocks'
ROOT = '/org/w3/WebLocks'
BUCKET = f'{ROOT}/bucket/default'
POLICY = 'share/dbus-1/system.d/org.w3.WebLocks.conf'
CLUSTERD = 'libexec/weblocks-clusterd'
IN_PLACE = unittest.skipUnless(has_own_mounts(), 'needs a mount namespace: unshare(1), and root or user namespaces')

# It is linked with the subproject.
PROGRAM = '''#include <weblocks/weblocks.h>

int
main(void)
{
    g_print("%d\\n", web_locks_check_version(WEB_LOCKS_MAJOR_VERSION, WEB_LOCKS_MINOR_VERSION,
                                             WEB_LOCKS_MICRO_VERSION));
    return 0;
}
'''

# The build under test, installed to a DESTDIR as a package's build does it; and the same in its place.
STAGED = INSTALLATION = None


def setUpModule():
    global STAGED, INSTALLATION
    directory = tempfile.mkdtemp(prefix='weblocks-stage-')
    unittest.addModuleCleanup(shutil.rmtree, directory, ignore_errors=True)
    STAGED = Installation(environment('WEBLOCKS_BUILD_DIR'), directory).install()
    if has_own_mounts():
        INSTALLATION = STAGED.in_place()


def read_ini(text):
    """A unit or service file; for a repeated key, the last value."""
    parser = configparser.RawConfigParser(strict=False, delimiters='=', comment_prefixes='#')
    parser.optionxform = str
    parser.read_string(text)
    return parser


def weblocksd():
    return INSTALLATION.path('libexec/weblocksd')


def has_cluster():
    """Whether the gateway to a cluster is built."""
    return os.path.join(INSTALLATION.options['prefix'], CLUSTERD) in INSTALLATION.planned


class Staged(unittest.TestCase):
    """Under the DESTDIR."""

    def setUp(self):
        self.stage, self.directory = STAGED, STAGED.root

    def test_all_planned_files_are_installed(self):
        planned = {self.directory + path for path in self.stage.planned}
        # Of a directory of pages only the directory itself is planned.
        folders = tuple(path + '/' for path in planned if os.path.isdir(path))
        files = [path for path in self.stage.files() if not path.startswith(folders)]
        self.assertEqual(sorted(path for path in planned if path + '/' not in folders),
                         sorted(files))

    def test_everything_stays_inside_the_prefix(self):
        prefix = self.stage.options['prefix'] + '/'
        for path in self.stage.planned:
            self.assertTrue(path.startswith(prefix), path)

    def test_no_placeholder_and_no_build_path(self):
        traces = (re.compile(rb'@\w+@'), os.fsencode(self.directory),
                  os.fsencode(self.stage.build), os.fsencode(environment('WEBLOCKS_SOURCE_DIR')))
        for path in self.stage.files():
            content = read_bytes(path)
            if content.startswith(b'\x7fELF') or content.startswith(b'!<arch>'):
                continue
            for trace in traces:
                found = trace.search(content) if isinstance(trace, re.Pattern) else trace in content
                self.assertFalse(found, f'{trace} in {path}')

    def test_reference_page_has_every_member(self):
        page = self.stage.path(self.stage.options['datadir'], 'doc/weblocks/reference/index.html')
        if not os.path.exists(page):
            if self.stage.options['docs'] == 'enabled':
                self.fail('no reference page, in spite of docs=enabled')
            self.skipTest('built without the DocBook tools')
        text = read_text(page)
        for name in ('org.w3.WebLocks', 'org.w3.WebLocks.Service'):
            tree = ElementTree.parse(
                self.stage.path(self.stage.options['datadir'], f'dbus-1/interfaces/{name}.xml'))
            for interface in tree.iter('interface'):
                for member in interface:
                    anchor = f'gdbus-{member.tag}-{name.replace(".", "-")}.{member.get("name")}'
                    self.assertIn(f'id="{anchor}"', text)

    def test_manual_pages_are_well_formed(self):
        groff = shutil.which('groff')
        if not groff:
            self.skipTest('no groff')
        pages = [path for path in self.stage.files() if '/man/man' in path]
        self.assertTrue(pages)
        for page in pages:
            self.assertEqual(run(groff, '-t', '-man', '-Tutf8', '-ww', '-z', page), '', page)


@IN_PLACE
class Files(unittest.TestCase):
    """Activation, units, user: every file is in its place, with the right contents."""

    @staticmethod
    def unit(kind):
        return INSTALLATION.path('lib/systemd', kind, 'weblocksd.service')

    def test_files_are_in_their_directories(self):
        expected = (
            'libexec/weblocksd',
            'share/dbus-1/interfaces/org.w3.WebLocks.xml',
            'share/dbus-1/interfaces/org.w3.WebLocks.Service.xml',
            'share/dbus-1/services/org.w3.WebLocks.service',
            'share/dbus-1/system-services/org.w3.WebLocks.service',
            POLICY,
            'lib/systemd/system/weblocksd.service',
            'lib/systemd/user/weblocksd.service',
            'lib/sysusers.d/weblocks.conf',
            'share/man/man8/weblocksd.8',
            'bin/weblocks',
            os.path.join(STAGED.options['libdir'], 'weblocks/weblocks-commands.so'),
            'share/man/man1/weblocks.1',
            'share/locale/de/LC_MESSAGES/weblocks.mo',
            'share/bash-completion/completions/weblocks',
            'share/fish/vendor_completions.d/weblocks.fish',
            'share/zsh/site-functions/_weblocks',
            'include/weblocks-1/weblocks/weblocks.h',
            'share/weblocks-1/gjs/weblocks.js',
        )
        if has_cluster():
            expected += (CLUSTERD,
                         'lib/systemd/system/weblocks-clusterd.service',
                         'lib/systemd/system/weblocks-clusterd.socket',
                         'lib/sysusers.d/weblocks-cluster.conf',
                         'share/doc/weblocks-cluster/examples/cluster.conf',
                         'share/man/man5/weblocks-cluster.conf.5',
                         'share/man/man8/weblocks-clusterd.8')
        self.assertLessEqual({STAGED.path(part) for part in expected}, STAGED.files())
        self.assertTrue(os.access(weblocksd(), os.X_OK))

    def test_bus_and_units_start_the_service(self):
        for kind, directory, options, user in (
                ('user', 'services', '--session', {}),
                ('system', 'system-services', '--system', {'User': INSTALLATION.options['system_user']})):
            with self.subTest(kind):
                line = f'{weblocksd()} {options} --idle-exit=60'
                found = read_ini(INSTALLATION.text('share/dbus-1', directory, f'{NAME}.service'))['D-BUS Service']
                self.assertEqual(dict(found), {'Name': NAME, 'Exec': line, 'SystemdService': 'weblocksd.service', **user})
                unit = read_ini(read_text(self.unit(kind)))['Service']
                expected = {'Type': 'dbus', 'BusName': NAME, 'ExecStart': line, 'Restart': 'on-failure'}
                self.assertLessEqual({**expected, **user}.items(), dict(unit).items())
                self.assertEqual('User' in unit, bool(user))

    def test_systemd_understands_the_units(self):
        analyze = shutil.which('systemd-analyze')
        if not analyze:
            self.skipTest('no systemd-analyze')
        env = dict(os.environ, XDG_RUNTIME_DIR=STAGED.root)
        for kind in ('user', 'system'):
            with self.subTest(kind):
                # Warnings count too.
                self.assertEqual(run(analyze, f'--{kind}', '--man=no', '--recursive-errors=no',
                                     'verify', self.unit(kind), env=env), '')
        if has_cluster():
            units = [INSTALLATION.path(f'lib/systemd/system/weblocks-clusterd.{kind}')
                     for kind in ('service', 'socket')]
            self.assertEqual(run(analyze, '--system', '--man=no', '--recursive-errors=no', 'verify', *units, env=env), '')

    def test_sysusers_file_makes_the_user(self):
        sysusers = shutil.which('systemd-sysusers')
        if not sysusers:
            self.skipTest('no systemd-sysusers')
        with tempfile.TemporaryDirectory(prefix='weblocks-root-') as root:
            os.mkdir(os.path.join(root, 'etc'))
            run(sysusers, f'--root={root}', INSTALLATION.path('lib/sysusers.d/weblocks.conf'))
            with open(os.path.join(root, 'etc/passwd'), encoding='utf-8') as file:
                self.assertRegex(file.read(), rf'(?m)^{INSTALLATION.options["system_user"]}:.*WebLocks.*nologin$')

    def test_the_example_of_a_configuration(self):
        """It is valid: what the gateway misses is the directory. Before that, it checks its name."""
        if not has_cluster():
            self.skipTest('built without the gateway to a cluster')
        example = INSTALLATION.path('share/doc/weblocks-cluster/examples/cluster.conf')
        text = read_text(example)
        with tempfile.NamedTemporaryFile('w', encoding='utf-8', suffix='.conf') as file:
            # What is commented out is the default, but for the credential, which doesn't exist.
            file.write(re.sub('(?m)^#(Root|SessionTimeout)', r'\1', text))
            file.flush()
            env = {key: value for key, value in os.environ.items() if key != 'STATE_DIRECTORY'}
            for options, message in (
                    ([], 'there is no state directory'),
                    (['--host=a/b'], 'the name of this host is not valid: see --host')):
                done = subprocess.run([INSTALLATION.path(CLUSTERD), f'--config={file.name}',
                                       '--service-user=root', *options], env=env,
                                      stderr=subprocess.PIPE, text=True, check=False,
                                      timeout=PATIENCE)
                self.assertEqual((done.returncode, done.stderr),
                                 (78, f'weblocks-clusterd: {message}\n'))


class Uninstalled(unittest.TestCase):
    """Using a build directory without installing it."""

    if TEST_ALL:  # it compiles the library
        def test_subproject(self):
            project = Superproject(PROGRAM, system_user='daemon')
            self.addCleanup(project.remove)
            self.assertEqual(run(os.path.join(project.build, 'program')), '1\n')
            # It has options and a prefix of its own.
            service = read_ini(project.text('share/dbus-1/system-services', f'{NAME}.service'))['D-BUS Service']
            self.assertEqual(service['User'], 'daemon')
            self.assertEqual(service['Exec'].split()[0], project.path('libexec/weblocksd'))

    def test_devenv_has_the_bindings(self):
        build = environment('WEBLOCKS_BUILD_DIR')
        if why_no_bindings(build):
            self.skipTest(why_no_bindings(build))
        # Only with the override the result is a context manager.
        script = ('import gi; gi.require_version("WebLocks", "1")\n'
                  'from gi.repository import WebLocks\n'
                  'print(WebLocks.check_version(0, 1, 0), hasattr(WebLocks.Manager, "lock"))')
        self.assertEqual(meson('devenv', '-C', build, '/usr/bin/python3', '-c', script),
                         'True True\n')


@IN_PLACE
class German(unittest.TestCase):
    """The command and the library find their installed translation."""

    @staticmethod
    def weblocks(*line):
        """Its output without a bus, in a locale that every system has."""
        env = {**os.environ, 'LANGUAGE': 'de', 'LC_ALL': 'C.UTF-8',
               'LD_LIBRARY_PATH': INSTALLATION.path(INSTALLATION.options['libdir']),
               'DBUS_SESSION_BUS_ADDRESS': 'unix:path=/nowhere'}
        done = subprocess.run([INSTALLATION.path('bin/weblocks'), *line], env=env, text=True,
                              capture_output=True, check=False)
        return done.stdout + done.stderr

    def test_command(self):
        self.assertIn('Aufruf: weblocks', self.weblocks('help'))
        self.assertIn("unbekannter Befehl »x«", self.weblocks('x'))

    def test_library(self):
        self.assertIn('der Sperrdienst ist nicht erreichbar', self.weblocks('list'))

    def test_machine_readable_output_is_not_translated(self):
        self.assertRegex(self.weblocks('--version'), r'^weblocks [0-9.]+\n$')


@IN_PLACE
class SessionBus(unittest.TestCase):
    """A session bus that finds the service only by the installed file."""

    def test_first_call_starts_the_service(self):
        bus = Bus('dbus-daemon')
        self.addCleanup(bus.stop)
        bus.services = INSTALLATION.path('share/dbus-1/services')
        bus.start()
        # A caller without any code of this project: GLib's D-Bus, not the harness.
        connection = Gio.DBusConnection.new_for_address_sync(
            bus.address, Gio.DBusConnectionFlags.AUTHENTICATION_CLIENT |
            Gio.DBusConnectionFlags.MESSAGE_BUS_CONNECTION, None, None)
        connection.set_exit_on_close(False)
        answer = connection.call_sync(NAME, BUCKET, NAME, 'Query', None, None,
                                      Gio.DBusCallFlags.NONE, int(PATIENCE * 1000), None)
        self.assertEqual(answer.unpack(), ([], []))

        control = RawClient(bus.address)
        self.addCleanup(control.close)
        pid = pid_of(control, owner_of(control))
        self.assertEqual(os.readlink(f'/proc/{pid}/exe'), os.path.realpath(weblocksd()))
        # It exits with its bus, without being terminated.
        pidfd = os.pidfd_open(pid)
        self.addCleanup(os.close, pidfd)
        bus.kill()
        self.assertTrue(select.select([pidfd], [], [], PATIENCE)[0], 'outlives its bus')
