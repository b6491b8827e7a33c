# SPDX-FileCopyrightText: 2026 The WebLocks for D-Bus authors
# SPDX-License-Identifier: LGPL-2.1-or-later

"""A small file system in memory, and a process that uses up its free space. Requires a private mount
namespace."""

import os
import shutil
import subprocess
import sys

from buses import end, read_lines, spawn, wait_exit

INSIDE = 'WEBLOCKS_TEST_MOUNTS'

# Fills its directory, writes a line, and empties the directory at EOF on its input.
FILLER = '''
import os, sys
os.chdir(sys.argv[1])
fd = os.open('filler', os.O_CREAT | os.O_WRONLY)
try:
    while True:
        os.write(fd, bytes(4096))
except OSError:
    pass
print('full', flush=True)
sys.stdin.read()
os.unlink('filler')
'''


def has_own_mounts():
    return INSIDE in os.environ


def namespace():
    """The command that runs a program in a new mount namespace; None if that is not possible."""
    command = ['unshare', '--mount'] if os.geteuid() == 0 else ['unshare', '--mount',
                                                                '--map-root-user']
    if shutil.which('unshare') is None or shutil.which('mount') is None:
        return None
    trial = subprocess.run([*command, 'mount', '-t', 'tmpfs', 'none', '/mnt'], check=False,
                           capture_output=True)
    return command if trial.returncode == 0 else None


def take_own_mounts():
    """Executes this program again in a new mount namespace, if possible and not done yet."""
    prefix = None if has_own_mounts() else namespace()
    if prefix is not None:
        os.environ[INSIDE] = '1'
        os.execvp(prefix[0], [*prefix, *sys.orig_argv])


class SmallFileSystem:
    """A file system of this many bytes, in the empty folder `path`."""

    def __init__(self, path, size):
        self.path = path
        self._filler = None
        subprocess.run(['mount', '-t', 'tmpfs', '-o', f'size={size},mode=0700', 'none', path],
                       check=True)

    def is_full(self):
        return self._filler is not None

    def fill(self):
        """Another process uses up the free space."""
        self._filler = spawn([sys.executable, '-c', FILLER, self.path], stdin=subprocess.PIPE,
                             stdout=subprocess.PIPE, bufsize=0)
        read_lines(self._filler, 1)

    def empty(self):
        """Frees that space."""
        self._filler.stdin.close()
        wait_exit(self._filler)
        end(self._filler)
        self._filler = None

    def close(self):
        end(self._filler)
        subprocess.run(['umount', '--lazy', self.path], check=True)
