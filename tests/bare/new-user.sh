#!/bin/sh
# SPDX-FileCopyrightText: 2026 The WebLocks for D-Bus authors
# SPDX-License-Identifier: LGPL-2.1-or-later
#
# usage: new-user.sh USER COMMANDS
#
# In a new root, as root: gives USER a copy of the clone beside this script, /shared/weblocks, and runs the
# commands of the file COMMANDS there, one a line, as a login shell of that user does. USER is made, unless it
# is root, and may use sudo. A line `== bare: exit status STATUS` follows each command. The logs of meson and of
# ./dev are copied to /shared/logs.
set -eu
user=$1

if [ "$user" != root ]; then
    apt-get -q -y update
    apt-get -q -y --no-install-recommends install sudo
    useradd --create-home --shell /bin/bash "$user"
    echo "$user ALL=(ALL) NOPASSWD: ALL" >"/etc/sudoers.d/$user"
fi
home=$(getent passwd "$user" | cut -d: -f6)
cp -R /shared/weblocks "$home/weblocks"
chown -R "$user:" "$home/weblocks"
while read -r command; do
    echo "== bare: $command"
    status=0
    su -l "$user" -c "cd weblocks && $command" </dev/null || status=$?
    echo "== bare: exit status $status"
done <"$2"
mkdir /shared/logs
cd "$home/weblocks"
find build* '(' -name '*.log' -o -name 'testlog*.txt' ')' -exec cp --parents {} /shared/logs ';'
