/* SPDX-FileCopyrightText: 2026 The WebLocks for D-Bus authors
 * SPDX-License-Identifier: LGPL-2.1-or-later */

/* The result of an asynchronous operation, in place of a GTask. That costs twice as much, and the
 * first one in a process starts GLib's worker thread. */

#pragma once

#include <gio/gio.h>

typedef struct WebLocksAsyncResult AsyncResult;
G_DEFINE_AUTOPTR_CLEANUP_FUNC(AsyncResult, g_object_unref)

GType async_result_get_type(void);

/* `callback`, which may be NULL, is called in the context that is thread-default now. `source` may
 * be NULL; `tag` is the function that starts the operation. */
AsyncResult *async_result_new(gpointer source,
                              gconstpointer tag,
                              GCancellable *cancellable,
                              GAsyncReadyCallback callback,
                              gpointer data);

/* Data of the operation, which is freed with the result. */
void async_result_set_data(AsyncResult *self, gpointer data, GDestroyNotify data_free);
gpointer async_result_get_data(const AsyncResult *self);

gpointer async_result_get_source(const AsyncResult *self);
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

/* Completes an operation in any thread: the callback is called later. Takes all arguments. */
void async_result_return(AsyncResult *self,
                         gpointer pointer,
                         GDestroyNotify pointer_free,
                         GError *error);

/* For the function that finishes the operation. */
gboolean async_result_is_valid(GAsyncResult *result, gpointer source, gconstpointer tag);

/* Returns the pointer, owned, or NULL and maybe an error. */
gpointer async_result_take(GAsyncResult *result, GError **error);

/* Define the public function that finishes an operation: FUNCTION_finish(). It returns the pointer,
 * or whether there is one. NOLINTBEGIN(bugprone-macro-parentheses): a type can't have these. */
#define ASYNC_RESULT_FINISH(Type, Object, function)                                        \
    Type *function##_finish(Object *self, GAsyncResult *result, GError **error)            \
    {                                                                                      \
        g_return_val_if_fail(async_result_is_valid(result, self, function##_async), NULL); \
        return async_result_take(result, error);                                           \
    }
#define ASYNC_RESULT_FINISH_BOOLEAN(Object, function)                                       \
    gboolean function##_finish(Object *self, GAsyncResult *result, GError **error)          \
    {                                                                                       \
        g_return_val_if_fail(async_result_is_valid(result, self, function##_async), FALSE); \
        return async_result_take(result, error) != NULL;                                    \
    }
/* NOLINTEND(bugprone-macro-parentheses) */
