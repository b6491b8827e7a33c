/* SPDX-FileCopyrightText: 2026 The WebLocks for D-Bus authors
 * SPDX-License-Identifier: LGPL-2.1-or-later */

/* Properties of a terminal, which may change at any time. */

#pragma once

#include <glib.h>

typedef struct {
    guint rows;
    guint columns;
} TerminalSize;

/* Returns 24 rows of 80 columns if the size is not known. */
TerminalSize terminal_get_size(int fd);

/* Returns FALSE while the output is stopped, as by Ctrl+S: then writing blocks. */
gboolean terminal_is_writable(int fd);

/* Returns FALSE if this process runs in the background of a shell on this terminal. */
gboolean terminal_is_foreground(int fd);
