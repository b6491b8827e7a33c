/* SPDX-FileCopyrightText: 2026 The WebLocks for D-Bus authors
 * SPDX-License-Identifier: LGPL-2.1-or-later */

/* Escapes untrusted text for output.
 *
 * Lock names, purposes and process names are chosen by other programs. Printed unchanged, they
 * could contain terminal control sequences or characters that reverse the direction of the
 * following text. So every character that is not visible is escaped: \n, \t, \\, \u{202e}, and \x9b
 * for bytes that are not valid UTF-8. */

#pragma once

#include <glib.h>

/* Returns an owned line of visible characters. If the locale's charset is not UTF-8, all non-ASCII
 * characters are escaped. */
char *text_for_terminal(const char *text);

/* Like text_for_terminal(), but in UTF-8 in every locale, for files and pipes. */
char *text_for_file(const char *text);

/* Returns the number of terminal columns of escaped text. */
guint text_width(const char *text);

/* Truncates escaped text in place to at most `columns` terminal columns. */
void text_cut(char *text, guint columns);

/* Whether a character is printable and is not a separator or a private-use character. */
gboolean text_is_visible(gunichar character);
