/* SPDX-FileCopyrightText: 2026 The WebLocks for D-Bus authors
 * SPDX-License-Identifier: LGPL-2.1-or-later */

/* Calling Inspect page by page, shared with the monitor. */

#pragma once

#include <weblocks/weblocks.h>

#include "client-lib/engine/method-call.h"

/* The pages that have been read. */
typedef struct Inspection Inspection;

/* `name` may be NULL: all names. */
Inspection *inspection_new(WebLocksManager *manager, const char *name);
void inspection_free(gpointer inspection);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(Inspection, inspection_free)

/* For MethodCallKind.build and .read, with an Inspection as data: the call for the next page, and a
 * snapshot (owned) after the last one. */
MethodCallMessage inspection_build(gpointer inspection);
gpointer inspection_read(GVariant *body, gpointer inspection, GError **error);
