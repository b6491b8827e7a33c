/* SPDX-FileCopyrightText: 2026 The WebLocks for D-Bus authors
 * SPDX-License-Identifier: LGPL-2.1-or-later */

/* A main context beside an event loop that is not GLib's. The context's descriptors and its timer
 * are in one epoll descriptor. A thread waits for this descriptor and does nothing else: it calls
 * `ready`, which has to make the thread of the event loop call loop_run(). After that the thread
 * waits again.
 *
 * All functions are called in the thread of the event loop. All descriptors are closed by exec().
 */

#pragma once

#include <glib.h>

typedef struct Loop Loop;

/* `ready` is called in the waiting thread. Returns NULL and an error if there are no descriptors or
 * threads left. */
Loop *loop_new(void (*ready)(gpointer data), gpointer data, GError **error);

/* Ends the waiting thread, and drops the context. */
void loop_free(Loop *self);

/* Borrowed. */
GMainContext *loop_get_context(const Loop *self);

/* Dispatches what is ready, and waits for the next events. */
void loop_run(Loop *self);

/* The same after functions of the library were called: descriptors are not polled here. */
void loop_update(Loop *self);
