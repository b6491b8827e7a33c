/* SPDX-FileCopyrightText: 2026 The WebLocks for D-Bus authors
 * SPDX-License-Identifier: LGPL-2.1-or-later */

#include "encode.h"

#include <string.h>

#include "bus-names.h"
#include "lock-manager.h"
#include "lock-queue.h"
#include "opened.h"
#include "principal.h"

static Bus *
get_bus(const Client *client)
{
    return client->server->bus;
}

/* ---- replies */

/* sd-bus creates a reply from the message of the call. For a deferred call, this creates a message
 * with the fields that a reply needs: sender and cookie. */
static sd_bus_message *
new_stand_in(const Client *client, const LockCall *call)
{
    sd_bus_message *message = NULL;
    int r = sd_bus_message_new_method_call(get_bus(client)->connection, &message, NULL, "/", NULL,
                                           "Deferred");

    if (r >= 0)
        r = sd_bus_message_set_sender(message, client->unique_name);
    if (r >= 0)
        r = sd_bus_message_seal(message, call->serial, 0);
    g_assert(r >= 0);
    return message;
}

/* Returns the call's message, or a substitute; a new reference. The message that is being served
 * may be that of another client with the same cookie, by which this client's call is decided. */
static sd_bus_message *
get_message(const Client *client, const LockCall *call)
{
    sd_bus_message *served = get_bus(client)->served;
    uint64_t cookie;

    if (served != NULL && sd_bus_message_get_cookie(served, &cookie) >= 0 &&
        cookie == call->serial &&
        g_str_equal(sd_bus_message_get_sender(served), client->unique_name))
        return sd_bus_message_ref(served);
    return new_stand_in(client, call);
}

sd_bus_message *
encode_new_reply(const Client *client, const LockCall *call)
{
    g_autoptr(SdBusMessage) message = NULL;
    sd_bus_message *reply = NULL;
    int r;

    if (!call->wants_reply)
        return NULL;
    message = get_message(client, call);
    r = sd_bus_message_new_method_return(message, &reply);
    g_assert(r >= 0);
    return reply;
}

void
encode_done(Client *client, const LockCall *call)
{
    if (call->wants_reply)
        bus_send(client, encode_new_reply(client, call), 0);
}

/* ---- errors */

/* The names and texts of results. client-lib/error.c maps the names to the errors of the library.
 * The texts are constant, so they reveal nothing about other clients. */
static const struct {
    const char *name;
    const char *text;
} errors[LOCK_RESULT_LIMIT] = {
    [LOCK_RESULT_SHUTTING_DOWN] = {BUS_ERROR_INVALID_STATE, "the service is shutting down"},
    [LOCK_RESULT_UNIDENTIFIED] = {BUS_ERROR_SECURITY, "the caller could not be identified"},
    [LOCK_RESULT_NO_LOOKUP] = {BUS_ERROR_LIMITS_EXCEEDED,
                               "too many callers are being identified; try again later"},
    [LOCK_RESULT_NOT_CARRIABLE] = {BUS_ERROR_INVALID_ARGS,
                                   "a string has a character that is not valid in D-Bus"},
    [LOCK_RESULT_NO_PATH] = {BUS_ERROR_SECURITY,
                             "the caller is not permitted to do this on this path"},
    [LOCK_RESULT_NO_GROUP] =
        {BUS_ERROR_NOT_SUPPORTED,
         "buckets 'group:GID', with a decimal group id, are on the system bus"},
    [LOCK_RESULT_OF_OTHERS] = {BUS_ERROR_SECURITY, "other users hold this lock or wait for it"},
    [LOCK_RESULT_NOT_ROOT] = {BUS_ERROR_SECURITY,
                              "users share this bucket: only root can end what others may hold"},
    [LOCK_RESULT_NO_CLUSTER] = {BUS_ERROR_NOT_SUPPORTED,
                                "this machine is not configured for this bucket of a cluster"},
    [LOCK_RESULT_NO_ACCESS] = {BUS_ERROR_SECURITY,
                               "the caller is not permitted to use this bucket"},
    [LOCK_RESULT_NO_SESSION] = {BUS_ERROR_SECURITY,
                                "a private session can only be joined by its name"},
    [LOCK_RESULT_NO_DOCUMENTS] =
        {BUS_ERROR_NOT_SUPPORTED,
         "documents of the user are for sandboxed applications, on the session bus"},
    [LOCK_RESULT_NOT_PROVED] = {BUS_ERROR_SECURITY,
                                "this does not prove that the caller may write the document"},
    [LOCK_RESULT_NOT_LOCAL] = {BUS_ERROR_NOT_SUPPORTED,
                               "the service cannot look at this document without waiting"},
    [LOCK_RESULT_NOT_NOW] = {BUS_ERROR_UNAVAILABLE,
                             "the document portal does not reply, or resources are short"},
    [LOCK_RESULT_NO_HOST_NAME] =
        {BUS_ERROR_INVALID_ARGS, "option 'clientId' must have the name of a machine after 'host:'"},
    [LOCK_RESULT_NAME_RESERVED] = {BUS_ERROR_NOT_SUPPORTED,
                                   "names that begin with '-' are reserved"},
    [LOCK_RESULT_STEAL_IF_AVAILABLE] = {BUS_ERROR_NOT_SUPPORTED,
                                        "'steal' and 'ifAvailable' cannot be combined"},
    [LOCK_RESULT_STEAL_NOT_EXCLUSIVE] = {BUS_ERROR_NOT_SUPPORTED,
                                         "only an exclusive lock can be stolen"},
    [LOCK_RESULT_SIGNAL_STEAL_OR_IF_AVAILABLE] =
        {BUS_ERROR_NOT_SUPPORTED, "'signal' cannot be combined with 'steal' or 'ifAvailable'"},
    [LOCK_RESULT_TIMEOUT_IF_AVAILABLE] = {BUS_ERROR_INVALID_ARGS,
                                          "'timeout' and 'ifAvailable' cannot be combined"},
    [LOCK_RESULT_SLOTS_NOT_EXCLUSIVE] = {BUS_ERROR_INVALID_ARGS,
                                         "'slots' goes with the mode 'exclusive' only"},
    [LOCK_RESULT_SLOTS_IN_CLUSTER] = {BUS_ERROR_NOT_SUPPORTED,
                                      "buckets of a cluster have no counting locks"},
    [LOCK_RESULT_KEY_MISMATCH] = {BUS_ERROR_INVALID_ARGS,
                                  "'key' belongs to a live request for another lock"},
    [LOCK_RESULT_NOT_HELD] = {BUS_ERROR_NOT_HELD, "this client holds no lock with this id"},
    [LOCK_RESULT_OTHER_HOLDERS] = {BUS_ERROR_INVALID_STATE, "others hold this counting lock too"},
    [LOCK_RESULT_UNREACHED] = {BUS_ERROR_UNAVAILABLE,
                               "other machines have not replied: their locks may still be held"},
    [LOCK_RESULT_NO_ROOM] = {BUS_ERROR_LIMITS_EXCEEDED,
                             "the request cannot be stored: no space left in the state directory"},
};

sd_bus_message *
encode_new_error(const Client *client, const LockCall *call, const char *name, const char *text)
{
    const sd_bus_error error = SD_BUS_ERROR_MAKE_CONST(name, text);
    g_autoptr(SdBusMessage) message = NULL;
    sd_bus_message *reply = NULL;

    if (!call->wants_reply)
        return NULL;
    message = get_message(client, call);
    sd_bus_message_new_method_error(message, &reply, &error);
    return reply;
}

void
encode_error(Client *client, const LockCall *call, const char *name, const char *text)
{
    sd_bus_message *reply = encode_new_error(client, call, name, text);

    if (reply != NULL)
        bus_send(client, reply, 0);
}

void
encode_errno(Client *client, const LockCall *call, int r)
{
    sd_bus_error error = SD_BUS_ERROR_NULL;

    sd_bus_error_set_errno(&error, r);
    encode_error(client, call, error.name, error.message);
    sd_bus_error_free(&error);
}

void
encode_result(Client *client, const LockCall *call, LockResult result)
{
    g_autofree char *text = NULL;

    if (result < LOCK_RESULT_LIMIT) {
        g_assert(errors[result].name != NULL);
        encode_error(client, call, errors[result].name, errors[result].text);
        return;
    }
    text = g_strdup_printf("the limit %s (%u) is reached",
                           limit_id_get_name(result - LOCK_RESULT_LIMIT),
                           client->server->user_agent.limits.max[result - LOCK_RESULT_LIMIT]);
    encode_error(client, call, BUS_ERROR_LIMITS_EXCEEDED, text);
}

/* ---- replies of lock operations */

static void
reply_to_call(Client *client, const LockCall *call, const LockReply *reply)
{
    sd_bus_message *message;
    guint64 id = 0, token = 0;
    int aborted = reply->aborted;
    guint32 n_ended = reply->n_ended;
    int r = 0;

    if (!call->wants_reply)
        return;
    if (reply->result != LOCK_RESULT_OK && reply->result != LOCK_RESULT_UNAVAILABLE) {
        encode_result(client, call, reply->result);
        return;
    }
    message = encode_new_reply(client, call);
    if (reply->request != NULL) {
        id = reply->request->id;
        token = reply->request->token;
    }
    if (call->kind == LOCK_CALL_REQUEST)
        r = sd_bus_message_append(message, "tt", id, token);
    else if (call->kind == LOCK_CALL_ABORT)
        r = sd_bus_message_append_basic(message, 'b', &aborted);
    else if (call->kind == LOCK_CALL_BREAK)
        r = sd_bus_message_append_basic(message, 'u', &n_ended);
    g_assert(r >= 0);
    bus_send(client, message, 0);
}

/* ---- signals */

static const char *const reasons[N_EFFECT_KINDS] = {
    [EFFECT_RELEASED] = BUS_REASON_RELEASED,       [EFFECT_ABORTED] = BUS_REASON_ABORTED,
    [EFFECT_STOLEN] = BUS_REASON_STOLEN,           [EFFECT_TIMED_OUT] = BUS_REASON_TIMEOUT,
    [EFFECT_TERMINATED] = BUS_REASON_TERMINATED,   [EFFECT_LOST] = BUS_REASON_LOST,
    [EFFECT_UNAVAILABLE] = BUS_REASON_UNAVAILABLE,
};

static int
append_released(sd_bus_message *signal,
                guint64 id,
                const char *name,
                LockMode mode,
                const char *client_id,
                const char *reason)
{
    return sd_bus_message_append(signal, "tssss", id, name, lock_mode_to_string(mode), client_id,
                                 reason);
}

static sd_bus_message *
new_signal(Client *client, const char *path, const char *member)
{
    sd_bus_message *signal = NULL;
    int r;

    r = sd_bus_message_new_signal(get_bus(client)->connection, &signal, path, BUS_LOCKS_INTERFACE,
                                  member);
    g_assert(r >= 0);
    r = sd_bus_message_set_destination(signal, client->unique_name);
    g_assert(r >= 0);
    return signal;
}

/* Returns the owned path by which the client addresses the bucket, or its public name. */
static char *
get_path(const Client *client, const LockManager *manager, const char *bucket)
{
    if (g_str_equal(bucket, BUS_USER_DOCUMENTS_BUCKET))
        return bucket_path_encode(bucket);
    return bucket_path_encode_for(&client->agent->principal->identity,
                                  &manager->principal->identity, bucket);
}

void
encode_effect(Client *client, const Effect *effect, const char *bucket)
{
    const LockRequest *request = effect->request;
    const LockQueue *queue = request->queue;
    const char *mode = lock_mode_to_string(request->mode);
    const char *client_id = request->agent->client_id;
    g_autofree char *path = get_path(client, queue->manager, bucket);
    g_autofree char *name = opened_make_name(&client->server->user_agent, bucket, queue->name);
    sd_bus_message *signal;
    int r;

    if (effect->kind == EFFECT_WAITING) {
        signal = new_signal(client, path, "Waiting");
        r = sd_bus_message_append(signal, "tsss", request->id, name, mode, client_id);
    } else if (effect->kind == EFFECT_GRANTED) {
        signal = new_signal(client, path, "Granted");
        r = sd_bus_message_append(signal, "tssst", request->id, name, mode, client_id,
                                  request->token);
    } else if (effect->kind == EFFECT_DOWNGRADED) {
        signal = new_signal(client, path, "Downgraded");
        r = sd_bus_message_append_basic(signal, 't', &request->id);
    } else {
        signal = new_signal(client, path, "Released");
        r = append_released(signal, request->id, name, request->mode, client_id,
                            reasons[effect->kind]);
    }
    g_assert(r >= 0);
    bus_send(client, signal, strlen(name) + strlen(path));
}

void
encode_lost(Client *client, const char *bucket, guint64 id, const char *lock_name, LockMode mode)
{
    g_autofree char *path = bucket_path_encode(bucket);
    g_autofree char *name = opened_make_name(&client->server->user_agent, bucket, lock_name);
    sd_bus_message *signal = new_signal(client, path, "Released");
    int r = append_released(signal, id, name, mode, client->unique_name, BUS_REASON_LOST);

    g_assert(r >= 0);
    bus_send(client, signal, strlen(name) + strlen(bucket));
}

void
encode_missed(Client *client, const LockManager *manager, guint64 count)
{
    g_autofree char *path =
        manager != NULL ? get_path(client, manager, manager->bucket) : g_strdup(BUS_SERVICE_PATH);
    sd_bus_message *signal = new_signal(client, path, "Missed");
    int r = sd_bus_message_append(signal, "t", count);

    g_assert(r >= 0);
    bus_send(client, signal, strlen(path));
}

/* ---- the channel */

static void
send_wanted(Client *client, const LockRequest *request)
{
    const LockManager *manager = request->queue->manager;
    g_autofree char *path = get_path(client, manager, manager->bucket);
    sd_bus_message *signal = new_signal(client, path, "Wanted");
    int r = sd_bus_message_append(signal, "tb", request->id, (int)request->is_told_wanted);

    g_assert(r >= 0);
    flow_control_add_wanted(client->flow);
    bus_send(client, signal, strlen(path));
}

/* Of the client's own request. */
static void
send_event(Client *client, const Effect *effect)
{
    encode_effect(
        client, effect,
        lock_manager_get_name_of(effect->request->queue->manager, client->agent->principal));
}

static gboolean
admits_wanted(Client *client)
{
    return flow_control_admits_wanted(client->flow);
}

static gboolean
is_writable(const Client *client)
{
    return !flow_control_is_full(client->flow);
}

const Channel bus_channel = {
    .reply = reply_to_call,
    .event = send_event,
    .wanted = send_wanted,
    .admits_wanted = admits_wanted,
    .is_writable = is_writable,
};
