/* SPDX-FileCopyrightText: 2026 The WebLocks for D-Bus authors
 * SPDX-License-Identifier: LGPL-2.1-or-later */

/* One client of a storm: requests locks at random, holds, releases and aborts them, queries, and
 * records all of it. It may be killed at any moment.
 *
 * Its standard input has the commands `pause N`, `go` and `end`. While it is paused it starts and
 * ends nothing; it prints `quiet N` when no operation is in progress any more. Then `steal and
 * exit` makes it steal what it doesn't have, and exit before the reply.
 *
 * With --keep it only requests that lock, prints `inside` when it is granted, and holds it until it
 * is lost. */

#include "tests/storm/resource.h"

#include <glib-unix.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <unistd.h>
#include <weblocks/weblocks.h>

#define N_ACTORS 3
/* The number of names in the first bucket; the others are in a second one. */
#define N_FIRST_BUCKET 6
#define N_BUCKETS      2
#define CAPACITY       (1u << 14)
/* The records that may still be needed when it stops because the file is full. */
#define MIN_FREE      256
#define ORACLE_TRIES  10
#define ORACLE_WAIT   5 /* ms */
#define SETTLE_AGAIN  3 /* ms, and twice as long each time */
#define SETTLE_MAX    100
#define BURST_PERMILL 4

typedef struct Client Client;

typedef enum {
    ACTOR_IDLE,
    ACTOR_ASKING, /* and waiting */
    ACTOR_INSIDE,
    ACTOR_LEAVING,
} ActorState;

/* An actor does one operation after the other. */
typedef struct {
    Client *client;
    ActorState state;
    guint64 request;
    guint name;
    gboolean is_exclusive;
    gboolean waits; /* the request may be queued */
    gboolean is_due;
    guint n_tries;
    guint hold_ms;
    guint timer;
    guint abort_timer;
    gboolean abort_is_due;
    GCancellable *cancellable;
    WebLocksLock *lock;
} Actor;

struct Client {
    GMainLoop *loop;
    GRand *random;
    HistoryLog *log;
    Resource *resource;
    WebLocksAgent *agent;
    WebLocksManager *managers[N_BUCKETS];
    Actor actors[N_ACTORS];
    guint64 n_requests;
    guint64 n_queries;
    guint open_queries;
    guint settle_timer;
    guint settle_ms;
    guint64 pause; /* 0: not paused */
    gboolean is_quiet;
    gboolean is_in_step; /* the last query was answered: the library has no backlog */
    guint
        shown; /* names of which the last settling query showed a pending request of this client */
    GString *input;
    guint unique;
};

typedef struct {
    Client *client;
    guint64 number;
    gboolean settles;
} Query;

static char *address;
static char *directory;
static int number;
static int bus;
static int seed;
static int uid = -1;
static char *bucket;
static int n_names = HISTORY_N_NAMES;
static int rest_ms = 4;
static int kept = -1;
static gboolean has_steals, may_be_refused;

static const GOptionEntry options[] = {
    {"address", 0, 0, G_OPTION_ARG_STRING, &address, "The bus", "ADDRESS"},
    {"directory", 0, 0, G_OPTION_ARG_FILENAME, &directory, "Where to note", "DIRECTORY"},
    {"number", 0, 0, G_OPTION_ARG_INT, &number, "Which client this is", "N"},
    {"bus", 0, 0, G_OPTION_ARG_INT, &bus, "Which bus this is", "N"},
    {"seed", 0, 0, G_OPTION_ARG_INT, &seed, "Of what it does", "N"},
    {"uid", 0, 0, G_OPTION_ARG_INT, &uid, "User to connect as", "UID"},
    {"bucket", 0, 0, G_OPTION_ARG_STRING, &bucket, "Of a cluster, without queries", "NAME"},
    {"names", 0, 0, G_OPTION_ARG_INT, &n_names, "How many it uses", "N"},
    {"rest", 0, 0, G_OPTION_ARG_INT, &rest_ms, "At most between two operations", "MS"},
    {"keep", 0, 0, G_OPTION_ARG_INT, &kept, "This lock only", "N"},
    {"steal", 0, 0, G_OPTION_ARG_NONE, &has_steals, "Steals too", NULL},
    {"may-be-refused", 0, 0, G_OPTION_ARG_NONE, &may_be_refused, "For lack of space", NULL},
    {NULL, 0, 0, 0, NULL, NULL, NULL},
};

static void actor_next(Actor *self);
static void settle(Client *self);

/* ---- records */

static void
note(Client *self, HistoryRecord record)
{
    if (!history_log_write(self->log, &record))
        g_error("The file is full");
}

static void
note_actor(Actor *self, guint kind, guint outcome)
{
    note(self->client, (HistoryRecord){.kind = (guint16)kind,
                                       .request = self->request,
                                       .name = (guint8)self->name,
                                       .outcome = (guint8)outcome});
}

static HistoryOutcome
outcome_of(const GError *error, const char *what)
{
    if (error == NULL)
        return HISTORY_OK;
    if (g_error_matches(error, G_IO_ERROR, G_IO_ERROR_CANCELLED))
        return HISTORY_CANCELLED;
    if (g_error_matches(error, WEB_LOCKS_ERROR, WEB_LOCKS_ERROR_TIMEOUT))
        return HISTORY_TIMEOUT;
    if (g_error_matches(error, WEB_LOCKS_ERROR, WEB_LOCKS_ERROR_STOLEN))
        return HISTORY_STOLEN;
    if (g_error_matches(error, WEB_LOCKS_ERROR, WEB_LOCKS_ERROR_UNAVAILABLE) ||
        g_error_matches(error, WEB_LOCKS_ERROR, WEB_LOCKS_ERROR_LOST))
        return HISTORY_UNREACHABLE;
    if (may_be_refused && g_error_matches(error, WEB_LOCKS_ERROR, WEB_LOCKS_ERROR_LIMITS))
        return HISTORY_REFUSED;
    fprintf(stderr, "client %d: %s: %s\n", number, what, error->message);
    return HISTORY_FAILED;
}

static gboolean
chance(Client *self, guint per_mill)
{
    return (guint)g_rand_int_range(self->random, 0, 1000) < per_mill;
}

static WebLocksManager *
manager_of(Client *self, guint name)
{
    return self->managers[name < N_FIRST_BUCKET ? 0 : 1];
}

static void
lock_name(guint name, char text[16])
{
    g_snprintf(text, 16, "storm-%u", name);
}

/* ---- queries */

static void
note_row(Query *query, WebLocksLockInfo *info, guint position)
{
    Client *self = query->client;
    const char *id = web_locks_lock_info_get_client_id(info);
    const char *name = web_locks_lock_info_get_name(info);
    const gboolean held = web_locks_lock_info_get_held(info);
    HistoryRecord record = {.kind = HISTORY_ROW, .request = query->number};

    g_assert(g_str_has_prefix(id, ":1.") && g_str_has_prefix(name, "storm-"));
    record.subject = (guint32)strtoul(id + 3, NULL, 10);
    record.name = (guint8)strtoul(name + 6, NULL, 10);
    record.mode = web_locks_lock_info_get_mode(info) == WEB_LOCKS_MODE_SHARED;
    record.flags = held ? HISTORY_FLAG_HELD : 0;
    record.token = web_locks_lock_info_get_token(info);
    record.position = held ? 0 : (guint16)position;
    note(self, record);
    if (query->settles && record.subject == self->unique && !held)
        self->shown |= 1u << record.name;
}

static void
note_rows(Query *query, GListModel *rows)
{
    for (guint i = 0; i < g_list_model_get_n_items(rows); i++) {
        g_autoptr(WebLocksLockInfo) info = g_list_model_get_item(rows, i);

        note_row(query, info, i + 1);
    }
}

static void
end_query(Query *query, WebLocksSnapshot *snapshot, GError *error)
{
    Client *self = query->client;

    if (snapshot != NULL) {
        note_rows(query, web_locks_snapshot_get_held(snapshot));
        note_rows(query, web_locks_snapshot_get_pending(snapshot));
        g_object_unref(snapshot);
    }
    note(self, (HistoryRecord){.kind = HISTORY_ROWS,
                               .request = query->number,
                               .outcome = (guint8)outcome_of(error, "a query")});
    self->is_in_step = error == NULL;
    g_clear_error(&error);
    self->open_queries--;
    g_free(query);
    settle(self);
}

static void
on_inspected(GObject *source, GAsyncResult *result, gpointer data)
{
    GError *error = NULL;
    WebLocksSnapshot *snapshot =
        web_locks_manager_inspect_finish(WEB_LOCKS_MANAGER(source), result, &error);

    end_query(data, snapshot, error);
}

static void
on_queried(GObject *source, GAsyncResult *result, gpointer data)
{
    GError *error = NULL;
    WebLocksSnapshot *snapshot =
        web_locks_manager_query_finish(WEB_LOCKS_MANAGER(source), result, &error);

    end_query(data, snapshot, error);
}

static Query *
begin_query(Client *self, guint names, gboolean settles)
{
    Query *query = g_new0(Query, 1);

    query->client = self;
    query->number = ++self->n_queries;
    query->settles = settles;
    self->open_queries++;
    note(self, (HistoryRecord){.kind = HISTORY_QUERY, .request = query->number, .detail = names});
    return query;
}

static void
inspect_name(Client *self, guint name, gboolean settles)
{
    char text[16];

    if (bucket != NULL)
        return;
    lock_name(name, text);
    web_locks_manager_inspect_async(manager_of(self, name), text, NULL, on_inspected,
                                    begin_query(self, 1u << name, settles));
}

static void
query_bucket(Client *self, guint which)
{
    const guint first = (1u << N_FIRST_BUCKET) - 1;

    if (bucket != NULL)
        return;
    web_locks_manager_query_async(
        self->managers[which], NULL, on_queried,
        begin_query(self, which == 0 ? first : HISTORY_ALL_NAMES & ~first, FALSE));
}

/* ---- pauses */

static gboolean
on_settle_again(gpointer data)
{
    Client *self = data;

    self->settle_timer = 0;
    self->shown = 0;
    for (guint i = 0; i < N_ACTORS; i++)
        if (self->actors[i].state == ACTOR_ASKING)
            inspect_name(self, self->actors[i].name, TRUE);
    if (self->open_queries == 0)
        settle(self);
    return G_SOURCE_REMOVE;
}

/* A client is quiet if it has no unanswered call, and all its pending requests have been listed. */
static void
settle(Client *self)
{
    gboolean is_open = self->open_queries > 0;
    gboolean is_unseen = FALSE;

    if (self->pause == 0 || self->is_quiet || self->settle_timer != 0)
        return;
    for (guint i = 0; i < N_ACTORS; i++) {
        const Actor *actor = &self->actors[i];

        is_open |= actor->state == ACTOR_LEAVING;
        is_open |= actor->state == ACTOR_ASKING && !actor->waits;
        is_unseen |= actor->state == ACTOR_ASKING && !(self->shown >> actor->name & 1);
    }
    if (is_open)
        return;
    if (is_unseen) {
        if (history_log_get_free(self->log) > MIN_FREE)
            self->settle_timer = g_timeout_add(self->settle_ms, on_settle_again, self);
        self->settle_ms = MIN(2 * self->settle_ms, SETTLE_MAX);
        return;
    }
    self->is_quiet = TRUE;
    note(self, (HistoryRecord){.kind = HISTORY_QUIET, .detail = self->pause});
    printf("quiet %" G_GUINT64_FORMAT "\n", self->pause);
    fflush(stdout);
}

/* ---- disconnecting */

static void
actor_wait(Actor *self, guint ms, GSourceFunc function)
{
    g_assert(self->timer == 0);
    self->timer = ms == 0 ? g_idle_add(function, self) : g_timeout_add(ms, function, self);
}

static gboolean
on_actor_next(gpointer data)
{
    Actor *self = data;

    self->timer = 0;
    actor_next(self);
    return G_SOURCE_REMOVE;
}

static void
actor_rest(Actor *self)
{
    self->state = ACTOR_IDLE;
    actor_wait(self, (guint)g_rand_int_range(self->client->random, 0, rest_ms), on_actor_next);
    settle(self->client);
}

static void
on_released(GObject *source, GAsyncResult *result, gpointer data)
{
    Actor *self = data;
    g_autoptr(GError) error = NULL;

    web_locks_lock_release_finish(WEB_LOCKS_LOCK(source), result, &error);
    note_actor(self, HISTORY_RELEASE, outcome_of(error, "a release"));
    g_signal_handlers_disconnect_by_data(self->lock, self);
    g_clear_object(&self->lock);
    actor_rest(self);
}

static void
actor_leave(Actor *self)
{
    self->state = ACTOR_LEAVING;
    note_actor(self, HISTORY_LEAVE, HISTORY_OK);
    resource_unlock(self->client->resource, self->name);
    web_locks_lock_release_async(self->lock, NULL, on_released, self);
}

static gboolean
on_leave(gpointer data)
{
    Actor *self = data;

    self->timer = 0;
    self->is_due = TRUE;
    if (self->client->pause == 0)
        actor_leave(self);
    return G_SOURCE_REMOVE;
}

static void
on_lost(WebLocksLock *lock, const GError *error, gpointer data)
{
    Actor *self = data;
    const gboolean stolen = g_error_matches(error, WEB_LOCKS_ERROR, WEB_LOCKS_ERROR_STOLEN);

    if (!stolen)
        fprintf(stderr, "client %d: request %" G_GUINT64_FORMAT " lost: %s\n", number,
                self->request, error->message);
    note_actor(self, HISTORY_LOST, stolen ? HISTORY_STOLEN : HISTORY_GONE);
    if (self->state == ACTOR_INSIDE && self->client->pause == 0) {
        g_clear_handle_id(&self->timer, g_source_remove);
        actor_leave(self);
    }
}

/* ---- while the lock is held */

static gboolean
on_ask_oracle(gpointer data)
{
    Actor *self = data;
    const gboolean taken =
        resource_try_lock(self->client->resource, self->name, self->is_exclusive);

    self->timer = 0;
    self->n_tries++;
    /* The files of a client that was killed may close a moment later than its bus connection. */
    if (!taken && self->n_tries < ORACLE_TRIES) {
        actor_wait(self, ORACLE_WAIT, on_ask_oracle);
        return G_SOURCE_REMOVE;
    }
    note_actor(self, HISTORY_ORACLE, taken ? HISTORY_OK : HISTORY_REFUSED);
    actor_wait(self, self->hold_ms, on_leave);
    return G_SOURCE_REMOVE;
}

static void
actor_enter(Actor *self, WebLocksLock *lock)
{
    HistoryRecord record = {.kind = HISTORY_ENTER,
                            .request = self->request,
                            .name = (guint8)self->name,
                            .token = web_locks_lock_get_token(lock)};
    gboolean written;

    note(self->client, record);
    self->state = ACTOR_INSIDE;
    self->lock = lock;
    self->is_due = FALSE;
    self->n_tries = 0;
    g_signal_connect(lock, "lost", G_CALLBACK(on_lost), self);
    /* Shared locks of several hosts have tokens of several blocks at the same time. */
    if (bucket == NULL || self->is_exclusive) {
        written = resource_write(self->client->resource, self->name, record.token, &record.detail);
        record.kind = HISTORY_FENCE;
        record.outcome = written ? HISTORY_OK : HISTORY_REFUSED;
        note(self->client, record);
    }
    if (kept >= 0) {
        puts("inside");
        fflush(stdout);
    }
    on_ask_oracle(self);
    settle(self->client);
}

/* ---- requests */

static void
on_requested(GObject *source, GAsyncResult *result, gpointer data)
{
    Actor *self = data;
    g_autoptr(GError) error = NULL;
    WebLocksLock *lock =
        web_locks_manager_request_finish(WEB_LOCKS_MANAGER(source), result, &error);

    g_clear_handle_id(&self->abort_timer, g_source_remove);
    g_clear_object(&self->cancellable);
    if (lock != NULL) {
        actor_enter(self, lock);
        return;
    }
    note_actor(self, HISTORY_END,
               error == NULL ? HISTORY_UNAVAILABLE : outcome_of(error, "a request"));
    actor_rest(self);
}

static void
actor_abort(Actor *self)
{
    if (self->cancellable == NULL || self->state != ACTOR_ASKING)
        return;
    note_actor(self, HISTORY_ABORT, HISTORY_OK);
    g_cancellable_cancel(self->cancellable);
}

static gboolean
on_abort(gpointer data)
{
    Actor *self = data;

    self->abort_timer = 0;
    self->abort_is_due = TRUE;
    if (self->client->pause == 0)
        actor_abort(self);
    return G_SOURCE_REMOVE;
}

static gboolean
name_is_used(Client *self, guint name)
{
    for (guint i = 0; i < N_ACTORS; i++)
        if (self->actors[i].state != ACTOR_IDLE && self->actors[i].name == name)
            return TRUE;
    return FALSE;
}

static void
actor_keep(Actor *self)
{
    char text[16];

    self->is_exclusive = self->waits = TRUE;
    self->hold_ms = G_MAXUINT;
    self->state = ACTOR_ASKING;
    self->name = (guint)kept;
    self->request = ++self->client->n_requests;
    lock_name(self->name, text);
    note_actor(self, HISTORY_REQUEST, HISTORY_OK);
    web_locks_manager_request_async(manager_of(self->client, self->name), text, NULL, NULL,
                                    on_requested, self);
}

/* The options of a request, for the library and for the record. */
static WebLocksOptions *
choose_options(Actor *self, HistoryRecord *record)
{
    Client *client = self->client;
    WebLocksOptions *chosen = web_locks_options_new();

    self->is_exclusive = chance(client, 700);
    self->waits = TRUE;
    if (has_steals && chance(client, 50)) {
        self->is_exclusive = TRUE;
        self->waits = FALSE;
        record->flags = HISTORY_FLAG_STEAL;
        web_locks_options_set_steal(chosen, TRUE);
    } else if (chance(client, 150)) {
        self->waits = FALSE;
        record->flags = HISTORY_FLAG_IF_AVAILABLE;
        web_locks_options_set_if_available(chosen, TRUE);
    } else if (chance(client, 100)) {
        record->detail = (guint64)g_rand_int_range(client->random, 10, 400);
        web_locks_options_set_timeout(chosen, (guint)record->detail);
    } else if (chance(client, 110)) {
        self->cancellable = g_cancellable_new();
        self->abort_is_due = FALSE;
        self->abort_timer =
            g_timeout_add((guint)g_rand_int_range(client->random, 0, 50), on_abort, self);
    }
    record->mode = !self->is_exclusive;
    web_locks_options_set_mode(chosen, self->is_exclusive ? WEB_LOCKS_MODE_EXCLUSIVE
                                                          : WEB_LOCKS_MODE_SHARED);
    if (chance(client, 100))
        web_locks_options_set_why(chosen, "there is a storm");
    return chosen;
}

static void
actor_ask(Actor *self)
{
    Client *client = self->client;
    HistoryRecord record = {.kind = HISTORY_REQUEST};
    g_autoptr(WebLocksOptions) chosen = NULL;
    char text[16];

    do
        self->name = (guint)g_rand_int_range(client->random, 0, n_names);
    while (name_is_used(client, self->name));
    chosen = choose_options(self, &record);
    self->hold_ms = chance(client, 500)   ? 0
                    : chance(client, 850) ? (guint)g_rand_int_range(client->random, 1, 6)
                                          : (guint)g_rand_int_range(client->random, 6, 40);
    /* Long enough to be lost because of a fault of a cluster. */
    if (bucket != NULL && self->name >= N_FIRST_BUCKET && chance(client, 300))
        self->hold_ms = (guint)g_rand_int_range(client->random, 3000, 25000);
    self->state = ACTOR_ASKING;
    self->request = record.request = ++client->n_requests;
    record.name = (guint8)self->name;
    lock_name(self->name, text);
    note(client, record);
    web_locks_manager_request_async(manager_of(client, self->name), text, chosen, self->cancellable,
                                    on_requested, self);
    /* Only a reply can show that it waits. */
    if (self->waits && chance(client, 300))
        inspect_name(client, self->name, FALSE);
}

/* ---- continuing and exiting */

static void
client_exit(Client *self, guint flags)
{
    note(self, (HistoryRecord){.kind = HISTORY_EXIT, .flags = (guint8)flags});
    if (flags & HISTORY_FLAG_KILL)
        raise(SIGKILL);
    _exit(0);
}

/* Sends many calls and is killed before they can be served. */
static void
client_burst(Client *self)
{
    for (guint i = 0; i < N_ACTORS; i++) {
        Actor *actor = &self->actors[i];

        if (actor->state == ACTOR_INSIDE) {
            g_clear_handle_id(&actor->timer, g_source_remove);
            actor_leave(actor);
        } else if (actor->state == ACTOR_IDLE) {
            g_clear_handle_id(&actor->timer, g_source_remove);
            actor_ask(actor);
        }
    }
    client_exit(self, HISTORY_FLAG_KILL);
}

/* No other message is queued, so the library has written all of them to the socket on return. */
static void
client_steal_and_exit(Client *self)
{
    g_autoptr(WebLocksOptions) chosen = web_locks_options_new();
    guint64 first = self->n_requests + 1;

    web_locks_options_set_steal(chosen, TRUE);
    for (guint name = 0; name < HISTORY_N_NAMES; name++) {
        char text[16];

        if (name_is_used(self, name))
            continue;
        lock_name(name, text);
        note(self, (HistoryRecord){.kind = HISTORY_REQUEST,
                                   .request = ++self->n_requests,
                                   .name = (guint8)name,
                                   .flags = HISTORY_FLAG_STEAL});
        web_locks_manager_request_async(manager_of(self, name), text, chosen, NULL, NULL, NULL);
    }
    for (; self->is_in_step && first <= self->n_requests; first++)
        note(self, (HistoryRecord){.kind = HISTORY_SENT, .request = first});
    client_exit(self, HISTORY_FLAG_KILL);
}

static void
actor_next(Actor *self)
{
    Client *client = self->client;

    if (client->pause != 0)
        return;
    if (history_log_get_free(client->log) < MIN_FREE)
        client_exit(client, 0);
    if (kept >= 0) {
        actor_keep(self);
    } else if (chance(client, BURST_PERMILL)) {
        client_burst(client);
    } else if (chance(client, 60)) {
        query_bucket(client, (guint)g_rand_int_range(client->random, 0, N_BUCKETS));
        actor_rest(self);
    } else if (chance(client, 60)) {
        inspect_name(client, (guint)g_rand_int_range(client->random, 0, HISTORY_N_NAMES), FALSE);
        actor_rest(self);
    } else {
        actor_ask(self);
    }
}

static void
client_go(Client *self)
{
    self->pause = 0;
    self->is_quiet = FALSE;
    g_clear_handle_id(&self->settle_timer, g_source_remove);
    for (guint i = 0; i < N_ACTORS; i++) {
        Actor *actor = &self->actors[i];

        if (actor->state == ACTOR_IDLE && actor->timer == 0)
            actor_wait(actor, 0, on_actor_next);
        else if (actor->state == ACTOR_INSIDE && actor->timer == 0 && actor->is_due)
            actor_leave(actor);
        else if (actor->state == ACTOR_ASKING && actor->abort_is_due)
            actor_abort(actor);
    }
}

static void
obey(Client *self, const char *line)
{
    if (g_str_has_prefix(line, "pause ")) {
        self->pause = g_ascii_strtoull(line + 6, NULL, 10);
        self->is_quiet = FALSE;
        self->shown = 0;
        self->settle_ms = SETTLE_AGAIN;
        /* After this reply the library writes each message to the socket immediately. */
        inspect_name(self, 0, TRUE);
    } else if (g_str_equal(line, "steal and exit")) {
        client_steal_and_exit(self);
    } else if (g_str_equal(line, "go")) {
        client_go(self);
    } else if (g_str_equal(line, "end")) {
        client_exit(self, 0);
    }
}

static gboolean
on_input(gint fd, GIOCondition condition, gpointer data)
{
    Client *self = data;
    char chunk[256];
    const gssize size = read(fd, chunk, sizeof(chunk));
    char *end;

    if (size <= 0)
        _exit(0);
    g_string_append_len(self->input, chunk, size);
    while ((end = strchr(self->input->str, '\n')) != NULL) {
        *end = '\0';
        obey(self, self->input->str);
        g_string_erase(self->input, 0, end + 1 - self->input->str);
    }
    return G_SOURCE_CONTINUE;
}

static void
on_connected_changed(WebLocksAgent *agent, GParamSpec *property, gpointer data)
{
    if (!web_locks_agent_get_connected(agent))
        _exit(0);
}

static gboolean
client_connect(Client *self, GError **error)
{
    static const char *const buckets[N_BUCKETS] = {"storm", "storm.other"};

    self->agent = web_locks_agent_new(G_BUS_TYPE_NONE, address);
    if (!g_initable_init(G_INITABLE(self->agent), NULL, error))
        return FALSE;
    self->unique =
        (guint)strtoul(web_locks_agent_get_client_id(self->agent) + strlen(":1."), NULL, 10);
    history_log_set_unique(self->log, self->unique);
    g_signal_connect(self->agent, "notify::connected", G_CALLBACK(on_connected_changed), NULL);
    for (guint i = 0; i < N_BUCKETS; i++) {
        self->managers[i] =
            web_locks_manager_new(self->agent, bucket != NULL ? bucket : buckets[i]);
        if (self->managers[i] == NULL)
            return FALSE;
    }
    return TRUE;
}

static gboolean
client_open(Client *self, GError **error)
{
    const HistoryHeader header = {.client = (guint32)number,
                                  .principal = getuid(),
                                  .bus = (guint32)bus,
                                  .pid = (guint32)getpid(),
                                  .seed = (guint64)seed};
    g_autofree char *path = g_strdup_printf("%s/client-%d.log", directory, number);

    self->resource = resource_new(directory, getuid(), !has_steals, error);
    if (self->resource == NULL)
        return FALSE;
    self->log = history_log_new(path, CAPACITY, &header, error);
    return self->log != NULL && client_connect(self, error);
}

/* The client is killed when the supervisor ends, also while it is stopped. */
static gboolean
become_principal(void)
{
    if (uid >= 0 && (setgid((gid_t)uid) != 0 || setuid((uid_t)uid) != 0))
        return FALSE;
    return prctl(PR_SET_PDEATHSIG, SIGKILL) == 0;
}

int
main(int argc, char **argv)
{
    g_autoptr(GOptionContext) context = g_option_context_new(NULL);
    g_autoptr(GError) error = NULL;
    static Client client;

    g_option_context_add_main_entries(context, options, NULL);
    if (!g_option_context_parse(context, &argc, &argv, &error) || address == NULL ||
        directory == NULL || number <= 0) {
        fprintf(stderr, "storm-client: wrong arguments\n");
        return 2;
    }
    if (!become_principal()) {
        perror("storm-client: can't be that user");
        return 1;
    }
    client.random = g_rand_new_with_seed((guint32)seed);
    client.input = g_string_new(NULL);
    client.loop = g_main_loop_new(NULL, FALSE);
    if (!client_open(&client, &error)) {
        fprintf(stderr, "client %d: %s\n", number, error->message);
        return 1;
    }
    g_unix_fd_add(STDIN_FILENO, G_IO_IN | G_IO_HUP, on_input, &client);
    for (guint i = 0; i < (kept >= 0 ? 1 : N_ACTORS); i++) {
        client.actors[i].client = &client;
        actor_rest(&client.actors[i]);
    }
    g_main_loop_run(client.loop);
    return 0;
}
