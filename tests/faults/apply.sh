#!/bin/sh
# SPDX-FileCopyrightText: 2026 The WebLocks for D-Bus authors
# SPDX-License-Identifier: LGPL-2.1-or-later

# Writes a copy of SOURCE with PATCH applied to OUTPUT. Fails if the context does not match exactly, at
# any line.
# Usage: apply.sh PATCH SOURCE OUTPUT
if ! said=$(patch --batch --forward --fuzz=0 --reject-file=- --output="$3" "$2" "$1" 2>&1); then
    rm -f "$3"
    echo "$said" >&2
    echo "$1: this patch no longer applies to $2; adapt it to the new source" >&2
    exit 1
fi
