# SPDX-FileCopyrightText: 2026 The WebLocks for D-Bus authors
# SPDX-License-Identifier: LGPL-2.1-or-later

"""An installation made by `meson install`, as by a distribution or a user."""

import json
import os
import shutil
import subprocess
import tempfile

from buses import die_with_parent, environment


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


class Installation:
    """What a build directory installs: under `root`, in place of /, if staged in DESTDIR."""

    def __init__(self, build, root=''):
        self.build = build
        self.root = root
        # Where a thing is in the build -> where it is to be once installed.
        self.planned = set(json.loads(meson('introspect', '--installed', build)).values())
        options = json.loads(meson('introspect', '--buildoptions', build))
        self.options = {option['name']: option['value'] for option in options}

    def install(self):
        command = ['install', '-C', self.build, '--no-rebuild']
        if self.root:
            command += ['--destdir', self.root]
        meson(*command)
        return self

    def path(self, *parts):
        """A file below the prefix."""
        return self.root + os.path.join(self.options['prefix'], *parts)

    def files(self):
        return {os.path.join(folder, name)
                for folder, _, names in os.walk(self.root or self.options['prefix'])
                for name in names}

    def text(self, *parts):
        with open(self.path(*parts), encoding='utf-8') as file:
            return file.read()


# A project that has this one as a subproject, and a program that links the library.
SUPERPROJECT = """project('super', 'c', meson_version: '>= 1.0.0')
executable('program', 'program.c',
  dependencies: dependency('weblocks-1', fallback: 'weblocks'))
"""


class PrivatePrefix(Installation):
    """The service as a subproject of a project with the program `text`, configured for, and
    installed to, a directory that only this test knows."""

    def __init__(self, text, **options):
        self.directory = tempfile.mkdtemp(prefix='weblocks-install-')
        try:
            # Other users shall start what is in it.
            os.chmod(self.directory, 0o755)
            build = os.path.join(self.directory, 'build')
            source = os.path.join(self.directory, 'source')
            os.makedirs(os.path.join(source, 'subprojects'))
            os.symlink(environment('WEBLOCKS_SOURCE_DIR'),
                       os.path.join(source, 'subprojects', 'weblocks'))
            for name, content in (('meson.build', SUPERPROJECT), ('program.c', text)):
                with open(os.path.join(source, name), 'w', encoding='utf-8') as file:
                    file.write(content)
            options = {'tests': 'false', 'docs': 'disabled',
                       # What these make has no path in it that could be wrong.
                       'introspection': 'disabled', 'vapi': 'disabled', 'examples': 'disabled',
                       'viewer': 'disabled', 'cluster': 'disabled',
                       **options}
            meson('setup', build, source, f'--prefix={self.directory}/prefix',
                  '--wrap-mode=forcefallback',
                  # How fast it is does not matter; compiling takes half the time.
                  '-Doptimization=0', '-Ddebug=false',
                  *(f'-Dweblocks:{key}={value}' for key, value in options.items()))
            # Where there is ccache, it finds what it compiled for a directory of another name.
            meson('compile', '-C', build, CCACHE_BASEDIR=self.directory)
            super().__init__(build)
            self.install()
        except BaseException:
            self.remove()
            raise

    def remove(self):
        shutil.rmtree(self.directory, ignore_errors=True)
