/* SPDX-FileCopyrightText: 2026 The WebLocks for D-Bus authors
 * SPDX-License-Identifier: LGPL-2.1-or-later */

/* What the drivers on a bus share: one bus for all cases, a service for each case, and the names of
 * agents. */

#pragma once

#include "tests/lib/private-bus.h"
#include "tests/spec/spec-driver.h"

/* The first member of a driver's client. */
typedef struct {
    char letter;
    GQueue events; /* of SpecEvent */
} BusClient;

/* The first member of a driver's session, or all of it. */
typedef struct {
    BusClient *clients[SPEC_AGENTS]; /* NULL: not connected */
    GHashTable *letters;             /* client id -> letter; also of disconnected clients */
} BusSession;

/* The bus of all cases. */
PrivateBus *bus_session_bus(void);

/* The `set_up` function of a driver. */
void bus_session_set_up(void);
void bus_session_tear_down(void);
SpecEvent *bus_session_take_event(gpointer self, char letter);

/* Returns a session with this size of struct, and starts its service with these limits. */
gpointer bus_session_start(gsize size, const char *const *limits);
void bus_session_stop(gpointer self);

/* Adds a client with this size of struct: `letter` is its name in the case, `id` its client id. */
gpointer bus_session_add_client(gpointer self, gsize size, char letter, const char *id);
gpointer bus_session_get_client(gpointer self, char letter);

/* Removes the client from the session. Freeing it frees its events and the memory. */
gpointer bus_session_remove_client(gpointer self, char letter);
void bus_session_free_client(gpointer client);

/* Returns '?' for an id that was never issued. */
char bus_session_find_letter(const BusSession *self, const char *id);

/* Appends "NAME MODE AGENT" for each row of an answer to Query. */
void bus_session_append_rows(const BusSession *self, GVariant *rows, GPtrArray *texts);

/* Runs the main context until the client has an event, or the time limit has passed. */
void bus_session_wait_event(gpointer self, char letter);
