/* SPDX-FileCopyrightText: 2026 The WebLocks for D-Bus authors
 * SPDX-License-Identifier: LGPL-2.1-or-later */

/* A turn: the work of the service between two polls of its main loop.
 *
 * During a turn, the core changes and messages are queued in outputs (one for the bus, one for each
 * lock socket, one for the gateway to a cluster). turn_flush() first commits to the store and then
 * sends. It is the only way to send what depends on the core, so nothing of that is sent before it
 * is stored.
 *
 * Lower layers don't serve calls. They add a client to the list of runnable clients, which the
 * server runs in this turn or the next one. The turn owns neither its outputs nor its clients. */

#pragma once

#include <glib.h>

typedef struct Client Client;
typedef struct Turn Turn;

/* A queue of messages to send. To be embedded in its owner. */
typedef struct TurnOutput TurnOutput;
struct TurnOutput {
    Turn *turn;                        /* borrowed */
    void (*flush)(TurnOutput *output); /* sends as much as possible without blocking */
    GList link;                        /* in Turn.outputs if its `data` is not NULL */
};

struct Turn {
    GQueue outputs;  /* of TurnOutput: those with queued messages */
    GQueue runnable; /* of Client, by Client.in_runnable */
    gsize n_bytes;   /* approximate size of the queued messages */
    gsize n_calls;   /* served in this turn; a long one counts as several */
    void (*commit)(gpointer data);
    gpointer data; /* for `commit` */
};

void turn_init(Turn *turn, void (*commit)(gpointer data), gpointer data);

/* Notes that about `n_bytes` more are queued in the output. */
void turn_add_output(TurnOutput *output, gsize n_bytes);

/* To be called before the output is freed. */
void turn_remove_output(TurnOutput *output);

/* Commits, then sends. */
void turn_flush(Turn *turn);

/* Flushes; another turn begins. */
void turn_end(Turn *turn);

/* Counts a call, or another message, of about that size. */
void turn_count_call(Turn *turn, gsize n_bytes);

/* Whether the turn should end before more calls are served: it has served many, or so much output
 * is queued. */
gboolean turn_is_full(const Turn *turn);

/* Makes a client runnable: it may have a deferred call that can be served, a watch with dropped
 * signals for which Missed can be sent, or a lock of which it can be notified that it is wanted. */
void turn_make_runnable(Turn *turn, Client *client);

/* Removes and returns the first runnable client, borrowed, or NULL if there is none. */
Client *turn_take_runnable(Turn *turn);
