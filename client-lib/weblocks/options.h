/* SPDX-FileCopyrightText: 2026 The WebLocks for D-Bus authors
 * SPDX-License-Identifier: LGPL-2.1-or-later */

#pragma once

#if !defined(WEB_LOCKS_INSIDE) && !defined(WEB_LOCKS_COMPILATION)
#error "Only <weblocks/weblocks.h> can be included directly"
#endif

#include <weblocks/types.h>

G_BEGIN_DECLS

#define WEB_LOCKS_TYPE_OPTIONS (web_locks_options_get_type())
G_DECLARE_FINAL_TYPE(WebLocksOptions, web_locks_options, WEB_LOCKS, OPTIONS, GObject)

WebLocksOptions *web_locks_options_new(void);

WebLocksMode web_locks_options_get_mode(WebLocksOptions *self);
void web_locks_options_set_mode(WebLocksOptions *self, WebLocksMode mode);

gboolean web_locks_options_get_if_available(WebLocksOptions *self);
void web_locks_options_set_if_available(WebLocksOptions *self, gboolean if_available);

gboolean web_locks_options_get_steal(WebLocksOptions *self);
void web_locks_options_set_steal(WebLocksOptions *self, gboolean steal);

guint web_locks_options_get_timeout(WebLocksOptions *self);
void web_locks_options_set_timeout(WebLocksOptions *self, guint timeout_ms);

const char *web_locks_options_get_why(WebLocksOptions *self);
void web_locks_options_set_why(WebLocksOptions *self, const char *why);

const char *web_locks_options_get_command(WebLocksOptions *self);
void web_locks_options_set_command(WebLocksOptions *self, const char *command);

guint web_locks_options_get_slots(WebLocksOptions *self);
void web_locks_options_set_slots(WebLocksOptions *self, guint slots);

G_END_DECLS
