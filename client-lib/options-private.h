/* SPDX-FileCopyrightText: 2026 The WebLocks for D-Bus authors
 * SPDX-License-Identifier: LGPL-2.1-or-later */

/* The options of a request as a plain struct, copied from a WebLocksOptions when the request is
 * made, so that later changes of the object have no effect. The struct owns its strings. */

#pragma once

#include <weblocks/weblocks.h>

typedef struct {
    WebLocksMode mode;
    guint slots;
    gboolean if_available;
    gboolean steal;
    gboolean patient; /* the request also waits for a service */
    guint timeout_ms;
    char *why;     /* NULL: none */
    char *command; /* the option `for`; NULL: none */
    guint cell;    /* the number of its cell, with the defaults of mode and slots; 0: none */
} RequestOptions;

/* With `options` NULL, the values are the defaults. */
void request_options_init(RequestOptions *self, WebLocksOptions *options);
void request_options_copy(RequestOptions *self, const RequestOptions *other);
void request_options_clear(RequestOptions *self);
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC(RequestOptions, request_options_clear)

/* Makes the checks of the standard that don't depend on the service's state [3.2.1]. */
gboolean request_options_check(const RequestOptions *self, GError **error);
