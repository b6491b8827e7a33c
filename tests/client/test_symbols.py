# SPDX-FileCopyrightText: 2026 The WebLocks for D-Bus authors
# SPDX-License-Identifier: LGPL-2.1-or-later

"""The exported symbols match documentation, headers and tests, and a program that uses only the
installed files can be built and runs."""

import os
import re
import shlex
import shutil
import subprocess
import tempfile
import unittest
import xml.etree.ElementTree as ElementTree

from buses import Bus, end, environment, read_text, spawn

CORE = '{http://www.gtk.org/introspection/core/1.0}'
C = '{http://www.gtk.org/introspection/c/1.0}'
GLIB = '{http://www.gtk.org/introspection/glib/1.0}'

SOURCE = environment('WEBLOCKS_SOURCE_DIR')
BUILD = environment('WEBLOCKS_BUILD_DIR')
CLIENT_LIB = os.path.join(SOURCE, 'client-lib')
LIBRARY = os.path.join(BUILD, 'client-lib', 'libweblocks-1.so.0')
GIR_FILE = os.path.join(BUILD, 'client-lib', 'WebLocks-1.gir')
# Those in the source, and the generated one.
HEADERS = {name: os.path.join(folder, name)
           for folder in (os.path.join(CLIENT_LIB, 'weblocks'),
                          os.path.join(BUILD, 'client-lib', 'weblocks'))
           for name in sorted(os.listdir(folder)) if name.endswith('.h')}


def read(*path):
    return read_text(os.path.join(*path))


def run(*argv, **options):
    """Runs a command. Returns the ended process; on failure, raises an error with its output."""
    done = subprocess.run(argv, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                          check=False, **options)
    if done.returncode != 0:
        raise AssertionError(f'{shlex.join(argv)} ended with {done.returncode}:\n{done.stdout}')
    return done.stdout


def map_nodes():
    """Version node -> its symbols, of the version script."""
    text = re.sub(r'#.*', '', read(CLIENT_LIB, 'weblocks.map'))
    nodes = {}
    for name, body in re.findall(r'(\w[\w.]*)\s*\{(.*?)\}', text, re.DOTALL):
        exported = body.partition('local:')[0].replace('global:', '')
        nodes[name] = {symbol.strip() for symbol in exported.split(';') if symbol.strip()}
    return nodes


def gir_symbols():
    """Symbol -> its "Since:" version, of the introspection data."""
    symbols = {}
    namespace = ElementTree.parse(GIR_FILE).getroot().find(f'{CORE}namespace')
    for element in namespace.iter():
        symbol = element.get(f'{C}identifier')
        if symbol and element.tag in (f'{CORE}function', f'{CORE}method', f'{CORE}constructor'):
            symbols[symbol] = element.get('version')
        get_type = element.get(f'{GLIB}get-type')
        if get_type:
            symbols[get_type] = element.get('version')
    return symbols


def undated():
    """The public elements of the introspection data without a "Since:" version. Functions have
    theirs in the version script too."""
    tags = ('alias', 'bitfield', 'callback', 'class', 'constant', 'constructor', 'enumeration',
            'function', 'function-macro', 'interface', 'method', 'property', 'record', 'union')
    tags = {f'{CORE}{tag}' for tag in tags} | {f'{GLIB}signal', f'{GLIB}boxed'}
    namespace = ElementTree.parse(GIR_FILE).getroot().find(f'{CORE}namespace')
    for parent in namespace.iter():
        for element in parent:
            name = element.get('name')
            # The record of a class only exists because of its name.
            if (element.tag in tags and not element.get('version')
                    and not element.get(f'{GLIB}is-gtype-struct-for')
                    and not element.get(f'{C}identifier', '').endswith('_get_type')):
                yield f'{parent.get("name")}: {name}'


class Mutexes(unittest.TestCase):
    """All static mutexes are in engine/process.c, whose fork handlers lock them; besides, each session
    has one, which a child does not use. What happens once happens when the library is loaded."""

    MUTEX = re.compile(r'\b(G(?:Rec)?Mutex|GRWLock|GCond|GOnce|G_LOCK\w*|pthread_mutex_t)\b')
    PLACES = {'engine/process.c': 'GMutex', 'engine/session.c': 'GRecMutex'}
    ONCE = re.compile(r'(\w+_get_type) ?\(void\)\n\{(?:(?!\n\}).)*?g_once_init_enter', re.DOTALL)

    @staticmethod
    def sources():
        for folder, _, names in os.walk(CLIENT_LIB):
            for name in sorted(names):
                if name.endswith(('.c', '.h')) and 'examples' not in folder:
                    yield os.path.relpath(os.path.join(folder, name), CLIENT_LIB)

    def test_places(self):
        found = {(path, word) for path in self.sources()
                 for word in self.MUTEX.findall(read(CLIENT_LIB, path))}
        self.assertEqual(found, set(self.PLACES.items()))

    def test_once(self):
        loaded = read(CLIENT_LIB, 'load.c')
        # The second is generated.
        for path in [*self.sources(), os.path.join(BUILD, 'client-lib', 'weblocks', 'enums.c')]:
            text = read(CLIENT_LIB, path)
            types = self.ONCE.findall(text)
            self.assertEqual(len(types), text.count('g_once_init_enter'), path)
            defined = re.findall(r'G_DEFINE_(?:FINAL_)?TYPE\w*\(\w+,\s*(\w+)', text)
            for name in types + [f'{prefix}_get_type' for prefix in defined]:
                with self.subTest(path=path):
                    self.assertIn(name, loaded)


class Symbols(unittest.TestCase):
    """The version script, compared with all other lists."""

    def setUp(self):
        self.nodes = map_nodes()
        self.all = set().union(*self.nodes.values())

    def test_each_in_one_node(self):
        self.assertEqual(sum(map(len, self.nodes.values())), len(self.all))
        self.assertGreater(len(self.all), 50)

    def test_documentation(self):
        """Every function has a "Since:" version, and is in the node of that version."""
        if not os.path.exists(GIR_FILE):
            self.skipTest('built without introspection')
        documented = {}
        for symbol, since in gir_symbols().items():
            self.assertIsNotNone(since, f'{symbol} has no "Since:"')
            documented.setdefault(f'WEBLOCKS_{since}', set()).add(symbol)
        self.assertEqual(documented, self.nodes)

    def test_since(self):
        """Classes, properties, signals, enumerations and macros have a "Since:" too."""
        if not os.path.exists(GIR_FILE):
            self.skipTest('built without introspection')
        self.assertEqual(list(undated()), [])

    def test_exported(self):
        exported = {}
        for line in run('nm', '-D', '--defined-only', LIBRARY).splitlines():
            symbol, _, node = line.split()[-1].partition('@@')
            if symbol not in self.nodes:  # except the node itself
                exported.setdefault(node, set()).add(symbol)
        self.assertEqual(exported, self.nodes)

    def test_declared(self):
        """By themselves, or by G_DECLARE_FINAL_TYPE."""
        declared = set()
        for path in HEADERS.values():
            text = re.sub(r'/\*.*?\*/', '', read(path), flags=re.DOTALL)
            declared.update(f'{name}_get_type' for name in re.findall(r'G_DECLARE_FINAL_TYPE\(\w+,\s*(\w+)', text))
            declared.update(re.findall(r'^(?:\w.*[ *])?(web_locks_\w+)\s*\(', text, re.MULTILINE))
        self.assertEqual(declared, self.all)

    def test_called(self):
        """One of the tests in C calls each function."""
        directory = os.path.dirname(os.path.abspath(__file__))
        source = ''.join(read(directory, name) for name in os.listdir(directory) if name.endswith('.c'))
        called = set(re.findall(r'\b(web_locks_\w+)\s*\(', source))
        self.assertEqual(self.all - called, set())


class Headers(unittest.TestCase):
    """Only one header may be included by users."""

    def compile(self, text):
        flags = shlex.split(run('pkg-config', '--cflags', 'gio-2.0'))
        command = shlex.split(environment('CC')) + ['-fsyntax-only', '-x', 'c', '-Wall', '-Wextra',
                                                    '-Werror', f'-I{CLIENT_LIB}',
                                                    f'-I{BUILD}/client-lib', *flags, '-']
        return subprocess.run(command, input=text, stdout=subprocess.PIPE,
                              stderr=subprocess.STDOUT, text=True, check=False)

    def test_the_one(self):
        for before in ('', '#include <glib.h>\n', '#define _GNU_SOURCE\n'):
            done = self.compile(f'{before}#include <weblocks/weblocks.h>\n'
                                '#include <weblocks/weblocks.h>\n'
                                'extern int n; int n = WEB_LOCKS_ERROR_STOLEN;\n')
            self.assertEqual(done.returncode, 0, done.stdout)

    def test_the_others(self):
        others = [header for header in HEADERS if header != 'weblocks.h']
        self.assertGreater(len(others), 5)
        for header in others:
            done = self.compile(f'#include <weblocks/{header}>\n')
            self.assertNotEqual(done.returncode, 0, header)
            self.assertIn('Only <weblocks/weblocks.h> can be included directly', done.stdout)

    def test_not_after_the_one(self):
        """The macro for the other headers is not defined after it."""
        done = self.compile('#include <weblocks/weblocks.h>\n'
                            '#ifdef WEB_LOCKS_INSIDE\n#error "still inside"\n#endif\n')
        self.assertEqual(done.returncode, 0, done.stdout)


class Installed(unittest.TestCase):
    """A program outside of this source tree."""

    @classmethod
    def setUpClass(cls):
        cls.root = tempfile.mkdtemp(prefix='weblocks-root-')
        cls.addClassCleanup(shutil.rmtree, cls.root)
        run(environment('WEBLOCKS_MESON'), 'install', '-C', BUILD, '--no-rebuild', '--destdir', cls.root)

    def find(self, name):
        for directory, _, names in os.walk(self.root):
            if name in names:
                return directory
        raise AssertionError(f'{name} is not installed')

    def flags(self):
        """Of the compiler, for a program that uses the installed files."""
        env = {**os.environ, 'PKG_CONFIG_SYSROOT_DIR': self.root,
               'PKG_CONFIG_PATH': self.find('weblocks-1.pc')}
        paths = shlex.split(run('pkg-config', '--cflags-only-I', '--libs-only-L', 'weblocks-1',
                               env=env))
        flags = [flag for flag in paths if 'weblocks' in flag or flag.startswith('-L')]
        flags += shlex.split(run('pkg-config', '--cflags', '--libs', 'gio-2.0'))
        self.assertTrue(any('weblocks-1' in flag for flag in flags), flags)
        return flags

    def test_headers_with_those_of_qt(self):
        """In C++ before and after them. Qt has the macros `signals`, which GIO's headers have as the name of a member,
        `slots` and `emit`, and the program needs them afterwards."""
        found = subprocess.run(['pkg-config', '--cflags', 'Qt6Core'], stdout=subprocess.PIPE, text=True, check=False)
        if found.returncode != 0 or shutil.which('c++') is None:
            self.skipTest('qt6-base-dev or c++ is not installed')
        ours, theirs = '#include <weblocks/weblocks.h>\n', '#include <QObject>\n'
        for number, includes in enumerate((theirs + ours, ours + theirs)):
            source = os.path.join(self.root, f'with-qt-{number}.cpp')
            with open(source, 'w', encoding='utf-8') as file:
                file.write(includes + 'class Object : public QObject {\n    Q_OBJECT\npublic slots:\n    void set();\n'
                           'signals:\n    void changed();\n};\nvoid Object::set() { emit changed(); }\n'
                           'GType type() { return web_locks_claim_get_type(); }\n')
            run('c++', '-fsyntax-only', '-fPIC', '-Wall', '-Wextra', '-Werror', source, *self.flags(),
                *shlex.split(found.stdout))

    def test_consumer(self):
        program = os.path.join(self.root, 'consumer')
        source = os.path.join(os.path.dirname(os.path.abspath(__file__)), 'consumer.c')
        flags = self.flags()
        run(*shlex.split(environment('CC')), *shlex.split(os.environ.get('TEST_CFLAGS', '')),
            source, '-o', program, *flags, '-lweblocks-1')
        self.assertIn('libweblocks-1.so.0', run('readelf', '-d', program))

        bus = Bus().start()
        self.addCleanup(bus.stop)
        service = spawn([environment('WEBLOCKSD'), f'--address={bus.address}'],
                        env=bus.environment())
        self.addCleanup(end, service)
        env = {**bus.environment(), 'LD_LIBRARY_PATH': self.find('libweblocks-1.so.0')}
        # The only way to find out when the service is running is to wait for its name.
        run('gdbus', 'wait', '--session', '--timeout=30', 'org.w3.WebLocks', env=env)
        self.assertEqual(run(program, env=env), 'resource: held\n')

    def test_files(self):
        for header in HEADERS:
            self.assertTrue(self.find(header).endswith('include/weblocks-1/weblocks'), header)
        self.find('libweblocks-1.so')
        if os.path.exists(GIR_FILE):
            self.assertTrue(self.find('WebLocks-1.typelib').endswith('girepository-1.0'))
            self.find('WebLocks-1.gir')
