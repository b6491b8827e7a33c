/* SPDX-FileCopyrightText: 2026 The WebLocks for D-Bus authors
 * SPDX-License-Identifier: LGPL-2.1-or-later */

/* Messages that arrive in the order in which they were sent, each after a delay. */

#pragma once

#include "sim-loop.h"

typedef struct {
    SimLoop *loop;
    void (*deliver)(gpointer message, gpointer data); /* which frees the message */
    GDestroyNotify free_message;
    gpointer data;
    gint64 last_us;
    guint generation;
    gboolean is_blocked;
    GQueue held; /* arrived while it was blocked */
} SimChannel;

void sim_channel_init(SimChannel *channel,
                      SimLoop *loop,
                      void (*deliver)(gpointer message, gpointer data),
                      GDestroyNotify free_message,
                      gpointer data);
/* To be called before the end of the loop; the messages on the way are freed by that. */
void sim_channel_clear(SimChannel *channel);
void sim_channel_send(SimChannel *channel, gint64 delay_us, gpointer message);
/* The messages on the way are lost. */
void sim_channel_reset(SimChannel *channel);
/* While it is blocked, nothing arrives. */
void sim_channel_block(SimChannel *channel, gboolean is_blocked);
