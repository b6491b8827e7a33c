/* SPDX-FileCopyrightText: 2026 The WebLocks for D-Bus authors
 * SPDX-License-Identifier: LGPL-2.1-or-later */

/* The session: its connection, its state, and its pending operations. */

#include "engine.h"

#include <errno.h>
#include <string.h>
#include <sys/socket.h>

#include "boot-time.h"
#include "engine-private.h"
#include "servers.h"

/* Shares of the session's timeout: how long a connection may be without an answer to an operation,
 * and how long an attempt at a connection may take. The latter doubles when all servers have been
 * tried, since they may just be slow. */
#define ANSWER_SHARE   5
#define CONNECT_SHARE  10
#define CONNECT_MIN_US (G_USEC_PER_SEC / 2)

/* All servers are tried one after the other; a pause follows when all have failed, which doubles
 * each time, up to the maximum. Servers that end a connection sooner than this have failed, too. */
#define PAUSE_MIN_US (G_USEC_PER_SEC / 20)
#define PAUSE_MAX_US G_USEC_PER_SEC
#define STEADY_US    G_USEC_PER_SEC

/* The client calls the completions of what is pending; they have been answered before. */
static void
close_handle(Engine *self)
{
    zhandle_t *zh = g_steal_pointer(&self->zh);

    if (self->keeps_session && self->source->fd >= 0)
        shutdown(self->source->fd, SHUT_RDWR); /* the session is not closed */
    g_source_destroy(&self->source->parent);
    g_source_unref(&self->source->parent);
    zookeeper_close(zh);
}

static void
engine_destroy(Engine *self)
{
    if (self->zh != NULL)
        close_handle(self);
    g_assert(self->pending.length == 0 && self->refused.length == 0);
    g_hash_table_unref(self->generations);
    g_hash_table_unref(self->version_reads);
    g_free(self->host_path);
    g_free(self->root);
    g_free(self);
}

static EngineResult
result_of(int r)
{
    switch (r) {
    case ZOK:
        return ENGINE_OK;
    case ZNONODE:
        return ENGINE_NO_NODE;
    case ZNODEEXISTS:
    case ZNOTEMPTY:
        return ENGINE_NODE_EXISTS;
    case ZBADVERSION:
        return ENGINE_BAD_VERSION;
    case ZCONNECTIONLOSS:
    case ZOPERATIONTIMEOUT:
    case ZSESSIONMOVED:
    case ZTHROTTLEDOP:
        return ENGINE_CONNECTION_LOST;
    case ZSESSIONEXPIRED:
    case ZAUTHFAILED:
    case ZCLOSING:
    case ZINVALIDSTATE:
        return ENGINE_SESSION_LOST;
    case ZNOAUTH:
    case ZINVALIDACL:
        return ENGINE_DENIED;
    case ZDATAINCONSISTENCY: /* a bug of this program, which is logged */
        return ENGINE_OTHER;
    default:
        g_warning("ZooKeeper: %s (%d)", zerror(r), r);
        return ENGINE_OTHER;
    }
}

EngineOperation *
engine_operation_new(EngineCallback callback, gpointer data)
{
    EngineOperation *operation = g_new0(EngineOperation, 1);

    operation->link.data = operation;
    operation->callback = callback;
    operation->data = data;
    operation->version_part = -1;
    operation->sent_us = boot_time_get_us();
    operation->sent_monotonic_us = g_get_monotonic_time();
    return operation;
}

static void
operation_free(EngineOperation *operation)
{
    g_free(operation->results);
    g_free(operation->stats);
    g_free(operation->created);
    g_free(operation);
}

void
engine_operation_sent(EngineOperation *operation, Engine *self, int r)
{
    g_assert(!self->is_freed);
    operation->engine = self;
    operation->touched_us = touches_get_us(&self->touches, operation->sent_us);
    self->last_sent_us = operation->sent_monotonic_us;
    /* The client has several errors for requests after the end of the session. */
    if (r != ZOK)
        operation->refused_with = is_unrecoverable(self->zh) ? ENGINE_SESSION_LOST : result_of(r);
    g_queue_push_tail_link(r == ZOK ? &self->pending : &self->refused, &operation->link);
}

/* Calls the callback, once. The operation has been unlinked. */
static void
answer(EngineOperation *operation, EngineAnswer *what)
{
    operation->engine = NULL;
    what->sent_us = operation->sent_us;
    what->touched_us = operation->touched_us;
    operation->callback(what, operation->data);
}

static void
note_answer(Engine *self, EngineOperation *operation)
{
    self->answered_us = g_get_monotonic_time();
    touches_answered(&self->touches, operation->sent_us, boot_time_get_us());
    operation->touched_us = MAX(operation->touched_us, self->touches.connected_us);
}

void
engine_operation_complete(EngineOperation *operation, EngineAnswer *what, int r)
{
    Engine *self = operation->engine;

    if (self != NULL) {
        g_queue_unlink(&self->pending, &operation->link);
        what->result = result_of(r);
        if (r != ZOK)
            g_debug("operation ends: %s", zerror(r));
        if (what->result != ENGINE_CONNECTION_LOST && what->result != ENGINE_SESSION_LOST)
            note_answer(self, operation);
        answer(operation, what);
    }
    operation_free(operation);
}

/* Answers what is pending now, and not what callbacks add; one may free the engine, which answers
 * the rest. The client will call the completions some time. */
static void
lose_pending(Engine *self, EngineResult result)
{
    for (guint n = self->pending.length; n > 0 && self->pending.length > 0; n--) {
        EngineOperation *operation = g_queue_pop_head_link(&self->pending)->data;

        answer(operation, &(EngineAnswer){.result = result});
    }
}

static void
answer_refused(Engine *self)
{
    for (guint n = self->refused.length; n > 0 && self->refused.length > 0; n--) {
        EngineOperation *operation = g_queue_pop_head_link(&self->refused)->data;

        answer(operation, &(EngineAnswer){.result = operation->refused_with});
        operation_free(operation);
    }
}

static void
update_state(Engine *self)
{
    int state = zoo_state(self->zh);

    if (is_unrecoverable(self->zh)) {
        self->state = ENGINE_ENDED;
    } else if (state != ZOO_CONNECTED_STATE) {
        self->state = ENGINE_CONNECTING;
    } else if (self->state != ENGINE_CONNECTED) {
        const clientid_t *id = zoo_client_id(self->zh);

        self->state = ENGINE_CONNECTED;
        self->session.id = (guint64)id->client_id;
        memcpy(self->session.password, id->passwd, sizeof(self->session.password));
        self->session.timeout_ms = MIN(self->session.timeout_ms, (guint)zoo_recv_timeout(self->zh));
        self->connected_us = g_get_monotonic_time();
        self->n_given_up = 0;
        touches_connected(&self->touches, self->source->begun_us);
    }
    if (self->state != ENGINE_CONNECTED)
        touches_disconnected(&self->touches);
}

/* With a random part, since all hosts lose the servers at the same time. */
static gint64
get_pause_us(guint n_rounds)
{
    gint64 pause_us = MIN((gint64)PAUSE_MIN_US << MIN(n_rounds - 1, 10), PAUSE_MAX_US);

    return pause_us / 2 + g_random_int_range(0, (gint32)(pause_us / 2));
}

static void
count_failure(Engine *self)
{
    gint64 now_us = g_get_monotonic_time();

    if (self->state == ENGINE_CONNECTED && now_us >= self->connected_us + STEADY_US) {
        self->n_failed = 0;
        return;
    }
    self->n_failed++;
    if (self->n_failed % self->n_servers == 0)
        self->source->connects_us = now_us + get_pause_us(self->n_failed / self->n_servers);
}

void
engine_on_lost(Engine *self)
{
    if (self->is_freed)
        return;
    count_failure(self);
    update_state(self);
    lose_pending(self, self->state == ENGINE_ENDED ? ENGINE_SESSION_LOST : ENGINE_CONNECTION_LOST);
}

void
engine_on_dispatched(Engine *self)
{
    answer_refused(self);
    if (!self->is_freed)
        update_state(self);
    if (!self->is_freed && self->state != self->reported_state) {
        self->reported_state = self->state;
        self->events->state_changed(self->state, self->data);
    }
    self->is_dispatching = FALSE;
    if (self->is_freed)
        engine_destroy(self);
}

void
engine_on_gave_up(Engine *self)
{
    g_debug("no answer from %s", zoo_get_current_server(self->zh));
    if (self->state != ENGINE_CONNECTED)
        self->n_given_up++;
}

gboolean
engine_is_ready(const Engine *self)
{
    return self->refused.length > 0 || self->state != self->reported_state;
}

gint64
engine_get_patience_us(const Engine *self)
{
    gint64 timeout_us = (gint64)zoo_recv_timeout(self->zh) * 1000;
    const EngineOperation *oldest;

    if (zoo_state(self->zh) != ZOO_CONNECTED_STATE) {
        gint64 first_us = MAX(timeout_us / CONNECT_SHARE, CONNECT_MIN_US);

        return self->source->since_us + (first_us << MIN(self->n_given_up / self->n_servers, 3));
    }
    if (self->pending.length == 0)
        return -1;
    oldest = self->pending.head->data;
    return MAX(MAX(oldest->sent_monotonic_us, self->connected_us), self->answered_us) +
           timeout_us / ANSWER_SHARE;
}

static void
ignore(G_GNUC_UNUSED const EngineAnswer *answer, G_GNUC_UNUSED gpointer data)
{
}

static void
read_something(Engine *self)
{
    EngineOperation *operation = engine_operation_new(ignore, NULL);

    engine_operation_sent(operation, self,
                          zoo_aexists(self->zh, self->root, FALSE, engine_on_stat, operation));
}

/* What is pending will be answered, and then it is time again. */
gint64
engine_keep_alive(Engine *self)
{
    if (self->state != ENGINE_CONNECTED || self->is_freed || self->pending.length > 0)
        return G_MAXINT64;
    if (g_get_monotonic_time() >= self->last_sent_us + ENGINE_READ_US)
        read_something(self);
    return self->last_sent_us + ENGINE_READ_US;
}

/* Names have two components below a bucket, and claims are below names. */
void
engine_on_watch(zhandle_t *zh, int type, int state, const char *path, void *context)
{
    Engine *self = context;
    g_autofree char *buckets = NULL, *name_path = NULL;
    const char *slash, *claim = NULL;
    guint n = 0;

    if (type == ZOO_SESSION_EVENT || self->is_freed)
        return;
    buckets = g_strconcat(self->root, "/buckets/", NULL);
    if (!g_str_has_prefix(path, buckets))
        return;
    for (slash = path + strlen(buckets); (slash = strchr(slash, '/')) != NULL; slash++)
        if (++n == 3)
            break;
    if (slash != NULL) {
        name_path = g_strndup(path, (gsize)(slash - path));
        claim = slash + 1;
    }
    self->events->changed(name_path != NULL ? name_path : path, claim, self->data);
}

static void
on_log(const char *message)
{
    g_debug("%s", message);
}

static zhandle_t *
open_handle(Engine *self, const EngineConfig *config, GError **error)
{
    g_autofree char *addresses = engine_servers_look_up(config->servers, error);
    clientid_t id = {0};
    zhandle_t *zh;

    if (addresses == NULL)
        return NULL;
    self->n_servers = 1;
    for (const char *comma = addresses; (comma = strchr(comma, ',')) != NULL; comma++)
        self->n_servers++;
    if (config->session != NULL) {
        id.client_id = (gint64)config->session->id;
        memcpy(id.passwd, config->session->password, sizeof(id.passwd));
    }
    zoo_set_debug_level(ZOO_LOG_LEVEL_INFO);
    zh = zookeeper_init2(addresses, engine_on_watch, (int)config->timeout_ms,
                         config->session != NULL ? &id : NULL, self, ZOO_NO_LOG_CLIENTENV, on_log);
    if (zh == NULL) {
        int code = errno;

        g_set_error(error, G_FILE_ERROR, (int)g_file_error_from_errno(code),
                    "could not use the servers '%s': %s", config->servers, g_strerror(code));
        return NULL;
    }
    zoo_set_servers_resolution_delay(zh, -1);
    if (config->credential != NULL)
        zoo_add_auth(zh, "digest", config->credential, (int)strlen(config->credential), NULL, NULL);
    return zh;
}

Engine *
engine_new(const EngineConfig *config, const EngineEvents *events, gpointer data, GError **error)
{
    Engine *self = g_new0(Engine, 1);

    self->events = events;
    self->data = data;
    self->root = g_strdup(config->root);
    self->generations = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, NULL);
    self->version_reads = g_hash_table_new(g_str_hash, g_str_equal);
    self->session.timeout_ms = config->session != NULL ? config->session->timeout_ms : G_MAXUINT;
    self->acl = config->credential != NULL ? &ZOO_CREATOR_ALL_ACL : &ZOO_OPEN_ACL_UNSAFE;
    self->zh = open_handle(self, config, error);
    if (self->zh == NULL) {
        engine_destroy(self);
        return NULL;
    }
    self->source = engine_source_new(self, g_main_context_get_thread_default());
    return self;
}

void
engine_free(Engine *self, gboolean keeps_session)
{
    self->is_freed = TRUE;
    self->keeps_session = keeps_session;
    lose_pending(self, ENGINE_SESSION_LOST);
    answer_refused(self);
    /* Within a callback, the dispatch does the rest. */
    if (!self->is_dispatching)
        engine_destroy(self);
}

const EngineSession *
engine_get_session(const Engine *self)
{
    return &self->session;
}

const char *
engine_get_server(const Engine *self)
{
    return self->state == ENGINE_CONNECTED ? zoo_get_current_server(self->zh) : NULL;
}
