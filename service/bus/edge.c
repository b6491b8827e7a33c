/* SPDX-FileCopyrightText: 2026 The WebLocks for D-Bus authors
 * SPDX-License-Identifier: LGPL-2.1-or-later */

#include "service/bus/edge.h"

#include "common/wire-names.h"
#include "service/fault.h"
#include "service/state/state.h"

/* Messages that sd-bus may have waiting for the bus's socket; it would take 393,216. */
#define BUS_QUEUED_MAX 1024

/* Of answers, before the turn ends; a private socket that is opened counts as a quarter of it. */
#define TURN_BYTES_MAX (256UL * 1024)

typedef struct {
    GSource parent;
    Edge *edge;
    void (*on_deadline)(Edge *edge);
} DeadlineSource;

static gboolean
deadline_dispatch(GSource *source, GSourceFunc callback, gpointer user_data)
{
    DeadlineSource *self = (DeadlineSource *)source;

    edge_tick(self->edge);
    self->on_deadline(self->edge);
    edge_end_turn(self->edge);
    return G_SOURCE_CONTINUE;
}

static GSourceFuncs deadline_funcs = {.dispatch = deadline_dispatch};

static GSource *
attach_deadline_source(Edge *edge, void (*on_deadline)(Edge *edge))
{
    GSource *source = g_source_new(&deadline_funcs, sizeof(DeadlineSource));
    DeadlineSource *self = (DeadlineSource *)source;

    g_source_set_static_name(source, "time-outs of requests");
    self->edge = edge;
    self->on_deadline = on_deadline;
    g_source_attach(source, NULL);
    return source;
}

static void
commit(Edge *edge)
{
    if (edge->state != NULL)
        state_commit(edge->state);
}

static void
commit_before_message(gpointer data)
{
    if (!fault_is(FAULT_SEND_BEFORE_COMMIT))
        commit(data);
}

void
edge_init(Edge *edge, sd_bus *bus, const Limits *limits, void (*on_deadline)(Edge *edge))
{
    g_queue_init(&edge->turn.outboxes);
    edge->turn.commit = commit_before_message;
    edge->turn.data = edge;
    g_queue_init(&edge->to_ping);
    edge->bus_link.edge = edge;
    edge->bus_link.bus = bus;
    outbox_init(&edge->bus_link.outbox, bus, BUS_QUEUED_MAX, &edge->turn);
    edge->verbose = g_log_get_debug_enabled();
    user_agent_init(&edge->user_agent, limits);
    edge->deadline_source = attach_deadline_source(edge, on_deadline);
}

void
edge_fini(Edge *edge)
{
    g_source_destroy(edge->deadline_source);
    g_clear_pointer(&edge->deadline_source, g_source_unref);
    outbox_fini(&edge->bus_link.outbox);
    link_clear_bucket(&edge->bus_link);
    user_agent_fini(&edge->user_agent);
    /* Without a flush: a bus that doesn't read must not keep us. Who has something to say flushes.
     */
    sd_bus_close(edge->bus_link.bus);
    g_clear_pointer(&edge->bus_link.bus, sd_bus_unref);
}

void
edge_tick(Edge *edge)
{
    user_agent_set_time(&edge->user_agent, g_get_monotonic_time(), g_get_real_time());
}

/* What sd-bus answers by itself (Ping, Introspect, properties, bad calls) it sends at once: what
 * came before must have left by then, or a Ping would not be the barrier that it looks like. */
void
edge_before_message(Edge *edge, sd_bus_message *message)
{
    const char *interface = sd_bus_message_get_interface(message);

    if (sd_bus_message_is_method_call(message, NULL, NULL) > 0 &&
        g_strcmp0(interface, WIRE_LOCKS_INTERFACE) != 0)
        edge_end_turn(edge);
}

gboolean
edge_has_said_enough(const Edge *edge)
{
    return edge->turn.n_bytes > TURN_BYTES_MAX;
}

void
edge_end_turn(Edge *edge)
{
    gint64 next_ms = user_agent_get_next_deadline_ms(&edge->user_agent);
    Outbox *outbox;

    while ((outbox = g_queue_peek_head(&edge->turn.outboxes)) != NULL)
        outbox_flush(outbox);
    if (fault_is(FAULT_SEND_BEFORE_COMMIT))
        g_usleep(2000);
    edge->turn.n_bytes = 0;
    commit(edge);
    edge->after_send(edge);
    g_source_set_ready_time(edge->deadline_source, next_ms < 0 ? -1 : next_ms * 1000);
}
