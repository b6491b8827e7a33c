/* SPDX-FileCopyrightText: 2026 The WebLocks for D-Bus authors
 * SPDX-License-Identifier: LGPL-2.1-or-later */

/* Who has a lock, and who waits for it. */

#pragma once

#include <gtk/gtk.h>
#include <weblocks/weblocks.h>

#define NOTES_TYPE_QUEUE (notes_queue_get_type())
G_DECLARE_FINAL_TYPE(NotesQueue, notes_queue, NOTES, QUEUE, GObject)

/* Until `closing` is cancelled. Signal "changed": it is not what it was. */
NotesQueue *notes_queue_new(WebLocksManager *manager, const char *lock_name, GCancellable *closing);

/* Of WebLocksLockInfo: first the holder, then those who wait in their order. */
GListModel *notes_queue_get_model(NotesQueue *self);

/* For people: the process that has the lock. */
const char *notes_queue_get_holder(NotesQueue *self);
guint notes_queue_get_n_waiting(NotesQueue *self);
