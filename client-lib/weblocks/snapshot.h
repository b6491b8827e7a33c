/* SPDX-FileCopyrightText: 2026 The WebLocks for D-Bus authors
 * SPDX-License-Identifier: LGPL-2.1-or-later */

#pragma once

#if !defined(WEB_LOCKS_INSIDE) && !defined(WEB_LOCKS_COMPILATION)
#error "Only <weblocks/weblocks.h> can be included directly"
#endif

#include <weblocks/types.h>

G_BEGIN_DECLS

#define WEB_LOCKS_TYPE_SNAPSHOT (web_locks_snapshot_get_type())
G_DECLARE_FINAL_TYPE(WebLocksSnapshot, web_locks_snapshot, WEB_LOCKS, SNAPSHOT, GObject)

GListModel *web_locks_snapshot_get_held(WebLocksSnapshot *self);
GListModel *web_locks_snapshot_get_pending(WebLocksSnapshot *self);

G_END_DECLS
