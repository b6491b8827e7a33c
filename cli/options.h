/* SPDX-FileCopyrightText: 2026 The WebLocks for D-Bus authors
 * SPDX-License-Identifier: LGPL-2.1-or-later */

/* Options of commands, as tables: from them come the parsing and the help.
 *
 * Options may stand anywhere; but for a command with `options_first`, parsing stops at the first
 * argument that is no option, so that a command's options stay its own.
 */

#pragma once

#include <glib.h>

typedef struct Command Command;

typedef struct {
    const char *name;     /* without the dashes */
    char letter;          /* 0: has none */
    const char *argument; /* what the help calls it; NULL: takes none */
    const char *help;     /* NULL: another name of the option before it */
    /* Writes the value (NULL, if the option takes none) to `into`, or says what is wrong. */
    gboolean (*take)(const char *value, gpointer into, GError **error);
    gpointer into;
} Option;

/* `argv` begins with the command. Afterwards it begins with the first argument that is no option,
 * and ends with NULL. `options` ends with a zero. FALSE if that was all: then the command ends with
 * *out_status. */
gboolean options_parse(
    const Command *command, const Option *options, int *argc, char ***argv, int *out_status);

/* Says that the command line is wrong; the status to end with. */
int options_complain(const Command *command, const char *format, ...) G_GNUC_PRINTF(2, 3);

/* Ready-made takers. */
gboolean option_set(const char *value, gpointer into, GError **error);     /* gboolean */
gboolean option_unset(const char *value, gpointer into, GError **error);   /* gboolean */
gboolean option_text(const char *value, gpointer into, GError **error);    /* const char *, UTF-8 */
gboolean option_seconds(const char *value, gpointer into, GError **error); /* double, >= 0 */
gboolean option_status(const char *value, gpointer into, GError **error);  /* int, 0 to 255 */
