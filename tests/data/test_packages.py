# SPDX-FileCopyrightText: 2026 The WebLocks for D-Bus authors
# SPDX-License-Identifier: LGPL-2.1-or-later

"""The Debian packages together contain what `meson install` installs, each file once, and the
module of the Flatpak has only the library. `./dev package` builds and tries the packages, which
needs a network; this needs only the build."""

import fnmatch
import glob
import json
import os
import re
import tempfile
import unittest

from buses import environment, read_text
from flatpak import manifest
from installation import meson

SOURCE = environment('WEBLOCKS_SOURCE_DIR')
DEBIAN = os.path.join(SOURCE, 'debian')


def introspect(build):
    return json.loads(meson('introspect', '--buildoptions', '--installed', '--projectinfo', build))


def has_node(build):
    """The option is `auto`, since Debian's headers of Node-API can't be installed beside another Node.js."""
    return any('/nodejs/' in path for path in build['installed'].values())


def read(*parts):
    return read_text(os.path.join(DEBIAN, *parts))


def paragraphs(text):
    """The paragraphs of a control file, as [{field: value}]."""
    found = []
    for paragraph in re.split(r'\n{2,}', text.strip()):
        fields = re.findall(r'^([\w-]+):[ \t]*((?:.*)(?:\n[ \t].*)*)', paragraph, re.MULTILINE)
        found.append(dict(fields))
    return found


@unittest.skipUnless(os.path.isdir(DEBIAN), 'debian/ is not in the tarball')
class Packages(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.source, *cls.packages = paragraphs(read('control'))
        cls.names = [package['Package'] for package in cls.packages]
        cls.patterns = {}
        for path in glob.glob(os.path.join(DEBIAN, '*.install')):
            package = os.path.basename(path).removesuffix('.install')
            cls.patterns[package] = read(path).split()

        build = introspect(environment('WEBLOCKS_BUILD_DIR'))
        cls.version = build['projectinfo']['version']
        options = {option['name']: option['value'] for option in build['buildoptions']}
        cls.complete = all(options[name] == 'enabled' for name in
                           ('docs', 'introspection', 'vapi', 'viewer')) and has_node(build)
        cls.on_request = [] if options['install_examples'] else ['weblocks-examples']
        # For the prefix /usr. Debian 12 has system units in /lib, others in /usr/lib.
        prefix = options['prefix'].rstrip('/') + '/'
        paths = {'usr/' + path.removeprefix(prefix) if path.startswith(prefix)
                 else path.lstrip('/') for path in build['installed'].values()}
        cls.paths = {re.sub(r'^usr/lib/systemd/system/', 'lib/systemd/system/', path)
                     for path in paths}

    @staticmethod
    def matches(path, pattern):
        """Matches like dh_install: * doesn't match a slash, and a directory includes its
        contents."""
        parts, wanted = path.split('/'), pattern.split('/')
        return len(parts) >= len(wanted) and all(map(fnmatch.fnmatchcase, parts, wanted))

    def test_each_installed_file_is_in_one_package(self):
        used = set()
        for path in sorted(self.paths):
            found = [(package, pattern) for package, patterns in self.patterns.items()
                     for pattern in patterns if self.matches(path, pattern)]
            self.assertEqual(len(found), 1, f'{path} is in {found}; see debian/*.install')
            used.update(found)
        if self.complete:
            self.assertEqual(used, {(package, pattern) for package, patterns in
                                    self.patterns.items() for pattern in patterns
                                    if package not in self.on_request})

    def test_each_package_is_described_and_has_files(self):
        self.assertEqual(sorted(self.patterns), sorted(self.names))
        for package in self.packages:
            with self.subTest(package['Package']):
                self.assertLessEqual({'Architecture', 'Depends', 'Description'}, set(package))
                summary, *lines = package['Description'].splitlines()
                self.assertLess(len(summary), 80)
                self.assertTrue(lines)

    def test_a_desktop_gets_nothing_of_a_cluster(self):
        """No package needs or recommends the gateway, and the command of the README doesn't install it."""
        for package in self.packages:
            for field in ('Depends', 'Recommends', 'Pre-Depends'):
                self.assertNotIn('weblocks-cluster', package.get(field, ''), package['Package'])
        units = {package for package, patterns in self.patterns.items() for pattern in patterns
                 if 'clusterd' in pattern or 'weblocks-cluster' in pattern}
        self.assertEqual(units, {'weblocks-cluster'})
        with open(os.path.join(SOURCE, 'README.md'), encoding='utf-8') as file:
            installed, = re.findall(r'^    sudo apt install \./build/packages/\{(.*)\}_\*\.deb$', file.read(), re.MULTILINE)
        self.assertLessEqual(set(installed.split(',')), set(self.names) - {'weblocks-cluster'})
        self.assertLessEqual({'weblocks', 'libweblocks-1-0'}, set(installed.split(',')))

    def test_the_page_has_each_package(self):
        with open(os.path.join(SOURCE, 'docs', 'packages.md'), encoding='utf-8') as file:
            listed = re.findall(r'^\| `([a-z0-9.-]+)` ', file.read(), re.MULTILINE)
        self.assertEqual(sorted(listed), sorted(self.names))

    def test_version_is_that_of_the_project(self):
        version = re.match(r'weblocks \(([^)]+)-\d+\) ', read('changelog'))[1]
        self.assertEqual(version, self.version)

    def test_the_library_is_named_after_its_soname(self):
        soname, = (match for match in (re.search(r'/lib(weblocks-\d+)\.so\.(\d+)$', path)
                                       for path in self.paths) if match)
        self.assertIn(f'lib{soname[1]}-{soname[2]}', self.names)
        self.assertTrue(read(f'lib{soname[1]}-{soname[2]}.symbols').startswith(
            f'lib{soname[1]}.so.{soname[2]} '))


def commands(build):
    """The commands that compile and link everything in a build, without its location, its compiler and its degree
    of optimisation."""
    text = meson('compile', '-C', build, '--ninja-args=-t,commands')
    # A relative path may end as the absolute one does.
    for path, name in ((os.path.relpath(SOURCE, build), 'SOURCE'), (build, 'BUILD'), (SOURCE, 'SOURCE')):
        text = re.sub(rf'(?<![/.]){re.escape(path)}(?=/| |$)', name, text, flags=re.MULTILINE)
    text = re.sub(r' -(O\w|g|Werror)(?= )', '', text)
    # CC may be set for one of the builds only.
    text = re.sub(r'^(\S*ccache )?\S*cc(-\d+)? ', 'cc ', text, flags=re.MULTILINE)
    text = re.sub(r'&& (gcc-)?ar ', '&& ar ', text)
    # A command that Meson keeps in a file, which is named after all of its arguments.
    text = re.sub(r'(?<=meson_exe_)([\w-]+)_[0-9a-f]{40}\.dat', r'\1', text)
    return {line for line in text.splitlines() if not line.startswith(('INFO:', 'ninja:'))}


class Flatpak(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.module, = manifest()['modules']
        directory = cls.enterClassContext(tempfile.TemporaryDirectory(prefix='weblocks-flatpak-'))
        cls.build = os.path.realpath(directory)
        # Introspection data don't depend on other options, and take long.
        meson('setup', cls.build, SOURCE, '--prefix=/app', '--libdir=lib', '--buildtype=plain',
              *cls.module['config-opts'], '-Dintrospection=disabled')

    def test_the_module_compiles(self):
        """The build under test has executed each of its commands, so they needn't be executed again."""
        build = os.path.realpath(environment('WEBLOCKS_BUILD_DIR'))
        options = {option['name']: option['value']
                   for option in introspect(build)['buildoptions']}
        if options['b_sanitize'] != 'none':
            self.skipTest('the build under test has sanitizers')
        module = commands(self.build)
        self.assertTrue(any(' -o client-lib/libweblocks-1.so.' in line for line in module))
        self.assertEqual(sorted(module - commands(build))[:1], [])

    def test_the_module_is_only_the_library(self):
        paths = set(introspect(self.build)['installed'].values())
        installed = {path for path in paths if not path.startswith(
            tuple(f'/app{folder}/' for folder in self.module['cleanup']))}
        self.assertIn('/app/lib/libweblocks-1.so.0', installed)
        self.assertIn('/app/share/weblocks-1/gjs/weblocks.js', installed)
        for path in installed:
            self.assertRegex(path, '^/app/(lib/libweblocks-1.so|share/(weblocks-1/g?js|locale)/)')
