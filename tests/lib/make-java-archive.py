# SPDX-FileCopyrightText: 2026 The WebLocks for D-Bus authors
# SPDX-License-Identifier: LGPL-2.1-or-later

"""make-java-archive.py FILE: the classes of a ZooKeeper server, as Java has loaded and checked them (class data
sharing). Each server of the tests then starts with them. The file is empty where that is not possible."""

import pathlib
import sys

import ensemble
from buses import PATIENCE, wait_exit, write_bytes


def main(archive):
    write_bytes(archive, b'')
    if ensemble.why_no_servers():
        return
    try:
        # One of several, since a server that is alone has other classes.
        with ensemble.Ensemble(3) as servers:
            ensemble.JAVA.insert(1, f'-XX:ArchiveClassesAtExit={archive}.new')
            first = servers.servers[0]
            first.start()
            servers.restore()
            first.process.terminate()
            wait_exit(first.process, 3 * PATIENCE)
    except (OSError, TimeoutError) as error:
        print(f'no archive of classes: {error}')
    made = pathlib.Path(f'{archive}.new')
    if made.exists():
        made.replace(archive)


if __name__ == '__main__':
    main(sys.argv[1])
