/* SPDX-FileCopyrightText: 2026 The WebLocks for D-Bus authors
 * SPDX-License-Identifier: LGPL-2.1-or-later */

/* What stepped-cell.c calls: to be defined by the program that links it. */

#pragma once

#include <glib.h>

/* Before an atomic instruction on the field of a cell at `address`. */
void cell_step(const volatile void *address, gboolean writes);

/* An instruction has returned this value, which is returned. */
guint64 cell_note(guint64 value);

/* A compare-and-swap has stored this. */
void cell_exchanged(const guint64 *word, guint64 value);
