/* SPDX-FileCopyrightText: 2026 The WebLocks for D-Bus authors
 * SPDX-License-Identifier: LGPL-2.1-or-later */

#include "startup.h"

#include <stdlib.h>

#include "admission.h"
#include "bus-names.h"
#include "lifecycle.h"
#include "notifications.h"
#include "recovery.h"
#include "state.h"

/* How long to wait for the lock of the state when no known instance has it, and how often it is
 * tried. While the replaced instance is connected, the wait has no limit: it may have been
 * stopped. */
#define PATIENCE_SECS 5
#define RETRY_MS      2
#define RETRY_LATE_MS 50

struct Startup {
    char *directory; /* NULL: no state */
    StateOptions options;
    State *state; /* locked, and not restored yet */
    gboolean has_name;
    char *predecessor; /* unique name of the last owner of the name before us, if it is connected */
    guint name_timeout_id; /* while an instance that has ended still has the name */
    gint64 deadline_us;    /* of the wait for the lock */
    guint retry_id;
    sd_bus_slot *list_names;
    Recovery *recovery; /* restored, but the name is not owned yet */
};

static void fail(Server *server, const char *format, ...) G_GNUC_PRINTF(2, 3);

/* Ends a service that cannot start. */
static void
fail(Server *server, const char *format, ...)
{
    va_list arguments;

    va_start(arguments, format);
    g_logv(G_LOG_DOMAIN, G_LOG_LEVEL_WARNING, format, arguments);
    va_end(arguments);
    lifecycle_end(server, EXIT_FAILURE);
}

static void
fail_for_name(Server *server, int r)
{
    if (r == -EEXIST)
        fail(server, "the name %s is taken: another instance is running", BUS_SERVICE_NAME);
    else
        fail(server, "cannot request the name %s: %s", BUS_SERVICE_NAME, g_strerror(-r));
}

/* ---- step 6 */

/* Does what had to wait for the agent to be restored: it is terminated. The client may have read
 * its messages meanwhile. */
static void
end_flood(Client *client)
{
    Session *session = client->session;

    if (client->agent != NULL)
        user_agent_replace(&session->user_agent, client->agent);
    turn_make_runnable(&session->turn, client);
}

/* Handles the clients that have called already: a restored client is served, a new one is
 * identified first. */
static void
admit_clients(Server *server)
{
    GHashTableIter iter;
    Client *client;

    g_hash_table_iter_init(&iter, server->session.clients);
    while (g_hash_table_iter_next(&iter, NULL, (gpointer *)&client)) {
        if (client->is_flood)
            end_flood(client);
        if (call_queue_is_empty(&client->deferred))
            continue;
        if (client->agent != NULL)
            turn_make_runnable(&server->session.turn, client);
        else
            admission_identify(client);
    }
    notify_effects(server);
}

static void
finish(Server *server)
{
    Recovery *recovery = g_steal_pointer(&server->startup->recovery);

    startup_free(server);
    if (recovery != NULL)
        recovery_notify(server, recovery);
    lifecycle_begin(server);
    admit_clients(server);
}

/* ---- steps 4 and 5 */

/* Returns the unique names in the reply to ListNames, owned; NULL if it is an error. */
static GHashTable *
read_names(sd_bus_message *reply)
{
    g_autoptr(GHashTable) names = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, NULL);
    const char *name;
    int r;

    if (sd_bus_message_is_method_error(reply, NULL) ||
        sd_bus_message_enter_container(reply, 'a', "s") < 0)
        return NULL;
    while ((r = sd_bus_message_read_basic(reply, 's', &name)) > 0)
        if (name[0] == ':')
            g_hash_table_add(names, g_strdup(name));
    return r < 0 ? NULL : g_steal_pointer(&names);
}

static int
on_names(sd_bus_message *reply, void *userdata, sd_bus_error *bus_error)
{
    Server *server = userdata;
    Startup *self = server->startup;
    g_autoptr(GHashTable) names = read_names(reply);
    g_autoptr(GError) error = NULL;
    int r;

    if (server->lifecycle->state == LIFECYCLE_ENDED)
        return 1;
    if (names == NULL) {
        fail(server, "the bus does not reply to ListNames");
        return 1;
    }
    self->recovery = recovery_run(server, g_steal_pointer(&self->state), names, &error);
    if (self->recovery == NULL) {
        fail(server, "%s", error->message);
    } else if (!self->has_name && (r = lifecycle_take_name(server)) < 0) {
        /* Calls by name can't have come before this, so there is no harm in waiting for it. */
        fail_for_name(server, r);
    } else {
        finish(server);
    }
    return 1;
}

/* Called after the lock is taken: then no disconnect is missed between the list and the stored
 * state. Asynchronous, since a blocking call would queue all messages before the reply in memory.
 */
static void
ask_for_names(Server *server)
{
    int r = sd_bus_call_method_async(server->bus.connection, &server->startup->list_names,
                                     BUS_DRIVER_NAME, BUS_DRIVER_PATH, BUS_DRIVER_INTERFACE,
                                     "ListNames", on_names, server, "");

    if (r < 0)
        fail(server, "cannot call ListNames: %s", g_strerror(-r));
}

/* ---- step 3 */

static void
set_deadline(Startup *self)
{
    self->deadline_us = g_get_monotonic_time() + (gint64)PATIENCE_SECS * G_USEC_PER_SEC;
}

/* Returns FALSE, and logs the reason, if the lock can never be taken. */
static gboolean
try_lock(Server *server)
{
    Startup *self = server->startup;
    g_autoptr(GError) error = NULL;

    self->state = state_open(&self->options, &error);
    if (error != NULL)
        fail(server, "%s", error->message);
    return error == NULL;
}

static gboolean on_retry(gpointer data);

static void
go_on(Server *server)
{
    Startup *self = server->startup;
    gboolean is_late = g_get_monotonic_time() > self->deadline_us;

    if (self->state != NULL)
        ask_for_names(server);
    else if (is_late && self->predecessor == NULL)
        fail(server, "another instance uses the state in %s", self->directory);
    else
        self->retry_id = g_timeout_add(is_late ? RETRY_LATE_MS : RETRY_MS, on_retry, server);
}

static gboolean
on_retry(gpointer data)
{
    Server *server = data;

    server->startup->retry_id = 0;
    if (server->lifecycle->state != LIFECYCLE_ENDED && try_lock(server))
        go_on(server);
    return G_SOURCE_REMOVE;
}

static void begin(Server *server);

void
startup_on_name_taken(Server *server, const char *old_owner)
{
    g_free(server->startup->predecessor);
    server->startup->predecessor = old_owner[0] != '\0' ? g_strdup(old_owner) : NULL;
}

void
startup_on_name_lost(Server *server)
{
    g_message("another instance has taken the name %s", BUS_SERVICE_NAME);
    lifecycle_end(server, EXIT_SUCCESS);
}

void
startup_on_other_owner(Server *server, gboolean is_free)
{
    Startup *self = server->startup;

    if (is_free && self->name_timeout_id != 0) {
        g_clear_handle_id(&self->name_timeout_id, g_source_remove);
        begin(server);
    } else if (!is_free && !server->lifecycle->options.replace) {
        fail_for_name(server, -EEXIST);
    }
}

void
startup_on_disconnected(Server *server, const char *unique_name)
{
    Startup *self = server->startup;

    if (g_strcmp0(self->predecessor, unique_name) != 0)
        return;
    g_clear_pointer(&self->predecessor, g_free);
    set_deadline(self);
    if (self->retry_id != 0) {
        g_source_remove(self->retry_id);
        self->retry_id = g_timeout_add(0, on_retry, server);
    }
}

/* ---- steps 1 and 2 */

static gboolean
take_name(Server *server)
{
    int r = lifecycle_take_name(server);

    if (r < 0)
        fail_for_name(server, r);
    server->startup->has_name = r >= 0;
    return r >= 0;
}

static gboolean
prepare_state(Server *server)
{
    g_autoptr(GError) error = NULL;

    if (recovery_get_options(server, &server->startup->options, &error))
        return try_lock(server);
    fail(server, "%s", error->message);
    return FALSE;
}

/* The name is free, or is to be replaced. */
static void
begin(Server *server)
{
    Startup *self = server->startup;

    if (self->directory == NULL) {
        if (take_name(server))
            finish(server);
    } else if (prepare_state(server) &&
               (!server->lifecycle->options.replace || take_name(server))) {
        set_deadline(self);
        go_on(server);
    }
}

static gboolean
on_name_timeout(gpointer data)
{
    Server *server = data;

    server->startup->name_timeout_id = 0;
    fail_for_name(server, -EEXIST);
    return G_SOURCE_REMOVE;
}

void
startup_begin(Server *server, const char *state_directory)
{
    Startup *self = g_new0(Startup, 1);

    server->startup = self;
    self->directory = g_strdup(state_directory);
    self->options.directory = self->directory;
    if (server->lifecycle->options.replace || !lifecycle_is_name_taken(server))
        begin(server);
    else if (lifecycle_is_owner_dead(server))
        self->name_timeout_id = g_timeout_add_seconds(PATIENCE_SECS, on_name_timeout, server);
    else
        fail_for_name(server, -EEXIST);
}

void
startup_free(Server *server)
{
    Startup *self = server->startup;

    if (self == NULL)
        return;
    server->startup = NULL;
    g_clear_handle_id(&self->name_timeout_id, g_source_remove);
    g_clear_handle_id(&self->retry_id, g_source_remove);
    g_clear_pointer(&self->list_names, sd_bus_slot_unref);
    g_clear_pointer(&self->state, state_free);
    if (self->recovery != NULL)
        recovery_drop(server, self->recovery);
    g_free(self->predecessor);
    g_free(self->directory);
    g_free(self);
}
