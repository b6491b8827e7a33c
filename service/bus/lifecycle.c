/* SPDX-FileCopyrightText: 2026 The WebLocks for D-Bus authors
 * SPDX-License-Identifier: LGPL-2.1-or-later */

#include "service/bus/lifecycle.h"

#include <errno.h>
#include <stdlib.h>

#include "common/wire-names.h"
#include "service/bus/clients.h"
#include "service/bus/watchers.h"

/* How long the bus may take to read what we said last. */
#define STOP_TIMEOUT_SECS 5

static void arm_idle_timer(Edge *edge, gint64 delay_us);

Lifecycle *
lifecycle_new(const LifecycleOptions *options, LifecycleReceive receive)
{
    Lifecycle *lifecycle = g_new0(Lifecycle, 1);

    lifecycle->options = *options;
    lifecycle->receive = receive;
    lifecycle->loop = g_main_loop_new(NULL, FALSE);
    g_queue_init(&lifecycle->kept_calls);
    return lifecycle;
}

void
lifecycle_free(Lifecycle *lifecycle)
{
    g_clear_handle_id(&lifecycle->idle_id, g_source_remove);
    g_clear_handle_id(&lifecycle->stop_deadline_id, g_source_remove);
    g_clear_pointer(&lifecycle->name_lost, sd_bus_slot_unref);
    g_clear_pointer(&lifecycle->name_call, sd_bus_slot_unref);
    g_queue_clear_full(&lifecycle->kept_calls, sd_bus_message_destroy);
    g_main_loop_unref(lifecycle->loop);
    g_free(lifecycle);
}

static uint64_t
name_flags(const Edge *edge)
{
    return edge->lifecycle->options.replace
               ? SD_BUS_NAME_REPLACE_EXISTING | SD_BUS_NAME_ALLOW_REPLACEMENT
               : 0;
}

static void
end(Edge *edge, int exit_status)
{
    Lifecycle *lifecycle = edge->lifecycle;

    if (lifecycle->state == LIFECYCLE_ENDED)
        return;
    lifecycle->state = LIFECYCLE_ENDED;
    lifecycle->exit_status = exit_status;
    g_main_loop_quit(lifecycle->loop);
}

static int
on_name_lost(sd_bus_message *message, void *userdata, sd_bus_error *error)
{
    Edge *edge = userdata;
    const char *name;

    if (sd_bus_message_read(message, "s", &name) < 0 || !g_str_equal(name, WIRE_BUS_NAME))
        return 0;
    if (edge->lifecycle->state == LIFECYCLE_RUNNING) {
        g_message("Another instance has taken the name %s", WIRE_BUS_NAME);
        lifecycle_stop(edge);
    }
    return 0;
}

int
lifecycle_take_name(Edge *edge)
{
    int r = sd_bus_match_signal(edge->bus, &edge->lifecycle->name_lost, WIRE_DRIVER_NAME,
                                WIRE_DRIVER_PATH, WIRE_DRIVER_INTERFACE, "NameLost", on_name_lost,
                                edge);

    return r < 0 ? r : sd_bus_request_name(edge->bus, WIRE_BUS_NAME, name_flags(edge));
}

int
lifecycle_run(Edge *edge)
{
    Lifecycle *lifecycle = edge->lifecycle;

    lifecycle->last_call_us = g_get_monotonic_time();
    if (lifecycle->options.idle_exit_secs > 0)
        arm_idle_timer(edge, (gint64)(lifecycle->options.idle_exit_secs * G_USEC_PER_SEC));
    if (lifecycle->state != LIFECYCLE_ENDED)
        g_main_loop_run(lifecycle->loop);
    return lifecycle->exit_status;
}

/* Serves the calls that were kept, in their order. */
static void
serve_kept_calls(Edge *edge)
{
    sd_bus_message *call;

    while ((call = g_queue_pop_head(&edge->lifecycle->kept_calls)) != NULL) {
        edge->lifecycle->receive(edge, call);
        sd_bus_message_unref(call);
    }
    edge_end_turn(edge);
}

/* The bus has answered ReleaseName: nothing more comes by name, and all we sent was read. */
static int
on_stopped(sd_bus_message *reply, void *userdata, sd_bus_error *error)
{
    Edge *edge = userdata;

    edge_end_turn(edge);
    end(edge, EXIT_SUCCESS);
    return 1;
}

static gboolean
on_stop_deadline(gpointer data)
{
    Edge *edge = data;

    edge->lifecycle->stop_deadline_id = 0;
    g_warning("The bus does not answer; leaving without its confirmation");
    end(edge, EXIT_FAILURE);
    return G_SOURCE_REMOVE;
}

void
lifecycle_stop(Edge *edge)
{
    Lifecycle *lifecycle = edge->lifecycle;

    if (lifecycle->state == LIFECYCLE_STOPPING || lifecycle->state == LIFECYCLE_ENDED) {
        end(edge, EXIT_FAILURE);
        return;
    }

    lifecycle->state = LIFECYCLE_STOPPING;
    g_clear_handle_id(&lifecycle->idle_id, g_source_remove);
    clients_lose_everything(edge);
    serve_kept_calls(edge);
    g_clear_pointer(&lifecycle->name_call, sd_bus_slot_unref);
    if (sd_bus_release_name_async(edge->bus, &lifecycle->name_call, WIRE_BUS_NAME, on_stopped,
                                  edge) < 0) {
        end(edge, EXIT_FAILURE);
        return;
    }
    lifecycle->stop_deadline_id = g_timeout_add_seconds(STOP_TIMEOUT_SECS, on_stop_deadline, edge);
}

void
lifecycle_bus_lost(Edge *edge)
{
    if (edge->lifecycle->state != LIFECYCLE_ENDED)
        g_warning("The connection to the bus is lost");
    end(edge, EXIT_FAILURE);
}

static gboolean
is_idle(const Edge *edge)
{
    return edge->user_agent.n_requests == 0 && edge->watchers->n_watches == 0 &&
           edge->clients->n_unidentified == 0 && edge->outbox.messages.length == 0;
}

/* The bus has answered RequestName, sent once more because calls came too late for the exit. */
static int
on_name_again(sd_bus_message *reply, void *userdata, sd_bus_error *error)
{
    Edge *edge = userdata;
    Lifecycle *lifecycle = edge->lifecycle;
    uint32_t answer = 0;

    if (lifecycle->state != LIFECYCLE_RELEASING)
        return 1;
    /* 1: we own it now; 4: we did already. */
    if (sd_bus_message_is_method_error(reply, NULL) ||
        sd_bus_message_read(reply, "u", &answer) < 0 || (answer != 1 && answer != 4)) {
        /* A successor has it: what was sent to us by name is refused, and may be sent again. */
        lifecycle_stop(edge);
        return 1;
    }

    lifecycle->state = LIFECYCLE_RUNNING;
    serve_kept_calls(edge);
    arm_idle_timer(edge, (gint64)(lifecycle->options.idle_exit_secs * G_USEC_PER_SEC));
    return 1;
}

static int
on_idle_released(sd_bus_message *reply, void *userdata, sd_bus_error *error)
{
    Edge *edge = userdata;
    Lifecycle *lifecycle = edge->lifecycle;

    if (lifecycle->state != LIFECYCLE_RELEASING)
        return 1;
    if (lifecycle->kept_calls.length == 0) {
        g_info("Idle for %g s: leaving", lifecycle->options.idle_exit_secs);
        end(edge, EXIT_SUCCESS);
        return 1;
    }

    g_clear_pointer(&lifecycle->name_call, sd_bus_slot_unref);
    if (sd_bus_request_name_async(edge->bus, &lifecycle->name_call, WIRE_BUS_NAME, name_flags(edge),
                                  on_name_again, edge) < 0)
        lifecycle_stop(edge);
    return 1;
}

static gboolean
on_idle_timer(gpointer data)
{
    Edge *edge = data;
    Lifecycle *lifecycle = edge->lifecycle;
    gint64 limit_us = (gint64)(lifecycle->options.idle_exit_secs * G_USEC_PER_SEC);
    gint64 idle_us = g_get_monotonic_time() - lifecycle->last_call_us;

    lifecycle->idle_id = 0;
    if (!is_idle(edge) || idle_us < limit_us) {
        arm_idle_timer(edge, idle_us < limit_us ? limit_us - idle_us : limit_us);
        return G_SOURCE_REMOVE;
    }

    lifecycle->state = LIFECYCLE_RELEASING;
    g_clear_pointer(&lifecycle->name_call, sd_bus_slot_unref);
    if (sd_bus_release_name_async(edge->bus, &lifecycle->name_call, WIRE_BUS_NAME, on_idle_released,
                                  edge) < 0)
        lifecycle_stop(edge);
    return G_SOURCE_REMOVE;
}

static void
arm_idle_timer(Edge *edge, gint64 delay_us)
{
    /* Rounded up: a timer that is early would only be armed again. */
    edge->lifecycle->idle_id =
        g_timeout_add((guint)CLAMP(delay_us / 1000 + 1, 1, G_MAXINT32), on_idle_timer, edge);
}

gboolean
lifecycle_hold_call(Edge *edge, sd_bus_message *call)
{
    Lifecycle *lifecycle = edge->lifecycle;

    lifecycle->last_call_us = g_get_monotonic_time();
    if (lifecycle->state != LIFECYCLE_RELEASING)
        return FALSE;
    g_queue_push_tail(&lifecycle->kept_calls, sd_bus_message_ref(call));
    return TRUE;
}
