/* SPDX-FileCopyrightText: 2026 The WebLocks for D-Bus authors
 * SPDX-License-Identifier: LGPL-2.1-or-later */

/* The names of programs, as people know them. */

#pragma once

#include <glib.h>

/* Returns an owned application id, of the desktop application that a process belongs to by its
 * cgroup; or NULL. */
char *program_name_get_application_id(guint pid);

/* Returns an owned name, in the language of the locale, that the desktop entry of an application
 * has; NULL: there is none. */
char *program_name_of_application(const char *id);

/* Returns an owned name of what a command line runs: the script or module if the program is an
 * interpreter, otherwise the program, without folders. NULL: there is no name. The words end with a
 * NULL. */
char *program_name_of_words(const char *const *words);

/* The same for the script alone: NULL if the program is no interpreter, or gets code in another
 * way. */
char *program_name_of_script(const char *const *words);
