/* SPDX-FileCopyrightText: 2026 The WebLocks for D-Bus authors
 * SPDX-License-Identifier: LGPL-2.1-or-later */

/* Election of a primary: of all processes that create a NotesPrimary with the same lock name, the
 * one that holds the lock is the primary.
 *
 * Nothing has to be renewed or cleaned up: the others wait for the lock, and when its holder ends,
 * for whatever reason, the next one in the queue gets it. */

#pragma once

#include <weblocks/weblocks.h>

#define NOTES_TYPE_PRIMARY (notes_primary_get_type())
G_DECLARE_FINAL_TYPE(NotesPrimary, notes_primary, NOTES, PRIMARY, GObject)

/* Requests the lock, and again after it was lost, until notes_primary_leave().
 *
 * Signal "changed" (const char *news): the value of notes_primary_get_token() has changed, or an
 * operation has failed; `news` describes the reason, and is NULL when this process has become the
 * primary. */
NotesPrimary *notes_primary_new(WebLocksManager *manager, const char *lock_name);

/* Returns the fencing token for the protected resource, or 0 if this process is not the primary. */
guint64 notes_primary_get_token(NotesPrimary *self);

/* Steals the lock from its holder, for the case that the holder hangs. */
void notes_primary_take_over(NotesPrimary *self);

/* Releases the lock and stops requesting it. */
void notes_primary_leave(NotesPrimary *self);
