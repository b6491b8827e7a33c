# SPDX-FileCopyrightText: 2026 The WebLocks for D-Bus authors
# SPDX-License-Identifier: LGPL-2.1-or-later

"""A small file system in memory for the state, and a process that takes what is left of it. Only
where this process has mounts of its own."""

import os
import subprocess
import sys

from buses import read_lines, spawn, wait_exit

BYTES = 2 << 20

# Fills its directory, says so, and empties it again at the end of its input.
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


class SmallFileSystem:
    """In `path`, a folder of `directory`."""

    def __init__(self, directory):
        self.path = os.path.join(directory, 'small')
        self.filler = None
        self.n_starts = 0  # of services, while it was full
        os.mkdir(self.path)
        subprocess.run(['mount', '-t', 'tmpfs', '-o', f'size={BYTES},mode=0700', 'none',
                        self.path], check=True)

    def is_full(self):
        return self.filler is not None

    def fill(self):
        self.filler = spawn([sys.executable, '-c', FILLER, self.path], stdin=subprocess.PIPE,
                            stdout=subprocess.PIPE, bufsize=0)
        read_lines(self.filler, 1)

    def empty(self):
        if self.filler is not None:
            self.filler.stdin.close()
            wait_exit(self.filler)
            self.filler.stdout.close()
            self.filler = None

    def close(self):
        self.empty()
        subprocess.run(['umount', '--lazy', self.path], check=True)
