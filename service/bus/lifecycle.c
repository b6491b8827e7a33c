/* SPDX-FileCopyrightText: 2026 The WebLocks for D-Bus authors
 * SPDX-License-Identifier: LGPL-2.1-or-later */

#include "service/bus/lifecycle.h"

#include <stdlib.h>

#include "common/wire-names.h"
#include "service/bus/clients.h"
#include "service/bus/watchers.h"
#include "service/fault.h"

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
    if (edge->lifecycle->state == LIFECYCLE_RUNNING)
        g_message("Another instance has taken the name %s", WIRE_BUS_NAME);
    lifecycle_stop(edge);
    return 0;
}

gboolean
lifecycle_is_name_taken(Edge *edge)
{
    g_autoptr(SdBusMessage) reply = NULL;
    const char *owner, *own_name;

    return sd_bus_call_method(edge->bus_link.bus, WIRE_DRIVER_NAME, WIRE_DRIVER_PATH,
                              WIRE_DRIVER_INTERFACE, "GetNameOwner", NULL, &reply, "s",
                              WIRE_BUS_NAME) >= 0 &&
           sd_bus_message_read_basic(reply, 's', &owner) > 0 &&
           sd_bus_get_unique_name(edge->bus_link.bus, &own_name) >= 0 &&
           !g_str_equal(owner, own_name);
}

int
lifecycle_take_name(Edge *edge)
{
    uint64_t flags = edge->lifecycle->options.replace
                         ? SD_BUS_NAME_REPLACE_EXISTING | SD_BUS_NAME_ALLOW_REPLACEMENT
                         : 0;
    int r = sd_bus_match_signal(edge->bus_link.bus, &edge->lifecycle->name_lost, WIRE_DRIVER_NAME,
                                WIRE_DRIVER_PATH, WIRE_DRIVER_INTERFACE, "NameLost", on_name_lost,
                                edge);

    return r < 0 ? r : sd_bus_request_name(edge->bus_link.bus, WIRE_BUS_NAME, flags);
}

static gint64
idle_limit_us(const Edge *edge)
{
    return (gint64)(edge->lifecycle->options.idle_exit_secs * G_USEC_PER_SEC);
}

static void
arm_idle_timer(Edge *edge, gint64 delay_us)
{
    /* Rounded up: a timer that is early would only be armed again. */
    edge->lifecycle->idle_id =
        g_timeout_add((guint)CLAMP(delay_us / 1000 + 1, 1, G_MAXINT32), on_idle_timer, edge);
}

int
lifecycle_run(Edge *edge)
{
    Lifecycle *lifecycle = edge->lifecycle;

    edge_tick(edge);
    if (idle_limit_us(edge) > 0)
        arm_idle_timer(edge, idle_limit_us(edge));
    if (lifecycle->state != LIFECYCLE_ENDED)
        g_main_loop_run(lifecycle->loop);
    return lifecycle->exit_status;
}

/* The bus has answered ReleaseName: nothing more comes by name, and all we sent was read. */
static int
on_name_released(sd_bus_message *reply, void *userdata, sd_bus_error *error)
{
    Edge *edge = userdata;

    clients_serve_deferred(edge);
    edge->lifecycle->is_name_released = TRUE; /* and we may leave, when that has been sent */
    return 1;
}

/* What the bus has not done. */
static const char *
get_reason(const Edge *edge)
{
    if (outbox_get_length(&edge->bus_link.outbox) > 0)
        return "does not read what it is sent";
    if (!edge->lifecycle->is_name_released)
        return "does not confirm that the name is given back";
    return "does not say who a caller is";
}

static gboolean
on_stop_deadline(gpointer data)
{
    Edge *edge = data;

    edge->lifecycle->stop_deadline_id = 0;
    g_warning("The bus %s; leaving without that", get_reason(edge));
    end(edge, EXIT_FAILURE);
    return G_SOURCE_REMOVE;
}

void
lifecycle_stop(Edge *edge)
{
    Lifecycle *lifecycle = edge->lifecycle;

    if (lifecycle->state != LIFECYCLE_RUNNING)
        return;

    lifecycle->state = LIFECYCLE_STOPPING;
    lifecycle->stop_deadline_id = g_timeout_add_seconds(STOP_TIMEOUT_SECS, on_stop_deadline, edge);
    g_clear_handle_id(&lifecycle->idle_id, g_source_remove);
    if (edge->state == NULL)
        clients_lose_everything(edge);
    edge_end_turn(edge);
}

static gboolean
on_release_again(gpointer data)
{
    Edge *edge = data;

    edge->lifecycle->release_again_id = 0;
    lifecycle_go_on_stopping(edge);
    return G_SOURCE_REMOVE;
}

static void
release_name(Edge *edge)
{
    Lifecycle *lifecycle = edge->lifecycle;
    int r = sd_bus_release_name_async(edge->bus_link.bus, &lifecycle->release_name, WIRE_BUS_NAME,
                                      on_name_released, edge);

    if (sd_bus_wants_room(r))
        lifecycle->release_again_id = g_timeout_add(RELEASE_AGAIN_MS, on_release_again, edge);
    else if (r < 0)
        end(edge, EXIT_FAILURE);
}

void
lifecycle_go_on_stopping(Edge *edge)
{
    Lifecycle *lifecycle = edge->lifecycle;

    if (lifecycle->state != LIFECYCLE_STOPPING || outbox_get_length(&edge->bus_link.outbox) > 0)
        return;
    if (lifecycle->is_name_released) {
        /* Whoever called before that and isn't identified yet still has an answer to come. There
         * are no more of these: see clients_identify(). */
        if (edge->clients->n_unidentified > 0)
            return;
        sd_bus_flush(edge->bus_link.bus);
        end(edge, EXIT_SUCCESS);
    } else if (lifecycle->release_name == NULL && lifecycle->release_again_id == 0) {
        release_name(edge);
    }
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
    return user_agent_get_n_requests(&edge->user_agent) == 0 && edge->watchers->n_watches == 0 &&
           edge->clients->n_unidentified == 0 && outbox_get_length(&edge->bus_link.outbox) == 0;
}

static gboolean
on_idle_timer(gpointer data)
{
    Edge *edge = data;
    gint64 limit_us = idle_limit_us(edge);
    /* The core was told the time when it last had something to do. */
    gint64 idle_us = g_get_monotonic_time() - edge->user_agent.now_us;

    edge->lifecycle->idle_id = 0;
    if (!is_idle(edge)) {
        arm_idle_timer(edge, limit_us);
    } else if (idle_us < limit_us) {
        arm_idle_timer(edge, limit_us - idle_us);
    } else {
        g_info("Idle for %g s: leaving", edge->lifecycle->options.idle_exit_secs);
        if (fault_is(FAULT_EXIT_WITHOUT_DRAIN))
            end(edge, EXIT_SUCCESS);
        lifecycle_stop(edge);
    }
    return G_SOURCE_REMOVE;
}
