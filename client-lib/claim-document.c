/* SPDX-FileCopyrightText: 2026 The WebLocks for D-Bus authors
 * SPDX-License-Identifier: LGPL-2.1-or-later */

/* The lock that is claimed: given by the application, or found out by opening a document. */

#include "config.h"

#include "client-lib/claim-private.h"

static void
set_lock(WebLocksClaim *self, WebLocksManager *manager, const char *name, gboolean excludes_all)
{
    g_object_freeze_notify(G_OBJECT(self));
    /* Another manager of the same bucket is the same. */
    if (self->manager == NULL || !g_str_equal(web_locks_manager_get_bucket(self->manager),
                                              web_locks_manager_get_bucket(manager)))
        property_change(self, "manager", &manager);
    property_change(self, "name", &name);
    property_change(self, "excludes-all", &excludes_all);
    g_object_thaw_notify(G_OBJECT(self));
}

void
web_locks_claim_open_document(WebLocksClaim *self,
                              GCancellable *cancellable,
                              GAsyncReadyCallback callback,
                              gpointer data)
{
    g_main_context_push_thread_default(self->ref->context);
    web_locks_agent_open_document_async(self->agent, self->file, cancellable, callback, data);
    g_main_context_pop_thread_default(self->ref->context);
}

gboolean
web_locks_claim_finish_opening(WebLocksClaim *self,
                               GObject *agent,
                               GAsyncResult *result,
                               GError **error)
{
    gboolean excludes_all;
    g_autofree char *name = NULL;
    g_autoptr(WebLocksManager) manager = web_locks_agent_open_document_finish(
        WEB_LOCKS_AGENT(agent), result, &name, &excludes_all, error);

    if (manager == NULL)
        return FALSE;
    set_lock(self, manager, name, excludes_all);
    return TRUE;
}

/**
 * web_locks_claim_get_manager:
 * @self: a claim
 *
 * Gets the bucket.
 *
 * Returns: (transfer none) (nullable): the manager; %NULL if the document has not been opened yet
 * Since: 0.1
 */
GETTER(WebLocksManager *, manager, NULL)

/**
 * web_locks_claim_get_name:
 * @self: a claim
 *
 * Gets the resource name (section 2.1 of the standard).
 *
 * Returns: (transfer none) (nullable): the name; %NULL if the document has not been opened yet
 * Since: 0.1
 */
GETTER(const char *, name, NULL)

/**
 * web_locks_claim_get_file:
 * @self: a claim
 *
 * Gets the document.
 *
 * Returns: (transfer none) (nullable): the document; %NULL if the claim is not on one
 * Since: 0.1
 */
GETTER(GFile *, file, NULL)

/**
 * web_locks_claim_get_excludes_all:
 * @self: a claim
 *
 * Gets whether the claim on a document excludes all editors of the user, or only those of this
 * application: see [property@WebLocks.Claim:excludes-all].
 *
 * Returns: whether it excludes all
 * Since: 0.1
 */
GETTER(gboolean, excludes_all, FALSE)
