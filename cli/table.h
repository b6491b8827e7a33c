/* SPDX-FileCopyrightText: 2026 The WebLocks for D-Bus authors
 * SPDX-License-Identifier: LGPL-2.1-or-later */

/* Rows of text: in columns with a heading on a terminal; one line with tabs per row elsewhere.
 *
 * Cells are escaped on their way in, so no cell can contain a tab, a line end or anything that a
 * terminal obeys. */

#pragma once

#include <glib.h>

typedef struct Table Table;

/* `headings` ends with NULL and must outlive the table. */
Table *table_new(const char *const *headings, gboolean terminal);
void table_free(Table *self);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(Table, table_free)

/* Appends a cell to the last row, and begins a new row when that is full. */
void table_add(Table *self, const char *text);
void table_add_number(Table *self, guint64 number);

/* Owned lines; on a terminal, the first one is the heading. */
GPtrArray *table_to_lines(Table *self);

void table_print(Table *self);
