/* SPDX-FileCopyrightText: 2026 The WebLocks for D-Bus authors
 * SPDX-License-Identifier: LGPL-2.1-or-later */

/* Functions of WebLocksLockInfo that are private to the library: infos are created from replies or
 * from other infos, and have details that only monitors use.
 *
 * Those of a monitor change with the lock or request; others never do.
 * Functions that return a WebLocksLockInfo return a new reference. */

#pragma once

#include <weblocks/weblocks.h>

struct _WebLocksLockInfo {
    GObject parent;
    WebLocksManager *manager; /* NULL: of a query */
    char *name;
    WebLocksMode mode;
    guint slots;
    gboolean held;
    char *client_id;
    guint64 token;
    char *why;
    guint64 id;
    guint64 key;  /* of a request of the caller; 0: of another client */
    gint64 since; /* in microseconds */
    guint pid;
    char *process;
    char *command; /* the option `for` */
    char *who;     /* NULL: nobody has asked for it yet */
    guint who_pid; /* if `who` is known */
    char *application;
    guint uid;
    guint position;
    char **blocked_by;
    guint64 cursor; /* the filter `after` of Inspect for the page after this entry */
    guint64 rank;   /* of the bucket, if this is of a monitor */
    guint64 order;  /* in the bucket, likewise */
};

/* From one entry of Query. */
WebLocksLockInfo *web_locks_lock_info_new_from_query(const char *name,
                                                     const char *mode,
                                                     const char *client_id,
                                                     gboolean held);

/* From one entry of Inspect: "a{sv}". NULL: it is not of this contract. */
WebLocksLockInfo *web_locks_lock_info_new_from_inspect(GVariant *entry);

/* Whether this is what another host of a cluster holds or waits for. */
gboolean web_locks_lock_info_is_of_another_host(WebLocksLockInfo *self);

/* Finds `who` and `who_pid` out, unless they are known. Reads small files of /proc, and a desktop
 * entry. */
void web_locks_lock_info_find_who(WebLocksLockInfo *self);

/* The order of a monitor's lists: by the rank of the bucket, and by the order in it. */
int web_locks_lock_info_compare(gpointer self, gpointer other);

/* What a grant or a downgrade changes. */
typedef struct {
    gboolean held;
    WebLocksMode mode;
    guint slots;
    guint64 token;
    gint64 since; /* as web_locks_lock_info_get_since() */
} LockState;

LockState web_locks_lock_info_get_state(const WebLocksLockInfo *self);

/* These change the properties. If something has changed, they freeze "notify", and add the info to
 * `frozen`. */
void
web_locks_lock_info_set_state(WebLocksLockInfo *self, const LockState *state, GPtrArray *frozen);
void web_locks_lock_info_set_queued(WebLocksLockInfo *self,
                                    guint position,
                                    const char *const *blocked_by,
                                    GPtrArray *frozen);
