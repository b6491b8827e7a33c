/* SPDX-FileCopyrightText: 2026 The WebLocks for D-Bus authors
 * SPDX-License-Identifier: LGPL-2.1-or-later */

/* What this host has seen of the engine's data, in the file `seen` of the state directory: the
 * instance (the identity of the data), and the highest block of tokens of each bucket.
 *
 * If the engine has another instance, its data were wiped or replaced; if it has lower blocks, they
 * were replaced by older ones, as of a backup. Tokens might then be issued twice, so nothing is
 * used until an administrator deletes the file.
 *
 * Blocks are stored with a delay of SEEN_DELAY_SECS: after a crash, data that are older by less
 * than that are not noticed. */

#pragma once

#include <glib.h>

#define SEEN_DELAY_SECS 10

typedef struct Seen Seen;

/* Reads the file. It is empty at first. Returns NULL and sets `error` if there is one that can't be
 * read (G_FILE_ERROR) or that was not written by seen_store() (G_KEY_FILE_ERROR). */
Seen *seen_new(const char *directory, GError **error);

/* Stores what has not been stored, and waits for it. */
void seen_free(Seen *seen);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(Seen, seen_free)

/* NULL: none yet. */
const char *seen_get_instance(const Seen *seen);
/* Stores it, and waits for that. On an error it is not set. */
gboolean seen_set_instance(Seen *seen, const char *instance, GError **error);

/* 0: none. */
guint64 seen_get_block(const Seen *seen, const char *bucket);
void seen_raise_block(Seen *seen, const char *bucket, guint64 block);

/* Older data were found. This is stored immediately, and waited for, so that it does not depend on
 * whether other hosts issue higher blocks later. */
gboolean seen_is_refused(const Seen *seen);
void seen_refuse(Seen *seen);

/* Stores what has not been stored, in a thread: a file system may take seconds to store something,
 * and the lease has to be renewed meanwhile. If it fails, that is logged once, and it is tried
 * again later. */
void seen_store(Seen *seen);
