/* SPDX-FileCopyrightText: 2026 The WebLocks for D-Bus authors
 * SPDX-License-Identifier: LGPL-2.1-or-later */

/* Shows on standard error what a process waits for, if it has waited for half a second.
 *
 * On a terminal this is one line that is updated in place, and cleared at the end. Otherwise
 * nothing is shown, or, if `verbose`, a line for each holder. */

#pragma once

#include <weblocks/weblocks.h>

typedef struct WaitingLine WaitingLine;

/* Returns NULL if nothing is to be shown. `manager` is NULL for a file, of which only the name is
 * shown. */
WaitingLine *waiting_line_new(WebLocksManager *manager, const char *name, gboolean verbose);
/* Clears the line. */
void waiting_line_free(WaitingLine *self);
