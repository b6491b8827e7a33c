/* SPDX-FileCopyrightText: 2026 The WebLocks for D-Bus authors
 * SPDX-License-Identifier: LGPL-2.1-or-later */

/* For `./dev coverage`, which links this into each program and library: the last real-time signal
 * writes the counters of gcov and kills the process. Python tests send it in place of SIGKILL
 * (buses.py), which would lose what the process has counted. */

#include <signal.h>

void __gcov_dump(void);

/* Of another library of this process, or SIG_DFL. */
static void (*next)(int);

static void
on_signal(int number)
{
    __gcov_dump();
    if (next != SIG_DFL)
        next(number);
    raise(SIGKILL);
}

__attribute__((constructor)) static void
begin(void)
{
    next = signal(SIGRTMAX, on_signal);
}
