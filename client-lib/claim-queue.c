/* SPDX-FileCopyrightText: 2026 The WebLocks for D-Bus authors
 * SPDX-License-Identifier: LGPL-2.1-or-later */

/* What a claim shows while it waits. The queue is watched from the moment when the service has
 * queued the request, until the request ends. So a lock that is granted immediately costs nothing
 * more. */

#include "config.h"

#include "client-lib/claim-private.h"
#include "client-lib/lock-info-private.h"
#include "client-lib/monitor-private.h"
#include "common/bus-names.h"

static void
show_queue(WebLocksClaim *self, WebLocksLockInfo *holder, guint position)
{
    g_object_freeze_notify(G_OBJECT(self));
    property_change(self, "holder", &holder);
    property_change(self, "position", &position);
    g_object_thaw_notify(G_OBJECT(self));
}

static void
on_queue_changed(WebLocksClaim *self)
{
    GListModel *pending = web_locks_monitor_get_pending(self->monitor);
    g_autoptr(WebLocksLockInfo) holder =
        g_list_model_get_item(web_locks_monitor_get_held(self->monitor), 0);
    guint position = 0;

    for (guint i = 0; i < g_list_model_get_n_items(pending); i++) {
        g_autoptr(WebLocksLockInfo) info = g_list_model_get_item(pending, i);

        if (info->key == self->key)
            position = web_locks_lock_info_get_position(info);
    }
    show_queue(self, holder, position);
}

void
web_locks_claim_watch_queue(WebLocksClaim *self)
{
    /* Documents of the user can't be watched from a sandbox. */
    if (self->monitor != NULL ||
        g_str_equal(web_locks_manager_get_bucket(self->manager), BUS_USER_DOCUMENTS_BUCKET))
        return;
    self->monitor = web_locks_monitor_new_of_name(self->manager, self->name, self->ref->context);
    g_signal_connect_swapped(self->monitor, "changed", G_CALLBACK(on_queue_changed), self);
}

void
web_locks_claim_stop_watching(WebLocksClaim *self)
{
    if (self->monitor != NULL)
        g_signal_handlers_disconnect_by_data(self->monitor, self);
    g_clear_object(&self->monitor);
    show_queue(self, NULL, 0);
}

/**
 * web_locks_claim_get_holder:
 * @self: a claim
 *
 * Gets the holder of the lock while the claim waits; if it is shared by several,
 * the first of them. It may be this process, by another claim or lock. It is not known before the
 * service has replied.
 *
 * Returns: (transfer none) (nullable): the holder's lock; %NULL if the claim doesn't wait
 * Since: 0.1
 */
GETTER(WebLocksLockInfo *, holder, NULL)

/**
 * web_locks_claim_get_position:
 * @self: a claim
 *
 * Gets the position in the queue while the claim waits: 1 is next.
 *
 * Returns: the position; 0 if the claim doesn't wait, or that is not known yet
 * Since: 0.1
 */
GETTER(guint, position, 0)
