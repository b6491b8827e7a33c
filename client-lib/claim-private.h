/* SPDX-FileCopyrightText: 2026 The WebLocks for D-Bus authors
 * SPDX-License-Identifier: LGPL-2.1-or-later */

/* What the files of WebLocksClaim share. Each calls only those after it: the class and its settings
 * (claim.c), taking the lock over (claim-take-over.c), the states and how one leads to the next
 * (claim-state.c), what a claim shows while it waits (claim-queue.c), and the lock that is claimed
 * (claim-document.c). */

#pragma once

#include <weblocks/weblocks.h>

#include "client-lib/engine/async-result.h"
#include "client-lib/property-private.h"

/* A weak reference, with the context of the claim; usable in any thread. */
typedef struct {
    GWeakRef claim;
    GMainContext *context;
} ClaimRef;

typedef struct ClaimTake ClaimTake;

struct _WebLocksClaim {
    GObject parent;
    WebLocksAgent *agent;
    GFile *file;              /* NULL: the next two are given by the application */
    WebLocksManager *manager; /* NULL: the file has not been opened yet; as is the name */
    char *name;
    gboolean excludes_all;
    guint n_reopened;
    WebLocksMode mode;
    char *why;
    gboolean reclaim;
    guint grace;

    ClaimRef *ref;
    WebLocksClaimState state;
    GError *error;
    AsyncResult *request;      /* while waiting, also for a service; its data is `ref` */
    GCancellable *cancellable; /* of `request` */
    gboolean is_patient;       /* `request` also waits for a service */
    guint64 key;               /* of `request` at the service */
    WebLocksMonitor *monitor;  /* of the name, while `request` is queued */
    WebLocksLockInfo *holder;
    guint position;
    WebLocksLock *granted; /* of `request`, until the take-over has finished */
    WebLocksLock *lock;    /* while held */
    gboolean held;
    guint64 token;        /* of `lock` */
    gboolean wanted;      /* of `lock`, as last notified */
    ClaimTake *taking;    /* the take-over that is going on, borrowed; NULL: none */
    gboolean is_stealing; /* it does not only ask */
};

#define GETTER(Type, name, if_fail) \
    PROPERTY_GETTER(WebLocksClaim, web_locks_claim, WEB_LOCKS_IS_CLAIM, Type, name, name, if_fail)

/* ---- claim-state.c */

ClaimRef *claim_ref_new(WebLocksClaim *claim);
void claim_ref_unref(gpointer self);

/* Returns new options for a request of the claim. */
WebLocksOptions *web_locks_claim_make_options(const WebLocksClaim *self, gboolean steal);

/* Enters the state HELD with the lock, which may have been lost already. */
void web_locks_claim_hold(WebLocksClaim *self, WebLocksLock *lock);

/* Aborts the request, or releases the lock, when the claim is disposed. */
void web_locks_claim_drop(WebLocksClaim *self);

/* ---- claim-queue.c */

/* Shows the holder and the position of the request with `key`, until
 * web_locks_claim_stop_watching(). Does nothing if the queue is watched already. */
void web_locks_claim_watch_queue(WebLocksClaim *self);
void web_locks_claim_stop_watching(WebLocksClaim *self);

/* ---- claim-document.c */

/* Opens the document of the claim. `callback` is called in the context of the claim. */
void web_locks_claim_open_document(WebLocksClaim *self,
                                   GCancellable *cancellable,
                                   GAsyncReadyCallback callback,
                                   gpointer data);

/* Returns whether it was opened; then the manager and the name are known. */
gboolean web_locks_claim_finish_opening(WebLocksClaim *self,
                                        GObject *agent,
                                        GAsyncResult *result,
                                        GError **error);
