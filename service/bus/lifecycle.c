/* SPDX-FileCopyrightText: 2026 The WebLocks for D-Bus authors
 * SPDX-License-Identifier: LGPL-2.1-or-later */

#include "service/bus/lifecycle.h"

#include <errno.h>
#include <stdlib.h>

#include "common/wire-names.h"
#include "service/bus/bus-service.h"
#include "service/bus/calls.h"
#include "service/bus/signals.h"

/* How long the bus may take to read what we said last. */
#define STOP_TIMEOUT_SECS 5

static void arm_idle_timer(BusService *service, gint64 delay_us);

void
lifecycle_init(Lifecycle *lifecycle, const LifecycleOptions *options)
{
    memset(lifecycle, 0, sizeof *lifecycle);
    lifecycle->options = *options;
    lifecycle->loop = g_main_loop_new(NULL, FALSE);
    g_queue_init(&lifecycle->kept_calls);
}

void
lifecycle_fini(Lifecycle *lifecycle)
{
    g_clear_handle_id(&lifecycle->idle_id, g_source_remove);
    g_clear_handle_id(&lifecycle->stop_deadline_id, g_source_remove);
    g_clear_pointer(&lifecycle->name_lost, sd_bus_slot_unref);
    g_clear_pointer(&lifecycle->name_call, sd_bus_slot_unref);
    g_queue_clear_full(&lifecycle->kept_calls, sd_bus_message_destroy);
    g_clear_pointer(&lifecycle->loop, g_main_loop_unref);
}

static uint64_t
name_flags(const BusService *service)
{
    return service->lifecycle.options.replace
               ? SD_BUS_NAME_REPLACE_EXISTING | SD_BUS_NAME_ALLOW_REPLACEMENT
               : 0;
}

static void
end(BusService *service, int exit_status)
{
    Lifecycle *lifecycle = &service->lifecycle;

    if (lifecycle->state == LIFECYCLE_ENDED)
        return;
    lifecycle->state = LIFECYCLE_ENDED;
    lifecycle->exit_status = exit_status;
    g_main_loop_quit(lifecycle->loop);
}

static int
on_name_lost(sd_bus_message *message, void *userdata, sd_bus_error *error)
{
    BusService *service = userdata;
    const char *name;

    if (sd_bus_message_read(message, "s", &name) < 0 || !g_str_equal(name, WIRE_BUS_NAME))
        return 0;
    if (service->lifecycle.state == LIFECYCLE_RUNNING) {
        g_message("Another instance has taken the name %s", WIRE_BUS_NAME);
        lifecycle_stop(service);
    }
    return 0;
}

int
lifecycle_take_name(BusService *service)
{
    int r = sd_bus_match_signal(service->bus, &service->lifecycle.name_lost, WIRE_DRIVER_NAME,
                                WIRE_DRIVER_PATH, WIRE_DRIVER_INTERFACE, "NameLost", on_name_lost,
                                service);

    return r < 0 ? r : sd_bus_request_name(service->bus, WIRE_BUS_NAME, name_flags(service));
}

int
lifecycle_run(BusService *service)
{
    Lifecycle *lifecycle = &service->lifecycle;

    lifecycle->last_call_us = g_get_monotonic_time();
    if (lifecycle->options.idle_exit_secs > 0)
        arm_idle_timer(service, (gint64)(lifecycle->options.idle_exit_secs * G_USEC_PER_SEC));
    if (lifecycle->state != LIFECYCLE_ENDED)
        g_main_loop_run(lifecycle->loop);
    return lifecycle->exit_status;
}

/* Serves the calls that were kept, in their order. */
static void
serve_kept_calls(BusService *service)
{
    sd_bus_message *call;

    while ((call = g_queue_pop_head(&service->lifecycle.kept_calls)) != NULL) {
        calls_receive(service, call);
        sd_bus_message_unref(call);
    }
    bus_service_end_turn(service);
}

/* The bus has answered ReleaseName: nothing more comes by name, and all we sent was read. */
static int
on_stopped(sd_bus_message *reply, void *userdata, sd_bus_error *error)
{
    BusService *service = userdata;

    bus_service_end_turn(service);
    end(service, EXIT_SUCCESS);
    return 1;
}

static gboolean
on_stop_deadline(gpointer data)
{
    BusService *service = data;

    service->lifecycle.stop_deadline_id = 0;
    g_warning("The bus does not answer; leaving without its confirmation");
    end(service, EXIT_FAILURE);
    return G_SOURCE_REMOVE;
}

static void
lose_everything(BusService *service)
{
    GHashTableIter iter;
    Client *client;

    bus_service_tick(service);
    user_agent_shut_down(&service->user_agent);
    g_hash_table_iter_init(&iter, service->clients.by_name);
    while (g_hash_table_iter_next(&iter, NULL, (gpointer *)&client))
        if (client->agent != NULL)
            user_agent_lose(&service->user_agent, client->agent);
    signals_announce(service, NULL, NULL);
}

void
lifecycle_stop(BusService *service)
{
    Lifecycle *lifecycle = &service->lifecycle;

    if (lifecycle->state == LIFECYCLE_STOPPING || lifecycle->state == LIFECYCLE_ENDED) {
        end(service, EXIT_FAILURE);
        return;
    }

    lifecycle->state = LIFECYCLE_STOPPING;
    g_clear_handle_id(&lifecycle->idle_id, g_source_remove);
    lose_everything(service);
    serve_kept_calls(service);
    g_clear_pointer(&lifecycle->name_call, sd_bus_slot_unref);
    if (sd_bus_release_name_async(service->bus, &lifecycle->name_call, WIRE_BUS_NAME, on_stopped,
                                  service) < 0) {
        end(service, EXIT_FAILURE);
        return;
    }
    lifecycle->stop_deadline_id =
        g_timeout_add_seconds(STOP_TIMEOUT_SECS, on_stop_deadline, service);
}

void
lifecycle_bus_lost(BusService *service)
{
    if (service->lifecycle.state != LIFECYCLE_ENDED)
        g_warning("The connection to the bus is lost");
    end(service, EXIT_FAILURE);
}

static gboolean
is_idle(const BusService *service)
{
    return service->user_agent.n_requests == 0 && service->watchers.n_watches == 0 &&
           service->clients.n_unidentified == 0 && service->outbox.messages.length == 0;
}

/* The bus has answered RequestName, asked for once more because calls came too late for the exit.
 */
static int
on_name_again(sd_bus_message *reply, void *userdata, sd_bus_error *error)
{
    BusService *service = userdata;
    Lifecycle *lifecycle = &service->lifecycle;
    uint32_t answer = 0;

    if (lifecycle->state != LIFECYCLE_RELEASING)
        return 1;
    /* 1: we own it now; 4: we did already. */
    if (sd_bus_message_is_method_error(reply, NULL) ||
        sd_bus_message_read(reply, "u", &answer) < 0 || (answer != 1 && answer != 4)) {
        /* A successor has it: what was sent to us by name is refused, and may be sent again. */
        lifecycle_stop(service);
        return 1;
    }

    lifecycle->state = LIFECYCLE_RUNNING;
    serve_kept_calls(service);
    arm_idle_timer(service, (gint64)(lifecycle->options.idle_exit_secs * G_USEC_PER_SEC));
    return 1;
}

static int
on_idle_released(sd_bus_message *reply, void *userdata, sd_bus_error *error)
{
    BusService *service = userdata;
    Lifecycle *lifecycle = &service->lifecycle;

    if (lifecycle->state != LIFECYCLE_RELEASING)
        return 1;
    if (lifecycle->kept_calls.length == 0) {
        g_info("Idle for %g s: leaving", lifecycle->options.idle_exit_secs);
        end(service, EXIT_SUCCESS);
        return 1;
    }

    g_clear_pointer(&lifecycle->name_call, sd_bus_slot_unref);
    if (sd_bus_request_name_async(service->bus, &lifecycle->name_call, WIRE_BUS_NAME,
                                  name_flags(service), on_name_again, service) < 0)
        lifecycle_stop(service);
    return 1;
}

static gboolean
on_idle_timer(gpointer data)
{
    BusService *service = data;
    Lifecycle *lifecycle = &service->lifecycle;
    gint64 limit_us = (gint64)(lifecycle->options.idle_exit_secs * G_USEC_PER_SEC);
    gint64 idle_us = g_get_monotonic_time() - lifecycle->last_call_us;

    lifecycle->idle_id = 0;
    if (!is_idle(service) || idle_us < limit_us) {
        arm_idle_timer(service, idle_us < limit_us ? limit_us - idle_us : limit_us);
        return G_SOURCE_REMOVE;
    }

    lifecycle->state = LIFECYCLE_RELEASING;
    g_clear_pointer(&lifecycle->name_call, sd_bus_slot_unref);
    if (sd_bus_release_name_async(service->bus, &lifecycle->name_call, WIRE_BUS_NAME,
                                  on_idle_released, service) < 0)
        lifecycle_stop(service);
    return G_SOURCE_REMOVE;
}

static void
arm_idle_timer(BusService *service, gint64 delay_us)
{
    /* Rounded up: a timer that is early would only be armed again. */
    service->lifecycle.idle_id =
        g_timeout_add((guint)CLAMP(delay_us / 1000 + 1, 1, G_MAXINT32), on_idle_timer, service);
}

gboolean
lifecycle_hold_call(BusService *service, sd_bus_message *call)
{
    Lifecycle *lifecycle = &service->lifecycle;

    lifecycle->last_call_us = g_get_monotonic_time();
    if (lifecycle->state != LIFECYCLE_RELEASING)
        return FALSE;
    g_queue_push_tail(&lifecycle->kept_calls, sd_bus_message_ref(call));
    return TRUE;
}
