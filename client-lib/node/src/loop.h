/* SPDX-FileCopyrightText: 2026 The WebLocks for D-Bus authors
 * SPDX-License-Identifier: LGPL-2.1-or-later */

/* A main context beside an event loop that is not GLib's. The context's descriptors and its timer
 * are in one epoll descriptor. After loop_wait() a thread waits for this descriptor and does
 * nothing else: it calls `ready` once, which has to make the thread of the event loop call
 * loop_run() and loop_wait().
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

/* Dispatches what is ready, and waits up to `patience_us` if nothing is yet. Returns whether there
 * was anything. */
gboolean loop_run(Loop *self, guint patience_us);

/* Makes the thread wait. Called immediately after loop_run(). */
void loop_wait(Loop *self);

/* Makes the thread not wait. It may have called `ready` before. */
void loop_pause(Loop *self);
