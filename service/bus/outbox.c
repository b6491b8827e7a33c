/* SPDX-FileCopyrightText: 2026 The WebLocks for D-Bus authors
 * SPDX-License-Identifier: LGPL-2.1-or-later */

#include "service/bus/outbox.h"

#include "service/fault.h"

#define RETRY_MS 20
/* What sd-bus may have waiting for a socket, besides one message. */
#define BYTES_GIVEN_MAX (1024UL * 1024)

typedef struct {
    sd_bus_message *message;
    gsize n_bytes;
} Outgoing;

static gboolean
on_retry(gpointer data)
{
    Outbox *outbox = data;

    outbox->retry_id = 0;
    outbox_flush(outbox);
    return G_SOURCE_REMOVE;
}

void
outbox_init(Outbox *outbox, sd_bus *bus, guint n_queued_max, Turn *turn)
{
    *outbox = (Outbox){.bus = bus, .n_queued_max = n_queued_max, .turn = turn};
    outbox->messages = g_array_new(FALSE, FALSE, sizeof(Outgoing));
}

static Outgoing *
get_outgoing(const Outbox *outbox, guint i)
{
    return &g_array_index(outbox->messages, Outgoing, i);
}

static void
leave_turn(Outbox *outbox)
{
    if (outbox->in_turn.data == NULL)
        return;
    g_queue_unlink(&outbox->turn->outboxes, &outbox->in_turn);
    outbox->in_turn.data = NULL;
}

void
outbox_fini(Outbox *outbox)
{
    g_clear_handle_id(&outbox->retry_id, g_source_remove);
    leave_turn(outbox);
    for (guint i = outbox->n_sent; i < outbox->messages->len; i++)
        sd_bus_message_unref(get_outgoing(outbox, i)->message);
    g_clear_pointer(&outbox->messages, g_array_unref);
    g_clear_pointer(&outbox->behind, sd_bus_message_unref);
}

static void
push(Outbox *outbox, sd_bus_message *message, gsize n_bytes)
{
    const Outgoing outgoing = {message, n_bytes + OUTBOX_MESSAGE_BYTES};

    g_array_append_val(outbox->messages, outgoing);
    if (outbox->taken != NULL)
        outbox->taken(outbox, message, n_bytes);
    outbox->n_bytes += outgoing.n_bytes;
    outbox->turn->n_bytes += outgoing.n_bytes;
    if (outbox->in_turn.data == NULL) {
        outbox->in_turn.data = outbox;
        g_queue_push_tail_link(&outbox->turn->outboxes, &outbox->in_turn);
    }
}

static void
move_if_signal(sd_bus_message *message, gsize n_bytes, Outbox *to)
{
    if (sd_bus_message_is_signal(message, NULL, NULL) > 0)
        push(to, message, n_bytes);
    else
        sd_bus_message_unref(message);
}

void
outbox_take(Outbox *outbox, sd_bus_message *message, gsize n_bytes)
{
    if (outbox->instead != NULL)
        move_if_signal(message, n_bytes, outbox->instead);
    else
        push(outbox, message, n_bytes);
}

guint64
outbox_count_queued(const Outbox *outbox)
{
    uint64_t n_queued = 0;

    if (outbox->bus == NULL || sd_bus_get_n_queued_write(outbox->bus, &n_queued) < 0)
        return 0;
    return n_queued;
}

gsize
outbox_count_unread(const Outbox *outbox)
{
    return outbox->n_bytes + (outbox->behind != NULL ? outbox->n_bytes_given : 0);
}

/* FALSE if there is no room for it now. */
static gboolean
send_message(Outbox *outbox, sd_bus_message *message, gsize n_bytes)
{
    guint64 n_queued = outbox_count_queued(outbox);
    int r;

    if (n_queued == 0)
        outbox->n_bytes_given = 0;
    if (n_queued >= outbox->n_queued_max || outbox->n_bytes_given > BYTES_GIVEN_MAX)
        return FALSE; /* there will be when the socket has taken some */
    r = sd_bus_send(outbox->bus, message, NULL);
    if (sd_bus_wants_room(r) && !fault_is(FAULT_RETRY_FORGOTTEN)) {
        if (outbox->retry_id == 0)
            outbox->retry_id = g_timeout_add(RETRY_MS, on_retry, outbox);
        return FALSE;
    }
    /* Any other failure means that the connection is lost, of which its source will tell. */
    outbox->n_bytes_given += n_bytes;
    if (r < 0)
        g_debug("A message could not be sent: %s", g_strerror(-r));
    return TRUE;
}

static void
send_messages(Outbox *outbox)
{
    while (outbox->n_sent < outbox->messages->len && sd_bus_is_open(outbox->bus) > 0) {
        const Outgoing outgoing = *get_outgoing(outbox, outbox->n_sent);

        if (!send_message(outbox, outgoing.message, outgoing.n_bytes))
            break;
        outbox->n_sent++;
        outbox->n_bytes -= outgoing.n_bytes;
        g_clear_pointer(&outbox->behind, sd_bus_message_unref);
        outbox->behind = outgoing.message;
    }
}

/* In steps that grow with what is left, so that each message is moved a few times at most. */
static void
forget_sent(Outbox *outbox)
{
    if (outbox->n_sent > 0 && outbox->n_sent >= outbox->messages->len / 2) {
        g_array_remove_range(outbox->messages, 0, outbox->n_sent);
        outbox->n_sent = 0;
    }
}

void
outbox_flush(Outbox *outbox)
{
    leave_turn(outbox);
    outbox->turn->commit(outbox->turn->data);
    send_messages(outbox);
    forget_sent(outbox);
    outbox->is_backed_up = outbox_get_length(outbox) > 0;
    if (outbox->behind != NULL && outbox_count_queued(outbox) == 0 &&
        sd_bus_is_open(outbox->bus) > 0)
        g_clear_pointer(&outbox->behind, sd_bus_message_unref);
    if (outbox->flushed != NULL)
        outbox->flushed(outbox);
}

guint
outbox_get_length(const Outbox *outbox)
{
    return outbox->messages->len - outbox->n_sent;
}

gboolean
outbox_is_backed_up(const Outbox *outbox)
{
    return outbox->is_backed_up || outbox_count_queued(outbox) >= outbox->n_queued_max;
}

void
outbox_move_signals(Outbox *outbox, Outbox *to)
{
    /* If the connection is closed already, it may have been read: twice is better than never. */
    if (outbox->behind != NULL &&
        (outbox_count_queued(outbox) > 0 || sd_bus_is_open(outbox->bus) <= 0))
        move_if_signal(g_steal_pointer(&outbox->behind), 0, to);
    g_clear_pointer(&outbox->behind, sd_bus_message_unref);
    for (guint i = outbox->n_sent; i < outbox->messages->len; i++)
        move_if_signal(get_outgoing(outbox, i)->message, get_outgoing(outbox, i)->n_bytes, to);
    g_array_set_size(outbox->messages, 0);
    outbox->n_sent = 0;
    outbox->n_bytes = 0;
    outbox->is_backed_up = FALSE;
    leave_turn(outbox);
}

void
outbox_give_up(Outbox *outbox, Outbox *instead)
{
    outbox_move_signals(outbox, instead);
    outbox->instead = instead;
}
