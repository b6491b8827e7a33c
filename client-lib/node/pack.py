#!/usr/bin/env python3
# SPDX-FileCopyrightText: 2026 The WebLocks for D-Bus authors
# SPDX-License-Identifier: LGPL-2.1-or-later

"""Makes the npm package, as `npm pack` would, and the same files as a folder.

pack.py FOLDER PACKAGE.tgz [DIRECTORY/ FILE...]...

DIRECTORY is where in the package the files are; ./ is its top."""

import os
import shutil
import sys
import tarfile

# That of all files in packages from npm, so that the same files give the same package.
MTIME = 499162500


def as_packed(info):
    info.mtime = MTIME
    info.uid = info.gid = 0
    info.uname = info.gname = ''
    info.mode = 0o644
    return info


def parse(arguments):
    """{path in the package: file}"""
    files, directory = {}, ''
    for argument in arguments:
        if argument.endswith('/'):
            directory = argument.removeprefix('./')
        else:
            files[directory + os.path.basename(argument)] = argument
    return files


def main():
    folder, package, *arguments = sys.argv[1:]
    shutil.rmtree(folder, ignore_errors=True)
    with tarfile.open(package, 'w:gz') as tar:
        for path, file in sorted(parse(arguments).items()):
            copy = os.path.join(folder, path)
            os.makedirs(os.path.dirname(copy), exist_ok=True)
            shutil.copyfile(file, copy)
            tar.add(copy, f'package/{path}', filter=as_packed)


main()
