/* SPDX-FileCopyrightText: 2026 The WebLocks for D-Bus authors
 * SPDX-License-Identifier: LGPL-2.1-or-later */

#include "entry.h"

#include <string.h>

/* When a name is listed again that has a node of an unknown kind. */
#define UNKNOWN_MS 1000

static void run(Entry *entry);
static void start_waiting(EntryContext *context);

Entry *
entry_new(EntryContext *context,
          const char *path,
          const char *bucket,
          guint32 uid,
          const char *name,
          gint64 turn_us)
{
    Entry *entry = g_new0(Entry, 1);

    entry->refs = 1;
    entry->waiting_link.data = entry;
    entry->context = context;
    entry->claim = claim_new(turn_us, &context->last_turn);
    entry->path = g_strdup(path);
    entry->bucket = g_strdup(bucket);
    entry->uid = uid;
    entry->name = g_strdup(name);
    return entry;
}

static void
unref(Entry *entry)
{
    if (--entry->refs > 0)
        return;
    claim_free(entry->claim);
    g_free(entry->path);
    g_free(entry->bucket);
    g_free(entry->name);
    g_free(entry);
}

/* Returns whether there was an operation to be started. */
static gboolean
drop_waiting(Entry *entry)
{
    if (!entry->is_waiting)
        return FALSE;
    entry->is_waiting = FALSE;
    g_queue_unlink(&entry->context->waiting, &entry->waiting_link);
    claim_action_clear(&entry->waiting);
    return TRUE;
}

void
entry_close(Entry *entry)
{
    entry->is_closed = TRUE;
    drop_waiting(entry);
    g_clear_handle_id(&entry->tick_source, g_source_remove);
    unref(entry);
}

/* ---- operations of the engine */

typedef struct {
    Entry *entry;
    guint generation;
    ClaimOperation kind;
    EngineWatch watch; /* of LIST */
    guint64 block;     /* of PROVE */
} Operation;

static ClaimOutcome
get_outcome(EngineResult result)
{
    switch (result) {
    case ENGINE_OK:
        return CLAIM_OK;
    case ENGINE_NO_NODE:
        return CLAIM_NO_NODE;
    case ENGINE_BAD_VERSION:
    case ENGINE_NODE_EXISTS:
        return CLAIM_BAD_VERSION;
    case ENGINE_CONNECTION_LOST:
    case ENGINE_SESSION_LOST:
    case ENGINE_DENIED:
    case ENGINE_OTHER_FORMAT:
    case ENGINE_OTHER:
    default:
        return CLAIM_UNKNOWN;
    }
}

/* Whether the tokens that the operation got, if any, are new: otherwise the session has ended. */
static gboolean
take_tokens(const Operation *operation, const EngineAnswer *answer)
{
    const Entry *entry = operation->entry;

    if (answer->result != ENGINE_OK || operation->kind != CLAIM_GRANT)
        return TRUE;
    return session_take_block(entry->context->session, entry->bucket, answer->block);
}

/* All are claims: see has_unknown(). */
static GArray *
parse_children(const char *const *children)
{
    GArray *names = g_array_new(FALSE, FALSE, sizeof(ClaimName));

    for (; children != NULL && *children != NULL; children++) {
        ClaimName name;

        if (claim_name_parse(*children, &name))
            g_array_append_val(names, name);
    }
    return names;
}

/* The data of a claim: when it was made, the last block of the bucket that the host had seen, and
 * the host. */
static char *
get_text(const Entry *entry)
{
    return g_strdup_printf("%" G_GINT64_FORMAT " %" G_GUINT64_FORMAT " %s", g_get_real_time(),
                           seen_get_block(entry->context->session->options->seen, entry->bucket),
                           entry->context->session->options->host);
}

/* Returns the block in it. */
static guint64
get_block(const char *text)
{
    const char *block = strchr(text, ' ');

    return block != NULL ? g_ascii_strtoull(block, NULL, 10) : G_MAXUINT64;
}

static ClaimResult
get_result(const Operation *operation, const EngineAnswer *answer, GArray **out_children)
{
    ClaimResult result = {.outcome = get_outcome(answer->result)};
    ClaimName name;

    *out_children = NULL;
    if (answer->result != ENGINE_OK)
        return result;
    if (operation->kind == CLAIM_LIST)
        result.children = *out_children = parse_children(answer->children);
    if (operation->kind == CLAIM_CREATE || operation->kind == CLAIM_SWAP) {
        if (claim_name_parse(answer->node, &name))
            result.sequence = name.sequence;
        else
            result.outcome = CLAIM_UNKNOWN;
    }
    if (operation->kind == CLAIM_PROVE && get_block(answer->text) >= operation->block)
        result.outcome = CLAIM_BAD_VERSION;
    result.block = answer->block;
    result.version = answer->version;
    result.n_created = answer->n_created;
    return result;
}

/* For the metrics. */
static void
begin_turn(Entry *entry)
{
    entry->since_us = g_get_monotonic_time();
    entry->has_waited = FALSE;
}

static void
count(const Operation *operation, EngineResult result)
{
    Entry *entry = operation->entry;
    double *metrics = entry->context->session->metrics;
    gint64 took_us = g_get_monotonic_time() - entry->since_us;

    if (operation->kind == CLAIM_WATCH && result == ENGINE_OK)
        entry->has_waited = TRUE;
    if (operation->kind != CLAIM_GRANT && operation->kind != CLAIM_STEAL)
        return;
    if (result == ENGINE_BAD_VERSION || result == ENGINE_NO_NODE)
        metrics[METRIC_REFUSED_GRANTS]++;
    if (result != ENGINE_OK || entry->since_us == 0)
        return; /* if it is OK, an earlier turn was confirmed */
    metrics[entry->has_waited ? METRIC_HAND_OVERS : METRIC_GRANTS]++;
    metrics[entry->has_waited ? METRIC_HAND_OVER_SECONDS : METRIC_GRANT_SECONDS] +=
        (double)took_us / G_USEC_PER_SEC;
    entry->since_us = 0;
}

static gboolean on_unknown(gpointer data);

/* Whether the name has a node that is not a claim: it may be one of a later version, which counts
 * in a way that is not known. Nothing is assumed of such a list. */
static gboolean
has_unknown(Entry *entry, const char *const *children)
{
    ClaimName name;

    while (*children != NULL && claim_name_parse(*children, &name))
        children++;
    if (*children != NULL && !entry->has_unknown)
        g_warning("%s has a node '%s', which this version does not know: until it is gone, this "
                  "host takes no turn there",
                  entry->path, *children);
    entry->has_unknown = *children != NULL;
    return entry->has_unknown;
}

static void
on_answer(const EngineAnswer *answer, gpointer data)
{
    g_autofree Operation *operation = data;
    Entry *entry = operation->entry;
    EntryContext *context = entry->context;
    gboolean is_write = operation->kind != CLAIM_LIST && operation->kind != CLAIM_WATCH &&
                        operation->kind != CLAIM_PROVE;
    gboolean is_current = !entry->is_closed && operation->generation == entry->generation;
    g_autoptr(GArray) children = NULL;

    if (is_current && operation->kind == CLAIM_LIST && answer->result == ENGINE_OK &&
        has_unknown(entry, answer->children)) {
        g_timeout_add(UNKNOWN_MS, on_unknown, g_steal_pointer(&operation));
        return;
    }
    context->n_operations--;
    if (is_current && session_check_answer(context->session, answer, is_write) &&
        take_tokens(operation, answer)) {
        ClaimResult result = get_result(operation, answer, &children);

        count(operation, answer->result);
        claim_result(entry->claim, &result, g_get_monotonic_time());
        run(entry);
    }
    unref(entry);
    start_waiting(context);
}

/* The name is listed again. */
static gboolean
on_unknown(gpointer data)
{
    on_answer(&(EngineAnswer){.result = ENGINE_CONNECTION_LOST}, data);
    return G_SOURCE_REMOVE;
}

static Operation *
operation_new(Entry *entry, ClaimOperation kind)
{
    Operation *operation = g_new0(Operation, 1);

    *operation = (Operation){.entry = entry, .generation = entry->generation, .kind = kind};
    entry->refs++;
    entry->context->n_operations++;
    return operation;
}

static char **
format_names(const GArray *names)
{
    char **texts = g_new0(char *, names->len + 1);

    for (guint i = 0; i < names->len; i++) {
        texts[i] = g_malloc(CLAIM_NAME_SIZE);
        claim_name_format(&g_array_index(names, ClaimName, i), texts[i]);
    }
    return texts;
}

static void
steal(Entry *entry, Engine *engine, const ClaimAction *action, Operation *operation)
{
    g_auto(GStrv) ended = format_names(action->ended);
    g_autofree char *text = get_text(entry);
    char name[CLAIM_NAME_SIZE];

    claim_name_format(&action->name, name);
    engine_steal(engine, entry->path, entry->name, action->version, (const char *const *)ended,
                 name, text, on_answer, operation);
}

/* A read after a sync; if the sync fails, the read does, too. */
static void
on_synced(const EngineAnswer *answer, gpointer data)
{
    Operation *operation = data;
    Engine *engine = session_get_engine(operation->entry->context->session);

    if (answer->result != ENGINE_OK || engine == NULL)
        on_answer(answer, operation);
    else
        engine_list_claims(engine, operation->entry->path, operation->watch, on_answer, operation);
}

static void
list(Entry *entry, Engine *engine, const ClaimAction *action, Operation *operation)
{
    if (action->watch != PERMIT_NONE)
        operation->watch = action->watch == PERMIT_SHARED ? ENGINE_WATCH_NAME : ENGINE_WATCH_CLAIMS;
    if (action->sync)
        engine_sync(engine, entry->path, on_synced, operation);
    else
        engine_list_claims(engine, entry->path, operation->watch, on_answer, operation);
}

static void
create(Entry *entry, Engine *engine, const ClaimAction *action, Operation *operation)
{
    g_autofree char *text = get_text(entry);
    char prefix[CLAIM_NAME_SIZE], old[CLAIM_NAME_SIZE];

    claim_name_format_prefix(&action->name, prefix);
    claim_name_format(&action->old, old);
    engine_create_claim(engine, entry->path, action->operation == CLAIM_SWAP ? old : NULL, prefix,
                        text, on_answer, operation);
}

static void
start_operation(Entry *entry, const ClaimAction *action)
{
    static const ClaimResult unknown = {.outcome = CLAIM_UNKNOWN};
    Engine *engine = session_get_engine(entry->context->session);
    char name[CLAIM_NAME_SIZE];
    Operation *operation;

    if (engine == NULL) {
        claim_disconnected(entry->claim);
        claim_result(entry->claim, &unknown, g_get_monotonic_time());
        return;
    }
    claim_name_format(&action->name, name);
    operation = operation_new(entry, action->operation);
    switch (action->operation) {
    case CLAIM_ENSURE:
        engine_ensure_name(engine, entry->bucket, entry->uid, entry->name, on_answer, operation);
        break;
    case CLAIM_CREATE:
    case CLAIM_SWAP:
        begin_turn(entry);
        create(entry, engine, action, operation);
        break;
    case CLAIM_LIST:
        list(entry, engine, action, operation);
        break;
    case CLAIM_WATCH:
        engine_read_claim(engine, entry->path, name, TRUE, on_answer, operation);
        break;
    case CLAIM_PROVE:
        operation->block = action->block;
        engine_read_claim(engine, entry->path, name, FALSE, on_answer, operation);
        break;
    case CLAIM_GRANT:
        engine_grant(engine, entry->path, name, action->version, on_answer, operation);
        break;
    case CLAIM_DELETE:
        engine_delete(engine, entry->path, name, on_answer, operation);
        break;
    case CLAIM_NOTIFY:
        engine_notify(engine, entry->path, entry->name, on_answer, operation);
        break;
    case CLAIM_STEAL:
        begin_turn(entry);
        steal(entry, engine, action, operation);
        break;
    case CLAIM_NO_OPERATION:
    default:
        g_assert_not_reached();
    }
}

/* While the session has no connection, no operation is started: what waits is dropped when this
 * entry is notified. */
static void
start_waiting(EntryContext *context)
{
    const Engine *engine = session_get_engine(context->session);

    while (context->n_operations < ENTRY_OPERATIONS_MAX && context->waiting.length > 0 &&
           engine != NULL && engine_get_server(engine) != NULL) {
        Entry *entry = context->waiting.head->data;
        g_auto(ClaimAction) action = entry->waiting;

        g_queue_unlink(&context->waiting, &entry->waiting_link);
        entry->is_waiting = FALSE;
        start_operation(entry, &action);
    }
}

static void
start_or_wait(Entry *entry, ClaimAction *action)
{
    EntryContext *context = entry->context;

    if (context->n_operations < ENTRY_OPERATIONS_MAX) {
        start_operation(entry, action);
        claim_action_clear(action);
        return;
    }
    g_assert(!entry->is_waiting);
    entry->is_waiting = TRUE;
    entry->waiting = *action;
    g_queue_push_tail_link(&context->waiting, &entry->waiting_link);
}

/* ---- messages for the lock service */

static void
send_message(Entry *entry, const ClaimAction *action)
{
    ServiceSocket *service = entry->context->service;

    if (action->message == CLAIM_GONE)
        entry->ended_us = g_get_monotonic_time();
    if (entry->handle == 0)
        return;
    switch (action->message) {
    case CLAIM_PERMIT:
        service_socket_send(service, CLUSTER_PACKET_PERMIT, entry->handle, action->mode,
                            action->block, action->name.turn);
        break;
    case CLAIM_YIELD:
        service_socket_send(service, CLUSTER_PACKET_YIELD, entry->handle, action->now);
        break;
    case CLAIM_REVOKED:
        service_socket_send(service, CLUSTER_PACKET_REVOKED, entry->handle,
                            action->is_lost ? CLUSTER_REVOKED_LOST : CLUSTER_REVOKED_STOLEN);
        break;
    case CLAIM_BUSY:
        service_socket_send(service, CLUSTER_PACKET_BUSY, entry->handle, entry->number);
        break;
    case CLAIM_GONE:
        service_socket_send(service, CLUSTER_PACKET_GONE, entry->handle, entry->number);
        break;
    case CLAIM_NO_MESSAGE:
    default:
        g_assert_not_reached();
    }
}

/* ---- */

static gboolean
on_tick(gpointer data)
{
    Entry *entry = data;

    entry->tick_source = 0;
    claim_tick(entry->claim, g_get_monotonic_time());
    run(entry);
    return G_SOURCE_REMOVE;
}

static void
arm_tick(Entry *entry)
{
    gint64 next_us = claim_get_next_tick_us(entry->claim);
    gint64 delay_us = MAX(next_us - g_get_monotonic_time(), 0);

    g_clear_handle_id(&entry->tick_source, g_source_remove);
    if (next_us >= 0)
        entry->tick_source = g_timeout_add((guint)(delay_us / 1000 + 1), on_tick, entry);
}

/* Carries out the claim's actions, and notifies the owner, which may close the entry. */
static void
run(Entry *entry)
{
    ClaimAction action;

    while (claim_take_action(entry->claim, &action)) {
        if (action.message == CLAIM_NO_MESSAGE) {
            start_or_wait(entry, &action);
            continue;
        }
        send_message(entry, &action);
        claim_action_clear(&action);
    }
    arm_tick(entry);
    gateway_entry_changed(entry->context->gateway, entry);
}

void
entry_set_demand(Entry *entry, const ClusterDemand *message)
{
    ClaimDemand demand = {
        .want = message->want,
        .held = message->held,
        .has_if_available = message->undecided == UNDECIDED_IF_AVAILABLE,
        .has_steal = message->undecided == UNDECIDED_STEAL,
        .needs_tokens = message->needs_tokens,
        .is_returned = message->is_turn_over,
        .block = message->block,
        .session = message->session,
        .turn = message->claim,
    };

    if (demand.has_steal)
        demand.want = PERMIT_EXCLUSIVE;
    entry->handle = message->handle;
    entry->number = message->number;
    entry->ended_us = 0;
    claim_set_demand(entry->claim, &demand, g_get_monotonic_time());
    run(entry);
}

void
entry_drop_demand(Entry *entry)
{
    static const ClaimDemand none;

    claim_set_demand(entry->claim, &none, g_get_monotonic_time());
    run(entry);
}

void
entry_service_disconnected(Entry *entry)
{
    entry->handle = 0;
    claim_service_restarted(entry->claim);
    run(entry);
}

void
entry_session_ready(Entry *entry)
{
    claim_connected(entry->claim, session_get_id(entry->context->session), g_get_monotonic_time());
    run(entry);
}

/* The operations in progress have been answered. */
void
entry_session_interrupted(Entry *entry)
{
    static const ClaimResult unknown = {.outcome = CLAIM_UNKNOWN};

    claim_disconnected(entry->claim);
    if (drop_waiting(entry))
        claim_result(entry->claim, &unknown, g_get_monotonic_time());
    run(entry);
}

void
entry_session_ended(Entry *entry)
{
    entry->generation++;
    drop_waiting(entry);
    claim_session_ended(entry->claim, g_get_monotonic_time());
    run(entry);
}

void
entry_node_changed(Entry *entry)
{
    if (entry->has_waited && entry->since_us != 0)
        entry->since_us = g_get_monotonic_time();
    claim_changed(entry->claim, g_get_monotonic_time());
    run(entry);
}
