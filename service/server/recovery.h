/* SPDX-FileCopyrightText: 2026 The WebLocks for D-Bus authors
 * SPDX-License-Identifier: LGPL-2.1-or-later */

/* The beginning of a service whose predecessor may have died at any moment.
 *
 * In this order, so that nothing is missed and nobody is told a half of it: the ends of clients are
 * subscribed to (admission_subscribe); the store is ours; what it has is put into the core; who has
 * left the bus meanwhile is terminated, what is due has timed out, and what can be granted is; all
 * that is in the store again; the name is taken, and the first turn tells it. All of it blocks, and
 * all of it is before the service can be called. */

#pragma once

#include <glib.h>

#include "server.h"

/* Takes over the store in `directory`, and what is in it. FALSE: there can be none, or
 * another instance has it; then the server is of no more use. */
gboolean recovery_run(Server *server, const char *directory, GError **error);
