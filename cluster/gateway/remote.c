/* SPDX-FileCopyrightText: 2026 The WebLocks for D-Bus authors
 * SPDX-License-Identifier: LGPL-2.1-or-later */

#include "remote.h"

#include <string.h>

#include "bus-string.h"
#include "claim.h"

/* The most claims that a list has, and about how many bytes; and bytes of host names. Further ones
 * are left out. The lock service asks for one list at a time, and the connection takes twice as
 * much. */
#define ROWS_MAX        10000
#define ROWS_BYTES_MAX  (2UL * 1024 * 1024)
#define HOSTS_BYTES_MAX (CLUSTER_PACKET_BYTES_MAX - 1024)

/* How long a Break is tried again if other hosts are granted the lock meanwhile: the lock service
 * waits as long for the reply. */
#define BREAK_PATIENCE_US (G_GINT64_CONSTANT(5) * G_USEC_PER_SEC)

/* ---- lists */

typedef struct {
    guint64 serial;
    guint64 session;
    ListCache *cache;
    char *bucket;
    guint32 uid;
    gint64 begin_us;
    RemoteRows callback;
    gpointer data;
} List;

typedef struct {
    const EngineClaim *claim;
    ClaimName name;
} Row;

/* By name, then in the order of the claims. */
static int
compare_rows(gconstpointer a, gconstpointer b)
{
    const Row *first = a, *second = b;
    int order = strcmp(first->claim->name_path, second->claim->name_path);

    if (order != 0)
        return order;
    return claim_name_compare(&first->name, &second->name);
}

/* Parses the data of a claim, "MICROSECONDS HOST". */
static const char *
parse_text(const char *text, gint64 *out_since_us)
{
    char *end = NULL;
    gint64 since_us = text != NULL ? g_ascii_strtoll(text, &end, 10) : 0;

    *out_since_us = MAX(since_us, 0);
    return end != NULL && *end == ' ' && engine_path_is_component(end + 1) ? end + 1 : "?";
}

/* The node of a name may have other data than a lock name, if somebody else has written them. */
static gboolean
is_lock_name(const char *name)
{
    return strlen(name) <= CLUSTER_NAME_BYTES_MAX && bus_string_is_valid(name);
}

static GVariant *
make_row(const Row *row, gboolean is_first)
{
    ClusterRow out = {
        .mode = (guint8)row->name.mode,
        .state = is_first ? CLUSTER_ROW_HOLDS : CLUSTER_ROW_WAITS,
        .name = row->claim->name,
    };

    out.host = parse_text(row->claim->text, &out.since_us);
    return cluster_row_new(&out);
}

/* The sorted rows of other sessions than `own`. */
static GPtrArray *
make_rows(const GArray *rows, guint64 own)
{
    GPtrArray *made = g_ptr_array_new_with_free_func((GDestroyNotify)g_variant_unref);
    const char *path = ""; /* of the name */
    gsize n_bytes = 0;
    ClaimOrder order;

    claim_order_init(&order);
    for (guint i = 0; i < rows->len && n_bytes < ROWS_BYTES_MAX; i++) {
        const Row *row = &g_array_index(rows, Row, i);

        if (strcmp(path, row->claim->name_path) != 0)
            claim_order_init(&order);
        path = row->claim->name_path;
        claim_order_add(&order, &row->name);
        if (row->name.session == own)
            continue;
        g_ptr_array_add(made, make_row(row, claim_order_is_first(&order, &row->name)));
        n_bytes += g_variant_get_size(made->pdata[made->len - 1]);
    }
    return made;
}

static void
on_scanned(const EngineAnswer *answer, gpointer data)
{
    List *list = data;
    g_autoptr(GArray) rows = g_array_new(FALSE, FALSE, sizeof(Row));
    g_autoptr(GPtrArray) made = NULL;

    for (guint i = 0; answer->result == ENGINE_OK && i < answer->claims->len; i++) {
        Row row = {.claim = answer->claims->pdata[i]};

        if (claim_name_parse(row.claim->node, &row.name) && is_lock_name(row.claim->name))
            g_array_append_val(rows, row);
    }
    g_array_sort(rows, compare_rows);
    made = make_rows(rows, list->session);
    if (answer->result == ENGINE_OK)
        list_cache_add(list->cache, list->bucket, list->uid, made, list->begin_us,
                       g_get_monotonic_time());
    list->callback(list->serial, made, list->data);
    g_free(list->bucket);
    g_free(list);
}

void
remote_list(Session *session,
            ListCache *cache,
            const ClusterList *message,
            RemoteRows callback,
            gpointer data)
{
    static const EngineAnswer unreachable = {.result = ENGINE_CONNECTION_LOST};
    Engine *engine = session_get_engine(session);
    const GPtrArray *rows =
        list_cache_find(cache, message->bucket, message->uid, g_get_monotonic_time());
    List *list;

    if (engine != NULL && rows != NULL) {
        callback(message->serial, rows, data);
        return;
    }
    list = g_new0(List, 1);
    *list = (List){
        .serial = message->serial,
        .cache = cache,
        .bucket = g_strdup(message->bucket),
        .uid = message->uid,
        .begin_us = g_get_monotonic_time(),
        .callback = callback,
        .data = data,
    };
    if (engine == NULL) {
        on_scanned(&unreachable, list);
        return;
    }
    list->session = session_get_id(session);
    engine_scan(engine, message->bucket, message->uid, NULL, TRUE, ROWS_MAX, on_scanned, list);
}

/* ---- breaking */

typedef struct {
    Session *session;
    guint64 serial;
    char *name_path;
    char *name;
    char *host; /* "": all */
    gint64 ends_us;
    GPtrArray *sessions; /* of guint64, owned: of the host; NULL: of all */
    GPtrArray *claims;   /* node names, owned */
    guint n_ended;       /* of them */
    guint n_in_progress;
    gint32 version;
    guint count; /* of all that have ended */
    RemoteBroken callback;
    gpointer data;
} Break;

static void
finish_break(Break *self, gboolean failed)
{
    self->callback(self->serial, self->count, failed, self->data);
    g_clear_pointer(&self->sessions, g_ptr_array_unref);
    g_clear_pointer(&self->claims, g_ptr_array_unref);
    g_free(self->name_path);
    g_free(self->name);
    g_free(self->host);
    g_free(self);
}

static void begin_break(Break *self);
static void end_claims(Break *self);

static void
on_ended(const EngineAnswer *answer, gpointer data)
{
    Break *self = data;
    gboolean is_outdated = answer->result == ENGINE_BAD_VERSION || answer->result == ENGINE_NO_NODE;

    if (answer->result == ENGINE_OK) {
        self->count += self->n_in_progress;
        self->n_ended += self->n_in_progress;
        self->version = answer->version;
        end_claims(self);
    } else if (is_outdated && g_get_monotonic_time() < self->ends_us) {
        begin_break(self);
    } else {
        finish_break(self, TRUE);
    }
}

/* Ends those that are left, as many at a time as one request to the engine takes. */
static void
end_claims(Break *self)
{
    Engine *engine = session_get_engine(self->session);
    g_autoptr(GPtrArray) batch = g_ptr_array_new();

    if (self->n_ended == self->claims->len || engine == NULL) {
        finish_break(self, engine == NULL);
        return;
    }
    self->n_in_progress = MIN(self->claims->len - self->n_ended, CLAIM_STEAL_MAX);
    for (guint i = 0; i < self->n_in_progress; i++)
        g_ptr_array_add(batch, self->claims->pdata[self->n_ended + i]);
    g_ptr_array_add(batch, NULL);
    engine_steal(engine, self->name_path, self->name, self->version,
                 (const char *const *)batch->pdata, NULL, NULL, on_ended, self);
}

static gboolean
is_of_host(const Break *self, guint64 session)
{
    if (session == session_get_id(self->session))
        return FALSE;
    if (self->sessions == NULL)
        return TRUE;
    for (guint i = 0; i < self->sessions->len; i++)
        if (*(guint64 *)self->sessions->pdata[i] == session)
            return TRUE;
    return FALSE;
}

static void
on_listed(const EngineAnswer *answer, gpointer data)
{
    Break *self = data;
    const char *const *child;
    ClaimOrder order;
    ClaimName name;

    if (answer->result != ENGINE_OK || session_get_engine(self->session) == NULL) {
        finish_break(self, answer->result != ENGINE_NO_NODE);
        return;
    }
    claim_order_init(&order);
    for (child = answer->children; *child != NULL; child++)
        if (claim_name_parse(*child, &name))
            claim_order_add(&order, &name);
    g_clear_pointer(&self->claims, g_ptr_array_unref);
    self->claims = g_ptr_array_new_with_free_func(g_free);
    for (child = answer->children; *child != NULL; child++)
        if (claim_name_parse(*child, &name) && claim_order_is_first(&order, &name) &&
            is_of_host(self, name.session))
            g_ptr_array_add(self->claims, g_strdup(*child));
    self->n_ended = 0;
    self->version = answer->version;
    end_claims(self);
}

static void
list_claims(Break *self)
{
    Engine *engine = session_get_engine(self->session);

    if (engine != NULL)
        engine_list(engine, self->name_path, FALSE, on_listed, self);
    else
        finish_break(self, TRUE);
}

static void
on_hosts_of_break(const EngineAnswer *answer, gpointer data)
{
    Break *self = data;

    if (answer->result != ENGINE_OK) {
        finish_break(self, TRUE);
        return;
    }
    g_clear_pointer(&self->sessions, g_ptr_array_unref);
    self->sessions = g_ptr_array_new_with_free_func(g_free);
    for (const char *const *child = answer->children; *child != NULL; child++) {
        g_autofree char *host = NULL;
        guint64 session;

        if (engine_path_parse_host(*child, &host, &session) && strcmp(host, self->host) == 0)
            g_ptr_array_add(self->sessions, g_memdup2(&session, sizeof session));
    }
    list_claims(self);
}

static void
on_synced(const EngineAnswer *answer, gpointer data)
{
    Break *self = data;
    Engine *engine = session_get_engine(self->session);

    if (answer->result != ENGINE_OK || engine == NULL)
        finish_break(self, TRUE);
    else if (self->host[0] != '\0')
        engine_list_hosts(engine, on_hosts_of_break, self);
    else
        list_claims(self);
}

/* Reads the claims as of now: the server of this session may have an older state. */
static void
begin_break(Break *self)
{
    Engine *engine = session_get_engine(self->session);

    if (engine != NULL)
        engine_sync(engine, self->name_path, on_synced, self);
    else
        finish_break(self, TRUE);
}

void
remote_break(Session *session,
             const char *root,
             const ClusterBreak *message,
             RemoteBroken callback,
             gpointer data)
{
    Break *self = g_new0(Break, 1);

    *self = (Break){
        .session = session,
        .serial = message->serial,
        .name_path = engine_path_name(root, message->bucket, message->uid, message->name),
        .name = g_strdup(message->name),
        .host = g_strdup(message->host),
        .ends_us = g_get_monotonic_time() + BREAK_PATIENCE_US,
        .callback = callback,
        .data = data,
    };
    begin_break(self);
}

/* ---- hosts */

typedef struct {
    RemoteHosts callback;
    gpointer data;
} Hosts;

static void
on_hosts(const EngineAnswer *answer, gpointer data)
{
    g_autofree Hosts *hosts = data;
    g_autoptr(GString) text = g_string_new(NULL);

    if (answer->result == ENGINE_SESSION_LOST)
        return;
    for (const char *const *child = answer->children; answer->result == ENGINE_OK && *child != NULL;
         child++) {
        g_autofree char *host = NULL;
        guint64 session;

        if (!engine_path_parse_host(*child, &host, &session) || !engine_path_is_component(host) ||
            text->len + strlen(host) + 1 > HOSTS_BYTES_MAX)
            continue;
        g_string_append(text, host);
        g_string_append_c(text, '\n');
    }
    hosts->callback(text->str, hosts->data);
}

void
remote_list_hosts(Session *session, RemoteHosts callback, gpointer data)
{
    Hosts *hosts = g_new0(Hosts, 1);

    *hosts = (Hosts){callback, data};
    engine_list_hosts(session_get_engine(session), on_hosts, hosts);
}
