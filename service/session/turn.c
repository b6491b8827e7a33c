/* SPDX-FileCopyrightText: 2026 The WebLocks for D-Bus authors
 * SPDX-License-Identifier: LGPL-2.1-or-later */

#include "turn.h"

#include "client.h"

/* The approximate size of queued messages, and the number of calls, after which a turn ends. */
#define TURN_BYTES_MAX (256UL * 1024)
#define TURN_CALLS_MAX 256
/* A call counts as one more for each of these bytes: reading them takes as long. */
#define BYTES_COUNTED 1024

void
turn_init(Turn *turn, void (*commit)(gpointer data), gpointer data)
{
    *turn = (Turn){.commit = commit, .data = data};
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

void
turn_end(Turn *turn)
{
    turn_flush(turn);
    turn->n_calls = 0;
}

void
turn_count_call(Turn *turn, gsize n_bytes)
{
    turn->n_calls += 1 + n_bytes / BYTES_COUNTED;
}

gboolean
turn_is_full(const Turn *turn)
{
    return turn->n_bytes > TURN_BYTES_MAX || turn->n_calls >= TURN_CALLS_MAX;
}

void
turn_make_runnable(Turn *turn, Client *client)
{
    if (client->in_runnable.data != NULL)
        return;
    client->in_runnable.data = client;
    g_queue_push_tail_link(&turn->runnable, &client->in_runnable);
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
