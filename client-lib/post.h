/* SPDX-FileCopyrightText: 2026 The WebLocks for D-Bus authors
 * SPDX-License-Identifier: LGPL-2.1-or-later */

/* Calling back from a main context, rather than from where we are. */

#pragma once

#include <glib.h>

/* Calls `func` from `context`, then `destroy`, which may be NULL; `destroy` even if the context
 * ends before. What is posted to one context is called in order. */
void post_to_context(GMainContext *context,
                     void (*func)(gpointer data),
                     gpointer data,
                     GDestroyNotify destroy);
