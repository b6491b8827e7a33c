/* SPDX-FileCopyrightText: 2026 The WebLocks for D-Bus authors
 * SPDX-License-Identifier: LGPL-2.1-or-later */

/* A table on the whole terminal, as of top(1).
 *
 * It is drawn again after a change, and each second for the ages. The alternate screen of the
 * terminal is used, and keys are not echoed; closing the screen restores both. */

#pragma once

#include "cli/table.h"

typedef struct Screen Screen;

typedef struct {
    /* Returns an owned table and an owned title. */
    Table *(*get)(gpointer data, char **out_title);
    /* Called for `q` with 0, and for a signal that would end the process with its number. */
    void (*quit)(int signal, gpointer data);
} ScreenEvents;

/* Draws on standard output, and reads keys from standard input if it is a terminal. */
Screen *screen_open(const ScreenEvents *events, gpointer data);
/* Draws soon, so that several changes are drawn together. */
void screen_changed(Screen *self);
void screen_close(Screen *self);
