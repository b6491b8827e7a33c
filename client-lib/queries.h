/* SPDX-FileCopyrightText: 2026 The WebLocks for D-Bus authors
 * SPDX-License-Identifier: LGPL-2.1-or-later */

/* Reading the service's answers about a bucket. */

#pragma once

#include <weblocks/weblocks.h>

/* The answer to Query: a tuple; and for `read_bytes` of a MethodCallKind. */
WebLocksSnapshot *queries_read_query(GVariant *body, GError **error);
gpointer
queries_read_query_bytes(const char *signature, GBytes *body, gpointer data, GError **error);
