/* SPDX-FileCopyrightText: 2026 The WebLocks for D-Bus authors
 * SPDX-License-Identifier: LGPL-2.1-or-later */

#pragma once

#if !defined(WEB_LOCKS_INSIDE) && !defined(WEB_LOCKS_COMPILATION)
#error "Only <weblocks/weblocks.h> can be included directly"
#endif

#include <weblocks/types.h>

G_BEGIN_DECLS

char *web_locks_bucket_for_group(const char *group, GError **error);

G_END_DECLS
