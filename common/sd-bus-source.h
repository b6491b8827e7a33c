/* SPDX-FileCopyrightText: 2026 The WebLocks for D-Bus authors
 * SPDX-License-Identifier: LGPL-2.1-or-later */

/* A GSource that runs an sd-bus connection on a GMainContext.
 *
 * Each dispatch reads and processes a batch of messages and then calls `after_batch` once, even if
 * the source was destroyed by a message of the batch, so that the output of a batch can be sent
 * together. While `may_read` returns FALSE, the source only writes; this is back-pressure against
 * clients that send faster than they read. When the connection ends, `on_closed` is called once,
 * as the last hook, and the source is destroyed.
 *
 * If several threads use the connection, `enter` and `leave` lock and unlock it: they are called
 * around every access to the connection and around the other hooks, except `after_leave`, which is
 * called after each batch without the lock. Each hook may be NULL. */

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

/* Attaches a source to `context` (NULL: the default context). The source owns a reference to `bus`
 * and borrows `hooks`. `data_free`, which may be NULL, is called when the source is finalized. The
 * caller owns the returned source and ends it by g_source_destroy() and g_source_unref(). */
GSource *sd_bus_source_attach(sd_bus *bus,
                              GMainContext *context,
                              const SdBusSourceHooks *hooks,
                              gpointer data,
                              GDestroyNotify data_free);
