/* SPDX-FileCopyrightText: 2026 The WebLocks for D-Bus authors
 * SPDX-License-Identifier: LGPL-2.1-or-later */

/* An sd-bus connection that a Connection is made of: the one to the bus, or the private socket to
 * the service. Its messages are processed by the connection's context, or by whoever comes by. All
 * of it is touched inside the gate only. */

#pragma once

#include <gio/gio.h>
#include <poll.h>

#include "client-lib/gate.h"
#include "common/sd-bus.h"

typedef struct Connection Connection;
typedef struct Wire Wire;

/* A result that is told at the end of a batch of messages, without another turn of the context. */
typedef struct {
    GMainContext *context; /* borrowed: the one that processes the batch */
    void (*func)(gpointer data);
    gpointer data;
    GDestroyNotify destroy;
} LoneResult;

struct Wire {
    Connection *connection; /* not ours */
    sd_bus *bus;            /* NULL: it isn't open */
    int fd;                 /* of the bus; guarded */
    GSource *source;
    gboolean is_fresh;         /* see wire_read_on() */
    void (*ended)(Wire *self); /* the other end has closed it */
};

/* Takes the bus, which is started. */
void wire_open(Wire *self, Connection *connection, sd_bus *bus, void (*ended)(Wire *self));

/* Nothing if it isn't open. What awaits an answer there hears no more of it. In the child of a fork
 * it only forgets. */
void wire_close(Wire *self);

/* FALSE also once the other end has closed it. */
gboolean wire_is_open(const Wire *self);

/* Processes a message, if there is one; or ends, if that is all there is. */
gboolean wire_process(Wire *self);

/* The handshake is over. What the other end said in the same breath, sd-bus has read already, but
 * says nothing about it: so it has to be processed before anybody sleeps. */
void wire_be_fresh(Wire *self);
void wire_read_on(Wire *self);

/* Whether there is something that could not be written yet. */
gboolean wire_is_writing(const Wire *self);

/* Whether sd-bus has something to do that the wire's source, if it is asleep, doesn't know of: to
 * write on, to process what is read already. */
gboolean wire_has_news(const Wire *self);

/* What to wait for: nothing (-1) if it isn't open. `*until_us` of the monotonic clock becomes
 * earlier, if sd-bus wants that. */
struct pollfd wire_get_poll(const Wire *self, gint64 *until_us);
