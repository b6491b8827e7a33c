/* SPDX-FileCopyrightText: 2026 The WebLocks for D-Bus authors
 * SPDX-License-Identifier: LGPL-2.1-or-later */

#include "lifecycle.h"

#include <stdlib.h>

#include "admission.h"
#include "bus.h"
#include "cell-offers.h"
#include "cluster-calls.h"
#include "document-calls.h"
#include "operations.h"
#include "scheduler.h"
#include "state.h"
#include "watches.h"

/* How long it may take until the last calls are served, and the bus has read all replies. */
#define STOP_TIMEOUT_MS 5000

static gboolean on_idle_timer(gpointer data);

void
lifecycle_fini(Server *server)
{
    g_clear_handle_id(&server->idle_id, g_source_remove);
    g_clear_handle_id(&server->stop_deadline_id, g_source_remove);
}

void
lifecycle_end(Server *server, int exit_status)
{
    if (server->stage == SERVER_ENDED)
        return;
    server->stage = SERVER_ENDED;
    server->exit_status = exit_status;
}

void
lifecycle_fail(Server *server, const char *format, ...)
{
    va_list arguments;

    if (server->stage == SERVER_ENDED)
        return;
    va_start(arguments, format);
    g_logv(G_LOG_DOMAIN, G_LOG_LEVEL_WARNING, format, arguments);
    va_end(arguments);
    lifecycle_end(server, EXIT_FAILURE);
}

void
lifecycle_on_bus_lost(Server *server)
{
    if (server->stage == SERVER_ENDED)
        return;
    if (!bus_has_ended(server->bus)) {
        lifecycle_fail(server, "the connection to the bus has ended");
        return;
    }
    g_info("the bus has ended");
    if (server->state != NULL)
        state_discard(server->state);
    lifecycle_end(server, EXIT_FAILURE);
}

/* ---- running */

static void
arm_idle_timer(Server *server, gint64 delay_us)
{
    /* Rounded up: a timer that is early would only be armed again. */
    server->idle_id =
        g_timeout_add((guint)CLAMP(delay_us / 1000 + 1, 1, G_MAXINT32), on_idle_timer, server);
}

static gboolean
is_idle(const Server *server)
{
    return user_agent_get_n_requests(&server->user_agent) == 0 && !watches_exist(server) &&
           server->n_unidentified == 0 && bus_is_sent(server->bus);
}

static gboolean
on_idle_timer(gpointer data)
{
    Server *server = data;
    const gint64 limit_us = server->idle_exit_us;
    /* now_us is the time of the last operation of the core. */
    gint64 idle_us = g_get_monotonic_time() - server->user_agent.now_us;

    server->idle_id = 0;
    cell_offers_close_all(server);
    if (!is_idle(server)) {
        arm_idle_timer(server, limit_us);
    } else if (idle_us < limit_us) {
        arm_idle_timer(server, limit_us - idle_us);
    } else {
        g_info("idle for %g s: exiting", (double)limit_us / G_USEC_PER_SEC);
        lifecycle_stop(server);
    }
    return G_SOURCE_REMOVE;
}

/* Does what had to wait for the agent to be restored: it is terminated. The client may have read
 * its messages meanwhile. */
static void
end_flood(Client *client)
{
    Server *server = client->server;

    if (client->agent != NULL)
        user_agent_replace(&server->user_agent, client->agent);
    turn_make_runnable(&server->turn, client);
}

/* Handles the clients that have called already: a restored client is served, a new one is
 * identified first. */
static void
admit_clients(Server *server)
{
    GHashTableIter iter;
    Client *client;

    g_hash_table_iter_init(&iter, server->clients);
    while (g_hash_table_iter_next(&iter, NULL, (gpointer *)&client)) {
        if (client->is_flood)
            end_flood(client);
        if (client->deferred.length == 0)
            continue;
        if (client->agent != NULL)
            turn_make_runnable(&server->turn, client);
        else
            admission_identify(client);
    }
}

void
lifecycle_run(Server *server)
{
    server->stage = SERVER_RUNNING;
    server->user_agent.gives_cells = TRUE;
    clock_tick(server);
    if (server->state == NULL) /* otherwise before locks were restored */
        user_agent_retire_unknown_tokens(&server->user_agent);
    if (server->idle_exit_us > 0)
        arm_idle_timer(server, server->idle_exit_us);
    admit_clients(server);
}

/* ---- the end */

void
lifecycle_on_name_released(Server *server)
{
    if (server->stage != SERVER_STOPPING)
        return;
    server->stage = SERVER_DRAINING; /* the service ends when the replies are sent */
    scheduler_end_all(server);
}

/* The reason why the service could not end in time, for the log. */
static const char *
get_reason(const Server *server)
{
    if (!bus_is_sent(server->bus))
        return "the bus does not read our messages";
    if (server->stage == SERVER_STOPPING)
        return "the bus does not reply to ReleaseName";
    if (server->n_unidentified > 0)
        return "the bus does not reply with the credentials of a caller";
    if (server->turn.runnable.length > 0)
        return "clients have sent more than can be served";
    return "the bus does not read our messages";
}

static gboolean
on_stop_deadline(gpointer data)
{
    Server *server = data;

    server->stop_deadline_id = 0;
    g_warning("%s; ending anyway", get_reason(server));
    lifecycle_end(server, EXIT_FAILURE);
    return G_SOURCE_REMOVE;
}

/* Without state: all requests end, and their clients are notified. */
static void
lose_everything(Server *server)
{
    UserAgent *user_agent = &server->user_agent;
    GHashTableIter iter;
    Client *client;

    clock_tick(server);
    user_agent_shut_down(user_agent);
    g_hash_table_iter_init(&iter, server->clients);
    while (g_hash_table_iter_next(&iter, NULL, (gpointer *)&client))
        if (client->agent != NULL)
            user_agent_lose(user_agent, client->agent);
    notify_effects(server);
    /* Deferred calls would be refused later, so they are refused now. */
    g_hash_table_iter_init(&iter, server->clients);
    while (g_hash_table_iter_next(&iter, NULL, (gpointer *)&client))
        if (client->agent != NULL && client->deferred.length > 0)
            turn_make_runnable(&server->turn, client);
}

void
lifecycle_stop(Server *server)
{
    if (server->stage == SERVER_STARTING)
        lifecycle_end(server, EXIT_SUCCESS);
    if (server->stage != SERVER_RUNNING)
        return;

    server->stage = SERVER_STOPPING;
    server->user_agent.gives_cells = FALSE;
    cell_offers_close_all(server);
    server->stop_deadline_id = g_timeout_add(STOP_TIMEOUT_MS, on_stop_deadline, server);
    g_clear_handle_id(&server->idle_id, g_source_remove);
    cluster_calls_finish_all(server);
    document_calls_finish_all(server);
    if (server->state == NULL)
        lose_everything(server);
}

void
lifecycle_end_turn(Server *server)
{
    /* Clients that called before and are being identified still get replies. No further client is
     * identified: see admission_identify(). */
    if (server->n_unidentified == 0 && server->turn.runnable.length == 0 &&
        bus_is_written(server->bus))
        lifecycle_end(server, EXIT_SUCCESS);
}
