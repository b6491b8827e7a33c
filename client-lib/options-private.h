/* SPDX-FileCopyrightText: 2026 The WebLocks for D-Bus authors
 * SPDX-License-Identifier: LGPL-2.1-or-later */

/* The options of a request as plain data, copied from a WebLocksOptions when the request begins. */

#pragma once

#include <weblocks/weblocks.h>

typedef struct {
    WebLocksMode mode;
    gboolean if_available;
    gboolean steal;
    gboolean signal; /* there is a GCancellable */
    guint timeout_ms;
    char *why; /* NULL: none */
} RequestOptions;

/* NULL `options` are the defaults. */
void request_options_init(RequestOptions *self, WebLocksOptions *options, gboolean signal);
void request_options_copy(RequestOptions *self, const RequestOptions *other);
void request_options_clear(RequestOptions *self);
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC(RequestOptions, request_options_clear)

/* Refuses what is never right, as the service would, without asking it [3.2.1]. */
gboolean request_options_check(const RequestOptions *self, const char *name, GError **error);
