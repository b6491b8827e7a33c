/* SPDX-FileCopyrightText: 2026 The WebLocks for D-Bus authors
 * SPDX-License-Identifier: LGPL-2.1-or-later */

#include "service/bus/outbox.h"

#define RETRY_MS 20

/* Messages that sd-bus may have waiting for the socket; it would take 393,216. */
#define QUEUED_MAX 1024

static gboolean
on_retry(gpointer data)
{
    Outbox *outbox = data;

    outbox->retry_id = 0;
    outbox_flush(outbox);
    return G_SOURCE_REMOVE;
}

void
outbox_init(Outbox *outbox, sd_bus *bus)
{
    outbox->bus = bus;
    outbox->retry_id = 0;
    outbox->is_backed_up = FALSE;
    g_queue_init(&outbox->messages);
}

void
outbox_fini(Outbox *outbox)
{
    g_clear_handle_id(&outbox->retry_id, g_source_remove);
    g_queue_clear_full(&outbox->messages, sd_bus_message_destroy);
}

void
outbox_take(Outbox *outbox, sd_bus_message *message)
{
    g_queue_push_tail(&outbox->messages, message);
}

/* FALSE if there is no room for it now: then it is still ours. */
static gboolean
send_message(Outbox *outbox, sd_bus_message *message)
{
    uint64_t n_queued = 0;
    int r = sd_bus_get_n_queued_write(outbox->bus, &n_queued);

    if (r >= 0 && n_queued >= QUEUED_MAX)
        return FALSE; /* there will be when the socket has taken some */
    if (r >= 0)
        r = sd_bus_send(outbox->bus, message, NULL);
    if (sd_bus_wants_room(r)) {
        if (outbox->retry_id == 0)
            outbox->retry_id = g_timeout_add(RETRY_MS, on_retry, outbox);
        return FALSE;
    }
    /* Any other failure means that the connection is lost, of which its source will tell. */
    if (r < 0)
        g_debug("A message could not be sent: %s", g_strerror(-r));
    return TRUE;
}

void
outbox_flush(Outbox *outbox)
{
    sd_bus_message *message;

    while ((message = g_queue_peek_head(&outbox->messages)) != NULL) {
        if (!send_message(outbox, message))
            break;
        sd_bus_message_unref(g_queue_pop_head(&outbox->messages));
    }
    outbox->is_backed_up = message != NULL;
}
