/* SPDX-FileCopyrightText: 2026 The WebLocks for D-Bus authors
 * SPDX-License-Identifier: LGPL-2.1-or-later */

/* The module of the program: all that needs GLib, and libweblocks itself.
 *
 * To load GIO takes longer than to start the program of a short `weblocks run`, and a fork() copies
 * what is loaded. So the program loads the module after its forks, in the one of its three
 * processes that needs it. The module uses functions of the program. */

#pragma once

/* Returns a function of the module, or NULL after reporting an error. */
void *module_find(const char *symbol);
