/* SPDX-FileCopyrightText: 2026 The WebLocks for D-Bus authors
 * SPDX-License-Identifier: LGPL-2.1-or-later */

/* The memory of cells (core/cell.h): pages that the service and a client share, one for each lock
 * socket that has any.
 *
 * A page is a file in the directory `BUS.cells` beside the state, so that the next instance finds
 * it if this one is killed: it has no other way to stop the clients. The file has room for the
 * whole page from the beginning, on a tmpfs, so access to it does not fail unless its client cuts
 * it off. That raises SIGBUS in the service; so there are pages only for clients that could kill
 * the service anyway. */

#pragma once

#include <glib.h>

#include "cell.h"

/* ---- those of this instance */

typedef struct CellPages CellPages;

/* Creates the directory `BASE.cells`. Returns NULL if there can be no pages: it logs why. */
CellPages *cell_pages_new(const char *base);
void cell_pages_free(CellPages *self);

typedef struct CellPage {
    CellPages *pages; /* borrowed */
    guint64 id;       /* random; the name of its file */
    LockCell *memory;
    Cell cells[LOCK_CELLS_PER_PAGE]; /* the first is not used */
} CellPage;

/* `*out_fd` is the descriptor for the client, owned by the caller. Returns NULL if there are no
 * resources. */
CellPage *cell_page_new(CellPages *pages, int *out_fd);

/* Removes the file. The cells must not be used. */
void cell_page_free(CellPage *self);

/* ---- those of an earlier instance */

typedef struct ClosedPages ClosedPages;

/* Closes all cells of all pages in `BASE.cells`; what is no page is left out. Returns NULL if one
 * can't be closed now, for lack of resources: then nothing may be restored, since its client can
 * still enter. */
ClosedPages *closed_pages_new(const char *base, GError **error);

/* Returns FALSE if the page is not there, or the cell is not that of the request with this key. */
gboolean closed_pages_find(
    const ClosedPages *self, guint64 page, guint32 number, guint64 key, LockCellClosed *out_closed);

/* Removes the files, when nothing refers to them any more; also those that are no pages, as of a
 * service that was killed while it created one. */
void closed_pages_remove(ClosedPages *self);
void closed_pages_free(ClosedPages *self);
