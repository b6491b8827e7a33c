/* SPDX-FileCopyrightText: 2026 The WebLocks for D-Bus authors
 * SPDX-License-Identifier: LGPL-2.1-or-later */

/* One of many: of all processes that make a NotesPrimary with the same lock name, one is it.
 *
 * It is the one that holds the lock. There is nothing to elect, to renew or to clean up: the others
 * wait for the lock, and when its holder goes, in whatever way, the next one in line has it. */

#pragma once

#include <weblocks/weblocks.h>

#define NOTES_TYPE_PRIMARY (notes_primary_get_type())
G_DECLARE_FINAL_TYPE(NotesPrimary, notes_primary, NOTES, PRIMARY, GObject)

/* Waits for the lock from now on, and again when it is lost, until notes_primary_leave().
 *
 * Signal "changed" (const char *news): notes_primary_get_token() has another value now, or
 * something failed; `news` is NULL if there is nothing to tell but that we are it. */
NotesPrimary *notes_primary_new(WebLocksManager *manager, const char *lock_name);

/* 0: we are not it. Else the fencing token, to be shown to whatever the lock protects. */
guint64 notes_primary_get_token(NotesPrimary *self);

/* Takes the lock from whoever has it: for when that one hangs. */
void notes_primary_take_over(NotesPrimary *self);

/* Lets the next one have it, for good. */
void notes_primary_leave(NotesPrimary *self);
