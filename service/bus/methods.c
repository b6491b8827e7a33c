/* SPDX-FileCopyrightText: 2026 The WebLocks for D-Bus authors
 * SPDX-License-Identifier: LGPL-2.1-or-later */

#include "service/bus/methods.h"

#include <errno.h>
#include <string.h>

#include "common/wire-names.h"
#include "service/bus/announce.h"
#include "service/bus/bus-faults.h"
#include "service/bus/options.h"
#include "service/bus/replies.h"
#include "service/bus/snapshots.h"
#include "service/bus/watchers.h"
#include "service/core/lock-manager.h"
#include "service/core/lock-queue.h"
#include "service/core/principal.h"
#include "service/fault.h"
#include "service/state/state.h"

/* The manager of the call's bucket, if there is anything in it; borrowed. */
static LockManager *
find_manager(const Client *client, sd_bus_message *call)
{
    const char *bucket = link_get_bucket(client->link, sd_bus_message_get_path(call));

    return lock_manager_find(client->agent->principal, bucket);
}

/* The same, to tell what is in it. */
static LockManager *
find_manager_to_show(const Client *client, sd_bus_message *call)
{
    const char *bucket = link_get_bucket(client->link, sd_bus_message_get_path(call));
    LockManager *foreign = bus_faults_find_manager(client, bucket);

    return foreign != NULL ? foreign : find_manager(client, call);
}

static LockManager *
get_manager(const Client *client, sd_bus_message *call)
{
    const char *bucket = link_get_bucket(client->link, sd_bus_message_get_path(call));

    return lock_manager_get(client->agent->principal, bucket);
}

static int
reply_request(Client *client, sd_bus_message *call, LockRequest *request)
{
    sd_bus_message *reply = replies_new(call);
    const uint64_t none = 0;

    if (sd_bus_message_append_basic(reply, 't', request != NULL ? &request->id : &none) < 0 ||
        sd_bus_message_append_basic(reply, 't', request != NULL ? &request->token : &none) < 0)
        g_assert_not_reached();
    announce_answer(client, request, reply);
    return 0;
}

static int
request_or_steal(Client *client, sd_bus_message *call, gboolean steal, sd_bus_error *error)
{
    g_autoptr(LockManager) manager = NULL;
    Edge *edge = client->edge;
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

    if (edge->state != NULL)
        edge->user_agent.is_full = !state_has_room(edge->state, strlen(name) + strlen(options.why));
    if (fault_is(FAULT_REPEAT_QUEUED_TWICE))
        options.key = 0;
    manager = get_manager(client, call);
    result = lock_manager_request(manager, client->agent, name, &options, &request);
    if (result == LOCK_RESULT_OK || result == LOCK_RESULT_UNAVAILABLE)
        return reply_request(client, call, request);
    return replies_set_result(error, client->edge, result);
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
    Agent *agent = client->agent;
    uint64_t id;
    int r = sd_bus_message_read_basic(call, 't', &id);

    if (r < 0)
        return r;
    bus_faults_mistake_id(client, id, &manager, &agent);
    if (manager != NULL)
        result = lock_manager_release(manager, agent, id);
    if (result != LOCK_RESULT_OK && bus_faults_tell_name(client, error))
        return -EINVAL;
    if (result != LOCK_RESULT_OK)
        return replies_set_result(error, client->edge, result);
    if (fault_is(FAULT_ID_REUSED))
        client->agent->last_id--;
    announce_answer(client, NULL, replies_new(call));
    return 0;
}

int
methods_abort(Client *client, sd_bus_message *call, sd_bus_error *error)
{
    LockManager *manager = find_manager(client, call);
    Agent *agent = client->agent;
    sd_bus_message *reply;
    int aborted;
    uint64_t id;
    int r = sd_bus_message_read_basic(call, 't', &id);

    if (r < 0)
        return r;
    bus_faults_let_last_overtake(client, id);
    bus_faults_mistake_id(client, id, &manager, &agent);
    aborted = manager != NULL && lock_manager_abort(manager, agent, id);
    reply = replies_new(call);
    if (reply != NULL) {
        r = sd_bus_message_append_basic(reply, 'b', &aborted);
        g_assert(r >= 0);
    }
    announce_answer(client, NULL, reply);
    return 0;
}

int
methods_query(Client *client, sd_bus_message *call, sd_bus_error *error)
{
    g_autoptr(SdBusMessage) reply = replies_new(call);
    gsize n_bytes = 0;
    int r = snapshots_append_query(reply, find_manager_to_show(client, call), &n_bytes);

    if (r < 0)
        return sd_bus_error_set_errno(error, r);
    return replies_put_list(client, g_steal_pointer(&reply), n_bytes, error);
}

int
methods_inspect(Client *client, sd_bus_message *call, sd_bus_error *error)
{
    g_autoptr(SdBusMessage) reply = replies_new(call);
    InspectFilter filter;
    gsize n_bytes = 0;
    int r = options_read_inspect(call, &filter, error);

    if (r < 0)
        return r;
    r = snapshots_append_inspect(reply, find_manager_to_show(client, call), &filter,
                                 client->edge->user_agent.now_us, &n_bytes);
    if (r < 0)
        return sd_bus_error_set_errno(error, r);
    return replies_put_list(client, g_steal_pointer(&reply), n_bytes, error);
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
        return replies_set_result(error, client->edge, result);
    announce_answer(client, NULL, replies_new(call));
    return 0;
}
