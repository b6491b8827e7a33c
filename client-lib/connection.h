/* SPDX-FileCopyrightText: 2026 The WebLocks for D-Bus authors
 * SPDX-License-Identifier: LGPL-2.1-or-later */

/* The bus connection of an agent: what it sends, whom it believes, when it may call out.
 *
 * - All of it is touched inside its gate only: connection_run(). So any thread may use it. Messages
 *   are processed by whoever comes by: the context that was thread-default when the connection was
 *   made, or a sync call.
 * - Nothing of the application runs inside. Messages change state at once; results leave by
 *   tickets, signals by connection_emit().
 * - What a message says is believed only from the owner of the service's name and from the bus.
 * - It opens with the first call that needs it. Once closed it stays closed: a clientId isn't used
 *   again [2.4].
 * - A child after fork() may only let go of it, which sends nothing.
 *
 * Held by the agent, by each hold, and by each call that has no answer yet; the last reference
 * closes it. References may be dropped in any thread. */

#pragma once

#include <gio/gio.h>

#include "client-lib/gate.h"
#include "client-lib/ledger.h"
#include "client-lib/resync.h"
#include "client-lib/route.h"
#include "client-lib/wire.h"
#include "common/sd-bus.h"

typedef void (*ConnectionFunc)(gpointer data);

/* `address` wins over `bus_type` unless NULL. `use_socket`: not everything goes through the bus. No
 * I/O. */
Connection *connection_new(GBusType bus_type, const char *address, gboolean use_socket);
Connection *connection_ref(Connection *self);
void connection_unref(Connection *self);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(Connection, connection_unref)

/* ---- from any thread */

/* Into the gate, and out of it. The connection lives from enter to leave. */
void connection_enter(Connection *self);
void connection_leave(Connection *self);

/* Runs `func` inside. */
void connection_run(Connection *self, ConnectionFunc func, gpointer data);

/* Closes it for good; all that is held or awaited ends. */
void connection_close(Connection *self);

gboolean connection_is_open(const Connection *self);

/* It was closed, or ended, or is another process's: it can't be used any more. */
gboolean connection_is_over(const Connection *self);

/* Whether somebody owns the service's name. */
gboolean connection_is_served(Connection *self);

/* Whether this process made it: FALSE in the child of a fork. */
gboolean connection_is_of_this_process(const Connection *self);

/* NULL until the bus has said it. */
const char *connection_get_client_id(const Connection *self);

/* Whether there are requests that nobody waits for any more, and that the service has not
 * confirmed. */
gboolean connection_has_abandoned(const Connection *self);

/* Where its signals are emitted. */
GMainContext *connection_get_context(const Connection *self);

/* Calls `func` from that context, never from within a sync call, then `destroy`. */
void connection_emit(Connection *self, ConnectionFunc func, gpointer data, GDestroyNotify destroy);

/* ---- inside the gate */

Gate *connection_get_gate(const Connection *self);

/* Opens it if it isn't open. FALSE: closed, of another process, or there is no bus. Messages can be
 * sent on TRUE; they wait in sd-bus until the bus has said hello. */
gboolean connection_open(Connection *self, GError **error);

/* `func` is called once, when the bus has said who we are and who serves, or never will; at once if
 * that is so. */
void connection_when_settled(Connection *self, ConnectionFunc func, gpointer data);

/* `changed` is called when it opened or closed, until the connection is freed; set it once. */
void connection_set_watcher(Connection *self,
                            ConnectionFunc changed,
                            gpointer data,
                            GDestroyNotify destroy);

sd_bus *connection_get_bus(const Connection *self);
Route *connection_get_route(const Connection *self);
Ledger *connection_get_ledger(const Connection *self);
Resync *connection_get_resync(const Connection *self);

/* A key for a request, not used before on this connection. */
guint64 connection_next_key(Connection *self);

/* A request was given up; the service has confirmed it. */
void connection_add_abandoned(Connection *self);
void connection_remove_abandoned(Connection *self);

/* Whether a message comes from the service; from the service or the bus. */
gboolean connection_believes_signal(const Connection *self, sd_bus_message *signal);
gboolean connection_believes_reply(const Connection *self, sd_bus_message *reply);

/* Unique name of the service; NULL: nobody serves. */
const char *connection_get_owner(const Connection *self);

/* How often the service's name has changed its owner. */
guint connection_get_owner_changes(const Connection *self);

/* Tells a result from `context`: `func`, then `destroy`. It calls connection_remove_untold(). */
void connection_tell(Connection *self,
                     GMainContext *context,
                     ConnectionFunc func,
                     gpointer data,
                     GDestroyNotify destroy);
void connection_remove_untold(Connection *self); /* from anywhere */

/* ---- inside the gate, for sync.c */

/* What to wait for, if there is nothing to be processed: the bus, and the private socket. */
typedef struct {
    struct pollfd fds[2];
    gint64 until_us; /* of the monotonic clock; G_MAXINT64: for ever */
} ConnectionPoll;
void connection_get_poll(const Connection *self, ConnectionPoll *wanted);

/* Processes a message, if there is one; or ends the connection, if that is all there is. Only of
 * what is `ready`, unless that is NULL. */
gboolean connection_process(Connection *self, const ConnectionPoll *ready);

/* A thread that waits outside the gate, to be woken by a descriptor of its own. */
typedef struct {
    GList link;
    int wake_fd;
} ConnectionWaiter;
void connection_add_waiter(Connection *self, ConnectionWaiter *waiter);
void connection_remove_waiter(Connection *self, ConnectionWaiter *waiter);
void connection_wake(const ConnectionWaiter *waiter);

/* ---- inside the gate, for wire.c and route.c */

/* The first result of a batch may be left in `lone`. */
void connection_begin_batch(Connection *self, LoneResult *lone);
void connection_end_batch(Connection *self);

/* Takes in the signals that come by the private socket. */
int connection_listen(Connection *self, sd_bus *socket);

/* It is known whether there is a connection, and which way it goes. Nothing the second time. */
void connection_settle(Connection *self);

/* There is another set of sockets to wait for. */
void connection_wires_changed(Connection *self);

/* ---- inside the gate, for all that lives with the connection */

/* Part of what lives with the connection. `end` is called when the connection ends, and takes it
 * out; `owner_changed`, which may be NULL, when the service's name has another owner, or none. */
typedef struct ConnectionPart ConnectionPart;
struct ConnectionPart {
    GList link;
    void (*end)(ConnectionPart *part, const GError *error);
    void (*owner_changed)(ConnectionPart *part);
};
void connection_add_part(Connection *self, ConnectionPart *part);
void connection_remove_part(Connection *self, ConnectionPart *part);
