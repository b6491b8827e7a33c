#!/bin/sh
# SPDX-FileCopyrightText: 2026 The WebLocks for D-Bus authors
# SPDX-License-Identifier: LGPL-2.1-or-later
#
# try-guide.sh docs/guides/window.md: the steps of a new user after installing the packages. Two windows
# of the guide's program, of which one edits; a job as cron runs it; both in `weblocks list`; the
# first window is killed, and the other takes over. Needs Xvfb, xdotool and GTK 4 for Python.
set -eu

if [ "${2:-}" != on-a-bus ]; then
    exec dbus-run-session -- "$0" "$1" on-a-bus
fi

directory=$(mktemp -d)
# shellcheck disable=SC2016 # not a command substitution
sed -n '/^```python$/,/^```$/p' "$1" | sed '1d;$d' >"$directory/edit.py"
Xvfb :99 -screen 0 800x600x24 -nolisten tcp >/dev/null 2>&1 &
display=$!
first='' second='' job=''
# shellcheck disable=SC2086 # the process ids of those that have been started
trap 'kill $first $second $job $display 2>/dev/null || true' EXIT
export DISPLAY=:99 GDK_BACKEND=x11 GSK_RENDERER=cairo GSETTINGS_BACKEND=memory GTK_A11Y=none

# wait_for COMMAND...: repeats the command for up to a minute.
wait_for() {
    for _ in $(seq 600); do
        if "$@" >/dev/null 2>&1; then
            return
        fi
        sleep 0.1
    done
    echo "not within a minute: $*" >&2
    weblocks list --all >&2
    exit 1
}

# has_title PID TITLE
has_title() {
    window=$(xdotool search --onlyvisible --pid "$1" | tail -n 1)
    [ "$(xdotool getwindowname "$window")" = "$2" ]
}

python3 "$directory/edit.py" "$directory/notes.txt" &
first=$!
wait_for has_title "$first" Editing
python3 "$directory/edit.py" "$directory/notes.txt" &
second=$!
wait_for has_title "$second" 'Read only'

# Cron gives a job next to no environment; this is the line that weblocks(1) recommends.
env -i HOME=/ PATH=/usr/bin:/bin SHELL=/bin/sh DBUS_SESSION_BUS_ADDRESS="$DBUS_SESSION_BUS_ADDRESS" \
    sh -c "weblocks run --why 'nightly copy' backup sleep 1000" &
job=$!
in_list() {
    weblocks list --all | grep "$1"
}
wait_for in_list 'nightly copy'
weblocks list --all
in_list "$first" >/dev/null
in_list "$second" >/dev/null

kill -9 "$first"
wait_for has_title "$second" Editing
echo 'the other window edits'
