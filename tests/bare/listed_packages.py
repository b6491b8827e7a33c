# SPDX-FileCopyrightText: 2026 The WebLocks for D-Bus authors
# SPDX-License-Identifier: LGPL-2.1-or-later

"""Whether a list of packages has all that a configuration has found.

    listed_packages.py BUILD PACKAGE...

On a machine where much is installed, a program that the list lacks is not missed. So every program, Python
module, dependency, library and header that the log of BUILD's configuration says is found is resolved to the
Debian package with its file. That package must be one of the list, or what these depend on, or essential.
Does nothing where there is no dpkg.
"""

import collections
import functools
import glob
import os
import re
import shutil
import subprocess
import sys

DPKG = '/var/lib/dpkg'


def output_of(*argv):
    return subprocess.run(argv, check=True, stdout=subprocess.PIPE, text=True).stdout.strip()


class Installed:
    """The installed packages, and what depends on what."""

    def __init__(self):
        self.depends = {}
        self.essential = {'apt'}
        self.providers = collections.defaultdict(set)
        with open(f'{DPKG}/status', encoding='utf-8') as file:
            for paragraph in file.read().split('\n\n'):
                fields = dict(re.findall(r'^([\w-]+): (.*)$', paragraph, re.MULTILINE))
                if fields.get('Status', '').endswith(' installed'):
                    self.add(fields)

    def add(self, fields):
        name = fields['Package']
        relations = ', '.join(filter(None, (fields.get('Pre-Depends'), fields.get('Depends'))))
        self.depends[name] = [[re.split(r'[ :(]', alternative)[0] for alternative in relation.split(' | ')]
                              for relation in relations.split(', ') if relation]
        for provided in fields.get('Provides', '').split(', '):
            self.providers[provided.split(' ')[0]].add(name)
        if fields.get('Essential') == 'yes':
            self.essential.add(name)

    def closure(self, names):
        """These packages and what they depend on. Of alternatives apt takes the first."""
        found, todo = set(), list(names)
        while todo:
            name = todo.pop()
            if name in found:
                continue
            if name not in self.depends:
                todo.extend(self.providers[name])
                continue
            found.add(name)
            for alternatives in self.depends[name]:
                todo.append(next((one for one in alternatives if one in self.depends or self.providers[one]),
                                 alternatives[0]))
        return found


@functools.cache
def read_installed():
    return Installed()


def names_of(path):
    """/bin is /usr/bin, and dpkg may have listed a file as either."""
    names = os.path.normpath(path), os.path.realpath(path)
    return [variant for name in names for variant in (name, name.removeprefix('/usr'), '/usr' + name)]


def find_owners(paths):
    """{path: a package with this file}, for those that have one."""
    names = {name for path in paths for name in names_of(path)}
    # It fails if one of the names is in no package.
    lines = subprocess.run(['dpkg-query', '--search', *sorted(names)], check=False, stdout=subprocess.PIPE,
                           stderr=subprocess.DEVNULL, text=True).stdout.splitlines()
    packages = {}
    for line in lines:
        owners, _, name = line.rpartition(': ')
        if not owners.startswith('diversion by '):
            packages[name] = re.split('[,:]', owners)[0]
    found = {path: next((packages[name] for name in names_of(path) if name in packages), None) for path in paths}
    return {path: package for path, package in found.items() if package}


def file_of_module(module):
    return output_of('/usr/bin/python3', '-c', f'import {module}; print({module}.__file__)')


@functools.cache
def folders_of_dependencies():
    return output_of('pkg-config', '--variable=pc_path', 'pkg-config').split(':')


def file_of_dependency(name):
    paths = (f'{folder}/{name}.pc' for folder in folders_of_dependencies())
    return next((path for path in paths if os.path.exists(path)), None)


def file_of_header(name):
    paths = [f'/usr/include/{name}', *glob.glob(f'/usr/include/*-linux-*/{name}')]
    return next((path for path in paths if os.path.exists(path)), None)


# A line of the log, and the file that it stands for.
LINES = (
    (r'^Program \S+(?: \([\w, ]+\))? found: YES [^(]*\((/[^)]*)\)', lambda path: path),
    (r'^Found pkg-config: (/\S+)', lambda path: path),
    (r'^Found ninja-\S+ at (/\S+)', lambda path: path),
    # With what comes before it in CC, and options behind it.
    (r'^C compiler for the host machine: (?:\S*(?:ccache|distcc) )*(\S+)(?: \S+)*? \(', shutil.which),
    (r'^Program \S+ \([\w, ]+\) found: YES .* modules: (\w+)', file_of_module),
    (r'^(?:Run-time dependency|Dependency) (\S+) found: YES', file_of_dependency),
    (r'^Library (\S+) found: YES', lambda name: output_of('cc', f'-print-file-name=lib{name}.so')),
    (r'^Has header "(\S+)" : YES', file_of_header),
)


def found_files(log, source):
    """{file: the line of the log}, without what is in the project itself."""
    found = {}
    for pattern, file_of in LINES:
        for match in re.finditer(pattern, log, re.MULTILINE):
            path = file_of(match[1])
            if path is None or not path.startswith(source + os.sep):
                found[path or match[1]] = match[0]
    return found


def main(build, *names):
    if not os.path.exists(f'{DPKG}/status'):
        return 0
    with open(os.path.join(build, 'meson-logs', 'meson-log.txt'), encoding='utf-8') as file:
        log = file.read()
    installed = read_installed()
    listed = installed.closure(installed.essential | set(names))
    found = found_files(log, os.getcwd())
    owners = find_owners(found)
    missing = [f'{line}: {owners.get(path, f"no package has {path}")}'
               for path, line in sorted(found.items()) if owners.get(path) not in listed]
    for line in missing:
        print(f'{build} has found what the list of packages does not have. {line}')
    print(f'{build}: {len(found)} found, {len(missing)} not listed')
    return 1 if missing or not found else 0


if __name__ == '__main__':
    sys.exit(main(*sys.argv[1:]))
