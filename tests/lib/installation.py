# SPDX-FileCopyrightText: 2026 The WebLocks for D-Bus authors
# SPDX-License-Identifier: LGPL-2.1-or-later

"""An installation made by `meson install`, as by a distribution or a user."""

import copy
import json
import os
import shutil
import subprocess
import tempfile

from buses import die_with_parent, environment, read_text, write_text


def run(*command, **options):
    """Runs a command, which must succeed. Returns its standard output."""
    result = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                            stdin=subprocess.DEVNULL, check=False, preexec_fn=die_with_parent,
                            **options)
    if result.returncode != 0:
        raise AssertionError(f'{command} gave {result.returncode}:\n{result.stdout}')
    return result.stdout


def meson(*arguments, **environ):
    # A build under test has its own variables; a nested one must not see them.
    env = {key: value for key, value in os.environ.items()
           if key not in ('DESTDIR', 'MESONINTROSPECT', 'MESON_SOURCE_ROOT', 'MESON_BUILD_ROOT')}
    return run(environment('WEBLOCKS_MESON'), *arguments, env={**env, **environ})


def introspect(build, what):
    """As `meson introspect`, which prints these files, and takes a third of a second to start."""
    return json.loads(read_text(os.path.join(build, 'meson-info', f'intro-{what}.json')))


def why_no_bindings(build):
    """Why Python can't load the library of a build, or None."""
    if not os.path.exists(os.path.join(build, 'client-lib', 'WebLocks-1.typelib')):
        return 'built without introspection'
    if {option['name']: option['value'] for option in introspect(build, 'buildoptions')}['b_sanitize'] != 'none':
        return 'built with sanitizers, whose libraries have to be loaded first'
    return None


class Installation:
    """What a build directory installs: under `root`, in place of /, if staged in DESTDIR."""

    def __init__(self, build, root=''):
        self.build = build
        self.root = root
        # Where a thing is to be once installed -> where it is in the build.
        self.sources = {installed: path for path, installed in introspect(build, 'installed').items()}
        self.planned = set(self.sources)
        options = introspect(build, 'buildoptions')
        self.options = {option['name']: option['value'] for option in options}

    def install(self):
        command = ['install', '-C', self.build, '--no-rebuild']
        if self.root:
            command += ['--destdir', self.root]
        meson(*command)
        return self

    def in_place(self):
        """What is staged, under its final paths, with what else is there. Requires a mount namespace."""
        prefix = self.options['prefix']
        run('mount', '-t', 'overlay', '-o', f'lowerdir={self.root}{prefix}:{prefix}', 'overlay', prefix)
        placed = copy.copy(self)
        placed.root = ''
        return placed

    def path(self, *parts):
        """A file below the prefix."""
        return self.root + os.path.join(self.options['prefix'], *parts)

    def files(self):
        return {os.path.join(folder, name)
                for folder, _, names in os.walk(self.root or self.options['prefix'])
                for name in names}

    def text(self, *parts):
        return read_text(self.path(*parts))


# A project that has this one as a subproject, and a program that links the library.
SUPERPROJECT = """project('super', 'c', meson_version: '>= 1.0.0')
executable('program', 'program.c',
  dependencies: dependency('weblocks-1', fallback: 'weblocks'))
"""


class Superproject(Installation):
    """This project, with these options, as a subproject of one with the program `text`: only that is compiled,
    with the library. `planned` also has what the subproject would install."""

    def __init__(self, text, **options):
        self.directory = tempfile.mkdtemp(prefix='weblocks-install-')
        try:
            build = os.path.join(self.directory, 'build')
            source = os.path.join(self.directory, 'source')
            os.makedirs(os.path.join(source, 'subprojects'))
            os.symlink(environment('WEBLOCKS_SOURCE_DIR'),
                       os.path.join(source, 'subprojects', 'weblocks'))
            for name, content in (('meson.build', SUPERPROJECT), ('program.c', text)):
                write_text(os.path.join(source, name), content)
            options = {'tests': 'false', 'docs': 'disabled', 'introspection': 'disabled', 'vapi': 'disabled',
                       'examples': 'disabled', 'viewer': 'disabled', 'cluster': 'disabled', **options}
            meson('setup', build, source, f'--prefix={self.directory}/prefix',
                  '--wrap-mode=forcefallback',
                  # How fast it is does not matter; compiling takes half the time.
                  '-Doptimization=0', '-Ddebug=false',
                  *(f'-Dweblocks:{key}={value}' for key, value in options.items()))
            # Where there is ccache, it finds what it compiled for a directory of another name.
            meson('compile', '-C', build, 'program', CCACHE_BASEDIR=self.directory)
            super().__init__(build)
        except BaseException:
            self.remove()
            raise

    def text(self, *parts):
        """The contents of a configured file, before it is installed."""
        return read_text(self.sources[self.path(*parts)])

    def remove(self):
        shutil.rmtree(self.directory, ignore_errors=True)
