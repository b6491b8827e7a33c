/* SPDX-FileCopyrightText: 2026 The WebLocks for D-Bus authors
 * SPDX-License-Identifier: LGPL-2.1-or-later */

/* The groups of a user according to the group database. They are used after a restart of the
 * service: the groups that the process had when it connected are not stored. */

#pragma once

#include <glib.h>

/* Returns the groups of the user with this uid, owned; none if there is no such user. Blocks. */
guint32 *groups_look_up(guint32 uid, gsize *out_n_gids);
