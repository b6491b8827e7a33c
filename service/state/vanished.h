/* SPDX-FileCopyrightText: 2026 The WebLocks for D-Bus authors
 * SPDX-License-Identifier: LGPL-2.1-or-later */

/* Notices that files were removed or renamed, by inotify. They are written again a little later,
 * so that who is removing a directory with all that is in it can finish. */

#pragma once

#include <glib.h>

typedef struct Vanished Vanished;

/* Opens the descriptor of the next vanished_watch(). To be called before anything else is opened
 * that others wait for: when a process ends, the kernel closes its descriptors from the highest
 * number down, and to close one that watches takes it 10 to 20 ms. */
void vanished_open(void);

/* Calls `write_again` if `is_in_place` has returned FALSE. NULL: they can't be watched. */
Vanished *vanished_watch(const char *directory,
                         gboolean (*is_in_place)(gpointer data),
                         void (*write_again)(gpointer data),
                         gpointer data);
void vanished_free(Vanished *vanished);
