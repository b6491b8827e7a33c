/* SPDX-FileCopyrightText: 2026 The WebLocks for D-Bus authors
 * SPDX-License-Identifier: LGPL-2.1-or-later */

#include "client-lib/snapshot-private.h"

#include "client-lib/property-private.h"

/**
 * WebLocksSnapshot:
 *
 * The held locks and pending requests of a storage bucket at one moment (section 4.5 of the
 * standard).
 *
 * Since: 0.1
 */
struct _WebLocksSnapshot {
    GObject parent;
    GListModel *held;
    GListModel *pending;
};

G_DEFINE_FINAL_TYPE(WebLocksSnapshot, web_locks_snapshot, G_TYPE_OBJECT)

#define INSTALL(member, type, name, ...) \
    PROPERTY_INSTALL(WebLocksSnapshot, member, type, name, __VA_ARGS__, flags)
#define GETTER(Type, name, if_fail)                                                                \
    PROPERTY_GETTER(WebLocksSnapshot, web_locks_snapshot, WEB_LOCKS_IS_SNAPSHOT, Type, name, name, \
                    if_fail)

WebLocksSnapshot *
web_locks_snapshot_new(GListModel *held, GListModel *pending)
{
    WebLocksSnapshot *self = g_object_new(WEB_LOCKS_TYPE_SNAPSHOT, NULL);

    g_set_object(&self->held, held);
    g_set_object(&self->pending, pending);
    return self;
}

/**
 * web_locks_snapshot_get_held:
 * @self: a snapshot
 *
 * Gets the held locks.
 *
 * Returns: (transfer none): a list model of [class@WebLocks.LockInfo]
 * Since: 0.1
 */
GETTER(GListModel *, held, NULL)

/**
 * web_locks_snapshot_get_pending:
 * @self: a snapshot
 *
 * Gets the pending requests. Those for the same name are in queue order.
 *
 * Returns: (transfer none): a list model of [class@WebLocks.LockInfo]
 * Since: 0.1
 */
GETTER(GListModel *, pending, NULL)

static void
web_locks_snapshot_finalize(GObject *object)
{
    WebLocksSnapshot *self = WEB_LOCKS_SNAPSHOT(object);

    g_object_unref(self->held);
    g_object_unref(self->pending);
    G_OBJECT_CLASS(web_locks_snapshot_parent_class)->finalize(object);
}

static void
web_locks_snapshot_class_init(WebLocksSnapshotClass *class)
{
    GObjectClass *object_class = G_OBJECT_CLASS(class);
    const GParamFlags flags = G_PARAM_READABLE | G_PARAM_STATIC_STRINGS;

    object_class->get_property = property_get;
    object_class->finalize = web_locks_snapshot_finalize;

    /**
     * WebLocksSnapshot:held:
     *
     * The held locks: a list model of [class@WebLocks.LockInfo].
     *
     * Since: 0.1
     */
    INSTALL(held, object, "held", G_TYPE_LIST_MODEL);
    /**
     * WebLocksSnapshot:pending:
     *
     * The pending requests: a list model of [class@WebLocks.LockInfo].
     *
     * Since: 0.1
     */
    INSTALL(pending, object, "pending", G_TYPE_LIST_MODEL);
}

static void
web_locks_snapshot_init(WebLocksSnapshot *self)
{
    self->held = G_LIST_MODEL(g_list_store_new(WEB_LOCKS_TYPE_LOCK_INFO));
    self->pending = G_LIST_MODEL(g_list_store_new(WEB_LOCKS_TYPE_LOCK_INFO));
}
