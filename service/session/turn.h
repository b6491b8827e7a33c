/* SPDX-FileCopyrightText: 2026 The WebLocks for D-Bus authors
 * SPDX-License-Identifier: LGPL-2.1-or-later */

/* A turn: what the service does between two waits of its main loop.
 *
 * While a turn runs, the core changes and answers are put into outputs (one for the bus, one for
 * each lock socket). turn_flush() commits to the store first and sends afterwards; it is the only
 * way to send, so nothing can be told before it is stored.
 *
 * Lower rooms never call upper ones. They put a client on the list of what is runnable, and the
 * server, which provides `wake_up`, runs it soon. */

#pragma once

#include <glib.h>

typedef struct Client Client;
typedef struct Turn Turn;

/* Something with messages to send. Part of what owns it. */
typedef struct TurnOutput TurnOutput;
struct TurnOutput {
    Turn *turn;                        /* not owned */
    void (*flush)(TurnOutput *output); /* sends what can be sent without waiting */
    GList link;                        /* in Turn.outputs if `data` is not NULL */
};

struct Turn {
    GQueue outputs;  /* of TurnOutput: those with something to send */
    GQueue runnable; /* of Client, by Client.in_runnable */
    gsize n_bytes;   /* of the messages that were put into outputs in this turn, about */
    void (*commit)(gpointer data);
    void (*wake_up)(gpointer data); /* the list of runnable clients is no longer empty */
    gpointer data;                  /* of both */
};

void
turn_init(Turn *turn, void (*commit)(gpointer data), void (*wake_up)(gpointer data), gpointer data);

/* The output has something to send: about so many bytes more. */
void turn_add_output(TurnOutput *output, gsize n_bytes);

/* Before the output is freed. */
void turn_remove_output(TurnOutput *output);

/* Commits, then sends. */
void turn_flush(Turn *turn);

/* Whether so much is to be sent that the turn should end before more calls are served. */
gboolean turn_is_full(const Turn *turn);

/* The client may have a deferred call that can be served now, or a watch that missed signals and
 * can be told so. */
void turn_make_runnable(Turn *turn, Client *client);

/* Removes and returns the first runnable client; NULL if there is none. */
Client *turn_take_runnable(Turn *turn);
