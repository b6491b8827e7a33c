/* SPDX-FileCopyrightText: 2026 The WebLocks for D-Bus authors
 * SPDX-License-Identifier: LGPL-2.1-or-later */

#include "lock-manager.h"

#include "bus-names.h"
#include "cell.h"
#include "lock-queue.h"
#include "name-hash.h"
#include "permit.h"
#include "principal.h"
#include "user-agent.h"

LockManager *
lock_manager_get(Principal *principal, const char *bucket)
{
    LockManager *manager = g_hash_table_lookup(principal->managers, bucket);

    if (manager != NULL)
        return lock_manager_ref(manager);

    manager = g_new0(LockManager, 1);
    manager->refs = 1;
    manager->principal = principal_ref(principal);
    manager->bucket = g_strdup(bucket);
    manager->queues = g_hash_table_new(name_hash, g_str_equal);
    g_queue_init(&manager->requests);
    manager->clustered = g_str_has_prefix(bucket, BUS_CLUSTER_PREFIX);
    if (!manager->clustered)
        manager->last_token = principal_first_token(principal) - 1;
    g_hash_table_insert(principal->managers, manager->bucket, manager);
    if (g_str_has_prefix(bucket, BUS_PRIVATE_PREFIX))
        manager->session = private_session_new(bucket);
    if (manager->session != NULL)
        g_hash_table_replace(principal->sessions, manager->session->public_name, manager);
    return manager;
}

/* An empty bucket keeps nothing: its next request is as in a bucket that did not exist. */
static void
begin_again(LockManager *manager)
{
    if (manager->clustered)
        return;
    principal_retire_token(manager->principal, manager->last_token);
    manager->last_token = principal_first_token(manager->principal) - 1;
    manager->last_sequence = 0;
}

LockManager *
lock_manager_find(const Principal *principal, const char *bucket)
{
    return g_hash_table_lookup(principal->managers, bucket);
}

LockManager *
lock_manager_find_session(const Principal *principal, const char *public_name)
{
    return g_hash_table_lookup(principal->sessions, public_name);
}

const char *
lock_manager_get_name_for(const LockManager *manager, const Agent *agent)
{
    return manager->session == NULL || private_session_has(manager->session, agent)
               ? manager->bucket
               : manager->session->public_name;
}

/* Another session with the same public name, which would be a collision of SHA-256, may be in the
 * table instead. */
static void
free_session(LockManager *manager)
{
    GHashTable *sessions = manager->principal->sessions;

    if (manager->session == NULL)
        return;
    if (g_hash_table_lookup(sessions, manager->session->public_name) == manager)
        g_hash_table_remove(sessions, manager->session->public_name);
    private_session_free(manager->session);
}

LockManager *
lock_manager_ref(LockManager *manager)
{
    manager->refs++;
    return manager;
}

void
lock_manager_unref(LockManager *manager)
{
    if (--manager->refs > 0)
        return;

    g_assert(manager->requests.length == 0);
    g_assert(g_hash_table_size(manager->queues) == 0);
    if (!manager->clustered)
        principal_retire_token(manager->principal, manager->last_token);
    g_hash_table_remove(manager->principal->managers, manager->bucket);
    free_session(manager);
    g_hash_table_unref(manager->queues);
    principal_unref(manager->principal);
    g_free(manager->bucket);
    g_free(manager);
}

guint64
lock_manager_next_token(LockManager *manager)
{
    return ++manager->last_token;
}

gboolean
lock_manager_is_of_user(const LockManager *manager, const Principal *app)
{
    return app->of_uid != NULL && manager->principal == app->of_uid;
}

const char *
lock_manager_get_name_of(const LockManager *manager, const Principal *principal)
{
    return lock_manager_is_of_user(manager, principal) ? BUS_USER_DOCUMENTS_BUCKET
                                                       : manager->bucket;
}

/* Whether agents of the principal can have requests there: in its own buckets, in those that have
 * members, and among the documents of its user. */
static gboolean
is_of(const LockManager *manager, const Principal *principal)
{
    return manager->principal == principal ||
           principal_has_members(&manager->principal->identity) ||
           lock_manager_is_of_user(manager, principal);
}

static gboolean
is_reserved(const char *name)
{
    return name[0] == '-';
}

LockResult
lock_name_check(const char *name, const Limits *limits)
{
    if (is_reserved(name))
        return LOCK_RESULT_NAME_RESERVED;
    if (strlen(name) > limits->max[LIMIT_NAME_BYTES])
        return lock_result_limit(LIMIT_NAME_BYTES);
    return LOCK_RESULT_OK;
}

/* [3.2.1] The checks that depend only on the arguments: those of the standard in its order, then
 * those of other options. */
static LockResult
check_options(const LockManager *manager, const char *name, const LockOptions *options)
{
    if (is_reserved(name))
        return LOCK_RESULT_NAME_RESERVED;
    if (options->steal && options->if_available)
        return LOCK_RESULT_STEAL_IF_AVAILABLE;
    if (options->steal && options->mode != LOCK_MODE_EXCLUSIVE)
        return LOCK_RESULT_STEAL_NOT_EXCLUSIVE;
    if (options->signal && (options->steal || options->if_available))
        return LOCK_RESULT_SIGNAL_STEAL_OR_IF_AVAILABLE;
    if (options->timeout_ms != 0 && options->if_available)
        return LOCK_RESULT_TIMEOUT_IF_AVAILABLE;
    if (options->slots != 0 && options->mode != LOCK_MODE_EXCLUSIVE)
        return LOCK_RESULT_SLOTS_NOT_EXCLUSIVE;
    if (options->slots > 1 && manager->clustered)
        return LOCK_RESULT_SLOTS_IN_CLUSTER;
    return LOCK_RESULT_OK;
}

/* Whether the limits and the storage admit one more request. */
static LockResult
check_limits(const LockManager *manager,
             const Agent *agent,
             const char *name,
             const LockOptions *options)
{
    const UserAgent *user_agent = agent->principal->user_agent;
    const LimitsAccount *account = &agent->principal->account;
    const Limits *limits = &user_agent->limits;
    const guint32 *max = limits->max;
    guint32 n_bytes;
    LimitId limit;

    if (strlen(name) > max[LIMIT_NAME_BYTES])
        return lock_result_limit(LIMIT_NAME_BYTES);
    if (strlen(options->why) > max[LIMIT_WHY_BYTES] ||
        (options->command != NULL && strlen(options->command) > max[LIMIT_WHY_BYTES]))
        return lock_result_limit(LIMIT_WHY_BYTES);
    if (agent->requests.length >= max[LIMIT_REQUESTS_PER_CLIENT])
        return lock_result_limit(LIMIT_REQUESTS_PER_CLIENT);
    n_bytes = lock_text_bytes(manager->bucket, name, options->why, options->command);
    if (!limits_admit(limits, account, CHARGE_REQUEST, 1, &limit) ||
        !limits_admit(limits, account, CHARGE_TEXT_BYTE, n_bytes, &limit))
        return lock_result_limit(limit);
    return n_bytes <= user_agent->room_bytes ? LOCK_RESULT_OK : LOCK_RESULT_NO_ROOM;
}

/* Handles a repeated call, for a client that has not received the reply: it must be for the same
 * lock. */
static LockResult
repeat_request(LockManager *manager,
               LockRequest *live,
               const char *name,
               const LockOptions *options,
               LockRequest **out_request)
{
    if (live->queue->manager != manager || live->mode != options->mode ||
        live->slots != MAX(options->slots, 1) || !g_str_equal(live->queue->name, name))
        return LOCK_RESULT_KEY_MISMATCH;
    /* A request with `steal` waits only while it is undecided; another pending request was made
     * without it. */
    if (options->steal && live->state != LOCK_REQUEST_HELD && live->undecided != UNDECIDED_STEAL)
        return LOCK_RESULT_KEY_MISMATCH;

    *out_request = live;
    return LOCK_RESULT_OK;
}

/* Adds a live request to the lists of its agent and its manager; in_queue is added by the caller.
 */
static void
add_request(LockManager *manager, LockRequest *request)
{
    manager->last_sequence = request->sequence;
    agent_add_request(request->agent, request);
    g_queue_push_tail_link(&manager->requests, &request->in_manager);
    if (manager->session != NULL)
        private_session_add(manager->session, request->agent);
    if (request->queue->permit != NULL)
        permit_list_demand(request->queue);
}

static void
enqueue(LockManager *manager, LockRequest *request, const LockOptions *options)
{
    UserAgent *user_agent = manager->principal->user_agent;
    LockQueue *queue = request->queue;
    guint32 timeout_ms = options->timeout_ms;

    request->sequence = manager->last_sequence + 1;
    request->since_us = user_agent->now_us;
    add_request(manager, request);
    if (request->undecided != UNDECIDED_NONE)
        timeout_ms = permit_enqueue(request, timeout_ms);
    else if (options->steal)
        g_queue_push_head_link(&queue->pending, &request->in_queue);
    else
        g_queue_push_tail_link(&queue->pending, &request->in_queue);
    if (timeout_ms != 0)
        user_agent_add_deadline(user_agent, request,
                                user_agent_deadline_ms(user_agent, timeout_ms));
}

/* [4.1] Whether a request that is made now is granted immediately. */
static gboolean
is_available(const LockQueue *queue, const LockOptions *options)
{
    return queue->pending.length == 0 &&
           lock_queue_admits(queue, options->mode, MAX(options->slots, 1)) &&
           (queue->permit == NULL ||
            permit_admits(queue, options->mode, queue->manager->last_sequence + 1));
}

LockResult
lock_manager_request(LockManager *manager,
                     Agent *agent,
                     const char *name,
                     const LockOptions *options,
                     LockRequest **out_request)
{
    UserAgent *user_agent = manager->principal->user_agent;
    LockResult result = check_options(manager, name, options);
    Undecided undecided;
    LockRequest *request;
    LockQueue *queue;

    g_assert(!agent->terminated);
    g_assert(is_of(manager, agent->principal));

    if (user_agent->shutting_down)
        return LOCK_RESULT_SHUTTING_DOWN;
    if (result != LOCK_RESULT_OK)
        return result;
    request = agent_find_key(agent, options->key);
    if (request != NULL && lock_request_get_cell(request) != NULL && !cell_close(request))
        request = NULL;
    if (request != NULL)
        return repeat_request(manager, request, name, options, out_request);
    result = check_limits(manager, agent, name, options);
    if (result != LOCK_RESULT_OK)
        return result;

    if (options->cell != NULL && options->cell->request != NULL)
        cell_close(options->cell->request);
    queue = lock_queue_get(manager, name);
    if (queue->held.head != NULL && ((LockRequest *)queue->held.head->data)->cell != NULL)
        cell_close(queue->held.head->data);
    if (manager->requests.length == 0)
        begin_again(manager);
    undecided = queue->permit != NULL ? permit_get_undecided(queue, options) : UNDECIDED_NONE;
    if (options->if_available && undecided == UNDECIDED_NONE && !is_available(queue, options)) {
        lock_queue_unref(queue);
        return LOCK_RESULT_UNAVAILABLE;
    }

    if (options->steal && undecided == UNDECIDED_NONE)
        lock_queue_end_held(queue, EFFECT_STOLEN);
    request = lock_request_new(agent, queue, options);
    request->undecided = undecided;
    enqueue(manager, request, options);
    lock_queue_process(queue);
    if (request->state == LOCK_REQUEST_PENDING)
        effects_append(&user_agent->effects, EFFECT_WAITING, request);
    else if (options->cell != NULL)
        cell_give(request, options->cell);
    lock_queue_unref(queue);
    *out_request = request;
    return LOCK_RESULT_OK;
}

/* Returns the agent's live request with this id if it is in this bucket, otherwise NULL. */
static LockRequest *
find_request(const LockManager *manager, const Agent *agent, guint64 id)
{
    LockRequest *request = agent_find_request(agent, id);

    return request != NULL && request->queue->manager == manager ? request : NULL;
}

void
lock_manager_end_and_process(LockManager *manager, LockRequest *request, EffectKind effect_kind)
{
    LockQueue *queue = lock_queue_ref(request->queue);

    lock_manager_end_request(manager, request, effect_kind);
    lock_queue_process(queue);
    lock_queue_unref(queue);
}

/* Returns the lock if this agent holds it, otherwise NULL. */
static LockRequest *
find_held(const LockManager *manager, const Agent *agent, guint64 id)
{
    LockRequest *request = find_request(manager, agent, id);

    if (request != NULL && lock_request_get_cell(request) != NULL)
        cell_close(request);
    return request != NULL && request->state == LOCK_REQUEST_HELD ? request : NULL;
}

LockResult
lock_manager_release(LockManager *manager, Agent *agent, guint64 id)
{
    LockRequest *request = find_held(manager, agent, id);

    if (request == NULL)
        return LOCK_RESULT_NOT_HELD;

    lock_manager_end_and_process(manager, request, EFFECT_RELEASED);
    return LOCK_RESULT_OK;
}

LockResult
lock_manager_downgrade(LockManager *manager, Agent *agent, guint64 id)
{
    LockRequest *request = find_held(manager, agent, id);

    if (request == NULL)
        return LOCK_RESULT_NOT_HELD;
    if (request->mode == LOCK_MODE_SHARED)
        return LOCK_RESULT_OK;
    if (request->queue->held.length > 1)
        return LOCK_RESULT_OTHER_HOLDERS;

    request->mode = LOCK_MODE_SHARED;
    request->slots = 1;
    if (request->queue->permit != NULL)
        permit_list_demand(request->queue);
    effects_append(&manager->principal->user_agent->effects, EFFECT_DOWNGRADED, request);
    lock_queue_process(request->queue);
    return LOCK_RESULT_OK;
}

gboolean
lock_manager_abort(LockManager *manager, Agent *agent, guint64 id)
{
    LockRequest *request = find_request(manager, agent, id);

    if (request == NULL || request->state != LOCK_REQUEST_PENDING)
        return FALSE;

    lock_manager_end_and_process(manager, request, EFFECT_ABORTED);
    return TRUE;
}

void
lock_manager_snapshot(const LockManager *manager,
                      LockRequestState state,
                      SnapshotVisit visit,
                      gpointer data)
{
    guint n_left =
        state == LOCK_REQUEST_HELD ? manager->n_held : manager->requests.length - manager->n_held;

    for (const GList *link = manager->requests.head; n_left > 0; link = link->next) {
        const LockRequest *request = link->data;

        if (request->state == state) {
            visit(request, data);
            n_left--;
        }
    }
}

void
lock_manager_end_request(LockManager *manager, LockRequest *request, EffectKind effect_kind)
{
    UserAgent *user_agent = manager->principal->user_agent;
    LockQueue *queue = request->queue;

    g_assert(request->state != LOCK_REQUEST_ENDED);

    if (lock_request_get_cell(request) != NULL)
        cell_take_away(request);
    if (request->state == LOCK_REQUEST_HELD) {
        lock_queue_remove_held(request);
        manager->n_held--;
    } else if (request->undecided == UNDECIDED_STEAL) {
        g_queue_unlink(&queue->permit->steals, &request->in_queue);
    } else {
        g_queue_unlink(&queue->pending, &request->in_queue);
    }
    g_queue_unlink(&manager->requests, &request->in_manager);
    if (manager->session != NULL)
        private_session_remove(manager->session, request->agent);
    agent_remove_request(request->agent, request);
    user_agent_remove_deadline(request);
    request->state = LOCK_REQUEST_ENDED;
    if (queue->permit != NULL)
        permit_list_demand(queue);
    effects_append(&user_agent->effects, effect_kind, request);
    lock_request_unref(request);
}

/* ---- restored requests */

static gboolean
is_possible(const LockManager *manager, const Agent *agent, const LockRequest *stored)
{
    return is_of(manager, agent->principal) && stored->id != 0 && stored->id <= agent->last_id &&
           agent_find_request(agent, stored->id) == NULL &&
           agent_find_key(agent, stored->key) == NULL &&
           stored->sequence > manager->last_sequence &&
           (stored->slots <= 1 || !manager->clustered) &&
           (stored->state == LOCK_REQUEST_HELD) == (stored->token != 0);
}

static LockRequest *
new_from_stored(Agent *agent, LockQueue *queue, const LockRequest *stored)
{
    const LockOptions options = {
        .mode = stored->mode,
        .slots = stored->slots,
        .key = stored->key,
        .why = stored->why != NULL ? stored->why : "",
        .command = stored->command,
    };
    guint64 last_id = agent->last_id;
    LockRequest *request = lock_request_new(agent, queue, &options);

    agent->last_id = last_id;
    request->id = stored->id;
    request->state = stored->state;
    request->token = stored->token;
    request->sequence = stored->sequence;
    request->since_us = MIN(stored->since_us, agent->principal->user_agent->now_us);
    return request;
}

/* Limits the deadline to now plus the request's own time-out. This matters if the clock is behind
 * the one of the stored times, as in another time namespace: see docs/reliability.md. */
static gint64
limit_deadline(const UserAgent *user_agent, const LockRequest *stored)
{
    gint64 timeout_ms = stored->deadline_ms - (stored->since_us + 999) / 1000;

    return MIN(stored->deadline_ms,
               user_agent_deadline_ms(user_agent, (guint32)CLAMP(timeout_ms, 0, G_MAXUINT32)));
}

static void
enter_lists(LockManager *manager, LockRequest *request, const LockRequest *stored)
{
    UserAgent *user_agent = manager->principal->user_agent;
    LockQueue *queue = request->queue;

    add_request(manager, request);
    if (request->state == LOCK_REQUEST_HELD) {
        if (manager->clustered)
            permit_retire_token(queue, request->token);
        else
            manager->last_token = MAX(manager->last_token, request->token);
        manager->n_held++;
        lock_queue_add_held(request);
        return;
    }
    g_queue_push_tail_link(&queue->pending, &request->in_queue);
    if (stored->deadline_ms > 0)
        user_agent_add_deadline(user_agent, request, limit_deadline(user_agent, stored));
}

LockRequest *
lock_manager_restore(LockManager *manager,
                     Agent *agent,
                     const char *name,
                     const LockRequest *stored)
{
    LockRequest *request = NULL;
    LockQueue *queue;

    if (!is_possible(manager, agent, stored))
        return NULL;
    queue = lock_queue_get(manager, name);
    if (stored->state != LOCK_REQUEST_HELD ||
        lock_queue_admits(queue, stored->mode, stored->slots)) {
        request = new_from_stored(agent, queue, stored);
        enter_lists(manager, request, stored);
    }
    lock_queue_unref(queue);
    return request;
}
