/* SPDX-FileCopyrightText: 2026 The WebLocks for D-Bus authors
 * SPDX-License-Identifier: LGPL-2.1-or-later */

#pragma once

#if !defined(WEB_LOCKS_INSIDE) && !defined(WEB_LOCKS_COMPILATION)
#error "Only <weblocks/weblocks.h> can be included directly"
#endif

/* Qt defines `signals`, and a member in GIO's headers has this name. */
#pragma push_macro("signals")
#undef signals
#include <gio/gio.h>
#pragma pop_macro("signals")

G_BEGIN_DECLS

/* NOLINTBEGIN(clang-diagnostic-reserved-identifier): G_DECLARE_FINAL_TYPE() requires these. */
typedef struct _WebLocksAgent WebLocksAgent;
typedef struct _WebLocksManager WebLocksManager;
typedef struct _WebLocksOptions WebLocksOptions;
typedef struct _WebLocksRequest WebLocksRequest;
typedef struct _WebLocksLock WebLocksLock;
typedef struct _WebLocksHandle WebLocksHandle;
typedef struct _WebLocksLockInfo WebLocksLockInfo;
typedef struct _WebLocksSnapshot WebLocksSnapshot;
typedef struct _WebLocksMonitor WebLocksMonitor;
typedef struct _WebLocksClaim WebLocksClaim;
/* NOLINTEND(clang-diagnostic-reserved-identifier) */

/**
 * WebLocksMode:
 * @WEB_LOCKS_MODE_EXCLUSIVE: no other lock of the same name is held
 * @WEB_LOCKS_MODE_SHARED: other shared locks of the same name may be held
 *
 * Lock modes (section 2.3 of the standard).
 *
 * Since: 0.1
 */
typedef enum {
    WEB_LOCKS_MODE_EXCLUSIVE,
    WEB_LOCKS_MODE_SHARED,
} WebLocksMode;

G_END_DECLS
