/* SPDX-FileCopyrightText: 2026 The WebLocks for D-Bus authors
 * SPDX-License-Identifier: LGPL-2.1-or-later */

/* A child process that is killed before or after a system call: all in between that changes no file
 * is alike. */

#pragma once

#include <glib.h>

typedef struct {
    const guint64 *harmless; /* system calls that change no file */
    guint n_harmless;
    guint64 instant;            /* a call that does nothing, and counts once; 0: none */
    void (*run)(gpointer data); /* in the child, which then exits */
    gpointer data;
} KillTarget;

typedef enum {
    KILL_DONE,
    KILL_EXITED,        /* it had fewer such calls, and has exited successfully */
    KILL_NOT_PERMITTED, /* no process may be traced here */
} KillResult;

/* Runs a child and kills it at its `n`th stop, before or after a call that is not harmless; 0:
 * before it runs. */
KillResult kill_at_call(const KillTarget *target, guint n);
