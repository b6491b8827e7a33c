/* SPDX-FileCopyrightText: 2026 The WebLocks for D-Bus authors
 * SPDX-License-Identifier: LGPL-2.1-or-later */

/* Command-line options, described by tables from which parsing and --help are derived.
 *
 * Options may be mixed with arguments. For a command with `options_first`, parsing stops at the
 * first argument that is not an option, so that the options of the program that `weblocks run`
 * starts are passed to that program. */

#pragma once

#include <glib.h>

typedef struct Command Command;

typedef struct {
    const char *name;     /* without the dashes */
    char letter;          /* the short option; 0: none */
    const char *argument; /* the name of the argument in --help; NULL: no argument */
    const char *help;     /* NULL: this is an alias of the option before it */
    /* Parses `value` (NULL if the option has no argument) and stores the result in `into`. */
    gboolean (*take)(const char *value, gpointer into, GError **error);
    gpointer into;
} Option;

/* Parses the options. `(*argv)[0]` is the name of the command; afterwards it is the first argument
 * that is not an option. `options` is terminated by an Option with a NULL name. Returns FALSE after
 * an error and after --help: then the caller returns *out_status as exit status. */
gboolean options_parse(
    const Command *command, const Option *options, int *argc, char ***argv, int *out_status);

/* Reports an error in the command line. Returns the exit status. */
int options_complain(const Command *command, const char *format, ...) G_GNUC_PRINTF(2, 3);

/* For a command whose only argument is a lock name. Returns it, or NULL after reporting an error;
 * then *out_status is the exit status. */
const char *options_get_lock_name(const Command *command, int argc, char **argv, int *out_status);

/* For a command whose only argument may be a lock name. Returns FALSE after reporting an error;
 * then *out_status is the exit status. *out_name is NULL if there is no name. */
gboolean options_get_optional_name(
    const Command *command, int argc, char **argv, const char **out_name, int *out_status);

/* Functions for Option.take; the comment is the type of what `into` points to. */
gboolean option_set(const char *value, gpointer into, GError **error);    /* gboolean */
gboolean option_unset(const char *value, gpointer into, GError **error);  /* gboolean */
gboolean option_text(const char *value, gpointer into, GError **error);   /* const char *, UTF-8 */
gboolean option_time(const char *value, gpointer into, GError **error);   /* double: s, >= 0 */
gboolean option_status(const char *value, gpointer into, GError **error); /* int, 0 to 255 */
gboolean option_count(const char *value, gpointer into, GError **error);  /* guint, >= 1 */
