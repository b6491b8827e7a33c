/* SPDX-FileCopyrightText: 2026 The WebLocks for D-Bus authors
 * SPDX-License-Identifier: LGPL-2.1-or-later */

#include "client-lib/engine/async-result.h"

/* The name of the type, which is the same for the whole process. */
typedef struct WebLocksAsyncResult WebLocksAsyncResult;

struct WebLocksAsyncResult {
    GObject parent;
    GObject *source; /* NULL: none */
    gconstpointer tag;
    GMainContext *context;
    GCancellable *cancellable; /* NULL: none */
    GAsyncReadyCallback callback;
    gpointer callback_data;
    gpointer data;
    GDestroyNotify data_free;

    gpointer pointer;
    GDestroyNotify pointer_free;
    GError *error;
    gboolean checks_cancellable;
};

typedef struct {
    GObjectClass parent;
} WebLocksAsyncResultClass;

static void async_result_iface_init(GAsyncResultIface *iface);

G_DEFINE_FINAL_TYPE_WITH_CODE(WebLocksAsyncResult,
                              async_result,
                              G_TYPE_OBJECT,
                              G_IMPLEMENT_INTERFACE(G_TYPE_ASYNC_RESULT, async_result_iface_init))

AsyncResult *
async_result_new(gpointer source,
                 gconstpointer tag,
                 GCancellable *cancellable,
                 GAsyncReadyCallback callback,
                 gpointer data)
{
    AsyncResult *self = g_object_new(async_result_get_type(), NULL);

    self->source = source != NULL ? g_object_ref(source) : NULL;
    self->tag = tag;
    self->context = g_main_context_ref_thread_default();
    self->cancellable = cancellable != NULL ? g_object_ref(cancellable) : NULL;
    self->callback = callback;
    self->callback_data = data;
    return self;
}

void
async_result_set_data(AsyncResult *self, gpointer data, GDestroyNotify data_free)
{
    self->data = data;
    self->data_free = data_free;
}

gpointer
async_result_get_data(const AsyncResult *self)
{
    return self->data;
}

gpointer
async_result_get_source(const AsyncResult *self)
{
    return self->source;
}

GMainContext *
async_result_get_context(const AsyncResult *self)
{
    return self->context;
}

GCancellable *
async_result_get_cancellable(const AsyncResult *self)
{
    return self->cancellable;
}

void
async_result_set(AsyncResult *self,
                 gpointer pointer,
                 GDestroyNotify pointer_free,
                 GError *error,
                 gboolean checks_cancellable)
{
    self->pointer = pointer;
    self->pointer_free = pointer_free;
    self->error = error;
    self->checks_cancellable = checks_cancellable;
}

static void
clear_pointer(AsyncResult *self)
{
    if (self->pointer != NULL && self->pointer_free != NULL)
        self->pointer_free(self->pointer);
    self->pointer = NULL;
}

void
async_result_run(gpointer data)
{
    AsyncResult *self = data;

    /* It was cancelled after completion: release a granted lock now, not when this is freed. */
    if (self->error == NULL && self->checks_cancellable &&
        g_cancellable_set_error_if_cancelled(self->cancellable, &self->error))
        clear_pointer(self);
    if (self->callback != NULL)
        self->callback(self->source, (GAsyncResult *)(gpointer)self, self->callback_data);
}

static gboolean
on_idle(gpointer data)
{
    async_result_run(data);
    return G_SOURCE_REMOVE;
}

void
async_result_return(AsyncResult *self, gpointer pointer, GDestroyNotify pointer_free, GError *error)
{
    g_autoptr(GSource) source = g_idle_source_new();

    async_result_set(self, pointer, pointer_free, error, FALSE);
    g_source_set_static_name(source, "weblocks-result");
    g_source_set_priority(source, G_PRIORITY_DEFAULT);
    g_source_set_callback(source, on_idle, self, g_object_unref);
    g_source_attach(source, self->context);
}

gboolean
async_result_is_valid(GAsyncResult *result, gpointer source, gconstpointer tag)
{
    const AsyncResult *self;

    if (!G_TYPE_CHECK_INSTANCE_TYPE(result, async_result_get_type()))
        return FALSE;
    self = (const AsyncResult *)(gpointer)result;
    return self->source == source && self->tag == tag;
}

gpointer
async_result_take(GAsyncResult *result, GError **error)
{
    AsyncResult *self = (AsyncResult *)(gpointer)result;

    if (self->error != NULL)
        g_propagate_error(error, g_steal_pointer(&self->error));
    return g_steal_pointer(&self->pointer);
}

/* ---- the object */

static gpointer
get_user_data(GAsyncResult *result)
{
    return ((AsyncResult *)(gpointer)result)->callback_data;
}

static GObject *
get_source_object(GAsyncResult *result)
{
    GObject *source = ((AsyncResult *)(gpointer)result)->source;

    return source != NULL ? g_object_ref(source) : NULL;
}

static gboolean
is_tagged(GAsyncResult *result, gpointer tag)
{
    return ((const AsyncResult *)(gpointer)result)->tag == tag;
}

static void
async_result_iface_init(GAsyncResultIface *iface)
{
    iface->get_user_data = get_user_data;
    iface->get_source_object = get_source_object;
    iface->is_tagged = is_tagged;
}

/* Only signal handlers and weak references would be cleared here. g_object_unref() does that after
 * it, once more. */
static void
async_result_dispose(GObject *object)
{
}

static void
async_result_finalize(GObject *object)
{
    AsyncResult *self = (AsyncResult *)object;

    clear_pointer(self);
    g_clear_error(&self->error);
    if (self->data_free != NULL)
        self->data_free(self->data);
    g_clear_object(&self->source);
    g_main_context_unref(self->context);
    g_clear_object(&self->cancellable);
    G_OBJECT_CLASS(async_result_parent_class)->finalize(object);
}

static void
async_result_class_init(WebLocksAsyncResultClass *class)
{
    G_OBJECT_CLASS(class)->dispose = async_result_dispose;
    G_OBJECT_CLASS(class)->finalize = async_result_finalize;
}

static void
async_result_init(WebLocksAsyncResult *self)
{
}
