/* SPDX-FileCopyrightText: 2026 The WebLocks for D-Bus authors
 * SPDX-License-Identifier: LGPL-2.1-or-later */

#include "service/bus/outbox.h"

#include <errno.h>

#define RETRY_MS 20

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

static gboolean
is_for_want_of_room(int r)
{
    return r == -ENOBUFS || r == -ENOMEM || r == -ETOOMANYREFS || r == -EAGAIN;
}

void
outbox_flush(Outbox *outbox)
{
    while (outbox->messages.head != NULL) {
        sd_bus_message *message = outbox->messages.head->data;
        int r = sd_bus_send(outbox->bus, message, NULL);

        if (is_for_want_of_room(r)) {
            if (outbox->retry_id == 0)
                outbox->retry_id = g_timeout_add(RETRY_MS, on_retry, outbox);
            return;
        }
        /* Any other failure means that the connection is lost, of which its source will tell. */
        if (r < 0)
            g_debug("A message could not be sent: %s", g_strerror(-r));
        sd_bus_message_unref(g_queue_pop_head(&outbox->messages));
    }
}
