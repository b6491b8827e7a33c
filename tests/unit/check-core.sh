#!/bin/sh
# SPDX-FileCopyrightText: 2026 The WebLocks for D-Bus authors
# SPDX-License-Identifier: LGPL-2.1-or-later

# The core has no bus, clock, file or loop: its sources may include only GLib and the core itself, and
# must not call other functions.
# Usage: check-core.sh SOURCE-ROOT
cd "$1" || exit 1
echo 1..2

report() { # NUMBER NAME FAULTS
    if [ -z "$3" ]; then
        echo "ok $1 - $2"
    else
        echo "not ok $1 - $2"
        echo "$3" | sed 's/^/# /'
    fi
}

report 1 includes "$(grep -n '^ *# *include' service/core/*.[ch] common/lock-mode.[ch] |
    grep -v -e '<glib\.h>' |
    while IFS= read -r line; do
        header=${line#*\"}
        header=${header%\"*}
        [ -e "service/core/$header" ] || [ -e "common/$header" ] || echo "$line"
    done)"

families='date_time|file|idle|io|log|main|print|source|spawn|thread|timeout|timer|variant'
calls='g_get_monotonic_time|g_get_real_time|g_usleep|g_getenv|clock_gettime|gettimeofday|time'
calls="$calls|getenv|open|fopen|read|write|printf|socket|syslog|random|rand"
report 2 calls "$(grep -nE "\<((g_($families)_?[a-z_]*)|$calls)\(" service/core/*.c)"
