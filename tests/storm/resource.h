/* SPDX-FileCopyrightText: 2026 The WebLocks for D-Bus authors
 * SPDX-License-Identifier: LGPL-2.1-or-later */

/* What the locks of a storm protect: a resource that refuses outdated tokens, and a lock of the
 * kernel, which shows independently of the service whether two clients are inside. */

#pragma once

#include "tests/storm/history.h"

G_BEGIN_DECLS

typedef struct Resource Resource;

/* Opens the files in the directory; those of one principal belong together. To be called before the
 * client connects, so that no descriptor of these outlives the bus connection for long. Without
 * `has_oracle` the kernel isn't asked. */
Resource *resource_new(const char *directory, guint principal, gboolean has_oracle, GError **error);
void resource_free(Resource *self);

/* Takes the kernel's lock if it is free. */
gboolean resource_try_lock(Resource *self, guint name, gboolean exclusive);
void resource_unlock(Resource *self, guint name);

/* Writes with the token, unless there was one with a higher one; the highest that there was. */
gboolean resource_write(Resource *self, guint name, guint64 token, guint64 *highest);

G_END_DECLS
