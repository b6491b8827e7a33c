/* SPDX-FileCopyrightText: 2026 The WebLocks for D-Bus authors
 * SPDX-License-Identifier: LGPL-2.1-or-later */

/* Runs cases on the core alone, with a clock that is controlled by the case. */

#include "service/core/inspect.h"
#include "service/core/lock-manager.h"
#include "service/core/lock-queue.h"
#include "service/core/principal.h"
#include "service/core/user-agent.h"
#include "tests/spec/spec-driver.h"

typedef struct {
    UserAgent user_agent;
    Agent *agents[SPEC_AGENTS];
    GQueue events[SPEC_AGENTS]; /* of SpecEvent */
    char *watched[SPEC_AGENTS]; /* the bucket that the agent watches, or NULL */
} Core;

static gpointer
start(const char *const *limit_texts)
{
    Core *core = g_new0(Core, 1);
    Limits limits;

    limits_init(&limits);
    for (guint i = 0; limit_texts[i] != NULL; i++)
        g_assert_true(limits_set_from_string(&limits, limit_texts[i]));
    user_agent_init(&core->user_agent, &limits);
    user_agent_set_time(&core->user_agent, G_USEC_PER_SEC, G_GINT64_CONSTANT(1700000000000000));
    user_agent_expire(&core->user_agent);
    return core;
}

static void
stop(gpointer self)
{
    Core *core = self;

    for (guint i = 0; i < SPEC_AGENTS; i++) {
        g_queue_clear_full(&core->events[i], (GDestroyNotify)spec_event_free);
        g_free(core->watched[i]);
    }
    user_agent_fini(&core->user_agent);
    g_free(core);
}

static void
join(gpointer self, char letter)
{
    static const PrincipalIdentity identity = {1000, PRINCIPAL_UNSANDBOXED, ""};
    const char client_id[] = {letter, '\0'};
    Core *core = self;
    Principal *principal = principal_get(&core->user_agent, &identity);

    g_assert_cmpint(agent_new(principal, client_id, &core->agents[letter - 'A']), ==,
                    LOCK_RESULT_OK);
    principal_unref(principal);
}

static void
add_event(Core *core, char agent, const Effect *effect)
{
    static const char *const reasons[N_EFFECT_KINDS] = {
        [EFFECT_RELEASED] = "released",     [EFFECT_ABORTED] = "aborted",
        [EFFECT_STOLEN] = "stolen",         [EFFECT_TIMED_OUT] = "timeout",
        [EFFECT_TERMINATED] = "terminated",
    };
    const LockRequest *request = effect->request;
    SpecVerb kind = SPEC_RELEASED;
    SpecEvent *event;

    if (effect->kind == EFFECT_WAITING)
        kind = SPEC_WAITING;
    else if (effect->kind == EFFECT_GRANTED)
        kind = SPEC_GRANTED;
    event = spec_event_new(kind, request->id, request->agent->client_id[0]);
    event->token = request->token;
    event->bucket = g_strdup(request->queue->manager->bucket);
    event->name = g_strdup(request->queue->name);
    event->mode = g_strdup(lock_mode_to_string(request->mode));
    event->reason = g_strdup(reasons[effect->kind]);
    g_queue_push_tail(&core->events[agent - 'A'], event);
}

/* As the server does: clients are not notified of their own operations or of what is in the reply,
 * unless they watch the bucket. */
static void
take_effects(Core *core, const LockRequest *granted_in_reply)
{
    Effects *effects = &core->user_agent.effects;

    for (guint i = 0; i < effects_get_length(effects); i++) {
        const Effect *effect = effects_get(effects, i);
        const LockRequest *request = effect->request;
        char client = request->agent->client_id[0];
        gboolean is_for_client = effect->kind == EFFECT_STOLEN ||
                                 effect->kind == EFFECT_TIMED_OUT ||
                                 (effect->kind == EFFECT_GRANTED && request != granted_in_reply);

        if (is_for_client)
            add_event(core, client, effect);
        for (guint k = 0; k < SPEC_AGENTS; k++) {
            const char agent = (char)('A' + k);

            if (g_strcmp0(core->watched[k], request->queue->manager->bucket) == 0 &&
                !(is_for_client && agent == client))
                add_event(core, agent, effect);
        }
    }
    effects_clear(effects);
}

static void
die(gpointer self, char letter)
{
    Core *core = self;
    Agent *agent = g_steal_pointer(&core->agents[letter - 'A']);
    guint n_events = core->events[letter - 'A'].length;

    g_clear_pointer(&core->watched[letter - 'A'], g_free);
    user_agent_terminate(&core->user_agent, agent);
    agent_unref(agent);
    take_effects(core, NULL);
    if (core->events[letter - 'A'].length > n_events)
        g_test_fail_printf("%c is notified after it has disconnected", letter);
    g_queue_clear_full(&core->events[letter - 'A'], (GDestroyNotify)spec_event_free);
}

/* The messages are added by the server; these contain only the words that cases check. */
static void
set_error(SpecAnswer *answer, LockResult result)
{
    static const char *const errors[LOCK_RESULT_LIMIT] = {
        [LOCK_RESULT_SHUTTING_DOWN] = "InvalidState",
        [LOCK_RESULT_NAME_RESERVED] = "NotSupported",
        [LOCK_RESULT_STEAL_IF_AVAILABLE] = "NotSupported",
        [LOCK_RESULT_STEAL_NOT_EXCLUSIVE] = "NotSupported",
        [LOCK_RESULT_SIGNAL_STEAL_OR_IF_AVAILABLE] = "NotSupported",
        [LOCK_RESULT_TIMEOUT_IF_AVAILABLE] = "InvalidArgs",
        [LOCK_RESULT_KEY_MISMATCH] = "InvalidArgs",
        [LOCK_RESULT_NOT_HELD] = "NotHeld",
    };

    if (result >= LOCK_RESULT_LIMIT) {
        answer->error = g_strdup("LimitsExceeded");
        answer->message = g_strdup(limit_id_get_name(result - LOCK_RESULT_LIMIT));
    } else if (errors[result] != NULL) {
        answer->error = g_strdup(errors[result]);
        answer->message = g_strdup(result == LOCK_RESULT_KEY_MISMATCH ? "key" : "");
    }
}

static void
request_lock(gpointer self, char letter, const SpecRequest *wanted, SpecAnswer *answer)
{
    Core *core = self;
    Agent *agent = core->agents[letter - 'A'];
    g_autoptr(LockManager) manager = NULL;
    LockRequest *request = NULL;
    LockOptions options = {
        .if_available = wanted->if_available,
        .steal = wanted->steal || wanted->steal_method,
        .signal = wanted->signal,
        .timeout_ms = wanted->timeout_ms,
        .key = wanted->key,
        .why = wanted->why != NULL ? wanted->why : "",
    };

    if (wanted->mode != NULL && !lock_mode_from_string(wanted->mode, &options.mode)) {
        answer->error = g_strdup("InvalidArgs");
        answer->message = g_strdup("mode");
        return;
    }
    manager = lock_manager_get(agent->principal, wanted->bucket);
    set_error(answer, lock_manager_request(manager, agent, wanted->name, &options, &request));
    if (request != NULL) {
        answer->id = request->id;
        answer->token = request->token;
    }
    take_effects(core, request);
}

static void
release_lock(gpointer self, char letter, const char *bucket, guint64 id, SpecAnswer *answer)
{
    Core *core = self;
    Agent *agent = core->agents[letter - 'A'];
    g_autoptr(LockManager) manager = lock_manager_get(agent->principal, bucket);

    set_error(answer, lock_manager_release(manager, agent, id));
    take_effects(core, NULL);
}

static void
abort_request(gpointer self, char letter, const char *bucket, guint64 id, SpecAnswer *answer)
{
    Core *core = self;
    Agent *agent = core->agents[letter - 'A'];
    g_autoptr(LockManager) manager = lock_manager_get(agent->principal, bucket);

    answer->aborted = lock_manager_abort(manager, agent, id);
    take_effects(core, NULL);
}

static void
break_locks(gpointer self, char letter, const char *bucket, const char *name, SpecAnswer *answer)
{
    Core *core = self;
    Agent *agent = core->agents[letter - 'A'];
    g_autoptr(LockManager) manager = lock_manager_get(agent->principal, bucket);
    const InspectFilter filter = {.name = name, .by_state = TRUE, .state = LOCK_REQUEST_HELD};
    LockResult result = lock_name_check(name, &core->user_agent.limits);

    if (result == LOCK_RESULT_OK)
        answer->id = lock_manager_break(manager, &filter);
    set_error(answer, result);
    take_effects(core, NULL);
}

static void
visit(const LockRequest *request, gpointer data)
{
    g_ptr_array_add(data,
                    g_strdup_printf("%s %s %s", request->queue->name,
                                    lock_mode_to_string(request->mode), request->agent->client_id));
}

static void
query(gpointer self, char letter, const char *bucket, GPtrArray *held, GPtrArray *pending)
{
    Core *core = self;
    Agent *agent = core->agents[letter - 'A'];
    g_autoptr(LockManager) manager = lock_manager_get(agent->principal, bucket);

    lock_manager_snapshot(manager, LOCK_REQUEST_HELD, visit, held);
    lock_manager_snapshot(manager, LOCK_REQUEST_PENDING, visit, pending);
}

static void
watch(gpointer self, char letter, const char *bucket)
{
    Core *core = self;

    g_free(core->watched[letter - 'A']);
    core->watched[letter - 'A'] = g_strdup(bucket);
}

static void
settle(gpointer self)
{
}

static void
await(gpointer self, char letter)
{
    Core *core = self;
    UserAgent *user_agent = &core->user_agent;

    while (core->events[letter - 'A'].length == 0) {
        gint64 next_ms = user_agent_get_next_deadline_ms(user_agent);

        if (next_ms == -1)
            return;
        user_agent_set_time(user_agent, next_ms * 1000, user_agent->realtime_us);
        user_agent_expire(user_agent);
        take_effects(core, NULL);
    }
}

static gint64
get_time_us(gpointer self)
{
    Core *core = self;

    return core->user_agent.now_us;
}

static SpecEvent *
take_event(gpointer self, char letter)
{
    Core *core = self;

    return g_queue_pop_head(&core->events[letter - 'A']);
}

const SpecDriver spec_driver_core = {
    .name = "core",
    .start = start,
    .stop = stop,
    .join = join,
    .die = die,
    .request = request_lock,
    .release = release_lock,
    .abort = abort_request,
    .break_locks = break_locks,
    .query = query,
    .watch = watch,
    .settle = settle,
    .await = await,
    .get_time_us = get_time_us,
    .take_event = take_event,
};
