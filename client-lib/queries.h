/* SPDX-FileCopyrightText: 2026 The WebLocks for D-Bus authors
 * SPDX-License-Identifier: LGPL-2.1-or-later */

/* Conversion of replies to Query, shared with the monitor. */

#pragma once

#include <weblocks/weblocks.h>

/* The first function converts a tuple, the second is for MethodCallKind.read_bytes. Both return an
 * owned snapshot. */
WebLocksSnapshot *queries_read_query(GVariant *body, GError **error);
gpointer
queries_read_query_bytes(const char *signature, GBytes *body, gpointer data, GError **error);
