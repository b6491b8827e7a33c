/* SPDX-FileCopyrightText: 2026 The WebLocks for D-Bus authors
 * SPDX-License-Identifier: LGPL-2.1-or-later */

/* Prints rows of cells: on a terminal in aligned columns with a heading, otherwise one line for
 * each row with tabs between the cells.
 *
 * Cells are escaped when they are added, so that no cell contains a tab, a line feed or terminal
 * control characters. */

#pragma once

#include <glib.h>

typedef struct Table Table;

/* `headings` is borrowed and ends with NULL. On a terminal, the column with the heading `hideable`
 * is left out if all its cells are empty; it is not the last one. NULL: none. */
Table *table_new(const char *const *headings, const char *hideable, gboolean terminal);
void table_free(Table *self);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(Table, table_free)

/* Appends a cell to the last row; if the row is full, begins a new one. */
void table_add(Table *self, const char *text);
/* Likewise; a terminal shows "-" for an empty text. */
void table_add_optional(Table *self, const char *text);
void table_add_number(Table *self, guint64 number);

/* Returns owned lines; on a terminal, the first line is the heading. */
GPtrArray *table_to_lines(Table *self);

void table_print(Table *self);
