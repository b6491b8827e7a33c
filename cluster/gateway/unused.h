/* SPDX-FileCopyrightText: 2026 The WebLocks for D-Bus authors
 * SPDX-License-Identifier: LGPL-2.1-or-later */

/* The nodes of names that this host has used and does not use any more. They are deleted after some
 * seconds, unless they have claims of other hosts: ZooKeeper deletes them by itself, too, but only
 * 10,000 a minute, and a host can use more names than that. */

#pragma once

#include "session.h"

typedef struct Unused Unused;

/* `session` is borrowed. */
Unused *unused_new(Session *session);
void unused_free(Unused *unused);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(Unused, unused_free)

/* The path of a name. While there are very many, further ones are left to ZooKeeper. */
void unused_add(Unused *unused, const char *path);

/* It is used again. */
void unused_remove(Unused *unused, const char *path);
