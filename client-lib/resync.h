/* SPDX-FileCopyrightText: 2026 The WebLocks for D-Bus authors
 * SPDX-License-Identifier: LGPL-2.1-or-later */

/* What keeps a connection in step with the service, over the service's death and return.
 *
 * The service keeps its state when it dies, so its death is a pause: what is held stays held, what
 * waits goes on waiting. When the service's name has another owner, that one is first asked for all
 * that it has of us: Resync, which also starts it, if the bus can. Until it has answered, nothing
 * else is said to it; all that is to be said is kept. Then, in this order:
 *
 * 1. What it has is compared with the ledger: what was granted meanwhile is held, what is missing
 *    is lost, or asked for again if it waited.
 * 2. What it has and nobody here wants is given back.
 * 3. What had no answer, and what was kept, is said in the order in which it was said at first; a
 *    request with its old key, so that it is never queued twice.
 *
 * Hence the promise to the application: what one connection asks for, it gets in the order in which
 * it asked, whatever became of the service in between. That is why all goes to the owner of the
 * name that we know of, by its unique name: what is said to one that has just died must not reach
 * its successor before the question.
 *
 * A connection on which somebody waits also asks now and then: a signal may have got lost.
 *
 * All of it inside the connection's gate. */

#pragma once

#include "client-lib/wire.h"

typedef struct Resync Resync;

/* Something that was or will be said, and has no answer yet. Part of a call. */
typedef struct {
    /* To be said again, or for the first time; and that it can't be, for now. They take it out. */
    void (*say)(gpointer call);
    void (*give_up)(gpointer call, const GError *error);
    gpointer call;
    gint64 patience_us; /* it is given up if it is kept longer; 0: if nobody can be had to serve */

    /* resync.c's; others may look */
    gboolean is_kept; /* until the service is in step again */
    gboolean is_sent; /* the service may know of it */
    GList link;
    GQueue *queue;
    guint64 number;
    guint n_owner_changes; /* when it was said */
} ResyncItem;

Resync *resync_new(Connection *connection);
void resync_free(Resync *self);

/* It is all over. */
void resync_close(Resync *self);

/* The service's name has another owner, or none; `was_served`: it had one. Then, when the way to it
 * is known, what there is to do about that. */
void resync_owner_changed(Resync *self, gboolean was_served);
void resync_go_on(Resync *self);

/* Whether what is said now is understood by the service. */
gboolean resync_may_send(Resync *self);

/* And whether all has been said that was kept. */
gboolean resync_is_in_step(const Resync *self);

/* It is about to be said, if resync_may_send(), or is kept. */
void resync_add(Resync *self, ResyncItem *item);
void resync_remove(Resync *self, ResyncItem *item);

/* There won't be an answer. `is_sent`: it may have been read all the same. */
void resync_keep(Resync *self, ResyncItem *item, gboolean is_sent);

/* The same, of one that is kept until the service's next owner is there: this one is leaving. */
void resync_add_for_next(Resync *self, ResyncItem *item);

/* Something is let go without asking for an answer, or without being able to say so. */
void resync_forget(Resync *self);

/* The service has answered: it has read all that was said before. */
void resync_confirm(Resync *self, const ResyncItem *item);

/* The keys of requests that somebody has an interest in; they are borrowed. */
void resync_add_key(Resync *self, const guint64 *key);
void resync_remove_key(Resync *self, const guint64 *key);

/* Somebody begins to wait for a signal. */
void resync_watch_over(Resync *self);

/* When there is something to do, without a message; G_MAXINT64: never. */
gint64 resync_get_time(const Resync *self);

/* Does it, if it is time. */
gboolean resync_tick(Resync *self);
