# SPDX-FileCopyrightText: 2026 The WebLocks for D-Bus authors
# SPDX-License-Identifier: LGPL-2.1-or-later

"""The machine, and the versions of what is measured on it."""

import os
import platform
import re
import shutil
import subprocess

VERSION = re.compile(r'\d+(\.\d+)*')
# The commands that print the versions, of which the first number of the output is used.
COMMANDS = {
    'dbus-daemon': ['dbus-daemon', '--version'],
    'dbus-broker': ['dbus-broker', '--version'],
    'libsystemd': ['pkg-config', '--modversion', 'libsystemd'],
    'GLib': ['pkg-config', '--modversion', 'glib-2.0'],
    'Redis': ['redis-cli', '--version'],
}
PEER_COMMANDS = {
    'Chromium': ['chromium', '--version'],
}


def version_of(command):
    if shutil.which(command[0]) is None:
        return None
    result = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True,
                            check=False)
    match = VERSION.search(result.stdout)
    return match.group() if match else None


def processor():
    with open('/proc/cpuinfo', encoding='utf-8', errors='replace') as file:
        for line in file:
            if line.startswith(('model name', 'Model')):
                return line.partition(':')[2].strip()
    return platform.machine()


def system():
    try:
        return platform.freedesktop_os_release()['PRETTY_NAME']
    except OSError:
        return platform.system()


def describe(settings):
    commands = {'weblocksd': [str(settings.build / 'service/weblocksd'), '--version'], **COMMANDS,
                **(PEER_COMMANDS if settings.peers else {})}
    versions = {name: version_of(command) for name, command in commands.items()}
    kernel = VERSION.search(platform.release())
    return {
        'processor': processor(),
        'cores': len(os.sched_getaffinity(0)),
        'kernel': kernel.group() if kernel else platform.release(),
        'system': system(),
        'versions': {name: version for name, version in versions.items() if version},
    }
