/* SPDX-FileCopyrightText: 2026 The WebLocks for D-Bus authors
 * SPDX-License-Identifier: LGPL-2.1-or-later */

#include "bus-calls.h"

#include <unistd.h>

#include "bus-names.h"
#include "cell-offers.h"
#include "cluster-calls.h"
#include "descriptors.h"
#include "document-calls.h"
#include "encode.h"
#include "lists.h"
#include "lock-manager.h"
#include "objects.h"
#include "operations.h"
#include "packet-socket.h"
#include "target.h"
#include "watches.h"

static void
send_list(Client *client, const LockCall *call, const Target *target)
{
    if (call->kind != LOCK_CALL_INSPECT ||
        cluster_calls_ask(client, call, target->owner.uid, 0) != CLUSTER_ASK_SENT)
        lists_send(client, call, target, NULL);
}

/* The watched bucket may be empty, and its principal may not exist yet. */
static LockResult
set_watch(Client *client, const LockCall *call, const Target *target)
{
    g_autoptr(LockManager) manager = NULL;

    if (call->bucket != NULL)
        manager =
            user_agent_get_manager(&client->server->user_agent, &target->owner, target->bucket);
    return watches_set(client, manager, call->enable);
}

static void
watch(Client *client, const LockCall *call, const Target *target)
{
    LockResult result = set_watch(client, call, target);

    if (result == LOCK_RESULT_OK)
        encode_done(client, call);
    else
        encode_result(client, call, result);
}

static void
break_locks(Client *client, const LockCall *call, const Target *target)
{
    LockManager *manager = target_find_manager(target);
    LockReply reply = {lock_name_check(call->name, &client->server->user_agent.limits)};
    ClusterAsk ask = CLUSTER_ASK_NONE;

    if (reply.result == LOCK_RESULT_OK && manager != NULL)
        reply.n_ended = lock_manager_break(manager, &call->filter);
    if (reply.result == LOCK_RESULT_OK)
        ask = cluster_calls_ask(client, call, target->owner.uid, reply.n_ended);
    if (ask == CLUSTER_ASK_UNREACHED)
        reply.result = LOCK_RESULT_UNREACHED;
    if (ask == CLUSTER_ASK_SENT)
        notify_effects(client->server);
    else
        notify_reply(client, &bus_channel, call, &reply);
}

static gboolean
has_request_without_key(const Agent *agent)
{
    for (const GList *link = agent->requests.head; link != NULL; link = link->next)
        if (((const LockRequest *)link->data)->key == 0)
            return TRUE;
    return FALSE;
}

static sd_bus_message *
new_socket_reply(const Client *client, const LockCall *call, int fd, int page_fd)
{
    sd_bus_message *reply = encode_new_reply(client, call);
    int r = sd_bus_message_append(reply, "h", fd);

    if (r >= 0)
        r = sd_bus_message_open_container(reply, 'a', "{sv}");
    if (r >= 0)
        r = sd_bus_message_append(reply, "{sv}{sv}", BUS_PARAMETER_VERSION, "u",
                                  MIN(call->version, PACKET_VERSION), BUS_PARAMETER_MAX_PACKET, "u",
                                  PACKET_BYTES_MAX);
    if (r >= 0 && page_fd >= 0)
        r = sd_bus_message_append(reply, "{sv}", BUS_PARAMETER_CELLS, "h", page_fd);
    if (r >= 0)
        r = sd_bus_message_close_container(reply);
    if (r >= 0)
        return reply;
    sd_bus_message_unref(reply);
    return NULL;
}

static void
open_socket(Client *client, const LockCall *call)
{
    Server *server = client->server;
    sd_bus_message *reply = NULL, *refusal;
    int fd, page_fd = -1;

    if (call->version < PACKET_VERSION_MIN) {
        encode_error(client, call, BUS_ERROR_NOT_SUPPORTED,
                     "the service does not support the client's version of packets");
        return;
    }
    if (server->user_agent.shutting_down) {
        encode_result(client, call, LOCK_RESULT_SHUTTING_DOWN);
        return;
    }
    if (has_request_without_key(client->agent)) {
        encode_error(client, call, BUS_ERROR_INVALID_STATE,
                     "the caller has a live request without a key, which packets cannot refer to");
        return;
    }
    cell_offers_close_socket(client, PACKET_CLOSED_REPLACED);
    if (!descriptors_are_scarce(DESCRIPTORS_FOR_SOCKETS) &&
        packet_socket_open(server->sockets, client, &fd)) {
        if (call->version >= PACKET_VERSION)
            page_fd = cell_offers_make(client);
        /* The message duplicates the descriptors. */
        reply = new_socket_reply(client, call, fd, page_fd);
        close(fd);
        if (page_fd >= 0)
            close(page_fd);
    }
    refusal = encode_new_error(client, call, BUS_ERROR_LIMITS_EXCEEDED,
                               "no file descriptors left for sockets");
    if (reply != NULL && refusal != NULL) {
        bus_send_descriptor(client, reply, refusal);
        return;
    }
    cell_offers_close_socket(client, 0);
    sd_bus_message_unref(reply);
    if (refusal != NULL)
        bus_send(client, refusal, 0);
}

static void
reply_of_object(Client *client, const LockCall *call)
{
    /* The number of one property, the last, or of all of them. */
    if ((call->kind == LOCK_CALL_GET || call->kind == LOCK_CALL_GET_ALL) &&
        call->item >= PROPERTY_CLUSTER)
        cluster_calls_get(client, call);
    else
        objects_reply(client, call, NULL);
}

/* ---- checks */

/* During shutdown, calls are served whether or not their clients read; except for queries, whose
 * replies may be large: the bus has to read all output within a short time. */
static gboolean
is_too_late(const Client *client, const LockCall *call)
{
    const Server *server = client->server;

    return lock_call_changes_nothing(call) &&
           (flow_control_is_behind(client->flow) ||
            (server->stage == SERVER_DRAINING && bus_is_backed_up(server->bus)));
}

/* Refuses calls that are not served. Returns whether the call was refused. */
static gboolean
refuse(Client *client, const LockCall *call, LockResult result)
{
    const gboolean is_for_socket = client->socket != NULL && call->kind <= LOCK_CALL_DOWNGRADE;

    if (result == LOCK_RESULT_NO_PATH ||
        (result != LOCK_RESULT_OK && call->refusal_name == NULL && !is_for_socket))
        encode_result(client, call, result);
    else if (call->refusal_name != NULL)
        encode_error(client, call, call->refusal_name, call->refusal_text);
    else if (is_for_socket)
        encode_error(client, call, BUS_ERROR_INVALID_STATE,
                     "lock operations have to be sent on the open lock socket");
    else if (client->is_gone && lock_call_changes_nothing(call))
        return TRUE;
    else if (is_too_late(client, call))
        encode_result(client, call, LOCK_RESULT_SHUTTING_DOWN);
    else
        return FALSE;
    return TRUE;
}

/* ---- */

void
bus_calls_serve(Client *client, const LockCall *call)
{
    Target target = {LOCK_RESULT_OK};

    operations_begin(client, call);
    if (lock_call_needs_agent(call))
        target = target_resolve(client, call);
    if (refuse(client, call, target.result))
        return;
    switch (call->kind) {
    case LOCK_CALL_QUERY:
    case LOCK_CALL_INSPECT:
    case LOCK_CALL_BUCKETS:
    case LOCK_CALL_TREE:
    case LOCK_CALL_OBSERVABLE:
    case LOCK_CALL_RESYNC:
        send_list(client, call, &target);
        break;
    case LOCK_CALL_WATCH:
        watch(client, call, &target);
        break;
    case LOCK_CALL_BREAK:
        break_locks(client, call, &target);
        break;
    case LOCK_CALL_OPEN_SOCKET:
        open_socket(client, call);
        break;
    case LOCK_CALL_OPEN_DOCUMENT:
        document_calls_open(client, call);
        break;
    case LOCK_CALL_PING:
    case LOCK_CALL_MACHINE_ID:
    case LOCK_CALL_INTROSPECT:
    case LOCK_CALL_GET:
    case LOCK_CALL_GET_ALL:
        reply_of_object(client, call);
        break;
    case LOCK_CALL_REQUEST:
    case LOCK_CALL_RELEASE:
    case LOCK_CALL_ABORT:
    case LOCK_CALL_DOWNGRADE:
        operations_serve(client, &bus_channel, call, &target);
        break;
    case LOCK_CALL_SYNC:
    case LOCK_CALL_END:
    case LOCK_CALL_UNKNOWN:
    default:
        g_assert_not_reached();
    }
}
