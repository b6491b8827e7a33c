/* SPDX-FileCopyrightText: 2026 The WebLocks for D-Bus authors
 * SPDX-License-Identifier: LGPL-2.1-or-later */

/* A table on the whole terminal, as of top(1).
 *
 * It is drawn again after a change, and each second for the ages. The alternate screen of the
 * terminal is used, and keys are not echoed; closing the screen restores both. */

#pragma once

#include "cli/table.h"

typedef struct Screen Screen;

/* Draws on standard output, and reads keys from standard input if it is a terminal. `get` returns
 * an owned table and an owned title; `quit` is called for `q` with 0, and for a signal that would
 * end the process with its number. */
Screen *screen_open(Table *(*get)(gpointer data, char **out_title),
                    void (*quit)(int signal, gpointer data),
                    gpointer data);
/* Draws soon, so that several changes are drawn together. */
void screen_changed(Screen *self);
void screen_close(Screen *self);
