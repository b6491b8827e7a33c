/* SPDX-FileCopyrightText: 2026 The WebLocks for D-Bus authors
 * SPDX-License-Identifier: LGPL-2.1-or-later */

/* The holder of a lock and the requests that wait for it, as a list model. */

#pragma once

#include <gtk/gtk.h>
#include <weblocks/weblocks.h>

#define NOTES_TYPE_QUEUE (notes_queue_get_type())
G_DECLARE_FINAL_TYPE(NotesQueue, notes_queue, NOTES, QUEUE, GObject)

/* Monitors the lock until `closing` is cancelled. Signal "changed": the queue has changed. */
NotesQueue *notes_queue_new(WebLocksManager *manager, const char *lock_name, GCancellable *closing);

/* Returns a list of WebLocksLockInfo: first the holder, then pending requests in queue order. */
GListModel *notes_queue_get_model(NotesQueue *self);

/* Returns a description of the process that holds the lock. */
const char *notes_queue_get_holder(NotesQueue *self);
guint notes_queue_get_n_waiting(NotesQueue *self);
