/* SPDX-FileCopyrightText: 2026 The WebLocks for D-Bus authors
 * SPDX-License-Identifier: LGPL-2.1-or-later */

#include "remote.h"

#include <string.h>

#include "claim.h"

/* How many claims are read at a time. The lock service has 256 questions at a time at most, and a
 * renewal of the lease is carried out after the reads that are in progress. */
#define READS_MAX 4

/* How long a Break is tried again if other hosts are granted the lock meanwhile: the lock service
 * waits as long for the reply. */
#define BREAK_PATIENCE_US (G_GINT64_CONSTANT(5) * G_USEC_PER_SEC)

typedef struct {
    Session *session;
    ServiceSocket *service;
    gboolean is_break;
    guint64 serial;
    char *path; /* of the name */
    char *name;
    char *host;     /* whose claims are ended; "": of all */
    GArray *claims; /* of Found: of other hosts, in their order; of a Break, those to be ended */
    guint n_sent;   /* reads of them */
    guint n_read;
    guint n_ending; /* of them, from the first on */
    guint n_ended;  /* in all */
    gboolean has_failed;
    gint64 ends_us;
} Remote;

/* A claim of another host. */
typedef struct {
    Remote *remote;
    ClaimName name;
    gboolean holds;
    char *text; /* its data; NULL: not read, or it has ended */
} Found;

static Found *
get_claim(const Remote *self, guint i)
{
    return &g_array_index(self->claims, Found, i);
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

/* ---- the answer */

static void
send_rows(const Remote *self)
{
    g_autoptr(GArray) found = g_array_new(FALSE, FALSE, sizeof(ClusterRow));
    g_autoptr(GVariant) rows = NULL;

    for (guint i = 0; !self->has_failed && i < self->claims->len; i++) {
        const Found *claim = get_claim(self, i);
        ClusterRow row = {.mode = (guint8)claim->name.mode,
                          .state = claim->holds ? CLUSTER_ROW_HOLDS : CLUSTER_ROW_WAITS};

        if (claim->text == NULL)
            continue;
        row.host = parse_text(claim->text, &row.since_us);
        g_array_append_val(found, row);
    }
    rows = g_variant_ref_sink(cluster_rows_new(found));
    service_socket_send(self->service, CLUSTER_PACKET_ROWS, self->serial, rows);
}

static void
finish(Remote *self)
{
    if (self->is_break)
        service_socket_send(self->service, CLUSTER_PACKET_BROKEN, self->serial, self->n_ended,
                            self->has_failed);
    else
        send_rows(self);
    g_array_unref(self->claims);
    g_free(self->path);
    g_free(self->name);
    g_free(self->host);
    g_free(self);
}

static void
fail(Remote *self)
{
    self->has_failed = TRUE;
    finish(self);
}

/* ---- ending claims */

static void begin(Remote *self);
static void end_claims(Remote *self);

static void
on_ended(const EngineAnswer *answer, gpointer data)
{
    Remote *self = data;

    if (answer->result == ENGINE_OK) {
        self->n_ended += self->n_ending;
        g_array_remove_range(self->claims, 0, self->n_ending);
        end_claims(self);
    } else if (answer->result == ENGINE_NO_NODE && g_get_monotonic_time() < self->ends_us) {
        begin(self);
    } else {
        fail(self);
    }
}

/* Ends those that are left, as many at a time as one request to the engine takes. */
static void
end_claims(Remote *self)
{
    Engine *engine = session_get_engine(self->session);
    g_autoptr(GPtrArray) nodes = g_ptr_array_new_with_free_func(g_free);

    if (self->claims->len == 0) {
        finish(self);
        return;
    }
    if (engine == NULL) {
        fail(self);
        return;
    }
    self->n_ending = MIN(self->claims->len, CLAIM_STEAL_MAX);
    for (guint i = 0; i < self->n_ending; i++) {
        char *node = g_malloc(CLAIM_NAME_SIZE);

        claim_name_format(&get_claim(self, i)->name, node);
        g_ptr_array_add(nodes, node);
    }
    g_ptr_array_add(nodes, NULL);
    engine_steal(engine, self->path, self->name, -1, (const char *const *)nodes->pdata, NULL, NULL,
                 on_ended, self);
}

static gboolean
is_of_host(const Found *claim, const char *host)
{
    gint64 since_us;

    return claim->text != NULL && g_str_equal(parse_text(claim->text, &since_us), host);
}

static void
end_claims_of_host(Remote *self)
{
    for (guint i = self->claims->len; i > 0; i--)
        if (!is_of_host(get_claim(self, i - 1), self->host))
            g_array_remove_index(self->claims, i - 1);
    end_claims(self);
}

/* ---- reading claims */

static void read_claims(Remote *self);

static void
on_claim_read(const EngineAnswer *answer, gpointer data)
{
    Found *claim = data;
    Remote *self = claim->remote;

    self->n_read++;
    if (answer->result == ENGINE_OK)
        claim->text = g_strdup(answer->text);
    else if (answer->result != ENGINE_NO_NODE)
        self->has_failed = TRUE;
    read_claims(self);
}

/* Reads the data of the next ones; then goes on. */
static void
read_claims(Remote *self)
{
    Engine *engine = session_get_engine(self->session);

    if (engine == NULL)
        self->has_failed = TRUE;
    while (!self->has_failed && self->n_sent < self->claims->len &&
           self->n_sent - self->n_read < READS_MAX) {
        Found *claim = get_claim(self, self->n_sent++);
        char node[CLAIM_NAME_SIZE];

        claim_name_format(&claim->name, node);
        engine_read_claim(engine, self->path, node, FALSE, on_claim_read, claim);
    }
    if (self->n_read < self->n_sent)
        return;
    if (self->is_break && !self->has_failed)
        end_claims_of_host(self);
    else
        finish(self);
}

static int
compare(gconstpointer a, gconstpointer b)
{
    return claim_name_compare(&((const Found *)a)->name, &((const Found *)b)->name);
}

/* Finds the claims of other hosts, in their order. */
static void
find_claims(Remote *self, const char *const *children)
{
    const guint64 own = session_get_id(self->session);
    ClaimOrder order;

    claim_order_init(&order);
    for (; *children != NULL; children++) {
        Found claim = {.remote = self};

        if (!claim_name_parse(*children, &claim.name))
            continue;
        claim_order_add(&order, &claim.name);
        if (claim.name.session != own)
            g_array_append_val(self->claims, claim);
    }
    g_array_sort(self->claims, compare);
    for (guint i = self->claims->len; i > 0; i--) {
        Found *claim = get_claim(self, i - 1);

        claim->holds = claim_order_is_first(&order, &claim->name);
        if (self->is_break && !claim->holds)
            g_array_remove_index(self->claims, i - 1);
    }
}

static void
on_children(const EngineAnswer *answer, gpointer data)
{
    Remote *self = data;

    if (answer->result == ENGINE_NO_NODE) {
        finish(self);
        return;
    }
    if (answer->result != ENGINE_OK || session_get_engine(self->session) == NULL) {
        fail(self);
        return;
    }
    find_claims(self, answer->children);
    if (!self->is_break && self->claims->len > CLUSTER_ROWS_MAX)
        g_array_set_size(self->claims, CLUSTER_ROWS_MAX);
    if (self->is_break && self->host[0] == '\0')
        end_claims(self);
    else
        read_claims(self);
}

static void
on_synced(const EngineAnswer *answer, gpointer data)
{
    Remote *self = data;
    Engine *engine = session_get_engine(self->session);

    if (answer->result == ENGINE_OK && engine != NULL)
        engine_list(engine, self->path, FALSE, on_children, self);
    else
        fail(self);
}

/* A Break reads the claims as of now: the server of this session may have an older state. */
static void
begin(Remote *self)
{
    Engine *engine = session_get_engine(self->session);

    g_array_set_size(self->claims, 0);
    self->n_sent = 0;
    self->n_read = 0;
    if (engine == NULL)
        fail(self);
    else if (self->is_break)
        engine_sync(engine, self->path, on_synced, self);
    else
        engine_list(engine, self->path, FALSE, on_children, self);
}

static void
found_clear(gpointer data)
{
    g_free(((Found *)data)->text);
}

void
remote_ask(Session *session, ServiceSocket *service, const ClusterQuestion *question)
{
    const char *root = session->options->config->root;
    Remote *self = g_new0(Remote, 1);

    *self = (Remote){
        .session = session,
        .service = service,
        .is_break = question->answer == CLUSTER_PACKET_BROKEN,
        .serial = question->serial,
        .path = engine_path_name(root, question->bucket, question->uid, question->name),
        .name = g_strdup(question->name),
        .host = g_strdup(question->host),
        .claims = g_array_new(FALSE, FALSE, sizeof(Found)),
        .ends_us = g_get_monotonic_time() + BREAK_PATIENCE_US,
    };
    g_array_set_clear_func(self->claims, found_clear);
    begin(self);
}
