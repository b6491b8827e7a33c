/* SPDX-FileCopyrightText: 2026 The WebLocks for D-Bus authors
 * SPDX-License-Identifier: LGPL-2.1-or-later */

/* An sd-bus connection on a GMainContext.
 *
 * The source reads and processes up to a batch of messages each time the context comes by, then
 * calls `after_batch` once, so that the effects of a batch can leave together; also if the source
 * was destroyed meanwhile. While `may_read`
 * says no, it only writes: then those who send more than they read have to wait. When the
 * connection ends, `on_closed` is called once, last, and the source is destroyed.
 *
 * Where several threads use a connection, `enter` and `leave` are put around all that touches it.
 * All other hooks are called in between, but for `after_leave`, which follows each batch. Each hook
 * may be NULL.
 */

#pragma once

#include <glib.h>

#include "sd-bus.h"

typedef struct {
    void (*before_batch)(gpointer data);
    void (*after_batch)(gpointer data);
    void (*after_leave)(gpointer data);
    gboolean (*may_read)(gpointer data);
    void (*on_closed)(gpointer data);
    void (*enter)(gpointer data);
    void (*leave)(gpointer data);
} SdBusSourceHooks;

/* Attaches to `context` (NULL is the default one) and holds a reference on `bus`; `hooks` must
 * outlive it. `data_free`, which may be NULL, is called when all is done. The caller owns the
 * source: g_source_destroy() it, then unref. */
GSource *sd_bus_source_attach(sd_bus *bus,
                              GMainContext *context,
                              const SdBusSourceHooks *hooks,
                              gpointer data,
                              GDestroyNotify data_free);
