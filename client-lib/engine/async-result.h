/* SPDX-FileCopyrightText: 2026 The WebLocks for D-Bus authors
 * SPDX-License-Identifier: LGPL-2.1-or-later */

/* The result of an asynchronous operation of the public interface, in place of a GTask. That costs
 * twice as much, and the first one in a process starts GLib's worker thread. */

#pragma once

#include <gio/gio.h>

typedef struct WebLocksAsyncResult AsyncResult;

GType async_result_get_type(void);

/* `callback`, which may be NULL, is called in the context that is thread-default now. `tag` is the
 * function that starts the operation. */
AsyncResult *async_result_new(gpointer source,
                              gconstpointer tag,
                              GCancellable *cancellable,
                              GAsyncReadyCallback callback,
                              gpointer data);

GMainContext *async_result_get_context(const AsyncResult *self);
GCancellable *async_result_get_cancellable(const AsyncResult *self); /* may be NULL */

/* Sets the result, a pointer or an error, both owned. If a cancellable is checked, an error
 * replaces the pointer if it is cancelled before the callback is called. */
void async_result_set(AsyncResult *self,
                      gpointer pointer,
                      GDestroyNotify pointer_free,
                      GError *error,
                      gboolean checks_cancellable);

/* Calls the callback, as the function of a delivery in the context. */
void async_result_run(gpointer self);

/* For an operation that could not be started: the callback is called later. Takes both. */
void async_result_fail(AsyncResult *self, GError *error);

/* For the function that finishes the operation. */
gboolean async_result_is_valid(GAsyncResult *result, gpointer source, gconstpointer tag);

/* Returns the pointer, owned, or NULL and maybe an error. */
gpointer async_result_take(GAsyncResult *result, GError **error);
