/* SPDX-FileCopyrightText: 2026 The WebLocks for D-Bus authors
 * SPDX-License-Identifier: LGPL-2.1-or-later */

#include "service/bus/methods.h"

#include <errno.h>

#include "common/wire-names.h"
#include "service/bus/bus-service.h"
#include "service/bus/calls.h"
#include "service/bus/objects.h"
#include "service/bus/options.h"
#include "service/bus/signals.h"
#include "service/bus/snapshots.h"
#include "service/core/lock-manager.h"
#include "service/core/principal.h"

/* sd-bus asks before it dispatches: only a legal path is an object. */
static int
find_bucket(sd_bus *bus,
            const char *path,
            const char *interface,
            void *userdata,
            void **out_found,
            sd_bus_error *error)
{
    g_autofree char *bucket = objects_bucket_from_path(path);

    if (bucket == NULL)
        return 0;
    *out_found = userdata;
    return 1;
}

/* The manager of the call's bucket, if there is anything in it; borrowed. */
static LockManager *
find_manager(const Client *client, sd_bus_message *call)
{
    g_autofree char *bucket = objects_bucket_from_path(sd_bus_message_get_path(call));

    return lock_manager_find(client->agent->principal, bucket);
}

static LockManager *
get_manager(const Client *client, sd_bus_message *call)
{
    g_autofree char *bucket = objects_bucket_from_path(sd_bus_message_get_path(call));

    return lock_manager_get(client->agent->principal, bucket);
}

static int
reply_request(Client *client, sd_bus_message *call, const LockRequest *request)
{
    sd_bus_message *reply = calls_new_reply(call);
    int r = sd_bus_message_append(reply, "tt", request != NULL ? request->id : 0,
                                  request != NULL ? request->token : 0);

    g_assert(r >= 0);
    signals_announce(client->service, request, reply);
    return 0;
}

static int
request_or_steal(Client *client, sd_bus_message *call, gboolean steal, sd_bus_error *error)
{
    g_autoptr(LockManager) manager = NULL;
    LockRequest *request = NULL;
    LockOptions options;
    LockResult result;
    const char *name;
    int r;

    if (sd_bus_message_read_basic(call, 's', &name) <= 0)
        return sd_bus_error_set(error, WIRE_ERROR_INVALID_ARGS,
                                "The name has a character that D-Bus can't carry");
    r = options_read_lock(call, steal, &options, error);
    if (r < 0)
        return r;

    manager = get_manager(client, call);
    result = lock_manager_request(manager, client->agent, name, &options, &request);
    if (result == LOCK_RESULT_OK || result == LOCK_RESULT_UNAVAILABLE)
        return reply_request(client, call, request);
    return calls_set_error(error, client->service, result);
}

int
methods_request(Client *client, sd_bus_message *call, sd_bus_error *error)
{
    return request_or_steal(client, call, FALSE, error);
}

int
methods_steal(Client *client, sd_bus_message *call, sd_bus_error *error)
{
    return request_or_steal(client, call, TRUE, error);
}

int
methods_release(Client *client, sd_bus_message *call, sd_bus_error *error)
{
    LockManager *manager = find_manager(client, call);
    LockResult result = LOCK_RESULT_NOT_HELD;
    uint64_t id;
    int r = sd_bus_message_read_basic(call, 't', &id);

    if (r < 0)
        return r;
    if (manager != NULL)
        result = lock_manager_release(manager, client->agent, id);
    if (result != LOCK_RESULT_OK)
        return calls_set_error(error, client->service, result);
    signals_announce(client->service, NULL, calls_new_reply(call));
    return 0;
}

int
methods_abort(Client *client, sd_bus_message *call, sd_bus_error *error)
{
    LockManager *manager = find_manager(client, call);
    sd_bus_message *reply = calls_new_reply(call);
    int aborted;
    uint64_t id;
    int r = sd_bus_message_read_basic(call, 't', &id);

    g_assert(r > 0);
    aborted = manager != NULL && lock_manager_abort(manager, client->agent, id);
    if (reply != NULL) {
        r = sd_bus_message_append_basic(reply, 'b', &aborted);
        g_assert(r >= 0);
    }
    signals_announce(client->service, NULL, reply);
    return 0;
}

int
methods_query(Client *client, sd_bus_message *call, sd_bus_error *error)
{
    g_autoptr(SdBusMessage) reply = calls_new_reply(call);
    int r = snapshots_append_query(reply, find_manager(client, call));

    if (r < 0)
        return sd_bus_error_set_errno(error, r);
    outbox_take(&client->service->outbox, g_steal_pointer(&reply));
    return 0;
}

int
methods_inspect(Client *client, sd_bus_message *call, sd_bus_error *error)
{
    g_autoptr(SdBusMessage) reply = calls_new_reply(call);
    InspectFilter filter;
    int r = options_read_inspect(call, &filter, error);

    if (r < 0)
        return r;
    r = snapshots_append_inspect(reply, find_manager(client, call), &filter,
                                 client->service->user_agent.now_us);
    if (r < 0)
        return sd_bus_error_set_errno(error, r);
    outbox_take(&client->service->outbox, g_steal_pointer(&reply));
    return 0;
}

int
methods_watch(Client *client, sd_bus_message *call, sd_bus_error *error)
{
    g_autoptr(LockManager) manager = get_manager(client, call);
    LockResult result;
    int enable;
    int r = sd_bus_message_read_basic(call, 'b', &enable);

    if (r < 0)
        return r;
    result = watchers_set(client, manager, enable);
    if (result != LOCK_RESULT_OK)
        return calls_set_error(error, client->service, result);
    signals_announce(client->service, NULL, calls_new_reply(call));
    return 0;
}

static const sd_bus_vtable lock_manager_vtable[] = {
    SD_BUS_VTABLE_START(0),
    SD_BUS_METHOD_WITH_NAMES("Request",
                             "sa{sv}",
                             SD_BUS_PARAM(name) SD_BUS_PARAM(options),
                             "tt",
                             SD_BUS_PARAM(id) SD_BUS_PARAM(token),
                             calls_on_method,
                             SD_BUS_VTABLE_UNPRIVILEGED),
    SD_BUS_METHOD_WITH_NAMES("Steal",
                             "sa{sv}",
                             SD_BUS_PARAM(name) SD_BUS_PARAM(options),
                             "tt",
                             SD_BUS_PARAM(id) SD_BUS_PARAM(token),
                             calls_on_method,
                             SD_BUS_VTABLE_UNPRIVILEGED),
    SD_BUS_METHOD_WITH_NAMES(
        "Release", "t", SD_BUS_PARAM(id), "", , calls_on_method, SD_BUS_VTABLE_UNPRIVILEGED),
    SD_BUS_METHOD_WITH_NAMES("Abort",
                             "t",
                             SD_BUS_PARAM(id),
                             "b",
                             SD_BUS_PARAM(aborted),
                             calls_on_method,
                             SD_BUS_VTABLE_UNPRIVILEGED),
    SD_BUS_METHOD_WITH_NAMES("Query",
                             "",
                             ,
                             "a(sss)a(sss)",
                             SD_BUS_PARAM(held) SD_BUS_PARAM(pending),
                             calls_on_method,
                             SD_BUS_VTABLE_UNPRIVILEGED),
    SD_BUS_METHOD_WITH_NAMES("Inspect",
                             "a{sv}",
                             SD_BUS_PARAM(filter),
                             "aa{sv}b",
                             SD_BUS_PARAM(entries) SD_BUS_PARAM(more),
                             calls_on_method,
                             SD_BUS_VTABLE_UNPRIVILEGED),
    SD_BUS_METHOD_WITH_NAMES(
        "Watch", "b", SD_BUS_PARAM(enable), "", , calls_on_method, SD_BUS_VTABLE_UNPRIVILEGED),
    SD_BUS_SIGNAL_WITH_NAMES("Granted",
                             "tssst",
                             SD_BUS_PARAM(id) SD_BUS_PARAM(name) SD_BUS_PARAM(mode)
                                 SD_BUS_PARAM(clientId) SD_BUS_PARAM(token),
                             0),
    SD_BUS_SIGNAL_WITH_NAMES("Released",
                             "tssss",
                             SD_BUS_PARAM(id) SD_BUS_PARAM(name) SD_BUS_PARAM(mode)
                                 SD_BUS_PARAM(clientId) SD_BUS_PARAM(reason),
                             0),
    SD_BUS_SIGNAL_WITH_NAMES("Missed", "t", SD_BUS_PARAM(count), 0),
    SD_BUS_VTABLE_END,
};

int
methods_export(BusService *service)
{
    return sd_bus_add_fallback_vtable(service->bus, NULL, WIRE_BUCKET_PREFIX, WIRE_LOCKS_INTERFACE,
                                      lock_manager_vtable, find_bucket, service);
}
