/* SPDX-FileCopyrightText: 2026 The WebLocks for D-Bus authors
 * SPDX-License-Identifier: LGPL-2.1-or-later */

#include "sim-zookeeper.h"

#include <stdio.h>
#include <string.h>
#include <zookeeper/proto.h>
#include <zookeeper/zookeeper.h>

#include "boot-time.h"
#include "expiry-model.h"
#include "sim-gateway.h"

#define FIRST_FD 1000

/* When a list fails that is not sent. */
#define LIST_FAILS_MS 500

int __wrap_shutdown(int fd, int how);

/* A request, and how it is completed. */
typedef struct {
    SimRequest *request;
    gboolean is_sent;
    string_completion_t path;
    stat_completion_t stat;
    data_completion_t data;
    strings_stat_completion_t strings;
    void_completion_t done;
    zoo_op_t *ops; /* of a transaction: where its results are stored */
    zoo_op_result_t *results;
    const void *context;
} Pending;

struct _zhandle {
    guint host;
    guint next_server;
    char server[32]; /* the current one */
    watcher_fn watcher;
    void *context;
    int state;
    int timeout_ms;
    clientid_t id;
    guint seen;
    SimConnection *connection; /* NULL: there is none */
    int fd;                    /* -1: the same */
    gboolean is_shut;          /* by shutdown() */
    GQueue inbox;              /* of SimMessage */
    GQueue pending;            /* of Pending, in order */
    GQueue lost;               /* of Pending, to be completed when there is a connection again */
    GQueue unsent;             /* of Pending: see sim_zookeeper_fail_lists() */
    guint unsent_timer;        /* 0: they are to be completed */
    gint64 received_us;
    gint64 sent_us;
};

static SimServers *the_servers;
static GPtrArray *handles; /* of zhandle_t */
static GHashTable *by_fd;  /* -> zhandle_t */
static int last_fd;
static gint64 lists_fail_until_us[SIM_HOSTS_MAX];

void
sim_zookeeper_init(SimServers *servers)
{
    the_servers = servers;
    if (handles == NULL) {
        handles = g_ptr_array_new();
        by_fd = g_hash_table_new(NULL, NULL);
    }
    g_assert(handles->len == 0);
    last_fd = FIRST_FD;
    memset(lists_fail_until_us, 0, sizeof lists_fail_until_us);
}

void
sim_zookeeper_fail_lists(guint host, gint64 until_us)
{
    lists_fail_until_us[host] = until_us;
}

static zhandle_t *
find_handle(int fd)
{
    return g_hash_table_lookup(by_fd, GINT_TO_POINTER(fd));
}

static gboolean
has_failed_lists(const zhandle_t *zh)
{
    return zh->unsent.length > 0 && zh->unsent_timer == 0;
}

GIOCondition
sim_zookeeper_poll(int fd)
{
    const zhandle_t *zh = find_handle(fd);

    return zh != NULL && (zh->is_shut || zh->inbox.length > 0 || has_failed_lists(zh)) ? G_IO_IN
                                                                                       : 0;
}

int
__wrap_shutdown(int fd, G_GNUC_UNUSED int how)
{
    find_handle(fd)->is_shut = TRUE;
    sim_loop_set_ready(fd);
    return 0;
}

/* ---- completions */

static void
pending_free(gpointer data)
{
    Pending *pending = data;

    sim_request_unref(pending->request);
    g_free(pending->ops);
    g_free(pending);
}

static void
complete_strings(const Pending *pending, int r, const struct Stat *stat)
{
    GPtrArray *children = pending->request->children;
    struct String_vector strings = {0};

    if (r == ZOK) {
        strings.count = (int)children->len;
        strings.data = (char **)children->pdata;
    }
    pending->strings(r, &strings, stat, pending->context);
}

/* The results of the parts of a transaction: of those before the one that has failed, that they
 * would have been done. */
static void
store_results(const Pending *pending, int r)
{
    const GArray *ops = pending->request->transaction->ops;

    for (guint i = 0; i < ops->len; i++) {
        const SimOp *op = &g_array_index(ops, SimOp, i);
        zoo_op_t *part = &pending->ops[i];

        if (r == ZOK)
            pending->results[i].err = ZOK;
        else if (pending->request->r != r || i == pending->request->failed)
            pending->results[i].err = r;
        else
            pending->results[i].err = i < pending->request->failed ? ZOK : ZRUNTIMEINCONSISTENCY;
        if (r == ZOK && op->kind == SIM_CREATE && part->create_op.buf != NULL)
            g_strlcpy(part->create_op.buf, op->path, (gsize)part->create_op.buflen);
        if (r == ZOK && op->kind == SIM_SET) {
            part->set_op.stat->version = op->version;
            part->set_op.stat->cversion = op->cversion;
            part->set_op.stat->numChildren = op->n_children;
        }
    }
}

/* `r` is of the connection, or ZOK. */
static void
complete(Pending *pending, int r)
{
    const SimRequest *request = pending->request;
    struct Stat stat = {.version = request->version};
    const SimOp *first = NULL;
    const char *path = request->path;

    if (r == ZOK)
        r = request->r;
    if (request->transaction != NULL) {
        first = &g_array_index(request->transaction->ops, SimOp, 0);
        path = first->path;
    }
    if (pending->results != NULL)
        store_results(pending, r);
    if (pending->path != NULL) {
        pending->path(r, r == ZOK ? path : NULL, pending->context);
    } else if (pending->stat != NULL) {
        stat.version = first != NULL ? first->version : stat.version;
        pending->stat(r, &stat, pending->context);
    } else if (pending->data != NULL) {
        pending->data(r, request->text, r == ZOK ? (int)strlen(request->text) : -1, &stat,
                      pending->context);
    } else if (pending->strings != NULL) {
        complete_strings(pending, r, &stat);
    } else if (pending->done != NULL) {
        pending->done(r, pending->context);
    }
    pending_free(pending);
}

static void
complete_all(GQueue *queue, int r)
{
    while (queue->length > 0)
        complete(g_queue_pop_head(queue), r);
}

/* ---- the connection */

static void
close_connection(zhandle_t *zh, gboolean is_lossy)
{
    if (zh->connection != NULL)
        sim_connection_close(zh->connection, is_lossy);
    zh->connection = NULL;
    g_hash_table_remove(by_fd, GINT_TO_POINTER(zh->fd));
    zh->fd = -1;
    zh->is_shut = FALSE;
    g_queue_clear_full(&zh->inbox, sim_message_free);
}

/* What was sent is not answered any more. */
static int
fail(zhandle_t *zh, int r)
{
    close_connection(zh, TRUE);
    while (zh->pending.length > 0)
        g_queue_push_tail(&zh->lost, g_queue_pop_head(&zh->pending));
    while (zh->unsent.length > 0)
        g_queue_push_tail(&zh->lost, g_queue_pop_head(&zh->unsent));
    g_clear_handle_id(&zh->unsent_timer, g_source_remove);
    if (!is_unrecoverable(zh))
        zh->state = ZOO_CONNECTING_STATE;
    return r;
}

static void
send_pending(zhandle_t *zh, Pending *pending)
{
    pending->is_sent = TRUE;
    zh->sent_us = boot_time_get_us();
    sim_connection_send(zh->connection, g_rc_box_acquire(pending->request));
}

static int
enqueue(zhandle_t *zh, Pending *pending)
{
    if (is_unrecoverable(zh)) {
        pending_free(pending);
        return ZINVALIDSTATE;
    }
    g_queue_push_tail(&zh->pending, pending);
    if (zh->state == ZOO_CONNECTED_STATE)
        send_pending(zh, pending);
    return ZOK;
}

static void
ping(zhandle_t *zh)
{
    Pending *pending = g_new0(Pending, 1);

    pending->request = sim_request_new(SIM_PING, NULL);
    enqueue(zh, pending);
}

static void
on_message(SimMessage *message, gpointer data)
{
    zhandle_t *zh = data;

    g_queue_push_tail(&zh->inbox, message);
    sim_loop_set_ready(zh->fd);
}

static void
connect_to_next(zhandle_t *zh)
{
    guint server = zh->next_server++ % SIM_SERVERS;

    g_snprintf(zh->server, sizeof zh->server, "127.%u.%u.%u:1", zh->host >> 8, zh->host & 255,
               server + 1);
    zh->fd = ++last_fd;
    g_hash_table_insert(by_fd, GINT_TO_POINTER(zh->fd), zh);
    zh->state = ZOO_ASSOCIATING_STATE;
    zh->received_us = zh->sent_us = boot_time_get_us();
    zh->connection = sim_servers_connect(the_servers, zh->host, server, (guint64)zh->id.client_id,
                                         (guint)zh->timeout_ms, zh->seen, on_message, zh);
}

int
zookeeper_interest(zhandle_t *zh, int *fd, int *interest, struct timeval *tv)
{
    gint64 now_us = boot_time_get_us();
    gint64 timeout_us = zh->timeout_ms * MS;
    gint64 receive_us, send_us = timeout_us / EXPIRY_CLIENT_SHARE;

    *fd = -1;
    *interest = 0;
    if (is_unrecoverable(zh))
        return ZINVALIDSTATE;
    if (zh->connection == NULL)
        connect_to_next(zh);
    receive_us = zh->received_us + timeout_us * 2 / 3 - now_us;
    if (receive_us <= 0)
        return fail(zh, ZOPERATIONTIMEOUT);
    if (zh->state == ZOO_CONNECTED_STATE) {
        if (now_us >= zh->sent_us + send_us && zh->pending.length == 0)
            ping(zh);
        else if (now_us < zh->sent_us + send_us)
            send_us += zh->sent_us - now_us;
    }
    *fd = zh->fd;
    *interest = ZOOKEEPER_READ;
    tv->tv_sec = MIN(receive_us, send_us) / G_USEC_PER_SEC;
    tv->tv_usec = MIN(receive_us, send_us) % G_USEC_PER_SEC;
    return ZOK;
}

static int
take_message(zhandle_t *zh, const SimMessage *message)
{
    Pending *pending;

    zh->received_us = boot_time_get_us();
    switch (message->kind) {
    case SIM_ACCEPTED:
        zh->id.client_id = (gint64)message->session;
        zh->timeout_ms = (int)message->timeout_ms;
        zh->state = ZOO_CONNECTED_STATE;
        for (GList *link = zh->pending.head; link != NULL; link = link->next)
            if (!((Pending *)link->data)->is_sent)
                send_pending(zh, link->data);
        break;
    case SIM_EXPIRED:
        zh->state = ZOO_EXPIRED_SESSION_STATE;
        return fail(zh, ZSESSIONEXPIRED);
    case SIM_ANSWERED:
        pending = g_queue_pop_head(&zh->pending);
        g_assert(pending->request == message->request);
        zh->seen = MAX(zh->seen, message->request->seen);
        complete(pending, ZOK);
        break;
    case SIM_FIRED:
        zh->watcher(zh, message->are_children ? ZOO_CHILD_EVENT : ZOO_DELETED_EVENT, zh->state,
                    message->path, zh->context);
        break;
    case SIM_BROKEN:
    default:
        return fail(zh, ZCONNECTIONLOSS);
    }
    return ZOK;
}

/* Reads one message. */
int
zookeeper_process(zhandle_t *zh, G_GNUC_UNUSED int events)
{
    SimMessage *message;
    int r;

    complete_all(&zh->lost, ZCONNECTIONLOSS);
    if (has_failed_lists(zh))
        complete_all(&zh->unsent, ZCONNECTIONLOSS);
    if (zh->is_shut)
        return fail(zh, ZCONNECTIONLOSS);
    message = g_queue_pop_head(&zh->inbox);
    if (message == NULL)
        return ZNOTHING;
    r = take_message(zh, message);
    sim_message_free(message);
    return r;
}

/* ---- handles */

zhandle_t *
zookeeper_init2(const char *hosts,
                watcher_fn watcher,
                int timeout_ms,
                const clientid_t *id,
                void *context,
                G_GNUC_UNUSED int flags,
                G_GNUC_UNUSED log_callback_fn log)
{
    zhandle_t *zh = g_new0(zhandle_t, 1);
    guint high;

    g_assert_cmpint(sscanf(hosts, "127.%u.%u.", &high, &zh->host), ==, 2);
    zh->host += high << 8;
    zh->next_server = g_random_int() % SIM_SERVERS;
    zh->watcher = watcher;
    zh->context = context;
    zh->timeout_ms = timeout_ms;
    zh->fd = -1;
    zh->state = ZOO_NOTCONNECTED_STATE;
    if (id != NULL)
        zh->id = *id;
    g_queue_init(&zh->inbox);
    g_queue_init(&zh->pending);
    g_queue_init(&zh->lost);
    g_queue_init(&zh->unsent);
    g_ptr_array_add(handles, zh);
    return zh;
}

int
zookeeper_close(zhandle_t *zh)
{
    gboolean ends_session =
        zh->state == ZOO_CONNECTED_STATE && !zh->is_shut && !sim_gateway_is_being_killed();

    if (ends_session)
        sim_connection_send(zh->connection, sim_request_new(SIM_CLOSE, NULL));
    close_connection(zh, !ends_session);
    complete_all(&zh->lost, ZCLOSING);
    complete_all(&zh->pending, ZCLOSING);
    complete_all(&zh->unsent, ZCLOSING);
    g_clear_handle_id(&zh->unsent_timer, g_source_remove);
    g_ptr_array_remove_fast(handles, zh);
    g_free(zh);
    return ZOK;
}

int
zoo_state(zhandle_t *zh)
{
    return zh->state;
}

int
is_unrecoverable(zhandle_t *zh)
{
    return zh->state == ZOO_EXPIRED_SESSION_STATE ? ZINVALIDSTATE : ZOK;
}

const clientid_t *
zoo_client_id(zhandle_t *zh)
{
    return &zh->id;
}

int
zoo_recv_timeout(zhandle_t *zh)
{
    return zh->timeout_ms;
}

const char *
zoo_get_current_server(zhandle_t *zh)
{
    return zh->server;
}

void
zoo_set_debug_level(G_GNUC_UNUSED ZooLogLevel level)
{
}

int
zoo_set_servers_resolution_delay(G_GNUC_UNUSED zhandle_t *zh, G_GNUC_UNUSED int delay_ms)
{
    return ZOK;
}

int
zoo_add_auth(G_GNUC_UNUSED zhandle_t *zh,
             G_GNUC_UNUSED const char *scheme,
             G_GNUC_UNUSED const char *certificate,
             G_GNUC_UNUSED int size,
             G_GNUC_UNUSED void_completion_t completion,
             G_GNUC_UNUSED const void *data)
{
    return ZOK;
}

/* ---- requests */

static Pending *
pending_new(SimRequestKind kind, const char *path, const void *context)
{
    Pending *pending = g_new0(Pending, 1);

    pending->request = sim_request_new(kind, path);
    pending->context = context;
    if (kind == SIM_WRITE)
        pending->request->transaction = sim_transaction_new(0);
    return pending;
}

static SimOp *
add_op(Pending *pending, SimOpKind kind, const char *path, const char *data, int size)
{
    SimOp *op = sim_transaction_add(pending->request->transaction, kind, path);

    op->data = g_strndup(data, size > 0 ? (gsize)size : 0);
    return op;
}

int
zoo_acreate(zhandle_t *zh,
            const char *path,
            const char *value,
            int size,
            G_GNUC_UNUSED const struct ACL_vector *acl,
            int mode,
            string_completion_t completion,
            const void *data)
{
    Pending *pending = pending_new(SIM_WRITE, NULL, data);

    add_op(pending, SIM_CREATE, path, value, size)->mode = mode;
    pending->path = completion;
    return enqueue(zh, pending);
}

int
zoo_adelete(zhandle_t *zh,
            const char *path,
            G_GNUC_UNUSED int version,
            void_completion_t completion,
            const void *data)
{
    Pending *pending = pending_new(SIM_WRITE, NULL, data);

    add_op(pending, SIM_DELETE, path, NULL, 0);
    pending->done = completion;
    return enqueue(zh, pending);
}

int
zoo_aset(zhandle_t *zh,
         const char *path,
         const char *value,
         int size,
         int version,
         stat_completion_t completion,
         const void *data)
{
    Pending *pending = pending_new(SIM_WRITE, NULL, data);

    add_op(pending, SIM_SET, path, value, size)->version = version;
    pending->stat = completion;
    return enqueue(zh, pending);
}

int
zoo_amulti(zhandle_t *zh,
           int n,
           const zoo_op_t *ops,
           zoo_op_result_t *results,
           void_completion_t completion,
           const void *data)
{
    Pending *pending = pending_new(SIM_WRITE, NULL, data);

    pending->ops = g_memdup2(ops, (gsize)n * sizeof *ops);
    pending->results = results;
    pending->done = completion;
    for (int i = 0; i < n; i++) {
        const zoo_op_t *op = &ops[i];

        if (op->type == ZOO_CREATE_OP)
            add_op(pending, SIM_CREATE, op->create_op.path, op->create_op.data,
                   op->create_op.datalen)
                ->mode = op->create_op.flags;
        else if (op->type == ZOO_DELETE_OP)
            add_op(pending, SIM_DELETE, op->delete_op.path, NULL, 0);
        else if (op->type == ZOO_SETDATA_OP)
            add_op(pending, SIM_SET, op->set_op.path, op->set_op.data, op->set_op.datalen)
                ->version = op->set_op.version;
        else
            add_op(pending, SIM_CHECK, op->check_op.path, NULL, 0)->version = op->check_op.version;
    }
    return enqueue(zh, pending);
}

int
zoo_aexists(zhandle_t *zh,
            const char *path,
            G_GNUC_UNUSED int watch,
            stat_completion_t completion,
            const void *data)
{
    Pending *pending = pending_new(SIM_EXISTS, path, data);

    pending->stat = completion;
    return enqueue(zh, pending);
}

int
zoo_awget(zhandle_t *zh,
          const char *path,
          watcher_fn watcher,
          G_GNUC_UNUSED void *context,
          data_completion_t completion,
          const void *data)
{
    Pending *pending = pending_new(SIM_GET, path, data);

    pending->request->watches = watcher != NULL;
    pending->data = completion;
    return enqueue(zh, pending);
}

static gboolean
on_lists_fail(gpointer data)
{
    zhandle_t *zh = data;

    zh->unsent_timer = 0;
    sim_loop_set_ready(zh->fd);
    return G_SOURCE_REMOVE;
}

int
zoo_awget_children2(zhandle_t *zh,
                    const char *path,
                    watcher_fn watcher,
                    G_GNUC_UNUSED void *context,
                    strings_stat_completion_t completion,
                    const void *data)
{
    Pending *pending = pending_new(SIM_CHILDREN, path, data);

    pending->request->watches = watcher != NULL;
    pending->strings = completion;
    if (watcher == NULL || boot_time_get_us() >= lists_fail_until_us[zh->host] ||
        zh->state != ZOO_CONNECTED_STATE)
        return enqueue(zh, pending);
    g_queue_push_tail(&zh->unsent, pending);
    if (zh->unsent_timer == 0)
        zh->unsent_timer = g_timeout_add(LIST_FAILS_MS, on_lists_fail, zh);
    return ZOK;
}

int
zoo_async(zhandle_t *zh, const char *path, string_completion_t completion, const void *data)
{
    Pending *pending = pending_new(SIM_SYNC, path, data);

    pending->path = completion;
    return enqueue(zh, pending);
}
