/* SPDX-FileCopyrightText: 2026 The WebLocks for D-Bus authors
 * SPDX-License-Identifier: LGPL-2.1-or-later */

#include "lifecycle.h"

#include <errno.h>
#include <signal.h>
#include <stdlib.h>

#include "bus-names.h"
#include "clock.h"
#include "cluster-calls.h"
#include "notifications.h"
#include "scheduler.h"
#include "watches.h"

/* How long it may take until the last calls are served, and the bus has read all replies. */
#define STOP_TIMEOUT_MS 5000
/* The results of RequestName that make the caller the owner. */
#define REQUEST_NAME_PRIMARY_OWNER 1
#define REQUEST_NAME_ALREADY_OWNER 4
/* After this time ReleaseName is sent again if the connection had no room for it. */
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
    g_clear_pointer(&lifecycle->request_name, sd_bus_slot_unref);
    g_clear_pointer(&lifecycle->release_name, sd_bus_slot_unref);
    g_main_loop_unref(lifecycle->loop);
    g_free(lifecycle);
}

void
lifecycle_end(Server *server, int exit_status)
{
    Lifecycle *lifecycle = server->lifecycle;

    if (lifecycle->state == LIFECYCLE_ENDED)
        return;
    lifecycle->state = LIFECYCLE_ENDED;
    lifecycle->exit_status = exit_status;
    g_main_loop_quit(lifecycle->loop);
}

/* ---- the name */

/* Another instance may take the name only if this one allows replacement. */
static uint64_t
get_name_flags(const Server *server)
{
    return server->lifecycle->options.replace ? SD_BUS_NAME_ALLOW_REPLACEMENT : 0;
}

static int
on_name_requested(sd_bus_message *reply, void *userdata, sd_bus_error *error)
{
    Server *server = userdata;
    guint32 result = 0;

    g_clear_pointer(&server->lifecycle->request_name, sd_bus_slot_unref);
    if (server->lifecycle->state != LIFECYCLE_RUNNING)
        return 1;
    if (!sd_bus_message_is_method_error(reply, NULL))
        sd_bus_message_read_basic(reply, 'u', &result);
    if (result == REQUEST_NAME_PRIMARY_OWNER || result == REQUEST_NAME_ALREADY_OWNER)
        return 1;
    g_message("another instance has taken the name %s", BUS_SERVICE_NAME);
    lifecycle_stop(server);
    return 1;
}

/* The name may be free again: the other instance may have ended before this one has read that the
 * owner changed. */
void
lifecycle_on_name_lost(Server *server)
{
    Lifecycle *lifecycle = server->lifecycle;

    if (lifecycle->state == LIFECYCLE_RUNNING && lifecycle->request_name == NULL &&
        sd_bus_request_name_async(server->bus.connection, &lifecycle->request_name,
                                  BUS_SERVICE_NAME, get_name_flags(server), on_name_requested,
                                  server) < 0)
        lifecycle_stop(server);
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

gboolean
lifecycle_is_owner_dead(Server *server)
{
    sd_bus_error error = SD_BUS_ERROR_NULL;
    g_autoptr(SdBusMessage) reply = NULL;
    gboolean has_no_owner;
    guint32 pid;
    int r = sd_bus_call_method(server->bus.connection, BUS_DRIVER_NAME, BUS_DRIVER_PATH,
                               BUS_DRIVER_INTERFACE, "GetConnectionUnixProcessID", &error, &reply,
                               "s", BUS_SERVICE_NAME);

    has_no_owner = sd_bus_error_has_name(&error, SD_BUS_ERROR_NAME_HAS_NO_OWNER) > 0;
    sd_bus_error_free(&error);
    if (r < 0)
        return has_no_owner;
    return sd_bus_message_read_basic(reply, 'u', &pid) > 0 && pid != 0 && kill((pid_t)pid, 0) < 0 &&
           errno == ESRCH;
}

int
lifecycle_take_name(Server *server)
{
    uint64_t flags = get_name_flags(server);

    if (server->lifecycle->options.replace)
        flags |= SD_BUS_NAME_REPLACE_EXISTING;
    return sd_bus_request_name(server->bus.connection, BUS_SERVICE_NAME, flags);
}

/* ---- running */

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

void
lifecycle_begin(Server *server)
{
    if (server->lifecycle->state != LIFECYCLE_STARTING)
        return;
    server->lifecycle->state = LIFECYCLE_RUNNING;
    clock_tick(server);
    if (idle_limit_us(server) > 0)
        arm_idle_timer(server, idle_limit_us(server));
}

int
lifecycle_run(Server *server)
{
    if (server->lifecycle->state != LIFECYCLE_ENDED)
        g_main_loop_run(server->lifecycle->loop);
    return server->lifecycle->exit_status;
}

/* ---- the end */

/* The bus has answered ReleaseName: no more calls come by name, and the bus has read all that was
 * sent before. */
static int
on_name_released(sd_bus_message *reply, void *userdata, sd_bus_error *error)
{
    Server *server = userdata;

    scheduler_end_all(server);
    server->lifecycle->is_name_released = TRUE; /* the service ends when the replies are sent */
    return 1;
}

/* The reason why the service could not end in time, for the log. */
static const char *
get_reason(const Server *server)
{
    if (outbox_get_length(&server->bus.outbox) > 0)
        return "the bus does not read our messages";
    if (!server->lifecycle->is_name_released)
        return "the bus does not reply to ReleaseName";
    if (server->n_unidentified > 0)
        return "the bus does not reply with the credentials of a caller";
    if (server->session.turn.runnable.length > 0)
        return "clients have sent more than can be served";
    return "the bus does not read our messages";
}

static gboolean
on_stop_deadline(gpointer data)
{
    Server *server = data;

    server->lifecycle->stop_deadline_id = 0;
    g_warning("%s; ending anyway", get_reason(server));
    lifecycle_end(server, EXIT_FAILURE);
    return G_SOURCE_REMOVE;
}

/* Without state: all requests end, and their clients are notified. */
static void
lose_everything(Server *server)
{
    UserAgent *user_agent = &server->session.user_agent;
    GHashTableIter iter;
    Client *client;

    clock_tick(server);
    user_agent_shut_down(user_agent);
    g_hash_table_iter_init(&iter, server->session.clients);
    while (g_hash_table_iter_next(&iter, NULL, (gpointer *)&client))
        if (client->agent != NULL)
            user_agent_lose(user_agent, client->agent);
    notify_effects(server);
    /* Deferred calls would be refused later, so they are refused now. */
    g_hash_table_iter_init(&iter, server->session.clients);
    while (g_hash_table_iter_next(&iter, NULL, (gpointer *)&client))
        if (client->agent != NULL && !call_queue_is_empty(&client->deferred))
            turn_make_runnable(&server->session.turn, client);
}

void
lifecycle_stop(Server *server)
{
    Lifecycle *lifecycle = server->lifecycle;

    if (lifecycle->state == LIFECYCLE_STARTING)
        lifecycle_end(server, EXIT_SUCCESS);
    if (lifecycle->state != LIFECYCLE_RUNNING)
        return;

    lifecycle->state = LIFECYCLE_STOPPING;
    lifecycle->stop_deadline_id = g_timeout_add(STOP_TIMEOUT_MS, on_stop_deadline, server);
    g_clear_handle_id(&lifecycle->idle_id, g_source_remove);
    cluster_calls_finish_all(server);
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

    if (sd_bus_is_transient(r))
        lifecycle->release_again_id = g_timeout_add(RELEASE_AGAIN_MS, on_release_again, server);
    else if (r < 0)
        lifecycle_end(server, EXIT_FAILURE);
}

void
lifecycle_go_on_stopping(Server *server)
{
    Lifecycle *lifecycle = server->lifecycle;

    if (lifecycle->state != LIFECYCLE_STOPPING || outbox_get_length(&server->bus.outbox) > 0)
        return;
    if (lifecycle->is_name_released) {
        /* Clients that called before and are being identified still get replies. No further client
         * is identified: see admission_identify(). */
        if (server->n_unidentified == 0 && server->session.turn.runnable.length == 0 &&
            outbox_is_written(&server->bus.outbox))
            lifecycle_end(server, EXIT_SUCCESS);
    } else if (lifecycle->release_name == NULL && lifecycle->release_again_id == 0) {
        release_name(server);
    }
}

void
lifecycle_bus_lost(Server *server)
{
    if (server->lifecycle->state != LIFECYCLE_ENDED)
        g_warning("the connection to the bus has ended");
    lifecycle_end(server, EXIT_FAILURE);
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
    /* now_us is the time of the last operation of the core. */
    gint64 idle_us = g_get_monotonic_time() - server->session.user_agent.now_us;

    server->lifecycle->idle_id = 0;
    if (!is_idle(server)) {
        arm_idle_timer(server, limit_us);
    } else if (idle_us < limit_us) {
        arm_idle_timer(server, limit_us - idle_us);
    } else {
        g_info("idle for %g s: exiting", server->lifecycle->options.idle_exit_secs);
        lifecycle_stop(server);
    }
    return G_SOURCE_REMOVE;
}
