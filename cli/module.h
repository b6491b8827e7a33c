/* SPDX-FileCopyrightText: 2026 The WebLocks for D-Bus authors
 * SPDX-License-Identifier: LGPL-2.1-or-later */

/* The module of the program: all that needs libweblocks, and the library itself.
 *
 * The program is linked with GLib only, and loads the module when it is needed. Loading GIO takes
 * longer than starting the program of a short `weblocks run`, and a fork() copies its pages: run.c
 * loads it in the one of its three processes that needs it. */

#pragma once

#include <glib.h>

/* Returns a function of the module, or NULL and an error. */
gpointer module_find(const char *symbol, GError **error);
