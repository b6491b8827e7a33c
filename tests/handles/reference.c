/* SPDX-FileCopyrightText: 2026 The WebLocks for D-Bus authors
 * SPDX-License-Identifier: LGPL-2.1-or-later */

#include "tests/handles/reference.h"

#include "tests/handles/sim.h"
#include "tests/handles/steps.h"
#include "tests/unit/lock-model.h"

#define DONE_MAX   16
#define UNTOLD_MAX 4

/* What the service has done and not committed. */
typedef struct {
    guint client;
    gboolean is_end;
    LockCallKind kind;
    LockOptions options;
    guint64 key;
    LockResult result;
    gboolean is_held, was_aborted;
} Done;

static struct {
    LockModel model;
    guint64 last_token;
    Done done[DONE_MAX];
    guint n_done;
    /* Keys of requests that were granted at once, while the client may not know. */
    guint64 untold[SIM_CLIENTS][UNTOLD_MAX];
    guint n_untold[SIM_CLIENTS];
} r;

static const ModelManager place = {0, 0};

static const ModelRequest *
find_in(const GArray *list, guint client, guint64 key)
{
    for (guint i = 0; i < list->len; i++) {
        const ModelRequest *request = &g_array_index(list, ModelRequest, i);

        if (request->agent == client && request->key == key)
            return request;
    }
    return NULL;
}

gboolean
reference_has(guint client, guint64 key, gboolean is_held)
{
    return find_in(is_held ? r.model.held : r.model.pending, client, key) != NULL;
}

guint
reference_count(void)
{
    return r.model.held->len + r.model.pending->len;
}

gboolean
reference_is_held_by(guint client)
{
    for (guint i = 0; i < r.model.held->len; i++)
        if (g_array_index(r.model.held, ModelRequest, i).agent == client)
            return TRUE;
    return FALSE;
}

static LockResult
request(guint client, guint64 key, const LockOptions *options, gboolean *out_held)
{
    LockOptions with_key = *options;
    guint64 id;

    with_key.key = key;
    with_key.why = "";
    return lock_model_request(&r.model, client, place, 0, "x", &with_key, 0, &id, out_held);
}

static gboolean
release(guint client, guint64 key)
{
    const ModelRequest *held = find_in(r.model.held, client, key);

    return held != NULL && lock_model_release(&r.model, client, place, held->id) == LOCK_RESULT_OK;
}

static gboolean
abort_request(guint client, guint64 key)
{
    const ModelRequest *pending = find_in(r.model.pending, client, key);

    return pending != NULL && lock_model_abort(&r.model, client, place, pending->id);
}

static void
take_token(guint64 token)
{
    if (token <= r.last_token)
        steps_fail("token %" G_GUINT64_FORMAT " after %" G_GUINT64_FORMAT, token, r.last_token);
    r.last_token = token;
}

/* Grants have new tokens. */
static void
take_tokens(ReferenceFind find)
{
    guint64 token;

    for (guint i = 0; i < r.model.events->len; i++) {
        const ModelEvent *event = &g_array_index(r.model.events, ModelEvent, i);

        if (event->kind == EFFECT_GRANTED && find(event->request.agent, event->request.key, &token))
            take_token(token);
    }
    g_array_set_size(r.model.events, 0);
}

void
reference_exchange(guint client, guint64 key, guint64 token, gboolean is_held)
{
    const LockOptions options = {.mode = LOCK_MODE_EXCLUSIVE};
    gboolean is_granted;

    if (!is_held) {
        if (!release(client, key))
            steps_fail("client %u leaves what it does not hold", client);
        return;
    }
    if (request(client, key, &options, &is_granted) != LOCK_RESULT_OK || !is_granted)
        steps_fail("client %u enters what another one holds", client);
    g_array_set_size(r.model.events, 0);
    take_token(token);
}

/* ---- the service */

void
reference_note_call(guint client, const LockCall *call, const LockReply *reply)
{
    g_assert(r.n_done < DONE_MAX);
    r.done[r.n_done++] = (Done){
        .client = client,
        .kind = call->kind,
        .options = call->options,
        .key = call->key,
        .result = reply->result,
        .is_held = reply->request != NULL && reply->request->state == LOCK_REQUEST_HELD,
        .was_aborted = reply->aborted,
    };
}

void
reference_note_end(guint client)
{
    g_assert(r.n_done < DONE_MAX);
    r.done[r.n_done++] = (Done){.client = client, .is_end = TRUE};
}

static void
apply(const Done *done)
{
    const guint client = done->client;
    gboolean is_held;

    if (done->is_end) {
        lock_model_terminate(&r.model, client);
    } else if (done->kind == LOCK_CALL_REQUEST) {
        if (request(client, done->key, &done->options, &is_held) != done->result ||
            is_held != done->is_held)
            steps_fail("client %u requests: result %u held %d, otherwise in the model", client,
                       (guint)done->result, done->is_held);
        if (is_held) {
            g_assert(r.n_untold[client] < UNTOLD_MAX);
            r.untold[client][r.n_untold[client]++] = done->key;
        }
    } else if (done->kind == LOCK_CALL_RELEASE) {
        if (release(client, done->key) != (done->result == LOCK_RESULT_OK))
            steps_fail("client %u releases: result %u, otherwise in the model", client,
                       (guint)done->result);
    } else if (done->kind == LOCK_CALL_ABORT) {
        if (abort_request(client, done->key) != done->was_aborted)
            steps_fail("client %u aborts: %d, otherwise in the model", client, done->was_aborted);
    } else {
        steps_fail("client %u makes a call that has no model", client);
    }
}

void
reference_commit(ReferenceFind find)
{
    for (guint i = 0; i < r.n_done; i++)
        apply(&r.done[i]);
    r.n_done = 0;
    take_tokens(find);
}

void
reference_kill(void)
{
    r.n_done = 0;
}

void
reference_was_told(guint client)
{
    r.n_untold[client] = 0;
}

/* A service that was killed while it opened a cell has told nobody of the grant. If the key is
 * there and the word is not, the lock is over, and the client requests it again. */
void
reference_restart(const gboolean *is_gone, ReferenceFind find)
{
    guint64 token;

    r.n_done = 0;
    for (guint i = 0; i < SIM_CLIENTS; i++)
        if (is_gone[i])
            lock_model_terminate(&r.model, i);
    lock_model_restart(&r.model);
    for (guint i = 0; i < SIM_CLIENTS; i++) {
        for (guint j = 0; j < r.n_untold[i]; j++)
            if (!find(i, r.untold[i][j], &token))
                release(i, r.untold[i][j]);
        r.n_untold[i] = 0;
    }
    take_tokens(find);
}

/* ---- runs */

static guint64
describe_list(guint64 hash, const GArray *list)
{
    hash = steps_mix(hash, list->len);
    for (guint i = 0; i < list->len; i++) {
        const ModelRequest *request = &g_array_index(list, ModelRequest, i);

        hash = steps_mix(hash, request->key * 8 + request->agent * 4 + request->mode);
    }
    return hash;
}

guint64
reference_describe(void)
{
    guint64 hash = describe_list(describe_list(r.last_token, r.model.held), r.model.pending);

    for (guint i = 0; i < SIM_CLIENTS; i++)
        hash = steps_mix_bytes(hash, r.untold[i], r.n_untold[i] * sizeof r.untold[i][0]);
    return hash;
}

void
reference_begin(void)
{
    Limits limits;

    limits_init(&limits);
    memset(&r, 0, sizeof r);
    lock_model_init(&r.model, &limits, G_MAXUINT);
    for (guint i = 0; i < SIM_CLIENTS; i++)
        lock_model_add_agent(&r.model, 1000, 0);
}

void
reference_end(void)
{
    lock_model_fini(&r.model);
}
