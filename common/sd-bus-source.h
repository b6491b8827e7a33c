/* SPDX-FileCopyrightText: 2026 The WebLocks for D-Bus authors
 * SPDX-License-Identifier: LGPL-2.1-or-later */

/* An sd-bus connection on a GMainContext.
 *
 * The source reads and processes up to a batch of messages each time the context comes by, then
 * calls `after_batch` once, so that the effects of a batch can leave together. When the connection
 * ends, `on_closed` is called once, last, and the source is destroyed. Either may be NULL. */

#pragma once

#include <glib.h>

#include "common/sd-bus.h"

typedef void (*SdBusSourceFunc)(gpointer data);

/* Attaches to `context` (NULL is the default one) and holds a reference on `bus`. The caller owns
 * the source: g_source_destroy() it, then unref. */
GSource *sd_bus_source_attach(sd_bus *bus,
                              GMainContext *context,
                              SdBusSourceFunc after_batch,
                              SdBusSourceFunc on_closed,
                              gpointer data);
