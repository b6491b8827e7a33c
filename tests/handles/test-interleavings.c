/* SPDX-FileCopyrightText: 2026 The WebLocks for D-Bus authors
 * SPDX-License-Identifier: LGPL-2.1-or-later */

/* Cells, the core and the stored state of the service with two clients, in every order of their
 * steps (steps.h): each atomic instruction, commit and packet is one. The service may be killed
 * before each of its steps, and client A before each of its own.
 *
 * The reference is the model of the standard (unit/lock-model.h), in which enter and leave of a
 * handle are a request that is granted at once and a release. What the service does counts when it
 * is committed.
 *
 * Usage: test-interleavings [--runs N] [PROGRAM]: at most N runs of each program (0: all). */

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "common/lock-cell.h"
#include "service/core/cell.h"
#include "service/core/principal.h"
#include "service/state/cell-pages.h"
#include "service/state/state.h"
#include "tests/handles/steps.h"
#include "tests/state/state-world.h"
#include "tests/unit/lock-model.h"

#define BUS       0xb5
#define N_CLIENTS 2
#define NAME      "n"
#define BUCKET    "default"
#define CELL      1
#define QUEUE_MAX 16
#define TURN_MAX  2 /* calls in a turn */
#define UID       1000

/* Of a long program, unless it is named. */
#define LONG_RUNS 400

/* A program of a client is a list of these letters:
 * e l  enters and leaves its handle      R r  requests and releases the lock without a handle
 * S    as R, with steal                  A    as R, with ifAvailable; then r only if it was
 * available H    as R, shared                      Q    looks at all locks */
typedef struct {
    const char *name;
    const char *clients[N_CLIENTS];
    guint n_kills;      /* of the service */
    gboolean is_killed; /* client A may be */
    guint range;        /* the tokens of a cell; 0: many */
    gboolean is_long;   /* only with WEBLOCKS_TEST_ALL */
} Program;

static const Program programs[] = {
    {"request", {"elel", "Rr"}, 0, FALSE, 0, FALSE},
    {"handles", {"elel", "el"}, 0, FALSE, 0, FALSE},
    {"steal", {"elel", "Sr"}, 0, FALSE, 0, FALSE},
    {"steal-and-handle", {"elel", "Srel"}, 0, FALSE, 0, TRUE},
    {"available", {"elel", "Ar"}, 0, FALSE, 0, FALSE},
    {"shared", {"elel", "Hr"}, 0, FALSE, 0, FALSE},
    {"query", {"elel", "QQ"}, 0, FALSE, 0, FALSE},
    {"range", {"elelel", "Q"}, 0, FALSE, 2, FALSE},
    {"range-and-request", {"elelel", "Rr"}, 0, FALSE, 2, TRUE},
    {"killed-client", {"elel", "Rr"}, 0, TRUE, 0, FALSE},
    {"killed-service", {"el", ""}, 1, FALSE, 0, FALSE},
    {"killed-service-and-enter", {"elel", ""}, 1, FALSE, 0, FALSE},
    {"killed-service-and-request", {"elel", "Rr"}, 1, FALSE, 0, TRUE},
    {"killed-service-and-range", {"elelel", ""}, 2, FALSE, 2, TRUE},
    {"killed-service-and-steal", {"elel", "Sr"}, 1, FALSE, 0, TRUE},
    {"killed-service-and-handles", {"elel", "el"}, 1, FALSE, 0, TRUE},
    {"killed-both", {"elel", "Rr"}, 1, TRUE, 0, TRUE},
    {"killed-service-twice", {"el", "Rr"}, 2, FALSE, 0, TRUE},
};

typedef enum { CALL_REQUEST, CALL_RELEASE, CALL_QUERY, CALL_OPEN } CallKind;

typedef struct {
    CallKind kind;
    guint64 key;
    gboolean steal, if_available, shared, has_cell;
} Call;

typedef enum {
    MESSAGE_HELD,
    MESSAGE_WAITS,
    MESSAGE_UNAVAILABLE,
    MESSAGE_STOLEN,
    MESSAGE_DONE,
    MESSAGE_LIVE
} MessageKind;

typedef struct {
    MessageKind kind;
    guint64 key;
    guint64 token;
    LockCell *page; /* of LIVE */
    Call live[4];   /* likewise: the keys of live requests, and in `shared` whether they are held */
    guint64 tokens[4];
    guint n_live;
} Message;

typedef struct {
    guint index;
    const char *program;
    Actor *actor;
    Call calls[QUEUE_MAX];
    guint n_calls;
    Message messages[QUEUE_MAX];
    guint n_messages;
    gboolean is_cut, is_killed, has_ended;
    guint64 last_key;
    guint64 awaited_key; /* that of a request that waits; 0: none */
    LockCell *page;
    /* Of its handle: the key of its last request; the page of that. */
    guint64 handle_key;
    LockCell *cell;
    /* What it has now. */
    guint64 inside_key, inside_token;
    gboolean is_by_cell, is_lost;
} ClientWorld;

/* What the service has done in this turn: for the model, when it is committed. */
typedef struct {
    guint client;
    Call call;
    LockResult result;
    gboolean is_held;
} Done;

typedef struct {
    guint client;
    Message message;
} Output;

static struct {
    const Program *program;
    char *directory;
    guint n_kills;
    ClientWorld clients[N_CLIENTS];
    LockModel model;
    guint64 last_token;
    /* Of this instance of the service. */
    Actor *service;
    UserAgent *user_agent;
    State *state;
    Agent *agents[N_CLIENTS];
    CellPage *pages[N_CLIENTS];
    Done done[TURN_MAX];
    guint n_done;
    Output outputs[QUEUE_MAX];
    guint n_outputs;
} w;

static const ModelManager place = {0, 0};

/* ---- the model */

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

static LockResult
model_request(guint client, const Call *call, gboolean *out_held)
{
    const ModelOptions options = {
        .mode = call->shared ? LOCK_MODE_SHARED : LOCK_MODE_EXCLUSIVE,
        .steal = call->steal,
        .if_available = call->if_available,
        .key = call->key,
        .name_length = 1,
    };
    guint64 id;

    return lock_model_request(&w.model, client, place, 0, &options, 0, &id, out_held);
}

static gboolean
model_release(guint client, guint64 key)
{
    const ModelRequest *request = find_in(w.model.held, client, key);

    return request != NULL &&
           lock_model_release(&w.model, client, place, request->id) == LOCK_RESULT_OK;
}

static void
take_token(guint64 token)
{
    if (token <= w.last_token)
        steps_fail("token %" G_GUINT64_FORMAT " after %" G_GUINT64_FORMAT, token, w.last_token);
    w.last_token = token;
}

/* Whether the service's tables are those of the model; a lock with an open cell is held if that
 * says so. */
static void
check_tables(void)
{
    guint n = 0;

    for (guint i = 0; i < N_CLIENTS; i++)
        for (const GList *link = w.agents[i] != NULL ? w.agents[i]->requests.head : NULL;
             link != NULL; link = link->next) {
            const LockRequest *request = link->data;
            const Cell *cell = lock_request_get_cell(request);
            const gboolean is_open = cell != NULL && cell->is_open;
            const guint64 word = is_open ? cell->memory->word : LOCK_CELL_HELD;

            if (is_open && !(word & LOCK_CELL_OPEN))
                steps_fail("a cell of client %u is closed", i);
            if (is_open && request->queue->pending.length > 0)
                steps_fail("one waits for an open cell");
            if (!(word & LOCK_CELL_HELD))
                continue;
            n++;
            if (find_in(request->state == LOCK_REQUEST_HELD ? w.model.held : w.model.pending, i,
                        request->key) == NULL)
                steps_fail("request %" G_GUINT64_FORMAT " of client %u is not %s in the model",
                           request->key, i,
                           request->state == LOCK_REQUEST_HELD ? "held" : "pending");
        }
    if (n != w.model.held->len + w.model.pending->len)
        steps_fail("the service has %u requests, the model %u", n,
                   w.model.held->len + w.model.pending->len);
}

/* Grants since the last commit have new tokens. */
static void
note_tokens(void)
{
    for (guint i = 0; i < w.model.events->len; i++) {
        const ModelEvent *event = &g_array_index(w.model.events, ModelEvent, i);
        const LockRequest *request;

        if (event->kind != EFFECT_GRANTED)
            continue;
        request = w.agents[event->request.agent] != NULL
                      ? agent_find_key(w.agents[event->request.agent], event->request.key)
                      : NULL;
        if (request != NULL && request->state == LOCK_REQUEST_HELD)
            take_token(request->token);
    }
    g_array_set_size(w.model.events, 0);
}

static void
apply_done(void)
{
    for (guint i = 0; i < w.n_done; i++) {
        const Done *done = &w.done[i];
        gboolean is_held;

        if (done->call.kind == CALL_REQUEST) {
            if (model_request(done->client, &done->call, &is_held) != done->result ||
                is_held != done->is_held)
                steps_fail("client %u requests: result %u held %d, otherwise in the model",
                           done->client, (guint)done->result, done->is_held);
        } else if (done->call.kind == CALL_RELEASE) {
            if (model_release(done->client, done->call.key) != (done->result == LOCK_RESULT_OK))
                steps_fail("client %u releases: result %u, otherwise in the model", done->client,
                           (guint)done->result);
        }
    }
    w.n_done = 0;
    note_tokens();
    check_tables();
}

/* ---- the service */

static void
tell(guint client, const Message *message)
{
    g_assert(w.n_outputs < QUEUE_MAX);
    w.outputs[w.n_outputs++] = (Output){client, *message};
}

/* As service/server/operations: what has changed is stored, and events are sent but for what a
 * reply says. */
static void
note_effects(const LockRequest *answered)
{
    Effects *effects = &w.user_agent->effects;

    for (guint i = 0; i < effects_get_length(effects); i++) {
        const Effect *effect = effects_get(effects, i);
        const guint client = effect->request->agent == w.agents[0] ? 0 : 1;

        state_note_request(w.state, effect->request);
        if (effect->request == answered)
            continue;
        if (effect->kind == EFFECT_GRANTED)
            tell(client, &(Message){MESSAGE_HELD, effect->request->key, effect->request->token});
        else if (effect->kind == EFFECT_STOLEN)
            tell(client, &(Message){MESSAGE_STOLEN, effect->request->key});
    }
    effects_clear(effects);
}

static LockManager *
get_manager(void)
{
    const PrincipalIdentity identity = {.uid = UID, .kind = PRINCIPAL_UNSANDBOXED, .app_id = ""};

    return user_agent_get_manager(w.user_agent, &identity, BUCKET);
}

static void
serve_request(guint client, const Call *call, Done *done)
{
    g_autoptr(LockManager) manager = get_manager();
    LockOptions options = {
        .mode = call->shared ? LOCK_MODE_SHARED : LOCK_MODE_EXCLUSIVE,
        .steal = call->steal,
        .if_available = call->if_available,
        .key = call->key,
        .why = "",
    };
    LockRequest *request = NULL;

    if (call->has_cell && w.pages[client] != NULL)
        options.cell = &w.pages[client]->cells[CELL];
    state_reserve(w.state, lock_text_bytes(BUCKET, NAME, "", NULL));
    done->result = lock_manager_request(manager, w.agents[client], NAME, &options, &request);
    done->is_held = request != NULL && request->state == LOCK_REQUEST_HELD;
    if (request != NULL)
        state_note_request(w.state, request);
    tell(client, &(Message){request == NULL ? MESSAGE_UNAVAILABLE
                            : done->is_held ? MESSAGE_HELD
                                            : MESSAGE_WAITS,
                            call->key, request != NULL ? request->token : 0});
    note_effects(request);
}

static void
serve_release(guint client, const Call *call, Done *done)
{
    const LockRequest *request = agent_find_key(w.agents[client], call->key);

    done->result = LOCK_RESULT_NOT_HELD;
    if (request != NULL) {
        LockManager *manager = lock_manager_ref(request->queue->manager);

        if (request->state == LOCK_REQUEST_PENDING)
            steps_fail("client %u releases what waits", client);
        done->result = lock_manager_release(manager, w.agents[client], request->id);
        lock_manager_unref(manager);
    }
    note_effects(NULL);
}

/* As service/server/cell-offers: the page before ends, and there is a new one. */
static void
serve_open(guint client)
{
    Message live = {.kind = MESSAGE_LIVE};
    int fd = -1;

    if (w.agents[client] == NULL) {
        const PrincipalIdentity identity = {
            .uid = UID, .kind = PRINCIPAL_UNSANDBOXED, .app_id = ""};
        const char client_id[] = {':', '1', '.', (char)('A' + client), '\0'};
        Principal *principal = principal_get(w.user_agent, &identity);

        g_assert_cmpint(agent_new(principal, client_id, &w.agents[client]), ==, LOCK_RESULT_OK);
        principal_unref(principal);
    }
    cells_close_of(w.agents[client]);
    note_effects(NULL);
    w.pages[client] = state_new_page(w.state, &fd);
    g_assert_nonnull(w.pages[client]);
    live.page = mmap(NULL, LOCK_CELL_PAGE_SIZE, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    g_assert_true(live.page != MAP_FAILED);
    close(fd);
    for (const GList *link = w.agents[client]->requests.head; link != NULL; link = link->next) {
        const LockRequest *request = link->data;

        live.tokens[live.n_live] = request->token;
        live.live[live.n_live++] =
            (Call){.key = request->key, .shared = request->state == LOCK_REQUEST_HELD};
    }
    tell(client, &live);
}

static void
serve_query(guint client)
{
    cells_close_seen_by(w.agents[client]->principal);
    note_effects(NULL);
    if (w.user_agent->cells.length > 0)
        steps_fail("client %u looks at a lock with a cell", client);
    tell(client, &(Message){MESSAGE_DONE});
}

static void
serve(guint client)
{
    ClientWorld *c = &w.clients[client];
    const Call call = c->calls[0];
    Done done = {client, call, LOCK_RESULT_OK, FALSE};

    memmove(c->calls, c->calls + 1, --c->n_calls * sizeof call);
    if (call.kind == CALL_REQUEST)
        serve_request(client, &call, &done);
    else if (call.kind == CALL_RELEASE)
        serve_release(client, &call, &done);
    else if (call.kind == CALL_QUERY)
        serve_query(client);
    else
        serve_open(client);
    w.done[w.n_done++] = done;
}

static void
terminate(guint client)
{
    Agent *agent = w.agents[client];

    w.agents[client] = NULL;
    user_agent_terminate(w.user_agent, agent);
    for (guint i = 0; i < effects_get_length(&w.user_agent->effects); i++)
        state_note_request(w.state, effects_get(&w.user_agent->effects, i)->request);
    for (guint i = 0; i < effects_get_length(&w.user_agent->effects); i++) {
        const Effect *effect = effects_get(&w.user_agent->effects, i);

        if (effect->kind == EFFECT_GRANTED && effect->request->agent == w.agents[1 - client])
            tell(1 - client,
                 &(Message){MESSAGE_HELD, effect->request->key, effect->request->token});
    }
    effects_clear(&w.user_agent->effects);
    state_note_agent_gone(w.state, agent);
    agent_unref(agent);
}

/* As service/server/scheduler: commit, open, send. */
static void
end_turn(gint terminated)
{
    step_before(STEP_NOTHING, FALSE, "commits");
    state_commit(w.state);
    if (terminated >= 0)
        lock_model_terminate(&w.model, (guint)terminated);
    apply_done();
    cells_open(w.user_agent);
    for (guint i = 0; i < w.n_outputs; i++) {
        ClientWorld *c = &w.clients[w.outputs[i].client];

        step_before(STEP_QUEUE + 10 + c->index, TRUE, c->index == 0 ? "sends to A" : "sends to B");
        g_assert(c->n_messages < QUEUE_MAX);
        if (!c->is_killed)
            c->messages[c->n_messages++] = w.outputs[i].message;
    }
    w.n_outputs = 0;
}

static gboolean
has_call(gpointer data)
{
    const ClientWorld *c = data;

    return c->n_calls > 0 && w.n_done < TURN_MAX;
}

static gboolean
is_dead(gpointer data)
{
    const ClientWorld *c = data;

    return c->is_killed && c->n_calls == 0 && w.n_done == 0 && w.agents[c->index] != NULL;
}

static gboolean
has_done(gpointer data)
{
    return w.n_done > 0;
}

static void
catch_up(void)
{
    for (guint i = 0; i < N_CLIENTS; i++)
        if (w.agents[i] != NULL && w.clients[i].is_killed) {
            user_agent_terminate(w.user_agent, w.agents[i]);
            g_clear_pointer(&w.agents[i], agent_unref);
        }
    user_agent_process_all(w.user_agent);
    effects_clear(&w.user_agent->effects);
}

static gboolean
was_told(const ClientWorld *c, guint64 key)
{
    for (guint i = 0; i < c->n_messages; i++)
        if (c->messages[i].key == key)
            return TRUE;
    return c->awaited_key != key;
}

/* A service that was killed while it opened a cell has told nobody of the grant. If the key is
 * there and the word is not, the lock is over, and the client requests it again. */
static void
forget_untold_grants(void)
{
    for (guint i = 0; i < N_CLIENTS; i++) {
        const guint64 key = w.clients[i].awaited_key;
        const gboolean is_live = w.agents[i] != NULL && agent_find_key(w.agents[i], key) != NULL;

        if (key != 0 && !is_live && !was_told(&w.clients[i], key))
            model_release(i, key);
    }
}

/* As service/server/recovery. */
static void
start(void)
{
    g_autoptr(GError) error = NULL;
    Restored restored = {0};
    StateOptions options = {.directory = w.directory, .offers_cells = TRUE};
    Limits limits;

    memset(options.bus_id, BUS, sizeof options.bus_id);
    memset(options.boot_id, 1, sizeof options.boot_id);
    limits_init(&limits);
    w.user_agent = g_new0(UserAgent, 1);
    user_agent_init(w.user_agent, &limits);
    user_agent_set_time(w.user_agent, WORLD_MONOTONIC_US, WORLD_REALTIME_US);
    w.state = state_open(&options, &error);
    g_assert_no_error(error);
    g_assert_nonnull(w.state);
    state_restore(w.state, w.user_agent, &restored, &error);
    g_assert_no_error(error);
    for (guint i = 0; i < restored.agents->len; i++) {
        Agent *agent = restored.agents->pdata[i];

        w.agents[agent->client_id[3] - 'A'] = agent_ref(agent);
    }
    restored_clear(&restored);
    catch_up();
    step_before(STEP_NOTHING, FALSE, "writes a new file");
    state_begin(w.state, w.user_agent, &error);
    g_assert_no_error(error);
    state_end_recovery();
    for (guint i = 0; i < N_CLIENTS; i++)
        if (w.clients[i].is_killed)
            lock_model_terminate(&w.model, i);
    lock_model_restart(&w.model);
    forget_untold_grants();
    note_tokens();
    check_tables();
    w.user_agent->gives_cells = TRUE;
    /* Tokens are not ahead of the clock any more. */
    user_agent_set_time(w.user_agent, WORLD_MONOTONIC_US, WORLD_REALTIME_US + TOKENS_AHEAD);
    if (w.program->range > 0) /* the last tokens before the limit on how far they may be ahead */
        user_agent_retire_token(w.user_agent,
                                WORLD_REALTIME_US + 2 * TOKENS_AHEAD - 1 - 8 * w.program->range);
}

static void
run_service(gpointer data)
{
    if (w.state == NULL) {
        step_before(STEP_NOTHING, FALSE, "starts");
        /* Also if a fault reads the cells without a step. */
        step_before_memory(&w.clients[0].page[CELL].word, TRUE);
        start();
    }
    for (;;) {
        const Step alternatives[] = {
            {STEP_QUEUE + 0, TRUE, "serves A", has_call, &w.clients[0]},
            {STEP_QUEUE + 1, TRUE, "serves B", has_call, &w.clients[1]},
            {STEP_QUEUE + 0, TRUE, "finds that A has ended", is_dead, &w.clients[0]},
            {STEP_NOTHING, FALSE, "ends the turn", has_done, NULL},
        };
        const guint chosen = step_choose(alternatives, G_N_ELEMENTS(alternatives));

        if (chosen < 2) {
            serve(chosen);
            continue;
        }
        if (chosen == 2)
            terminate(0);
        end_turn(chosen == 2 ? 0 : -1);
    }
}

static gboolean
may_kill(gpointer data)
{
    return w.n_kills > 0;
}

static void start_service(void);

/* Its memory is lost, and its descriptors are closed. */
static void
kill_service(gpointer data)
{
    w.n_kills--;
    close_range(3, 63, 0);
    w.user_agent = NULL;
    w.state = NULL;
    w.n_done = w.n_outputs = 0;
    for (guint i = 0; i < N_CLIENTS; i++) {
        w.agents[i] = NULL;
        w.pages[i] = NULL;
        w.clients[i].n_calls = 0;
        w.clients[i].is_cut = TRUE;
    }
    start_service();
}

static void
start_service(void)
{
    const Step killed = {STEP_KILL, TRUE, "is killed", may_kill, NULL};

    w.service = actor_new('S', run_service, NULL);
    actor_set_end(w.service, &killed, kill_service);
}

/* ---- a client: the library's steps, over lock-cell.h */

static gboolean
has_message(gpointer data)
{
    const ClientWorld *c = data;

    return c->n_messages > 0 || c->is_cut;
}

static gboolean has_key(const Message *live, guint64 key, gboolean *out_held, guint64 *out_token);
static void connect_again(ClientWorld *c);

static void
send_call(ClientWorld *c, const Call *call)
{
    step_before(STEP_QUEUE + c->index, TRUE,
                call->kind == CALL_REQUEST   ? "sends REQUEST"
                : call->kind == CALL_RELEASE ? "sends RELEASE"
                                             : "sends");
    while (c->is_cut && call->kind != CALL_OPEN) {
        connect_again(c);
        step_before(STEP_QUEUE + c->index, TRUE, "sends again");
    }
    g_assert(c->n_calls < QUEUE_MAX);
    c->calls[c->n_calls++] = *call;
}

static void
receive_now(ClientWorld *c, Message *out)
{
    *out = c->messages[0];
    memmove(c->messages, c->messages + 1, --c->n_messages * sizeof *out);
    if (out->kind == MESSAGE_STOLEN && out->key == c->inside_key)
        c->is_lost = TRUE;
}

/* Returns FALSE if the socket has ended, and everything has been read. */
static gboolean
receive(ClientWorld *c, Message *out)
{
    const Step step = {STEP_QUEUE + 10 + c->index, TRUE, "receives", has_message, c};

    step_choose(&step, 1);
    if (c->n_messages == 0)
        return FALSE;
    receive_now(c, out);
    return TRUE;
}

/* What is live and not wanted is released; what it has and is not live is lost. */
static void
connect_again(ClientWorld *c)
{
    guint64 token;
    gboolean is_held;
    Message live = {0};

    do {
        c->is_cut = FALSE;
        c->n_messages = 0;
        send_call(c, &(Call){.kind = CALL_OPEN});
        while (receive(c, &live) && live.kind != MESSAGE_LIVE)
            ;
    } while (c->is_cut);
    c->page = live.page;
    if (c->inside_key != 0 && !has_key(&live, c->inside_key, &is_held, &token))
        c->is_lost = TRUE;
    for (guint i = 0; i < live.n_live; i++)
        if (live.live[i].key != c->inside_key && live.live[i].key != c->awaited_key)
            send_call(c, &(Call){.kind = CALL_RELEASE, .key = live.live[i].key});
}

static gboolean
has_key(const Message *live, guint64 key, gboolean *out_held, guint64 *out_token)
{
    for (guint i = 0; i < live->n_live; i++)
        if (live->live[i].key == key) {
            *out_held = live->live[i].shared;
            *out_token = live->tokens[i];
            return TRUE;
        }
    return FALSE;
}

/* Returns whether it has the lock. */
static gboolean
request(ClientWorld *c, Call *call)
{
    Message message = {0};
    gboolean is_held = FALSE;

    call->kind = CALL_REQUEST;
    call->key = c->awaited_key = ++c->last_key;
    send_call(c, call);
    for (;;) {
        if (!receive(c, &message)) {
            connect_again(c);
            is_held = FALSE;
            send_call(c, call);
            continue;
        }
        if (message.key != call->key)
            continue;
        if (message.kind == MESSAGE_UNAVAILABLE) {
            c->awaited_key = 0;
            return FALSE;
        }
        is_held = message.kind == MESSAGE_HELD;
        if (is_held)
            break;
    }
    c->awaited_key = 0;
    c->inside_key = call->key;
    c->inside_token = message.token;
    c->is_by_cell = call->has_cell && lock_cell_is_held(&c->page[CELL], call->key, message.token);
    c->is_lost = FALSE;
    return TRUE;
}

static void
enter(ClientWorld *c)
{
    Call call = {.has_cell = TRUE};
    guint64 token;

    if (c->cell != NULL && lock_cell_enter(c->cell, c->handle_key, &token)) {
        c->inside_key = c->handle_key;
        c->inside_token = token;
        c->is_by_cell = TRUE;
        c->is_lost = FALSE;
        return;
    }
    if (c->cell != NULL) {
        step_before_memory(c->cell, FALSE);
        if (c->cell->word & LOCK_CELL_OPEN) /* no more tokens */
            send_call(c, &(Call){.kind = CALL_RELEASE, .key = c->handle_key});
        c->cell = NULL;
    }
    if (!request(c, &call))
        steps_fail("client %u can't enter", c->index);
    c->handle_key = c->inside_key;
    c->cell = &c->page[CELL];
}

static void
release(ClientWorld *c)
{
    const guint64 key = c->inside_key;

    if (key == 0)
        return;
    c->inside_key = 0;
    send_call(c, &(Call){.kind = CALL_RELEASE, .key = key});
}

static void
leave(ClientWorld *c)
{
    if (c->is_by_cell && lock_cell_leave(c->cell, c->inside_token)) {
        c->inside_key = 0;
        return;
    }
    c->cell = NULL;
    release(c);
}

static void
query(ClientWorld *c)
{
    Message message;

    send_call(c, &(Call){.kind = CALL_QUERY});
    do
        while (!receive(c, &message)) {
            connect_again(c);
            send_call(c, &(Call){.kind = CALL_QUERY});
        }
    while (message.kind != MESSAGE_DONE);
}

static void
run_client(gpointer data)
{
    ClientWorld *c = data;

    step_before(STEP_NOTHING, FALSE, "begins");
    for (const char *next = c->program; *next != '\0'; next++) {
        Call call = {.steal = *next == 'S', .if_available = *next == 'A', .shared = *next == 'H'};

        if (*next == 'e')
            enter(c);
        else if (*next == 'l')
            leave(c);
        else if (*next == 'r')
            release(c);
        else if (*next == 'Q')
            query(c);
        else
            request(c, &call);
    }
    c->has_ended = TRUE;
    for (;;) { /* its main loop finds that the socket has ended */
        const Step step = {STEP_QUEUE + 10 + c->index, TRUE, "reads EOF", has_message, c};
        Message message;

        step_choose(&step, 1);
        if (c->n_messages == 0)
            connect_again(c);
        else
            receive_now(c, &message);
    }
}

static void
kill_client(gpointer data)
{
    ClientWorld *c = data;

    c->is_killed = TRUE;
    c->n_messages = 0;
}

/* The instant steps of the model. */
void
step_after_exchange(const guint64 *word, guint64 value)
{
    const Call call = {.key = ((const LockCell *)word)->key};
    gboolean is_held;
    guint client = 0;

    while (w.clients[client].cell != (const LockCell *)word)
        g_assert(++client < N_CLIENTS);
    if (!(value & LOCK_CELL_HELD)) {
        if (!model_release(client, call.key))
            steps_fail("client %u leaves what it does not hold", client);
        return;
    }
    if (model_request(client, &call, &is_held) != LOCK_RESULT_OK || !is_held)
        steps_fail("client %u enters what another one holds", client);
    g_array_set_size(w.model.events, 0);
    take_token(value >> 2);
}

/* ---- runs */

static void
init_client(guint index)
{
    ClientWorld *c = &w.clients[index];

    *c = (ClientWorld){.index = index, .program = w.program->clients[index]};
    g_assert_cmpuint(lock_model_add_agent(&w.model, UID, 0), ==, index);
    serve_open(index);
    c->page = w.outputs[w.n_outputs - 1].message.page;
}

static void
remove_files(void)
{
    g_autofree char *cells = world_path(w.directory, BUS, "cells");

    cell_pages_remove(cells, NULL);
    world_remove_directory(w.directory);
    g_clear_pointer(&w.directory, g_free);
}

/* When no one has a step left, everyone has ended, and nothing is held but what is parked. */
static void
check_end(void)
{
    for (guint i = 0; i < N_CLIENTS; i++) {
        const ClientWorld *c = &w.clients[i];

        if (!c->is_killed && !c->has_ended)
            steps_fail("client %u waits for ever", i);
        if (c->n_calls > 0)
            steps_fail("a call of client %u is not served", i);
    }
    check_tables();
    if (w.model.held->len + w.model.pending->len > 0)
        steps_fail("something is held at the end");
}

static void
run_once(gpointer data)
{
    const Step killed = {STEP_NOTHING, FALSE, "is killed", NULL, &w.clients[0]};
    Limits limits;
    gboolean is_finished;

    memset(&w, 0, sizeof w);
    w.program = data;
    w.directory = world_new_directory();
    limits_init(&limits);
    lock_model_init(&w.model, &limits, G_MAXUINT);
    start();
    for (guint i = 0; i < N_CLIENTS; i++)
        init_client(i);
    w.n_outputs = 0;
    state_commit(w.state);
    w.n_kills = w.program->n_kills;
    start_service();
    for (guint i = 0; i < N_CLIENTS; i++) {
        w.clients[i].has_ended = w.clients[i].program[0] == '\0';
        if (w.clients[i].has_ended)
            continue;
        w.clients[i].actor = actor_new((char)('A' + i), run_client, &w.clients[i]);
        if (i == 0 && w.program->is_killed)
            actor_set_end(w.clients[i].actor, &killed, kill_client);
    }
    is_finished = steps_run();
    if (is_finished)
        check_end();
    for (guint i = 0; i < N_CLIENTS; i++)
        munmap(w.clients[i].page, LOCK_CELL_PAGE_SIZE);
    lock_model_fini(&w.model);
    close_range(3, 63, 0);
    remove_files();
}

static gboolean
run_program(const Program *program, guint number, guint64 max)
{
    StepsResult result;
    gboolean is_fine = steps_explore(run_once, (gpointer)program, max, &result);

    printf("%s %u - %s: %" G_GUINT64_FORMAT " orders of steps%s, %" G_GUINT64_FORMAT
           " of them begun only, %" G_GUINT64_FORMAT " steps\n",
           is_fine ? "ok" : "not ok", number, program->name, result.n_runs,
           result.is_exhausted ? "" : ", not all", result.n_cut, result.n_steps);
    return is_fine;
}

int
main(int argc, char **argv)
{
    guint64 max = 0;
    guint n = 0;
    int status = EXIT_SUCCESS;

    if (argc > 2 && g_str_equal(argv[1], "--runs")) {
        max = g_ascii_strtoull(argv[2], NULL, 10);
        argc -= 2;
        argv += 2;
    }
    for (guint i = 0; i < G_N_ELEMENTS(programs); i++) {
        const Program *program = &programs[i];

        if (argc > 1 ? !g_str_equal(program->name, argv[1])
                     : program->is_long && g_getenv("WEBLOCKS_TEST_ALL") == NULL)
            continue;
        if (!run_program(program, ++n, max == 0 && program->is_long && argc == 1 ? LONG_RUNS : max))
            status = EXIT_FAILURE;
    }
    printf("1..%u\n", n);
    return status;
}
