/* SPDX-FileCopyrightText: 2026 The WebLocks for D-Bus authors
 * SPDX-License-Identifier: LGPL-2.1-or-later */

#include "turn.h"

#include "client.h"

/* The approximate size of queued messages after which a turn ends. */
#define TURN_BYTES_MAX (256UL * 1024)

void
turn_init(Turn *turn, void (*commit)(gpointer data), void (*wake_up)(gpointer data), gpointer data)
{
    *turn = (Turn){.commit = commit, .wake_up = wake_up, .data = data};
    g_queue_init(&turn->outputs);
    g_queue_init(&turn->runnable);
}

void
turn_add_output(TurnOutput *output, gsize n_bytes)
{
    output->turn->n_bytes += n_bytes;
    if (output->link.data != NULL)
        return;
    output->link.data = output;
    g_queue_push_tail_link(&output->turn->outputs, &output->link);
}

void
turn_remove_output(TurnOutput *output)
{
    if (output->link.data == NULL)
        return;
    g_queue_unlink(&output->turn->outputs, &output->link);
    output->link.data = NULL;
}

void
turn_flush(Turn *turn)
{
    TurnOutput *output;

    turn->commit(turn->data);
    while ((output = g_queue_peek_head(&turn->outputs)) != NULL) {
        turn_remove_output(output);
        output->flush(output);
    }
    turn->n_bytes = 0;
}

gboolean
turn_is_full(const Turn *turn)
{
    return turn->n_bytes > TURN_BYTES_MAX;
}

void
turn_make_runnable(Turn *turn, Client *client)
{
    if (client->in_runnable.data != NULL)
        return;
    client->in_runnable.data = client;
    g_queue_push_tail_link(&turn->runnable, &client->in_runnable);
    turn->wake_up(turn->data);
}

Client *
turn_take_runnable(Turn *turn)
{
    GList *link = g_queue_pop_head_link(&turn->runnable);
    Client *client = link != NULL ? link->data : NULL;

    if (client != NULL)
        client->in_runnable.data = NULL;
    return client;
}
