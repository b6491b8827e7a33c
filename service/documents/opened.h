/* SPDX-FileCopyrightText: 2026 The WebLocks for D-Bus authors
 * SPDX-License-Identifier: LGPL-2.1-or-later */

/* The documents that the clients of sandboxed applications have opened, by the names with which
 * they request locks in the bucket `user:documents`.
 *
 * A name is `document:` and a keyed hash of the lock's name in the bucket `documents` of the user.
 * So an application neither learns the path of a document nor can confirm a guess. The key is
 * stored with the state, since names are also in events of restored requests. What was opened is
 * not stored; a client has the names of its restored requests, and opens others again.
 *
 * The table owns its strings, and has at most `documentsPerClient` of them. */

#pragma once

#include "client.h"

/* Returns the owned name by which clients have a lock in a bucket that they address by this name:
 * in `user:documents` the one above, elsewhere the lock's own. */
char *opened_make_name(const UserAgent *user_agent, const char *bucket, const char *lock_name);

/* Opens the lock for the client. If there are too many, the oldest without a live request is closed
 * for it. `*out_name` is borrowed. */
LockResult opened_add(Client *client, const char *lock_name, const char **out_name);

/* Opens what the client's restored requests are for. */
void opened_restore(Client *client);

/* Returns the name of the lock, borrowed; NULL: the client has not opened it. */
const char *opened_find(const Client *client, const char *name);

/* Returns an owned table of the names of locks with the client's names for them, borrowed. */
GHashTable *opened_get_all(const Client *client);

void opened_clear(Client *client);
