/* SPDX-FileCopyrightText: 2026 The WebLocks for D-Bus authors
 * SPDX-License-Identifier: LGPL-2.1-or-later */

/* The bus connection of an agent: what it sends, whom it believes, when it may call out.
 *
 * - It belongs to the main context that was thread-default when it was made. Whoever has acquired
 *   that context may touch it; connection_run() gets others there. So it needs no locks.
 * - Nothing of the application runs while sd-bus processes a message. Handlers change state at once
 *   and leave the telling to connection_defer() (results) and connection_emit() (signals).
 * - What a message says is believed only from the owner of the service's name and from the bus.
 * - It opens with the first call that needs it. Once closed it stays closed: a clientId isn't used
 *   again [2.4].
 * - A child after fork() may only let go of it, which sends nothing.
 *
 * Held by the agent, by each hold, and by each call that has no answer yet; the last reference
 * closes it. References may be dropped in any thread. */

#pragma once

#include <gio/gio.h>

#include "client-lib/ledger.h"
#include "common/sd-bus.h"

typedef struct Connection Connection;

typedef void (*ConnectionFunc)(gpointer data);

/* `address` wins over `bus_type` unless NULL. No I/O. */
Connection *connection_new(GBusType bus_type, const char *address);
Connection *connection_ref(Connection *self);
void connection_unref(Connection *self);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(Connection, connection_unref)

/* Opens it if it isn't open. FALSE: closed, of another process, or there is no bus. Messages can be
 * sent on TRUE; they wait in sd-bus until the bus has said hello. */
gboolean connection_open(Connection *self, GError **error);

/* `func` is called once, when the bus has said who we are and who serves, or never will. */
void connection_when_settled(Connection *self, ConnectionFunc func, gpointer data);

/* Closes it for good; all that is held or awaited ends. */
void connection_close(Connection *self);

gboolean connection_is_open(const Connection *self);

/* It was closed, or ended, or is another process's: it can't be used any more. */
gboolean connection_is_over(const Connection *self);

/* NULL until the bus has said it. */
const char *connection_get_client_id(const Connection *self);

/* `changed` is called when it opened or closed, until the connection is freed; set it once. */
void connection_set_watcher(Connection *self,
                            ConnectionFunc changed,
                            gpointer data,
                            GDestroyNotify destroy);

/* Whether this process made it: FALSE in the child of a fork. */
gboolean connection_is_of_this_process(const Connection *self);

sd_bus *connection_get_bus(const Connection *self);
Ledger *connection_get_ledger(const Connection *self);

/* A key for a request, not used before on this connection. */
guint64 connection_next_key(Connection *self);

GMainContext *connection_get_context(const Connection *self);

/* Where events of the connection are processed right now: its context, but a sync call's context
 * while one runs. */
GMainContext *connection_get_dispatch_context(const Connection *self);

/* Whether a message comes from the service; from the service or the bus. */
gboolean connection_believes_signal(const Connection *self, sd_bus_message *signal);
gboolean connection_believes_reply(const Connection *self, sd_bus_message *reply);

/* Runs `func`, now if this thread has or gets the connection's context, else when that context runs
 * next; then `destroy`, which may be NULL. */
void connection_run(Connection *self, ConnectionFunc func, gpointer data, GDestroyNotify destroy);

/* Runs `func` when the messages at hand are processed: for results, which GTask brings to the
 * context they belong to. */
void connection_defer(Connection *self, ConnectionFunc func, gpointer data);

/* Runs `func` from the connection's context, never from within a sync call: for signals. */
void connection_emit(Connection *self, ConnectionFunc func, gpointer data, GDestroyNotify destroy);

/* How often the service's name has changed its owner. */
guint connection_get_owner_changes(const Connection *self);

/* `func` is called once, when the service's name changes its owner, or the connection ends. */
void connection_when_owner_changes(Connection *self, ConnectionFunc func, gpointer data);

/* For sync.c: from begin to end the connection's events are processed by the context returned
 * (borrowed), and its own context is acquired. NULL: another thread has that. */
GMainContext *connection_begin_sync(Connection *self);
void connection_end_sync(Connection *self);

/* For call.c: an answer is being processed. */
void connection_begin_batch(Connection *self);

/* Part of what has to end when the connection does; `end` takes it out. */
typedef struct ConnectionPart ConnectionPart;
struct ConnectionPart {
    GList link;
    void (*end)(ConnectionPart *part, const GError *error);
};
void connection_add_part(Connection *self, ConnectionPart *part);
void connection_remove_part(Connection *self, ConnectionPart *part);
