/* SPDX-FileCopyrightText: 2026 The WebLocks for D-Bus authors
 * SPDX-License-Identifier: LGPL-2.1-or-later */

/* The memory of cells (core/cell.h): pages that the service and a client share, one for each lock
 * socket that has any.
 *
 * A page is a file in a directory beside the state, so that the next instance finds it if this one
 * is killed: it has no other way to stop the clients. The file has room for the whole page from the
 * beginning, on a tmpfs, so access to it does not fail unless its client cuts it off. That raises
 * SIGBUS in the service; so there are pages only for clients that could kill the service anyway. */

#pragma once

#include <glib.h>

#include "cell.h"

/* Removes the directory and all pages in it, if it is there. Returns FALSE if that is not possible
 * now, for lack of resources. */
gboolean cell_pages_remove(const char *path, GError **error);

/* ---- those of this instance */

typedef struct CellPages CellPages;

/* Creates the directory. Returns NULL if there can be no pages: it logs why. */
CellPages *cell_pages_new(const char *path);

/* Removes the directory. There must be no pages. */
void cell_pages_free(CellPages *self);

/* Removes the files of pages that were freed. Called after each commit. */
void cell_pages_remove_ended(CellPages *self);

/* Whether the directory still has its name. */
gboolean cell_pages_are_in_place(const CellPages *self);

typedef struct CellPage {
    CellPages *pages; /* borrowed */
    guint64 number;   /* the name of its file */
    LockCell *memory;
    Cell cells[LOCK_CELLS_PER_PAGE]; /* the first is not used */
} CellPage;

/* `*out_fd` is the descriptor for the client, owned by the caller. Returns NULL if there are no
 * resources. */
CellPage *cell_page_new(CellPages *pages, int *out_fd);

/* The cells must not be used any more. The file stays until cell_pages_remove_ended(): if the
 * service is killed before what the cells have said is committed, the next instance has to find it
 * there. */
void cell_page_free(CellPage *self);

/* ---- those of an earlier instance */

/* What the cells of all pages have said, by the requests for which they were opened. */
typedef GHashTable ClosedCells;
G_DEFINE_AUTOPTR_CLEANUP_FUNC(ClosedCells, g_hash_table_unref)

/* Closes all cells of all pages in the directory, which may not be there; what is no page is left
 * out. Without `may_read` it makes the files zeros instead, which closes the cells too. Returns
 * NULL if that is not possible now, for lack of resources: then nothing may be restored, since a
 * client can still enter. */
ClosedCells *closed_cells_new(const char *path, gboolean may_read, GError **error);

/* Returns NULL if no cell was opened for the request with this id and key of the agent with this
 * number. A cell that has been opened for another key since, but does not say so yet, is not its
 * cell any more; nor is one that a client gives the numbers of another's request. */
const LockCellClosed *closed_cells_find(ClosedCells *self, guint64 agent, guint64 id, guint64 key);
