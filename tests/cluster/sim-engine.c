/* SPDX-FileCopyrightText: 2026 The WebLocks for D-Bus authors
 * SPDX-License-Identifier: LGPL-2.1-or-later */

#include "sim-engine.h"

/* After a few claims, the numbers become negative. */
#define FIRST_SEQUENCE (G_MAXINT32 - 20)

/* A node of a claim. */
typedef struct {
    ClaimName name;
    gint64 created_us; /* or granted */
} Node;

/* A claim that was deleted by a steal of this session. */
typedef struct {
    ClaimName name;
    ClaimName thief;
} Stolen;

/* The state of a name after a commit. */
typedef struct {
    gboolean exists;
    gint32 version;
    gint32 next_sequence;
    GArray *claims; /* of ClaimName */
} NameState;

typedef struct {
    NameState names[SIM_NAMES];
} Snapshot;

typedef struct {
    guint64 id;
    SimConnection *connection;      /* or NULL */
    SimConnection *last_connection; /* messages from earlier ones are refused */
    gint64 last_commit_sent_us;
    gboolean has_ended;
    guint n_breaks;
    guint seen; /* the last snapshot that the process has seen */
} Session;

typedef struct {
    guint name;
    gboolean is_exists_watch;
    ClaimName node;
    guint since; /* the snapshot */
} Watch;

struct SimConnection {
    SimEngine *engine;
    Session *session;
    guint server;
    gboolean is_alive;
    gboolean has_messages_on_the_way; /* its last messages are still processed after its end */
    const SimConnectionClass *class;
    gpointer owner;
    GArray *watches; /* of Watch */
    gint64 last_us;  /* of messages to the engine, which arrive in order */
    gint64 last_reply_us;
};

typedef struct {
    SimConnection *connection;
    guint name;
    gboolean has_action;
    ClaimAction action;
    SimResult result;
    gpointer data;
    gint64 sent_us;
    ClaimResult value;
    GArray *children;
    guint seen; /* the snapshot of the result */
} Operation;

struct SimEngine {
    SimLoop *loop;
    GPtrArray *snapshots; /* of Snapshot; the last one is current */
    guint applied[SIM_SERVERS];
    gboolean is_cut[SIM_SERVERS];
    GPtrArray *stalled[SIM_SERVERS]; /* of Operation */
    GPtrArray *sessions;
    GPtrArray *connections; /* all, also closed ones */
    GHashTable *operations; /* in progress */
    GArray *created;        /* of Node: all, also deleted ones */
    GArray *granted;        /* of Node: for each block of tokens, from block 1 on */
    GArray *stolen;         /* of Stolen */
    guint n_wrong_grants;
};

/* ---- state */

static Snapshot *
get_snapshot(const SimEngine *engine, guint i)
{
    return engine->snapshots->pdata[i];
}

static NameState *
get_current(const SimEngine *engine, guint name)
{
    return &get_snapshot(engine, engine->snapshots->len - 1)->names[name];
}

static void
snapshot_free(gpointer data)
{
    Snapshot *snapshot = data;

    for (guint i = 0; i < SIM_NAMES; i++)
        g_array_unref(snapshot->names[i].claims);
    g_free(snapshot);
}

/* Begins a commit: a copy of the current state, which is then changed. */
static void
push_snapshot(SimEngine *engine)
{
    Snapshot *next = g_new0(Snapshot, 1);

    for (guint i = 0; i < SIM_NAMES; i++) {
        if (engine->snapshots->len == 0) {
            next->names[i].claims = g_array_new(FALSE, FALSE, sizeof(ClaimName));
            continue;
        }
        next->names[i] = *get_current(engine, i);
        next->names[i].claims = g_array_copy(next->names[i].claims);
    }
    g_ptr_array_add(engine->snapshots, next);
}

static gint
find_claim(const NameState *state, const ClaimName *name)
{
    for (guint i = 0; i < state->claims->len; i++)
        if (claim_name_equal(&g_array_index(state->claims, ClaimName, i), name))
            return (gint)i;
    return -1;
}

/* The number after G_MAXINT32 is G_MININT32, as in ZooKeeper. */
static void
count_change(NameState *state)
{
    state->next_sequence = (gint32)((guint32)state->next_sequence + 1);
}

static void
remove_claim(NameState *state, const ClaimName *name)
{
    g_array_remove_index(state->claims, (guint)find_claim(state, name));
    count_change(state);
}

/* ---- servers */

static void fire_watches(SimEngine *engine, SimConnection *connection);

typedef struct {
    SimEngine *engine;
    guint server;
    guint snapshot;
} Apply;

static void
apply_now(SimEngine *engine, guint server, guint snapshot)
{
    engine->applied[server] = MAX(engine->applied[server], snapshot);
    for (guint i = 0; i < engine->sessions->len; i++) {
        Session *session = engine->sessions->pdata[i];

        if (session->connection != NULL && session->connection->server == server)
            fire_watches(engine, session->connection);
    }
}

static void
on_apply(gpointer data)
{
    Apply *apply = data;

    if (!apply->engine->is_cut[apply->server])
        apply_now(apply->engine, apply->server, apply->snapshot);
}

static void
spread(SimEngine *engine)
{
    gint64 max_us = sim_chance(engine->loop, 0.1) ? 2 * S : 20 * MS;

    for (guint i = 0; i < SIM_SERVERS; i++) {
        Apply *apply = g_new0(Apply, 1);

        *apply = (Apply){engine, i, engine->snapshots->len - 1};
        sim_loop_in(engine->loop, sim_range(engine->loop, 0, max_us), on_apply, apply);
    }
}

/* ---- connections */

static void
connection_free(gpointer data)
{
    SimConnection *connection = data;

    g_array_unref(connection->watches);
    g_free(connection);
}

static void
operation_free(gpointer data)
{
    Operation *operation = data;

    claim_action_clear(&operation->action);
    g_clear_pointer(&operation->children, g_array_unref);
    g_free(operation->data);
    g_free(operation);
}

static void
end_operation(Operation *operation)
{
    g_hash_table_remove(operation->connection->engine->operations, operation);
}

SimEngine *
sim_engine_new(SimLoop *loop)
{
    SimEngine *engine = g_new0(SimEngine, 1);

    engine->loop = loop;
    engine->snapshots = g_ptr_array_new_with_free_func(snapshot_free);
    engine->sessions = g_ptr_array_new_with_free_func(g_free);
    engine->connections = g_ptr_array_new_with_free_func(connection_free);
    engine->operations = g_hash_table_new_full(NULL, NULL, operation_free, NULL);
    engine->created = g_array_new(FALSE, FALSE, sizeof(Node));
    engine->granted = g_array_new(FALSE, FALSE, sizeof(Node));
    engine->stolen = g_array_new(FALSE, FALSE, sizeof(Stolen));
    for (guint i = 0; i < SIM_SERVERS; i++)
        engine->stalled[i] = g_ptr_array_new();
    push_snapshot(engine);
    return engine;
}

void
sim_engine_free(SimEngine *engine)
{
    for (guint i = 0; i < SIM_SERVERS; i++)
        g_ptr_array_unref(engine->stalled[i]);
    g_hash_table_unref(engine->operations);
    g_ptr_array_unref(engine->connections);
    g_ptr_array_unref(engine->snapshots);
    g_ptr_array_unref(engine->sessions);
    g_array_unref(engine->created);
    g_array_unref(engine->granted);
    g_array_unref(engine->stolen);
    g_free(engine);
}

static Session *
find_session(const SimEngine *engine, guint64 id)
{
    for (guint i = 0; i < engine->sessions->len; i++)
        if (((Session *)engine->sessions->pdata[i])->id == id)
            return engine->sessions->pdata[i];
    return NULL;
}

SimConnection *
sim_engine_connect(SimEngine *engine,
                   guint64 session_id,
                   gboolean is_new_process,
                   const SimConnectionClass *class,
                   gpointer owner)
{
    SimConnection *connection;
    Session *session = find_session(engine, session_id);
    guint server;

    do {
        server = (guint)sim_range(engine->loop, 0, SIM_SERVERS - 1);
    } while (engine->is_cut[server]);
    if (session_id != 0 && session->has_ended)
        return NULL;
    if (session_id == 0) {
        session = g_new0(Session, 1);
        session->id = engine->sessions->len + 1;
        session->last_commit_sent_us = engine->loop->now_us;
        g_ptr_array_add(engine->sessions, session);
    }
    connection = g_new0(SimConnection, 1);
    g_ptr_array_add(engine->connections, connection);
    connection->engine = engine;
    connection->session = session;
    connection->server = server;
    connection->is_alive = TRUE;
    connection->class = class;
    connection->owner = owner;
    connection->watches = g_array_new(FALSE, FALSE, sizeof(Watch));
    if (is_new_process)
        session->seen = 0;
    apply_now(engine, server, session->seen);
    if (session->connection != NULL)
        sim_connection_drop(session->connection);
    session->connection = session->last_connection = connection;
    session->n_breaks++;
    return connection;
}

guint64
sim_connection_get_session(const SimConnection *connection)
{
    return connection->session->id;
}

typedef struct {
    SimEngine *engine;
    Session *session;
    guint n_breaks;
} Expiry;

static void
end_session(SimEngine *engine, Session *session)
{
    session->has_ended = TRUE;
    sim_trace(engine->loop, "engine: session %" G_GUINT64_FORMAT " ended", session->id);
    push_snapshot(engine);
    for (guint i = 0; i < SIM_NAMES; i++) {
        NameState *state = get_current(engine, i);

        for (guint k = state->claims->len; k > 0; k--) {
            ClaimName name = g_array_index(state->claims, ClaimName, k - 1);

            if (name.session == session->id)
                remove_claim(state, &name);
        }
    }
    spread(engine);
}

static void
on_expiry(gpointer data)
{
    Expiry *expiry = data;
    SimConnection *connection = expiry->session->connection;

    if (expiry->session->has_ended || expiry->session->n_breaks != expiry->n_breaks)
        return;
    end_session(expiry->engine, expiry->session);
    if (connection == NULL)
        return;
    expiry->session->connection = NULL;
    connection->is_alive = FALSE;
    connection->class->broken(connection->owner, TRUE);
}

/* The session has no working connection: it will expire, unless it gets another one. */
static void
expect_expiry(SimEngine *engine, Session *session)
{
    Expiry *expiry = g_new0(Expiry, 1);

    *expiry = (Expiry){engine, session, ++session->n_breaks};
    sim_loop_at(engine->loop,
                session->last_commit_sent_us - SIM_TOUCH_AGE_US + SIM_TIMEOUT_US +
                    sim_range(engine->loop, 0, 5 * S),
                on_expiry, expiry);
}

void
sim_connection_drop(SimConnection *connection)
{
    connection->is_alive = FALSE;
    connection->has_messages_on_the_way = sim_chance(connection->engine->loop, 0.5);
    connection->session->connection = NULL;
    expect_expiry(connection->engine, connection->session);
}

void
sim_connection_break(SimConnection *connection)
{
    const SimConnectionClass *class = connection->class;
    gpointer owner = connection->owner;

    sim_connection_drop(connection);
    class->broken(owner, FALSE);
}

/* ---- watches */

typedef struct {
    SimConnection *connection;
    guint name;
} Fired;

static void
on_fired(gpointer data)
{
    Fired *fired = data;

    if (fired->connection->is_alive)
        fired->connection->class->changed(fired->connection->owner, fired->name);
}

static gboolean
has_fired(const SimEngine *engine, const SimConnection *connection, const Watch *watch)
{
    guint applied = engine->applied[connection->server];
    const NameState *now = &get_snapshot(engine, applied)->names[watch->name];
    const NameState *then = &get_snapshot(engine, watch->since)->names[watch->name];

    if (watch->is_exists_watch)
        return find_claim(now, &watch->node) < 0;
    /* Every creation and deletion changes next_sequence. */
    return now->exists != then->exists || now->next_sequence != then->next_sequence;
}

static void
fire_watches(SimEngine *engine, SimConnection *connection)
{
    for (guint i = connection->watches->len; i > 0; i--) {
        const Watch *watch = &g_array_index(connection->watches, Watch, i - 1);
        Fired *fired;

        if (!has_fired(engine, connection, watch))
            continue;
        fired = g_new0(Fired, 1);
        *fired = (Fired){connection, watch->name};
        g_array_remove_index(connection->watches, i - 1);
        sim_loop_in(engine->loop, sim_range(engine->loop, 0, 20 * MS), on_fired, fired);
    }
}

/* ---- operations */

static void
on_reply(gpointer data)
{
    Operation *operation = *(Operation **)data;

    if (operation->connection->is_alive) {
        Session *session = operation->connection->session;

        session->seen = MAX(session->seen, operation->seen);
        operation->value.children = operation->children;
        operation->result(operation->data, &operation->value);
        operation->data = NULL;
    }
    end_operation(operation);
}

static void
later(Operation *operation, gint64 *last_us, SimFunc func)
{
    SimLoop *loop = operation->connection->engine->loop;
    Operation **holder = g_new0(Operation *, 1);
    gint64 max_us = sim_chance(loop, 0.05) ? 400 * MS : 10 * MS;
    gint64 arrival_us = loop->now_us + sim_range(loop, 0, max_us);

    *holder = operation;
    *last_us = MAX(*last_us, arrival_us);
    sim_loop_at(loop, *last_us, func, holder);
}

static void
reply(Operation *operation)
{
    operation->seen = operation->connection->engine->applied[operation->connection->server];
    later(operation, &operation->connection->last_reply_us, on_reply);
}

static gint32
add_claim(SimEngine *engine, NameState *state, ClaimName name)
{
    Node node = {name, engine->loop->now_us};

    g_array_append_val(state->claims, name);
    count_change(state);
    g_array_append_val(engine->created, node);
    return name.sequence;
}

static void
check_first(SimEngine *engine, const NameState *state, const ClaimName *name)
{
    for (guint i = 0; i < state->claims->len; i++)
        if (claim_name_blocks(&g_array_index(state->claims, ClaimName, i), name))
            engine->n_wrong_grants++;
}

static ClaimOutcome
check_write(const NameState *state, const ClaimAction *action)
{
    if (action->operation == CLAIM_ENSURE)
        return CLAIM_OK;
    if (!state->exists)
        return CLAIM_NO_NODE;
    if (action->operation == CLAIM_DELETE || action->operation == CLAIM_GRANT)
        if (find_claim(state, &action->name) < 0)
            return CLAIM_NO_NODE;
    if (action->operation == CLAIM_SWAP && find_claim(state, &action->old) < 0)
        return CLAIM_NO_NODE;
    if (action->operation == CLAIM_GRANT || action->operation == CLAIM_STEAL)
        if (action->version != state->version && action->version != -1) /* -1: any */
            return CLAIM_BAD_VERSION;
    for (guint i = 0; action->operation == CLAIM_STEAL && i < action->ended->len; i++)
        if (find_claim(state, &g_array_index(action->ended, ClaimName, i)) < 0)
            return CLAIM_NO_NODE;
    return CLAIM_OK;
}

static void
carry_out(SimEngine *engine, Operation *operation, NameState *state)
{
    const ClaimAction *action = &operation->action;
    ClaimName name = action->name;
    Node node = {name, engine->loop->now_us};

    switch (action->operation) {
    case CLAIM_ENSURE:
        /* As if the container had had many claims before. */
        if (!state->exists)
            state->next_sequence = FIRST_SEQUENCE;
        state->exists = TRUE;
        break;
    case CLAIM_SWAP:
        remove_claim(state, &action->old);
        /* fall through */
    case CLAIM_CREATE:
        name.sequence = state->next_sequence;
        operation->value.sequence = add_claim(engine, state, name);
        break;
    case CLAIM_DELETE:
        remove_claim(state, &name);
        break;
    case CLAIM_STEAL:
        for (guint i = 0; i < action->ended->len; i++) {
            Stolen stolen = {g_array_index(action->ended, ClaimName, i), name};

            remove_claim(state, &stolen.name);
            g_array_append_val(engine->stolen, stolen);
        }
        add_claim(engine, state, name);
        /* fall through */
    case CLAIM_GRANT:
        state->version++;
        g_array_append_val(engine->granted, node);
        operation->value.block = engine->granted->len;
        check_first(engine, state, &name);
        break;
    case CLAIM_LIST:
    case CLAIM_WATCH:
    case CLAIM_NO_OPERATION:
    default:
        g_assert_not_reached();
    }
    /* Containers that have become empty are deleted some time later. */
    if (action->operation != CLAIM_ENSURE && state->claims->len == 0 &&
        sim_chance(engine->loop, 0.3)) {
        state->exists = FALSE;
        state->version = 0;
    }
}

static void
trace_write(const SimEngine *engine, const Operation *operation, ClaimOutcome outcome)
{
    static const char *const kinds[] = {"ensure", "create", "list", "watch",
                                        "grant",  "delete", "swap", "steal"};
    static const char *const outcomes[] = {"ok", "no node", "bad version", "unknown"};
    char text[CLAIM_NAME_SIZE];

    if (!operation->has_action) {
        sim_trace(engine->loop, "engine: session %" G_GUINT64_FORMAT " renewed",
                  operation->connection->session->id);
        return;
    }
    claim_name_format(&operation->action.name, text);
    sim_trace(engine->loop, "engine: name %u: %s %s: %s", operation->name,
              kinds[operation->action.operation - CLAIM_ENSURE], text, outcomes[outcome]);
}

static void
commit(SimEngine *engine, Operation *operation)
{
    SimConnection *connection = operation->connection;
    ClaimOutcome outcome = CLAIM_OK;

    if (operation->has_action)
        outcome = check_write(get_current(engine, operation->name), &operation->action);
    operation->value.outcome = outcome;
    trace_write(engine, operation, outcome);
    push_snapshot(engine);
    if (outcome == CLAIM_OK && operation->has_action)
        carry_out(engine, operation, get_current(engine, operation->name));
    connection->session->last_commit_sent_us =
        MAX(connection->session->last_commit_sent_us, operation->sent_us);
    spread(engine);
    apply_now(engine, connection->server, engine->snapshots->len - 1);
    reply(operation);
}

static void
read_now(SimEngine *engine, Operation *operation)
{
    SimConnection *connection = operation->connection;
    const ClaimAction *action = &operation->action;
    guint applied = engine->applied[connection->server];
    const NameState *state = &get_snapshot(engine, applied)->names[operation->name];
    Watch watch = {operation->name, action->operation == CLAIM_WATCH, action->name, applied};

    operation->value.outcome = state->exists ? CLAIM_OK : CLAIM_NO_NODE;
    if (action->operation == CLAIM_WATCH) {
        if (!state->exists || find_claim(state, &action->name) < 0)
            operation->value.outcome = CLAIM_NO_NODE;
        else
            g_array_append_val(connection->watches, watch);
    } else {
        operation->value.version = state->version;
        operation->children = g_array_copy(state->claims);
        if (action->watch && state->exists)
            g_array_append_val(connection->watches, watch);
    }
    reply(operation);
}

/* The operation has arrived at the server. */
static void
serve(SimEngine *engine, Operation *operation)
{
    SimConnection *connection = operation->connection;
    const ClaimAction *action = &operation->action;
    gboolean is_read = operation->has_action &&
                       (action->operation == CLAIM_LIST || action->operation == CLAIM_WATCH);
    gboolean is_current = !connection->session->has_ended &&
                          connection == connection->session->last_connection &&
                          (connection->is_alive || connection->has_messages_on_the_way);

    if (!is_current) {
        end_operation(operation);
        return;
    }
    if (engine->is_cut[connection->server] && (!is_read || action->sync)) {
        g_ptr_array_add(engine->stalled[connection->server], operation);
        return;
    }
    if (!is_read) {
        commit(engine, operation);
        return;
    }
    if (action->sync)
        apply_now(engine, connection->server, engine->snapshots->len - 1);
    else
        apply_now(engine, connection->server, connection->session->seen);
    read_now(engine, operation);
}

static void
on_arrival(gpointer data)
{
    Operation *operation = *(Operation **)data;

    serve(operation->connection->engine, operation);
}

void
sim_connection_send(SimConnection *connection,
                    guint name,
                    const ClaimAction *action,
                    SimResult result,
                    gpointer data)
{
    Operation *operation = g_new0(Operation, 1);

    g_hash_table_add(connection->engine->operations, operation);
    operation->connection = connection;
    operation->name = name;
    operation->has_action = action != NULL;
    if (action != NULL) {
        operation->action = *action;
        if (action->ended != NULL)
            g_array_ref(action->ended);
    }
    operation->result = result;
    operation->data = data;
    operation->sent_us = connection->engine->loop->now_us;
    later(operation, &connection->last_us, on_arrival);
}

void
sim_engine_cut_server(SimEngine *engine, guint server, gboolean is_cut)
{
    g_autoptr(GPtrArray) stalled = NULL;

    if (engine->is_cut[server] == is_cut)
        return;
    engine->is_cut[server] = is_cut;
    for (guint i = 0; i < engine->sessions->len; i++) {
        Session *session = engine->sessions->pdata[i];

        if (session->has_ended || session->connection == NULL ||
            session->connection->server != server)
            continue;
        if (is_cut)
            expect_expiry(engine, session);
        else
            session->n_breaks++;
    }
    if (is_cut)
        return;
    stalled = g_steal_pointer(&engine->stalled[server]);
    engine->stalled[server] = g_ptr_array_new();
    apply_now(engine, server, engine->snapshots->len - 1);
    for (guint i = 0; i < stalled->len; i++)
        serve(engine, stalled->pdata[i]);
}

/* ---- for the checks */

const GArray *
sim_engine_get_claims(const SimEngine *engine, guint name)
{
    return get_current(engine, name)->claims;
}

GArray *
sim_engine_scan(const SimEngine *engine, guint name, guint64 session)
{
    const GArray *claims = sim_engine_get_claims(engine, name);
    GArray *own = g_array_new(FALSE, FALSE, sizeof(ClaimName));

    for (guint i = 0; i < claims->len; i++)
        if (g_array_index(claims, ClaimName, i).session == session)
            g_array_append_val(own, g_array_index(claims, ClaimName, i));
    return own;
}

const ClaimName *
sim_engine_get_granted(const SimEngine *engine, guint64 block, gint64 *out_committed_us)
{
    const Node *node = &g_array_index(engine->granted, Node, block - 1);

    *out_committed_us = node->created_us;
    return &node->name;
}

gboolean
sim_engine_was_stolen(const SimEngine *engine, const ClaimName *name)
{
    for (guint i = 0; i < engine->stolen->len; i++) {
        const Stolen *stolen = &g_array_index(engine->stolen, Stolen, i);

        if (!claim_name_equal(&stolen->name, name))
            continue;
        if (stolen->thief.session != name->session)
            return TRUE;
        name = &stolen->thief; /* which was stolen later, if at all */
    }
    return FALSE;
}

gint64
sim_engine_get_oldest_rival_us(const SimEngine *engine, guint name, const ClaimName *own)
{
    const NameState *state = get_current(engine, name);
    gint64 oldest_us = G_MAXINT64;

    for (guint i = 0; i < engine->created->len; i++) {
        const Node *node = &g_array_index(engine->created, Node, i);

        if (claim_name_blocks(own, &node->name) && find_claim(state, &node->name) >= 0)
            oldest_us = MIN(oldest_us, node->created_us);
    }
    return oldest_us;
}

guint
sim_engine_get_n_wrong_grants(const SimEngine *engine)
{
    return engine->n_wrong_grants;
}
