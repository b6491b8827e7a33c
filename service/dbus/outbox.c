/* SPDX-FileCopyrightText: 2026 The WebLocks for D-Bus authors
 * SPDX-License-Identifier: LGPL-2.1-or-later */

#include "outbox.h"

#define RETRY_MS 20
/* The maximum number of messages in sd-bus's write queue, which could have 393,216. */
#define QUEUED_MAX 1024
/* The maximum number of bytes there, in addition to one message. */
#define BYTES_GIVEN_MAX (1024UL * 1024)

typedef struct {
    sd_bus_message *message;
    gsize n_bytes;
} OutboxMessage;

static void outbox_flush(TurnOutput *output);

void
outbox_init(Outbox *outbox, sd_bus *bus, Turn *turn)
{
    *outbox = (Outbox){.output = {.turn = turn, .flush = outbox_flush}, .bus = bus};
    outbox->messages = g_array_new(FALSE, FALSE, sizeof(OutboxMessage));
}

static OutboxMessage *
get_message(const Outbox *outbox, guint i)
{
    return &g_array_index(outbox->messages, OutboxMessage, i);
}

void
outbox_fini(Outbox *outbox)
{
    g_clear_handle_id(&outbox->retry_id, g_source_remove);
    turn_remove_output(&outbox->output);
    for (guint i = outbox->n_sent; i < outbox->messages->len; i++)
        sd_bus_message_unref(get_message(outbox, i)->message);
    g_clear_pointer(&outbox->messages, g_array_unref);
}

void
outbox_put(Outbox *outbox, sd_bus_message *message, gsize n_bytes)
{
    const OutboxMessage item = {message, n_bytes + OUTBOX_MESSAGE_BYTES};

    g_array_append_val(outbox->messages, item);
    outbox->n_bytes += item.n_bytes;
    turn_add_output(&outbox->output, item.n_bytes);
}

/* ---- sending */

static gboolean
on_retry(gpointer data)
{
    Outbox *outbox = data;
    Turn *turn = outbox->output.turn;

    outbox->retry_id = 0;
    turn_add_output(&outbox->output, 0);
    turn->wake_up(turn->data); /* to end a turn: other things wait for the messages to be sent */
    return G_SOURCE_REMOVE;
}

static guint64
count_queued(const Outbox *outbox)
{
    uint64_t n_queued = 0;

    return sd_bus_get_n_queued_write(outbox->bus, &n_queued) < 0 ? 0 : n_queued;
}

/* Returns FALSE if the message can't be sent now. */
static gboolean
send_message(Outbox *outbox, const OutboxMessage *item)
{
    guint64 n_queued = count_queued(outbox);
    int r;

    if (n_queued == 0)
        outbox->n_bytes_given = 0;
    if (n_queued >= QUEUED_MAX || outbox->n_bytes_given > BYTES_GIVEN_MAX)
        return FALSE; /* there will be when the socket has taken some */
    r = sd_bus_send(outbox->bus, item->message, NULL);
    if (sd_bus_is_transient(r)) {
        if (outbox->retry_id == 0)
            outbox->retry_id = g_timeout_add(RETRY_MS, on_retry, outbox);
        return FALSE;
    }
    /* After any other error the connection has ended, which its source will detect. */
    outbox->n_bytes_given += item->n_bytes;
    if (r < 0)
        g_debug("could not send a message: %s", g_strerror(-r));
    return TRUE;
}

/* Removes sent messages from the array, when they are at least as many as the remaining ones, so
 * that each message is moved only a few times. */
static void
remove_sent(Outbox *outbox)
{
    if (outbox->n_sent > 0 && outbox->n_sent >= outbox->messages->len / 2) {
        g_array_remove_range(outbox->messages, 0, outbox->n_sent);
        outbox->n_sent = 0;
    }
}

static void
outbox_flush(TurnOutput *output)
{
    Outbox *outbox = (Outbox *)output;

    while (outbox->n_sent < outbox->messages->len && sd_bus_is_open(outbox->bus) > 0) {
        OutboxMessage *item = get_message(outbox, outbox->n_sent);

        if (!send_message(outbox, item))
            break;
        sd_bus_message_unref(item->message);
        outbox->n_sent++;
        outbox->n_bytes -= item->n_bytes;
    }
    remove_sent(outbox);
    outbox->is_backed_up = outbox_get_length(outbox) > 0;
}

guint
outbox_get_length(const Outbox *outbox)
{
    return outbox->messages->len - outbox->n_sent;
}

gboolean
outbox_is_written(const Outbox *outbox)
{
    return outbox_get_length(outbox) == 0 && count_queued(outbox) == 0;
}

gboolean
outbox_is_backed_up(const Outbox *outbox)
{
    return outbox->is_backed_up || count_queued(outbox) >= QUEUED_MAX;
}
