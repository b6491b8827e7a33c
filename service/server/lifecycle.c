/* SPDX-FileCopyrightText: 2026 The WebLocks for D-Bus authors
 * SPDX-License-Identifier: LGPL-2.1-or-later */

#include "lifecycle.h"

#include <stdlib.h>

#include "bus-names.h"
#include "notifications.h"
#include "scheduler.h"
#include "watches.h"

/* How long the bus may take to read what we said last, and to answer. */
#define STOP_TIMEOUT_SECS 5
/* When the name is given back again, if there was no room to say so. */
#define RELEASE_AGAIN_MS 20

static gboolean on_idle_timer(gpointer data);

Lifecycle *
lifecycle_new(const LifecycleOptions *options)
{
    Lifecycle *lifecycle = g_new0(Lifecycle, 1);

    lifecycle->options = *options;
    lifecycle->loop = g_main_loop_new(NULL, FALSE);
    return lifecycle;
}

void
lifecycle_free(Lifecycle *lifecycle)
{
    g_clear_handle_id(&lifecycle->idle_id, g_source_remove);
    g_clear_handle_id(&lifecycle->stop_deadline_id, g_source_remove);
    g_clear_handle_id(&lifecycle->release_again_id, g_source_remove);
    g_clear_pointer(&lifecycle->name_lost, sd_bus_slot_unref);
    g_clear_pointer(&lifecycle->release_name, sd_bus_slot_unref);
    g_main_loop_unref(lifecycle->loop);
    g_free(lifecycle);
}

static void
end(Server *server, int exit_status)
{
    Lifecycle *lifecycle = server->lifecycle;

    if (lifecycle->state == LIFECYCLE_ENDED)
        return;
    lifecycle->state = LIFECYCLE_ENDED;
    lifecycle->exit_status = exit_status;
    g_main_loop_quit(lifecycle->loop);
}

static int
on_name_lost(sd_bus_message *message, void *userdata, sd_bus_error *error)
{
    Server *server = userdata;
    const char *name;

    if (sd_bus_message_read(message, "s", &name) < 0 || !g_str_equal(name, BUS_SERVICE_NAME))
        return 0;
    if (server->lifecycle->state == LIFECYCLE_RUNNING)
        g_message("Another instance has taken the name %s", BUS_SERVICE_NAME);
    lifecycle_stop(server);
    return 0;
}

gboolean
lifecycle_is_name_taken(Server *server)
{
    g_autoptr(SdBusMessage) reply = NULL;
    const char *owner, *own_name;

    return sd_bus_call_method(server->bus.connection, BUS_DRIVER_NAME, BUS_DRIVER_PATH,
                              BUS_DRIVER_INTERFACE, "GetNameOwner", NULL, &reply, "s",
                              BUS_SERVICE_NAME) >= 0 &&
           sd_bus_message_read_basic(reply, 's', &owner) > 0 &&
           sd_bus_get_unique_name(server->bus.connection, &own_name) >= 0 &&
           !g_str_equal(owner, own_name);
}

int
lifecycle_take_name(Server *server)
{
    uint64_t flags = server->lifecycle->options.replace
                         ? SD_BUS_NAME_REPLACE_EXISTING | SD_BUS_NAME_ALLOW_REPLACEMENT
                         : 0;
    int r = sd_bus_match_signal(server->bus.connection, &server->lifecycle->name_lost,
                                BUS_DRIVER_NAME, BUS_DRIVER_PATH, BUS_DRIVER_INTERFACE, "NameLost",
                                on_name_lost, server);

    return r < 0 ? r : sd_bus_request_name(server->bus.connection, BUS_SERVICE_NAME, flags);
}

static gint64
idle_limit_us(const Server *server)
{
    return (gint64)(server->lifecycle->options.idle_exit_secs * G_USEC_PER_SEC);
}

static void
arm_idle_timer(Server *server, gint64 delay_us)
{
    /* Rounded up: a timer that is early would only be armed again. */
    server->lifecycle->idle_id =
        g_timeout_add((guint)CLAMP(delay_us / 1000 + 1, 1, G_MAXINT32), on_idle_timer, server);
}

int
lifecycle_run(Server *server)
{
    Lifecycle *lifecycle = server->lifecycle;

    session_tick(&server->session);
    if (idle_limit_us(server) > 0)
        arm_idle_timer(server, idle_limit_us(server));
    if (lifecycle->state != LIFECYCLE_ENDED)
        g_main_loop_run(lifecycle->loop);
    return lifecycle->exit_status;
}

/* The bus has answered ReleaseName: nothing more comes by name, and all we sent was read. */
static int
on_name_released(sd_bus_message *reply, void *userdata, sd_bus_error *error)
{
    Server *server = userdata;

    scheduler_serve_all(server);
    server->lifecycle->is_name_released = TRUE; /* and we may leave, when that has been sent */
    return 1;
}

/* What the bus has not done. */
static const char *
get_reason(const Server *server)
{
    if (outbox_get_length(&server->bus.outbox) > 0)
        return "does not read what it is sent";
    if (!server->lifecycle->is_name_released)
        return "does not confirm that the name is given back";
    return "does not say who a caller is";
}

static gboolean
on_stop_deadline(gpointer data)
{
    Server *server = data;

    server->lifecycle->stop_deadline_id = 0;
    g_warning("The bus %s; leaving without that", get_reason(server));
    end(server, EXIT_FAILURE);
    return G_SOURCE_REMOVE;
}

/* Nothing outlives the service: it ends for all, and they are told. */
static void
lose_everything(Server *server)
{
    UserAgent *user_agent = &server->session.user_agent;
    GHashTableIter iter;
    Client *client;

    session_tick(&server->session);
    user_agent_shut_down(user_agent);
    g_hash_table_iter_init(&iter, server->session.clients);
    while (g_hash_table_iter_next(&iter, NULL, (gpointer *)&client))
        if (client->agent != NULL)
            user_agent_lose(user_agent, client->agent);
    notify_effects(server);
    /* Deferred calls take effect no more, so they need not wait either. */
    g_hash_table_iter_init(&iter, server->session.clients);
    while (g_hash_table_iter_next(&iter, NULL, (gpointer *)&client))
        if (client->agent != NULL && !call_queue_is_empty(&client->deferred))
            turn_make_runnable(&server->session.turn, client);
}

void
lifecycle_stop(Server *server)
{
    Lifecycle *lifecycle = server->lifecycle;

    if (lifecycle->state != LIFECYCLE_RUNNING)
        return;

    lifecycle->state = LIFECYCLE_STOPPING;
    lifecycle->stop_deadline_id =
        g_timeout_add_seconds(STOP_TIMEOUT_SECS, on_stop_deadline, server);
    g_clear_handle_id(&lifecycle->idle_id, g_source_remove);
    if (server->state == NULL)
        lose_everything(server);
    server_end_turn(server);
}

static gboolean
on_release_again(gpointer data)
{
    Server *server = data;

    server->lifecycle->release_again_id = 0;
    lifecycle_go_on_stopping(server);
    return G_SOURCE_REMOVE;
}

static void
release_name(Server *server)
{
    Lifecycle *lifecycle = server->lifecycle;
    int r = sd_bus_release_name_async(server->bus.connection, &lifecycle->release_name,
                                      BUS_SERVICE_NAME, on_name_released, server);

    if (sd_bus_wants_room(r))
        lifecycle->release_again_id = g_timeout_add(RELEASE_AGAIN_MS, on_release_again, server);
    else if (r < 0)
        end(server, EXIT_FAILURE);
}

void
lifecycle_go_on_stopping(Server *server)
{
    Lifecycle *lifecycle = server->lifecycle;

    if (lifecycle->state != LIFECYCLE_STOPPING || outbox_get_length(&server->bus.outbox) > 0)
        return;
    if (lifecycle->is_name_released) {
        /* Whoever called before that and isn't identified yet still has an answer to come. There
         * are no more of these: see clients_identify(). */
        if (server->n_unidentified > 0 || server->session.turn.runnable.length > 0)
            return;
        sd_bus_flush(server->bus.connection);
        end(server, EXIT_SUCCESS);
    } else if (lifecycle->release_name == NULL && lifecycle->release_again_id == 0) {
        release_name(server);
    }
}

void
lifecycle_bus_lost(Server *server)
{
    if (server->lifecycle->state != LIFECYCLE_ENDED)
        g_warning("The connection to the bus is lost");
    end(server, EXIT_FAILURE);
}

static gboolean
is_idle(const Server *server)
{
    return user_agent_get_n_requests(&server->session.user_agent) == 0 &&
           server->watches->n_watches == 0 && server->n_unidentified == 0 &&
           outbox_get_length(&server->bus.outbox) == 0;
}

static gboolean
on_idle_timer(gpointer data)
{
    Server *server = data;
    gint64 limit_us = idle_limit_us(server);
    /* The core was told the time when it last had something to do. */
    gint64 idle_us = g_get_monotonic_time() - server->session.user_agent.now_us;

    server->lifecycle->idle_id = 0;
    if (!is_idle(server)) {
        arm_idle_timer(server, limit_us);
    } else if (idle_us < limit_us) {
        arm_idle_timer(server, limit_us - idle_us);
    } else {
        g_info("Idle for %g s: leaving", server->lifecycle->options.idle_exit_secs);
        lifecycle_stop(server);
    }
    return G_SOURCE_REMOVE;
}
