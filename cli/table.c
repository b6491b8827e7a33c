/* SPDX-FileCopyrightText: 2026 The WebLocks for D-Bus authors
 * SPDX-License-Identifier: LGPL-2.1-or-later */

#include "cli/table.h"

#include <glib/gi18n.h>
#include <stdio.h>

#include "cli/text.h"

/* Wider cells don't widen their column, so that one long name doesn't move all other rows. */
#define PADDED_WIDTH_MAX 40
#define COLUMNS_MAX      16

struct Table {
    const char *const *headings;
    guint n_columns;
    gboolean terminal;
    guint hidden;     /* a column without any text; `n_columns`: none */
    GPtrArray *cells; /* char *, row by row, escaped */
};

Table *
table_new(const char *const *headings, const char *hideable, gboolean terminal)
{
    Table *self = g_new0(Table, 1);

    self->headings = headings;
    self->n_columns = g_strv_length((char **)headings);
    g_assert(self->n_columns <= COLUMNS_MAX);
    self->terminal = terminal;
    self->hidden = self->n_columns;
    for (guint i = 0; terminal && i < self->n_columns; i++)
        if (g_strcmp0(headings[i], hideable) == 0)
            self->hidden = i;
    self->cells = g_ptr_array_new_with_free_func(g_free);
    return self;
}

void
table_free(Table *self)
{
    g_ptr_array_unref(self->cells);
    g_free(self);
}

void
table_add(Table *self, const char *text)
{
    char *cell;

    if (*text != '\0' && self->cells->len % self->n_columns == self->hidden)
        self->hidden = self->n_columns;
    if (!self->terminal)
        cell = text_for_file(text);
    else if (*text == '\0')
        cell = g_strdup("\"\"");
    else
        cell = text_for_terminal(text);
    g_ptr_array_add(self->cells, cell);
}

void
table_add_optional(Table *self, const char *text)
{
    if (self->terminal && *text == '\0')
        g_ptr_array_add(self->cells, g_strdup("-"));
    else
        table_add(self, text);
}

void
table_add_number(Table *self, guint64 number)
{
    g_ptr_array_add(self->cells, g_strdup_printf("%" G_GUINT64_FORMAT, number));
}

/* The width of each column: that of its widest cell of at most PADDED_WIDTH_MAX columns. */
static void
find_widths(Table *self, guint *widths)
{
    for (guint i = 0; i < self->n_columns; i++)
        widths[i] = text_width(_(self->headings[i]));
    for (guint i = 0, column = 0; i < self->cells->len; i++, column++) {
        guint width = text_width(self->cells->pdata[i]);

        if (column == self->n_columns)
            column = 0;
        if (width <= PADDED_WIDTH_MAX)
            widths[column] = MAX(widths[column], width);
    }
}

/* The last column is not padded, so that lines don't end in spaces. */
static char *
format_row(Table *self, const char *const *cells, const guint *widths)
{
    GString *line = g_string_new(NULL);

    for (guint i = 0; i < self->n_columns; i++) {
        guint width = text_width(cells[i]);

        if (i == self->hidden)
            continue;
        g_string_append(line, cells[i]);
        if (i + 1 == self->n_columns)
            break;
        if (!self->terminal)
            g_string_append_c(line, '\t');
        else
            g_string_append_printf(line, "%*s",
                                   (int)(width < widths[i] ? widths[i] - width : 0) + 2, "");
    }
    return g_string_free(line, FALSE);
}

GPtrArray *
table_to_lines(Table *self)
{
    GPtrArray *lines = g_ptr_array_new_with_free_func(g_free);
    const char *headings[COLUMNS_MAX];
    guint widths[COLUMNS_MAX] = {0};

    find_widths(self, widths);
    for (guint i = 0; i < self->n_columns; i++)
        headings[i] = _(self->headings[i]);
    if (self->terminal)
        g_ptr_array_add(lines, format_row(self, headings, widths));
    for (guint i = 0; i + self->n_columns <= self->cells->len; i += self->n_columns)
        g_ptr_array_add(lines,
                        format_row(self, (const char *const *)self->cells->pdata + i, widths));
    return lines;
}

void
table_print(Table *self)
{
    g_autoptr(GPtrArray) lines = table_to_lines(self);

    for (guint i = 0; i < lines->len; i++)
        puts(lines->pdata[i]);
}
