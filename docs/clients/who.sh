#!/bin/sh
# SPDX-FileCopyrightText: 2026 The WebLocks for D-Bus authors
# SPDX-License-Identifier: LGPL-2.1-or-later
#
# usage: who.sh BUCKET
#
# Prints each lock and request of a bucket, one on a line: state, name and process id.
# Each call of busctl is a separate connection, and what it requests ends with the connection: so
# a script can look with busctl, but holds locks with weblocks(1).
set -eu

# The object path of a bucket; the encoding of sd_bus_path_encode().
encode() {
    printf '%s' "$1" | od -An -v -t x1 -w1 | while read -r byte; do
        case $byte in
        4[1-9a-f] | 5[0-9a] | 6[1-9a-f] | 7[0-9a] | 3[0-9])
            # shellcheck disable=SC2059  # an octal escape
            printf "\\$(printf '%o' "0x$byte")" ;;
        *) printf '_%s' "$byte" ;;
        esac
    done | sed 's/^\([0-9]\)/_3\1/'
}

busctl --user --json=short call org.w3.WebLocks "/org/w3/WebLocks/bucket/$(encode "$1")" \
    org.w3.WebLocks Inspect 'a{sv}' 0 |
    jq -r '.data[0][] | [.state.data, .name.data, .pid.data] | @tsv'
