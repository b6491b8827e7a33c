/* SPDX-FileCopyrightText: 2026 The WebLocks for D-Bus authors
 * SPDX-License-Identifier: LGPL-2.1-or-later */

#include "client-lib/post.h"

typedef struct {
    void (*func)(gpointer data);
    gpointer data;
    GDestroyNotify destroy;
} Parcel;

static gboolean
parcel_deliver(gpointer data)
{
    const Parcel *parcel = data;

    parcel->func(parcel->data);
    return G_SOURCE_REMOVE;
}

static void
parcel_free(gpointer data)
{
    Parcel *parcel = data;

    if (parcel->destroy != NULL)
        parcel->destroy(parcel->data);
    g_free(parcel);
}

void
post_to_context(GMainContext *context,
                void (*func)(gpointer data),
                gpointer data,
                GDestroyNotify destroy)
{
    g_autoptr(GSource) source = g_idle_source_new();
    Parcel *parcel = g_new(Parcel, 1);

    parcel->func = func;
    parcel->data = data;
    parcel->destroy = destroy;
    g_source_set_static_name(source, "weblocks");
    g_source_set_priority(source, G_PRIORITY_DEFAULT);
    g_source_set_callback(source, parcel_deliver, parcel, parcel_free);
    g_source_attach(source, context);
    /* cppcheck-suppress memleak ; the source has it */
}
