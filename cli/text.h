/* SPDX-FileCopyrightText: 2026 The WebLocks for D-Bus authors
 * SPDX-License-Identifier: LGPL-2.1-or-later */

/* Text of other people's, made safe to show.
 *
 * Names, purposes and process names are chosen by other programs. Shown as they are, they could
 * move a terminal's cursor, colour or rename it, or turn the direction of what follows. So whatever
 * is not plainly visible is written out: \n, \t, \\, \u{202e}, and \x9b for bytes that are no
 * UTF-8. */

#pragma once

#include <glib.h>

/* Owned; one line of visible characters, each of which the locale has. */
char *text_for_terminal(const char *text);

/* Owned; the same for files and pipes: UTF-8 in every locale. */
char *text_for_file(const char *text);

/* Columns that such text takes. */
guint text_width(const char *text);

/* Cuts such text to that many columns, in place. */
void text_cut(char *text, guint columns);

/* Whether a character is seen, alone and as itself. */
gboolean text_is_visible(gunichar character);
