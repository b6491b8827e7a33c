/* SPDX-FileCopyrightText: 2026 The WebLocks for D-Bus authors
 * SPDX-License-Identifier: LGPL-2.1-or-later */

#include "bus-calls.h"

#include <unistd.h>

#include "bus-names.h"
#include "cluster-calls.h"
#include "descriptors.h"
#include "encode.h"
#include "lists.h"
#include "lock-manager.h"
#include "objects.h"
#include "operations.h"
#include "packet-socket.h"
#include "principal.h"
#include "watches.h"

static void
send_list(Client *client, const LockCall *call)
{
    if (call->kind != LOCK_CALL_INSPECT ||
        cluster_calls_ask(client, call, client_get_owner(client, call).uid, 0) != CLUSTER_ASK_SENT)
        lists_send(client, call, NULL);
}

/* The watched bucket may be empty, and its principal may not exist yet. */
static LockResult
set_watch(Client *client, const LockCall *call)
{
    PrincipalIdentity identity;
    Principal *principal;
    g_autoptr(LockManager) manager = NULL;

    if (call->bucket == NULL)
        return watches_set(client, NULL, call->enable);
    identity = client_get_owner(client, call);
    principal = principal_get(&client->server->user_agent, &identity);
    manager = lock_manager_get(principal, call->bucket);
    principal_unref(principal);
    return watches_set(client, manager, call->enable);
}

static void
watch(Client *client, const LockCall *call)
{
    LockResult result = set_watch(client, call);

    if (result == LOCK_RESULT_OK)
        encode_done(client, call);
    else
        encode_result(client, call, result);
}

static void
break_locks(Client *client, const LockCall *call)
{
    LockManager *manager = client_find_manager(client, call);
    LockReply reply = {lock_name_check(call->name, &client->server->user_agent.limits)};
    ClusterAsk ask = CLUSTER_ASK_NONE;

    if (reply.result == LOCK_RESULT_OK && manager != NULL)
        reply.n_ended = lock_manager_break(manager, &call->filter);
    if (reply.result == LOCK_RESULT_OK)
        ask = cluster_calls_ask(client, call, client_get_owner(client, call).uid, reply.n_ended);
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
new_socket_reply(const Client *client, const LockCall *call, int fd)
{
    sd_bus_message *reply = encode_new_reply(client, call);
    int r = sd_bus_message_append(reply, "ha{sv}", fd, 2u, BUS_PARAMETER_VERSION, "u",
                                  PACKET_VERSION, BUS_PARAMETER_MAX_PACKET, "u", PACKET_BYTES_MAX);

    if (r >= 0)
        return reply;
    sd_bus_message_unref(reply);
    return NULL;
}

static void
open_socket(Client *client, const LockCall *call)
{
    Server *server = client->server;
    sd_bus_message *reply = NULL;
    int fd;

    if (call->version < PACKET_VERSION) {
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
    packet_socket_close(client, PACKET_CLOSED_REPLACED);
    if (!descriptors_are_scarce(DESCRIPTORS_FOR_SOCKETS) &&
        packet_socket_open(server->sockets, client, &fd)) {
        reply = new_socket_reply(client, call, fd); /* the message duplicates the descriptor */
        close(fd);
    }
    if (reply != NULL) {
        bus_send_descriptor(client, reply);
        return;
    }
    packet_socket_close(client, 0);
    encode_error(client, call, BUS_ERROR_LIMITS_EXCEEDED, "no file descriptors left for sockets");
}

static void
reply_of_object(Client *client, const LockCall *call)
{
    ClusterInfo cluster = {0};

    /* The number of one property, the last, or of all of them. */
    if ((call->kind == LOCK_CALL_GET || call->kind == LOCK_CALL_GET_ALL) &&
        call->item >= PROPERTY_CLUSTER)
        cluster_calls_get_info(client->server, &cluster);
    objects_reply(client, call, &cluster);
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

/* Whether the client may use the object path of the call (see bucket-path.h). Paths of other
 * principals are for unsandboxed clients, and those with a uid for uid 0; no lock can be requested
 * there. The result does not depend on whether the bucket is in use. */
static gboolean
may_use_path(const Client *client, const LockCall *call)
{
    const PrincipalIdentity *caller = &client->agent->principal->identity;

    if (!call->owner.is_other)
        return TRUE;
    if (caller->kind != PRINCIPAL_UNSANDBOXED || (call->owner.has_uid && caller->uid != 0))
        return FALSE;
    return call->kind == LOCK_CALL_QUERY || call->kind == LOCK_CALL_INSPECT ||
           call->kind == LOCK_CALL_WATCH || call->kind == LOCK_CALL_BREAK;
}

/* Refuses calls that are not served. Returns whether the call was refused. */
static gboolean
refuse(Client *client, const LockCall *call)
{
    LockResult result;

    if (lock_call_needs_agent(call) && !may_use_path(client, call))
        encode_error(client, call, BUS_ERROR_SECURITY,
                     "the caller is not permitted to do this on this path");
    else if (call->refusal_name != NULL)
        encode_error(client, call, call->refusal_name, call->refusal_text);
    else if (client->socket != NULL && call->kind <= LOCK_CALL_ABORT)
        encode_error(client, call, BUS_ERROR_INVALID_STATE,
                     "lock operations have to be sent on the open lock socket");
    else if (lock_call_needs_agent(call) &&
             call->kind != LOCK_CALL_REQUEST && /* which request() checks, as on a lock socket */
             (result = cluster_calls_check(client, call)) != LOCK_RESULT_OK)
        encode_result(client, call, result);
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
    operations_begin(client, call);
    if (refuse(client, call))
        return;
    switch (call->kind) {
    case LOCK_CALL_QUERY:
    case LOCK_CALL_INSPECT:
    case LOCK_CALL_BUCKETS:
    case LOCK_CALL_OBSERVABLE:
    case LOCK_CALL_RESYNC:
        send_list(client, call);
        break;
    case LOCK_CALL_WATCH:
        watch(client, call);
        break;
    case LOCK_CALL_BREAK:
        break_locks(client, call);
        break;
    case LOCK_CALL_OPEN_SOCKET:
        open_socket(client, call);
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
        operations_serve(client, &bus_channel, call);
        break;
    case LOCK_CALL_SYNC:
    case LOCK_CALL_END:
    case LOCK_CALL_UNKNOWN:
    default:
        g_assert_not_reached();
    }
}
