/* SPDX-FileCopyrightText: 2026 The WebLocks for D-Bus authors
 * SPDX-License-Identifier: LGPL-2.1-or-later */

/* The call of Observable and the decoding of its reply, for monitors of all buckets. */

#pragma once

#include <weblocks/weblocks.h>

#include "client-lib/engine/method-call.h"

/* For MethodCallKind.build and .read, with the agent as data: the result is an owned GPtrArray of
 * managers. */
MethodCallMessage observable_build(gpointer agent);
gpointer observable_read(GVariant *body, gpointer agent, GError **error);
