/* SPDX-FileCopyrightText: 2026 The WebLocks for D-Bus authors
 * SPDX-License-Identifier: LGPL-2.1-or-later */

#include "user-agent.h"

#include "cell.h"
#include "lock-manager.h"
#include "principal.h"

/* How much slower the token clock is while it is ahead of the system clock. */
#define TOKEN_CLOCK_AHEAD_SLOWER 8

void
user_agent_init(UserAgent *user_agent, const Limits *limits)
{
    memset(user_agent, 0, sizeof *user_agent);
    user_agent->limits = *limits;
    user_agent->room_bytes = G_MAXSIZE;
    user_agent->principals = g_hash_table_new(principal_identity_hash, principal_identity_equal);
    user_agent->shared_buckets = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, NULL);
    user_agent->total.scope = SCOPE_TOTAL;
    g_queue_init(&user_agent->agents);
    user_agent->deadlines = g_sequence_new(NULL);
    user_agent->effects.list = g_array_new(FALSE, FALSE, sizeof(Effect));
    g_queue_init(&user_agent->cells);
    g_queue_init(&user_agent->wanted);
    user_agent->demands = g_ptr_array_new_with_free_func((GDestroyNotify)lock_queue_unref);
}

void
user_agent_fini(UserAgent *user_agent)
{
    effects_clear(&user_agent->effects);
    g_array_unref(user_agent->effects.list);
    g_ptr_array_unref(user_agent->demands);
    g_assert(user_agent->agents.length == 0);
    g_assert(g_hash_table_size(user_agent->principals) == 0);
    g_assert(g_sequence_is_empty(user_agent->deadlines));
    g_sequence_free(user_agent->deadlines);
    g_hash_table_unref(user_agent->principals);
    g_hash_table_unref(user_agent->shared_buckets);
    limits_account_fini(&user_agent->total);
}

void
user_agent_set_time(UserAgent *user_agent, gint64 monotonic_us, gint64 realtime_us)
{
    const gint64 passed_us = MAX(monotonic_us - user_agent->now_us, 0);

    user_agent->now_us += passed_us;
    user_agent->realtime_us = MAX(realtime_us, 0);
    user_agent->token_clock += (guint64)passed_us / TOKEN_CLOCK_AHEAD_SLOWER;
    user_agent_retire_token(user_agent, (guint64)user_agent->realtime_us);
}

gint64
user_agent_deadline_ms(const UserAgent *user_agent, guint32 timeout_ms)
{
    return (user_agent->now_us + 999) / 1000 + (gint64)timeout_ms;
}

static int
compare_deadlines(gconstpointer a, gconstpointer b, gpointer data)
{
    const LockRequest *x = a;
    const LockRequest *y = b;

    return (x->deadline_ms > y->deadline_ms) - (x->deadline_ms < y->deadline_ms);
}

void
user_agent_add_deadline(UserAgent *user_agent, LockRequest *request, gint64 deadline_ms)
{
    g_assert(request->in_deadlines == NULL);
    request->deadline_ms = deadline_ms;
    request->in_deadlines =
        g_sequence_insert_sorted(user_agent->deadlines, request, compare_deadlines, NULL);
}

void
user_agent_remove_deadline(LockRequest *request)
{
    if (request->state != LOCK_REQUEST_PENDING || request->in_deadlines == NULL)
        return;
    g_clear_pointer(&request->in_deadlines, g_sequence_remove);
    request->deadline_ms = 0;
}

/* Returns the request with the earliest deadline, or NULL. */
static LockRequest *
get_first_deadline(const UserAgent *user_agent)
{
    GSequenceIter *first = g_sequence_get_begin_iter(user_agent->deadlines);

    return g_sequence_iter_is_end(first) ? NULL : g_sequence_get(first);
}

static void
end_all_in_state(Agent *agent, LockRequestState state, EffectKind kind, GPtrArray *touched)
{
    GList *link = agent->requests.head;

    while (link != NULL) {
        LockRequest *request = link->data;

        link = link->next;
        if (request->state != state)
            continue;
        if (touched != NULL)
            lock_queue_touch(request->queue, touched);
        lock_manager_end_request(request->queue->manager, request, kind);
    }
}

void
user_agent_terminate(UserAgent *user_agent, Agent *agent)
{
    g_autoptr(GPtrArray) touched = g_ptr_array_new();

    g_assert(!agent->terminated);
    cells_close_of(agent);
    agent->terminated = TRUE;
    end_all_in_state(agent, LOCK_REQUEST_PENDING, EFFECT_TERMINATED, touched);
    end_all_in_state(agent, LOCK_REQUEST_HELD, EFFECT_TERMINATED, touched);
    lock_queue_process_touched(touched);
}

void
user_agent_replace(UserAgent *user_agent, Agent *agent)
{
    user_agent_terminate(user_agent, agent);
    agent->terminated = FALSE;
}

void
user_agent_expire(UserAgent *user_agent)
{
    g_autoptr(GPtrArray) touched = NULL;
    LockRequest *request;

    while ((request = get_first_deadline(user_agent)) != NULL &&
           request->deadline_ms <= user_agent->now_us / 1000) {
        if (touched == NULL)
            touched = g_ptr_array_new();
        lock_queue_touch(request->queue, touched);
        lock_manager_end_request(request->queue->manager, request,
                                 request->undecided == UNDECIDED_NONE ? EFFECT_TIMED_OUT
                                                                      : EFFECT_UNAVAILABLE);
    }
    if (touched != NULL)
        lock_queue_process_touched(touched);
}

gint64
user_agent_get_next_deadline_ms(const UserAgent *user_agent)
{
    const LockRequest *first = get_first_deadline(user_agent);

    return first != NULL ? first->deadline_ms : -1;
}

void
user_agent_shut_down(UserAgent *user_agent)
{
    user_agent->shutting_down = TRUE;
}

void
user_agent_lose(UserAgent *user_agent, Agent *agent)
{
    g_assert(user_agent->shutting_down);
    cells_close_of(agent);
    end_all_in_state(agent, LOCK_REQUEST_PENDING, EFFECT_LOST, NULL);
    end_all_in_state(agent, LOCK_REQUEST_HELD, EFFECT_LOST, NULL);
}

static void
touch_all(Principal *principal, GPtrArray *touched)
{
    GHashTableIter managers, queues;
    LockManager *manager;
    const char *name;

    g_hash_table_iter_init(&managers, principal->managers);
    while (g_hash_table_iter_next(&managers, NULL, (gpointer *)&manager)) {
        g_hash_table_iter_init(&queues, manager->queues);
        while (g_hash_table_iter_next(&queues, (gpointer *)&name, NULL))
            lock_queue_touch(lock_queue_from_name(name), touched);
    }
}

void
user_agent_process_all(UserAgent *user_agent)
{
    g_autoptr(GPtrArray) touched = g_ptr_array_new();
    GHashTableIter iter;
    Principal *principal;

    g_hash_table_iter_init(&iter, user_agent->principals);
    while (g_hash_table_iter_next(&iter, NULL, (gpointer *)&principal))
        touch_all(principal, touched);
    lock_queue_process_touched(touched);
}

guint32
user_agent_get_n_requests(const UserAgent *user_agent)
{
    return user_agent->total.n[CHARGE_REQUEST];
}

void
user_agent_retire_token(UserAgent *user_agent, guint64 token)
{
    user_agent->token_clock = MAX(user_agent->token_clock, token);
}

void
user_agent_retire_unknown_tokens(UserAgent *user_agent)
{
    user_agent_retire_token(user_agent, (guint64)user_agent->realtime_us + TOKENS_AHEAD);
}

LockManager *
user_agent_get_manager(UserAgent *user_agent, const PrincipalIdentity *owner, const char *bucket)
{
    Principal *principal = principal_get(user_agent, owner);
    LockManager *manager = lock_manager_get(principal, bucket);

    principal_unref(principal);
    return manager;
}

/* ---- agents */

Agent *
agent_restore(Principal *principal, const char *client_id, guint64 last_id)
{
    Agent *agent = g_new0(Agent, 1);

    limits_charge(&principal->account, CHARGE_CLIENT, 1);
    agent->refs = 1;
    agent->principal = principal_ref(principal);
    agent->client_id = g_strdup(client_id);
    agent->last_id = last_id;
    agent->in_user_agent.data = agent;
    g_queue_push_tail_link(&principal->user_agent->agents, &agent->in_user_agent);
    g_queue_init(&agent->requests);
    g_queue_init(&agent->untold);
    agent->by_id = g_hash_table_new(g_int64_hash, g_int64_equal);
    return agent;
}

LockResult
agent_new(Principal *principal, const char *client_id, Agent **out_agent)
{
    LimitId limit;

    if (!limits_admit(&principal->user_agent->limits, &principal->account, CHARGE_CLIENT, 1,
                      &limit))
        return lock_result_limit(limit);
    *out_agent = agent_restore(principal, client_id, 0);
    return LOCK_RESULT_OK;
}

Agent *
agent_ref(Agent *agent)
{
    agent->refs++;
    return agent;
}

void
agent_unref(Agent *agent)
{
    if (--agent->refs > 0)
        return;

    g_assert(agent->requests.length == 0);
    limits_discharge(&agent->principal->account, CHARGE_CLIENT, 1);
    g_queue_unlink(&agent->principal->user_agent->agents, &agent->in_user_agent);
    g_hash_table_unref(agent->by_id);
    g_clear_pointer(&agent->by_key, g_hash_table_unref);
    principal_unref(agent->principal);
    g_free(agent->client_id);
    g_free(agent);
}

LockRequest *
agent_find_request(const Agent *agent, guint64 id)
{
    char *found = g_hash_table_lookup(agent->by_id, &id);

    return found != NULL ? (LockRequest *)(found - G_STRUCT_OFFSET(LockRequest, id)) : NULL;
}

LockRequest *
agent_find_key(const Agent *agent, guint64 key)
{
    char *found = NULL;

    if (key != 0 && agent->by_key != NULL)
        found = g_hash_table_lookup(agent->by_key, &key);
    return found != NULL ? (LockRequest *)(found - G_STRUCT_OFFSET(LockRequest, key)) : NULL;
}

void
agent_add_request(Agent *agent, LockRequest *request)
{
    g_queue_push_tail_link(&agent->requests, &request->in_agent);
    g_hash_table_add(agent->by_id, &request->id);
    if (request->key != 0) {
        if (agent->by_key == NULL)
            agent->by_key = g_hash_table_new(g_int64_hash, g_int64_equal);
        g_hash_table_add(agent->by_key, &request->key);
    }
    limits_charge(&agent->principal->account, CHARGE_REQUEST, 1);
    limits_charge(&agent->principal->account, CHARGE_TEXT_BYTE,
                  lock_request_get_text_bytes(request));
}

void
agent_remove_request(Agent *agent, LockRequest *request)
{
    g_queue_unlink(&agent->requests, &request->in_agent);
    g_hash_table_remove(agent->by_id, &request->id);
    if (request->key != 0)
        g_hash_table_remove(agent->by_key, &request->key);
    limits_discharge(&agent->principal->account, CHARGE_REQUEST, 1);
    limits_discharge(&agent->principal->account, CHARGE_TEXT_BYTE,
                     lock_request_get_text_bytes(request));
}
