/* SPDX-FileCopyrightText: 2026 The WebLocks for D-Bus authors
 * SPDX-License-Identifier: LGPL-2.1-or-later */

#include "remote.h"

#include <string.h>

#include "claim.h"

#define HOSTS_BYTES_MAX (CLUSTER_PACKET_BYTES_MAX - 2048) /* of their names */

/* How many claims a list reads at a time. The lock service asks for 256 lists at a time at most,
 * and a renewal of the lease is carried out after the reads that are in progress. */
#define READS_MAX 4

/* How long a Break is tried again if other hosts are granted the lock meanwhile: the lock service
 * waits as long for the reply. */
#define BREAK_PATIENCE_US (G_GINT64_CONSTANT(5) * G_USEC_PER_SEC)

/* ---- lists */

typedef struct List List;

/* A claim of another host. */
typedef struct {
    List *list;
    ClaimName name;
    ClusterRowState state;
    char *text; /* its data; NULL: not known */
} Listed;

struct List {
    Session *session;
    guint64 own; /* the id of the session */
    guint64 serial;
    char *name_path;
    GArray *claims; /* of Listed */
    guint n_sent;   /* reads of them */
    guint n_read;
    gboolean has_failed;
    RemoteRows callback;
    gpointer data;
};

static void
listed_clear(gpointer data)
{
    g_free(((Listed *)data)->text);
}

/* Parses the data of a claim: see entry.c. */
static const char *
parse_text(const char *text, gint64 *out_since_us)
{
    char *end = NULL;
    gint64 since_us = g_ascii_strtoll(text, &end, 10);

    *out_since_us = MAX(since_us, 0);
    g_ascii_strtoull(end, &end, 10);
    return *end == ' ' && engine_path_is_component(end + 1) ? end + 1 : "?";
}

static void
finish_list(List *self)
{
    g_autoptr(GArray) rows = g_array_new(FALSE, FALSE, sizeof(ClusterRow));

    for (guint i = 0; !self->has_failed && i < self->claims->len; i++) {
        const Listed *claim = &g_array_index(self->claims, Listed, i);
        ClusterRow row = {.mode = (guint8)claim->name.mode, .state = (guint8)claim->state};

        if (claim->text == NULL)
            continue; /* it has ended meanwhile */
        row.host = parse_text(claim->text, &row.since_us);
        g_array_append_val(rows, row);
    }
    self->callback(self->serial, rows, self->data);
    g_array_unref(self->claims);
    g_free(self->name_path);
    g_free(self);
}

static void read_claims(List *self);

static void
on_claim_read(const EngineAnswer *answer, gpointer data)
{
    Listed *claim = data;
    List *self = claim->list;

    self->n_read++;
    if (answer->result == ENGINE_OK)
        claim->text = g_strdup(answer->text);
    else if (answer->result != ENGINE_NO_NODE)
        self->has_failed = TRUE;
    read_claims(self);
}

/* Reads the next ones, or finishes. */
static void
read_claims(List *self)
{
    Engine *engine = session_get_engine(self->session);

    if (engine == NULL)
        self->has_failed = TRUE;
    while (!self->has_failed && self->n_sent < self->claims->len &&
           self->n_sent - self->n_read < READS_MAX) {
        Listed *claim = &g_array_index(self->claims, Listed, self->n_sent++);
        char node[CLAIM_NAME_SIZE];

        claim_name_format(&claim->name, node);
        engine_read_claim(engine, self->name_path, node, FALSE, on_claim_read, claim);
    }
    if (self->n_read == self->n_sent)
        finish_list(self);
}

static int
compare_listed(gconstpointer a, gconstpointer b)
{
    return claim_name_compare(&((const Listed *)a)->name, &((const Listed *)b)->name);
}

static void
on_children(const EngineAnswer *answer, gpointer data)
{
    List *self = data;
    const char *const none[] = {NULL};
    const char *const *children = answer->result == ENGINE_OK ? answer->children : none;
    ClaimOrder order;

    claim_order_init(&order);
    for (guint i = 0; children[i] != NULL; i++) {
        Listed claim = {.list = self};

        if (!claim_name_parse(children[i], &claim.name))
            continue;
        claim_order_add(&order, &claim.name);
        if (claim.name.session != self->own)
            g_array_append_val(self->claims, claim);
    }
    g_array_sort(self->claims, compare_listed);
    if (self->claims->len > CLUSTER_ROWS_MAX)
        g_array_set_size(self->claims, CLUSTER_ROWS_MAX);
    for (guint i = 0; i < self->claims->len; i++) {
        Listed *claim = &g_array_index(self->claims, Listed, i);

        claim->state =
            claim_order_is_first(&order, &claim->name) ? CLUSTER_ROW_HOLDS : CLUSTER_ROW_WAITS;
    }
    read_claims(self);
}

void
remote_list(Session *session,
            const char *root,
            const ClusterList *message,
            RemoteRows callback,
            gpointer data)
{
    Engine *engine = session_get_engine(session);
    List *self = g_new0(List, 1);

    *self = (List){
        .session = session,
        .serial = message->serial,
        .name_path = engine_path_name(root, message->bucket, message->uid, message->name),
        .claims = g_array_new(FALSE, FALSE, sizeof(Listed)),
        .callback = callback,
        .data = data,
    };
    g_array_set_clear_func(self->claims, listed_clear);
    if (engine == NULL) {
        finish_list(self);
        return;
    }
    self->own = session_get_id(session);
    engine_list(engine, self->name_path, FALSE, on_children, self);
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
    gboolean is_outdated = answer->result == ENGINE_NO_NODE;

    if (answer->result == ENGINE_OK) {
        self->count += self->n_in_progress;
        self->n_ended += self->n_in_progress;
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
    engine_steal(engine, self->name_path, self->name, -1, (const char *const *)batch->pdata, NULL,
                 NULL, on_ended, self);
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
    guint64 serial;
    RemoteHosts callback;
    gpointer data;
} Hosts;

static void
on_hosts(const EngineAnswer *answer, gpointer data)
{
    g_autofree Hosts *hosts = data;
    g_autoptr(GString) text = g_string_new(NULL);

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
    hosts->callback(hosts->serial, text->str, hosts->data);
}

void
remote_list_hosts(Session *session, guint64 serial, RemoteHosts callback, gpointer data)
{
    Engine *engine = session_get_engine(session);
    Hosts *hosts;

    if (engine == NULL) {
        callback(serial, "", data);
        return;
    }
    hosts = g_new0(Hosts, 1);
    *hosts = (Hosts){serial, callback, data};
    engine_list_hosts(engine, on_hosts, hosts);
}
