/* SPDX-FileCopyrightText: 2026 The WebLocks for D-Bus authors
 * SPDX-License-Identifier: LGPL-2.1-or-later */

#pragma once

#if !defined(WEB_LOCKS_INSIDE) && !defined(WEB_LOCKS_COMPILATION)
#error "Only <weblocks/weblocks.h> can be included directly"
#endif

#include <weblocks/types.h>

G_BEGIN_DECLS

#define WEB_LOCKS_TYPE_OPTIONS (web_locks_options_get_type())
WEB_LOCKS_PUBLIC
G_DECLARE_FINAL_TYPE(WebLocksOptions, web_locks_options, WEB_LOCKS, OPTIONS, GObject)

WEB_LOCKS_PUBLIC
WebLocksOptions *web_locks_options_new(void);

WEB_LOCKS_PUBLIC
WebLocksMode web_locks_options_get_mode(WebLocksOptions *self);
WEB_LOCKS_PUBLIC
void web_locks_options_set_mode(WebLocksOptions *self, WebLocksMode mode);

WEB_LOCKS_PUBLIC
gboolean web_locks_options_get_if_available(WebLocksOptions *self);
WEB_LOCKS_PUBLIC
void web_locks_options_set_if_available(WebLocksOptions *self, gboolean if_available);

WEB_LOCKS_PUBLIC
gboolean web_locks_options_get_steal(WebLocksOptions *self);
WEB_LOCKS_PUBLIC
void web_locks_options_set_steal(WebLocksOptions *self, gboolean steal);

WEB_LOCKS_PUBLIC
guint web_locks_options_get_timeout(WebLocksOptions *self);
WEB_LOCKS_PUBLIC
void web_locks_options_set_timeout(WebLocksOptions *self, guint timeout_ms);

WEB_LOCKS_PUBLIC
const char *web_locks_options_get_why(WebLocksOptions *self);
WEB_LOCKS_PUBLIC
void web_locks_options_set_why(WebLocksOptions *self, const char *why);

WEB_LOCKS_PUBLIC
const char *web_locks_options_get_command(WebLocksOptions *self);
WEB_LOCKS_PUBLIC
void web_locks_options_set_command(WebLocksOptions *self, const char *command);

WEB_LOCKS_PUBLIC
guint web_locks_options_get_slots(WebLocksOptions *self);
WEB_LOCKS_PUBLIC
void web_locks_options_set_slots(WebLocksOptions *self, guint slots);

G_END_DECLS
