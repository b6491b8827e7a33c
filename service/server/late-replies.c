/* SPDX-FileCopyrightText: 2026 The WebLocks for D-Bus authors
 * SPDX-License-Identifier: LGPL-2.1-or-later */

#include "late-replies.h"

#include "lock-manager.h"
#include "lock-queue.h"

struct LateReplies {
    GHashTable *by_request; /* LockRequest, an owned reference -> LateReply */
};

/* A client is freed after its requests have ended. */
typedef struct {
    Client *client; /* borrowed */
    guint64 serial; /* of the call */
} LateReply;

LateReplies *
late_replies_new(void)
{
    LateReplies *self = g_new0(LateReplies, 1);

    self->by_request =
        g_hash_table_new_full(NULL, NULL, (GDestroyNotify)lock_request_unref, g_free);
    return self;
}

void
late_replies_free(LateReplies *self)
{
    g_hash_table_unref(self->by_request);
    g_free(self);
}

gboolean
late_replies_keep(Client *client,
                  const Channel *channel,
                  const LockCall *call,
                  LockRequest *request)
{
    LateReply *late;

    if (request->undecided == UNDECIDED_NONE || channel != client->default_channel)
        return FALSE;
    late = g_new0(LateReply, 1);
    late->client = client;
    late->serial = call->serial;
    g_hash_table_insert(client->server->late_replies->by_request, lock_request_ref(request), late);
    return TRUE;
}

static const LateReply *
find(const Server *server, const LockRequest *request)
{
    GHashTable *by_request = server->late_replies->by_request;

    return g_hash_table_size(by_request) > 0 ? g_hash_table_lookup(by_request, request) : NULL;
}

static void
send_reply(const LateReply *late, LockResult result, const LockRequest *request)
{
    const LockCall call = {.kind = LOCK_CALL_REQUEST, .wants_reply = TRUE, .serial = late->serial};
    const LockReply reply = {.result = result, .request = request};

    if (!late->client->is_gone && !late->client->is_flood)
        late->client->default_channel->reply(late->client, &call, &reply);
}

static LockResult
get_result(const Server *server, const Effect *effect)
{
    if (server->stage == SERVER_DRAINING || server->user_agent.shutting_down)
        return LOCK_RESULT_SHUTTING_DOWN;
    return effect->request->undecided == UNDECIDED_STEAL ? LOCK_RESULT_UNDECIDED
                                                         : LOCK_RESULT_UNAVAILABLE;
}

gboolean
late_replies_send(Server *server, const Effect *effect)
{
    const LateReply *late = find(server, effect->request);
    gboolean is_on_bus;

    if (late == NULL)
        return FALSE;
    is_on_bus = late->client->channel == late->client->default_channel;
    if (effect->kind == EFFECT_GRANTED)
        send_reply(late, LOCK_RESULT_OK, effect->request);
    else
        send_reply(late, get_result(server, effect), NULL);
    g_hash_table_remove(server->late_replies->by_request, effect->request);
    return is_on_bus;
}

void
late_replies_send_id(Server *server, const LockRequest *request)
{
    const LateReply *late = find(server, request);

    if (late == NULL)
        return;
    send_reply(late, LOCK_RESULT_OK, request);
    g_hash_table_remove(server->late_replies->by_request, request);
}

void
late_replies_abort_all(Server *server)
{
    g_autoptr(GList) requests = g_hash_table_get_keys(server->late_replies->by_request);

    g_assert(server->stage == SERVER_DRAINING);
    for (const GList *link = requests; link != NULL; link = link->next) {
        LockRequest *request = link->data;

        lock_manager_abort(request->queue->manager, request->agent, request->id);
    }
}
