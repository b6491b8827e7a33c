#!/bin/sh
# SPDX-FileCopyrightText: 2026 The WebLocks for D-Bus authors
# SPDX-License-Identifier: LGPL-2.1-or-later
#
# try-packages.sh DIRECTORY SOURCE: in a temporary root, installs the packages in DIRECTORY,
# tries them, and removes them: then there must be the same files and users as before. Finally,
# installs them again, with a desktop's packages, for the guide. SOURCE is the source package.
# `./dev package` runs it; it needs a Debian mirror.
set -eu
directory=$1
source=$2
export DEBIAN_FRONTEND=noninteractive
set -- "$directory"/*.deb

state() {
    find / \( -path /proc -o -path /sys -o -path /dev -o -path /tmp -o -path /var/cache -o \
        -path /var/lib/apt -o -path /var/lib/dpkg -o -path /var/log -o -path "$directory" \) -prune \
        -o -print | sort
    getent passwd
    getent group
    dpkg-query -W
}

# Dependencies are installed before, since other packages leave files behind too.
names=$(for package; do dpkg-deb -f "$package" Package; done)
needed=$(for package; do dpkg-deb -f "$package" Depends | sed 's/, */\n/g'; done |
    grep . | grep -vwFe "$names" | sort -u | paste -sd,)
apt-get -q -y update
apt-get -q -y --no-install-recommends satisfy "$needed"
state >/tmp/before

apt-get -q -y --no-install-recommends install "$@"
"$source/debian/tests/activation"
# shellcheck disable=SC2086 # one word for each package
apt-get -q -y purge $names
state >/tmp/after
diff -U 0 /tmp/before /tmp/after
echo 'nothing is left'

apt-get -q -y --no-install-recommends install "$@" gir1.2-gtk-4.0 python3-gi xvfb xdotool
"$source/tests/packages/try-guide.sh" "$source/docs/guides/window.md"
