/* SPDX-FileCopyrightText: 2026 The WebLocks for D-Bus authors
 * SPDX-License-Identifier: LGPL-2.1-or-later */

/* Runs cases on libweblocks, through its public API and a message bus. Each agent is a
 * WebLocksAgent with a separate connection; all are in this process and in one main context.
 *
 * The library exposes no ids: here each request has a number, and `release` and `abort` use the
 * lock and the GCancellable of that number. A request without a lock can't be released, so the
 * driver itself returns NotHeld for it.
 *
 * Requests that can't wait, with `steal` or `ifAvailable`, are made by synchronous calls, the
 * others by asynchronous ones. */

#include <weblocks/weblocks.h>

#include "tests/lib/loss-name.h"
#include "tests/spec/bus-session.h"

/* Time-outs are multiplied by this, since on a busy machine time passes between a line with a
 * time-out and the one that awaits it. */
#define TIMEOUT_FACTOR 5

typedef struct {
    BusClient base;
    WebLocksAgent *agent;
    GHashTable *managers; /* bucket -> WebLocksManager */
} Client;

typedef struct {
    BusSession base;
    GPtrArray *requests; /* of Request; its number is its index and one more */
} Session;

typedef struct {
    guint64 number;
    char letter;
    Client *client;            /* NULL: disconnected */
    const SpecRequest *wanted; /* borrowed from the case */
    gboolean is_sync;
    gboolean waits;            /* reported as waiting: what follows is an event */
    GCancellable *cancellable; /* NULL: none */

    gboolean is_done;
    WebLocksLock *lock; /* NULL: not granted */
    GError *error;
    char *lost; /* the reason; NULL: not lost */
} Request;

/* ---- cases that can't be expressed */

static const char foreign_ids[] = "the library exposes no ids that could be used by another client";
static const char own_keys[] = "the library chooses the keys";

static const struct {
    const char *name;
    const char *reason;
} inexpressible[] = {
    {"known-bug-5-id-of-another-client", foreign_ids},
    {"known-bug-6-id-of-another-bucket", foreign_ids},
    {"abort-of-another-client", foreign_ids},
    {"abort-of-unused-id", foreign_ids},
    {"release-not-held", foreign_ids},
    {"modes", "WebLocksMode has no other values"},
    {"signal-not-supported", "a GCancellable can be combined with all options"},
    {"key-repeats", own_keys},
    {"key-mismatch", own_keys},
    {"key-of-a-waiting-request", own_keys},
    {"key-reusable", own_keys},
    {"key-of-a-repeated-steal", own_keys},
    {"key-range", own_keys},
    {"repeats-are-free", own_keys},
};

static const char *
get_skip_reason(const SpecCase *spec)
{
    for (guint i = 0; i < G_N_ELEMENTS(inexpressible); i++)
        if (g_str_equal(inexpressible[i].name, spec->name))
            return inexpressible[i].reason;
    for (guint i = 0; i < spec->steps->len; i++)
        if (((const SpecStep *)spec->steps->pdata[i])->verb == SPEC_WATCH)
            return "the library's watchers get lists, not events";
    return NULL;
}

/* ---- sessions */

static void
request_free(gpointer data)
{
    Request *request = data;

    g_assert_true(request->is_done);
    if (request->lock != NULL)
        g_signal_handlers_disconnect_by_data(request->lock, request);
    g_clear_object(&request->lock);
    g_clear_object(&request->cancellable);
    g_clear_error(&request->error);
    g_free(request->lost);
    g_free(request);
}

static gpointer
start(const char *const *limits)
{
    Session *session = bus_session_start(sizeof(Session), limits);

    session->requests = g_ptr_array_new_with_free_func(request_free);
    return session;
}

static void
stop(gpointer self)
{
    Session *session = self;
    GPtrArray *requests = session->requests;

    bus_session_stop(session);
    g_ptr_array_unref(requests);
}

static void
run_what_is_ready(void)
{
    while (g_main_context_iteration(NULL, FALSE))
        ;
}

/* ---- clients */

static void
join(gpointer self, char letter)
{
    g_autoptr(GError) error = NULL;
    WebLocksAgent *agent = web_locks_agent_new(G_BUS_TYPE_NONE, bus_session_bus()->address);
    Client *client;

    g_initable_init(G_INITABLE(agent), NULL, &error);
    g_assert_no_error(error);
    g_assert_true(web_locks_agent_get_connected(agent));
    client =
        bus_session_add_client(self, sizeof(Client), letter, web_locks_agent_get_client_id(agent));
    client->agent = agent;
    client->managers = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, g_object_unref);
}

static WebLocksManager *
get_manager(Client *client, const char *bucket)
{
    WebLocksManager *manager = g_hash_table_lookup(client->managers, bucket);

    if (manager != NULL)
        return manager;
    manager = web_locks_manager_new(client->agent, bucket);
    g_hash_table_insert(client->managers, g_strdup(bucket), manager);
    return manager;
}

static gboolean
is_true(gpointer data)
{
    return *(gboolean *)data;
}

static void
close_agent(gpointer agent, gpointer unused)
{
    web_locks_agent_close(agent);
    g_assert_false(web_locks_agent_get_connected(agent));
}

/* Whether the application has been notified of the end of this request of a closed agent. */
static gboolean
is_ended(gpointer data)
{
    const Request *request = data;

    return request->is_done && (request->lock == NULL || !web_locks_lock_get_held(request->lock));
}

static void
die(gpointer self, char letter)
{
    Session *session = self;
    Client *client = bus_session_remove_client(self, letter);
    g_autoptr(GPtrArray) ended = g_ptr_array_new();

    for (guint i = 0; i < session->requests->len; i++) {
        Request *request = session->requests->pdata[i];

        if (request->client != client)
            continue;
        request->client = NULL;
        if (!is_ended(request))
            g_ptr_array_add(ended, request);
    }
    private_bus_wait_gone(bus_session_bus(), web_locks_agent_get_client_id(client->agent),
                          close_agent, client->agent);
    /* A query of another client wouldn't be ordered after it: queries don't use the bus. */
    private_bus_ping_service(bus_session_bus());
    for (guint i = 0; i < ended->len; i++) {
        const Request *request = ended->pdata[i];

        g_assert_true(private_bus_wait(is_ended, ended->pdata[i]));
        run_what_is_ready();
        if (request->lock != NULL)
            g_assert_cmpstr(request->lost, ==, "terminated");
        else
            g_assert_error(request->error, WEB_LOCKS_ERROR, WEB_LOCKS_ERROR_CLOSED);
    }

    g_hash_table_unref(client->managers);
    g_object_unref(client->agent);
    bus_session_free_client(client);
}

/* ---- errors */

static const char *
name_error(const GError *error)
{
    static const char *const names[] = {
        [WEB_LOCKS_ERROR_NOT_SUPPORTED] = "NotSupported",
        [WEB_LOCKS_ERROR_SECURITY] = "Security",
        [WEB_LOCKS_ERROR_INVALID_STATE] = "InvalidState",
        [WEB_LOCKS_ERROR_CLOSED] = "Abort",
        [WEB_LOCKS_ERROR_STOLEN] = "Stolen",
        [WEB_LOCKS_ERROR_LOST] = "Lost",
        [WEB_LOCKS_ERROR_TIMEOUT] = "Timeout",
        [WEB_LOCKS_ERROR_NOT_HELD] = "NotHeld",
        [WEB_LOCKS_ERROR_LIMITS] = "LimitsExceeded",
        [WEB_LOCKS_ERROR_UNAVAILABLE] = "Unavailable",
    };

    if (error->domain == WEB_LOCKS_ERROR) {
        g_assert_cmpint(error->code, <, G_N_ELEMENTS(names));
        return names[error->code];
    }
    if (g_error_matches(error, G_IO_ERROR, G_IO_ERROR_INVALID_ARGUMENT))
        return "InvalidArgs";
    if (g_error_matches(error, G_IO_ERROR, G_IO_ERROR_CANCELLED))
        return "Cancelled";
    return g_quark_to_string(error->domain);
}

static void
take_error(SpecAnswer *answer, const GError *error)
{
    if (error == NULL)
        return;
    answer->error = g_strdup(name_error(error));
    answer->message = g_strdup(error->message);
}

/* ---- events */

static const char *
name_mode(WebLocksMode mode)
{
    return mode == WEB_LOCKS_MODE_SHARED ? "shared" : "exclusive";
}

static SpecEvent *
add_event(Request *request, SpecVerb kind)
{
    SpecEvent *event = spec_event_new(kind, request->number, request->letter);

    event->bucket = g_strdup(request->wanted->bucket);
    if (request->lock != NULL) {
        event->name = g_strdup(web_locks_lock_get_name(request->lock));
        event->mode = g_strdup(name_mode(web_locks_lock_get_mode(request->lock)));
    } else {
        event->name = g_strdup(request->wanted->name);
        event->mode = g_strdup(request->wanted->mode != NULL ? request->wanted->mode : "exclusive");
    }
    g_queue_push_tail(&request->client->base.events, event);
    return event;
}

static void
on_lost(WebLocksLock *lock, const GError *error, gpointer data)
{
    Request *request = data;

    g_assert_true(lock == request->lock);
    g_assert_false(web_locks_lock_get_held(lock));
    g_assert_cmpstr(request->lost, ==, NULL); /* notified only once */
    request->lost = g_strdup(loss_name(error));
    if (request->client != NULL)
        add_event(request, SPEC_RELEASED)->reason = g_strdup(request->lost);
}

static void
request_done(Request *request, WebLocksLock *lock)
{
    g_assert_false(request->is_done);
    request->is_done = TRUE;
    request->lock = lock;
    if (lock != NULL) {
        g_assert_no_error(request->error);
        g_signal_connect(lock, "lost", G_CALLBACK(on_lost), request);
    }
}

static void
on_requested(GObject *source, GAsyncResult *result, gpointer data)
{
    WebLocksManager *manager = WEB_LOCKS_MANAGER(source);
    Request *request = data;

    request_done(request, web_locks_manager_request_finish(manager, result, &request->error));
    if (!request->waits || request->client == NULL)
        return;
    if (request->lock != NULL)
        add_event(request, SPEC_GRANTED)->token = web_locks_lock_get_token(request->lock);
    else if (g_error_matches(request->error, WEB_LOCKS_ERROR, WEB_LOCKS_ERROR_TIMEOUT))
        add_event(request, SPEC_RELEASED)->reason = g_strdup("timeout");
    else if (!g_error_matches(request->error, G_IO_ERROR, G_IO_ERROR_CANCELLED))
        add_event(request, SPEC_RELEASED)->reason =
            g_strdup(request->error != NULL ? name_error(request->error) : "unavailable");
}

/* ---- calls */

static void
on_queried(GObject *source, GAsyncResult *result, gpointer data)
{
    g_autoptr(GError) error = NULL;
    g_autoptr(WebLocksSnapshot) snapshot =
        web_locks_manager_query_finish(WEB_LOCKS_MANAGER(source), result, &error);

    g_assert_no_error(error);
    g_assert_nonnull(snapshot);
    *(gboolean *)data = TRUE;
}

/* On return everything that the client sent has been processed, and its notifications have arrived:
 * the service processes messages in order. */
static void
complete_pending_calls(WebLocksManager *manager)
{
    gboolean done = FALSE;

    web_locks_manager_query_async(manager, NULL, on_queried, &done);
    g_assert_true(private_bus_wait(is_true, &done));
    run_what_is_ready();
}

static WebLocksOptions *
make_options(const SpecRequest *wanted)
{
    WebLocksOptions *options = web_locks_options_new();

    if (wanted->mode != NULL) {
        g_assert_true(g_str_equal(wanted->mode, "shared") ||
                      g_str_equal(wanted->mode, "exclusive"));
        web_locks_options_set_mode(options, g_str_equal(wanted->mode, "shared")
                                                ? WEB_LOCKS_MODE_SHARED
                                                : WEB_LOCKS_MODE_EXCLUSIVE);
    }
    g_assert_cmpuint(wanted->key, ==, 0);
    web_locks_options_set_if_available(options, wanted->if_available);
    web_locks_options_set_steal(options, wanted->steal || wanted->steal_method);
    web_locks_options_set_timeout(options, wanted->timeout_ms * TIMEOUT_FACTOR);
    web_locks_options_set_why(options, wanted->why);
    return options;
}

static Request *
add_request(Session *session, Client *client, const SpecRequest *wanted)
{
    Request *request = g_new0(Request, 1);

    g_ptr_array_add(session->requests, request);
    request->number = session->requests->len;
    request->letter = client->base.letter;
    request->client = client;
    request->wanted = wanted;
    request->is_sync = wanted->if_available || wanted->steal || wanted->steal_method;
    /* A request with a cancellable can be aborted. */
    if (!request->is_sync)
        request->cancellable = g_cancellable_new();
    return request;
}

static void
request_lock(gpointer self, char letter, const SpecRequest *wanted, SpecAnswer *answer)
{
    Client *client = bus_session_get_client(self, letter);
    WebLocksManager *manager = get_manager(client, wanted->bucket);
    Request *request = add_request(self, client, wanted);
    g_autoptr(WebLocksOptions) options = make_options(wanted);

    if (request->is_sync) {
        request_done(request,
                     web_locks_manager_request_sync(manager, wanted->name, options,
                                                    request->cancellable, &request->error));
    } else {
        web_locks_manager_request_async(manager, wanted->name, options, request->cancellable,
                                        on_requested, request);
        g_assert_false(request->is_done); /* the callback is never called from within the call */
        complete_pending_calls(manager);
    }

    take_error(answer, request->error);
    if (request->lock != NULL) {
        g_assert_true(web_locks_lock_get_held(request->lock));
        answer->token = web_locks_lock_get_token(request->lock);
        g_assert_cmpuint(answer->token, !=, 0);
    }
    request->waits = !request->is_done;
    if (request->lock != NULL || request->waits)
        answer->id = request->number;
}

/* The request must be of this agent and bucket; the library can't express others. */
static Request *
find_request(const Session *session, char letter, const char *bucket, guint64 number)
{
    Request *request;

    if (number == 0 || number > session->requests->len)
        g_error("%" G_GUINT64_FORMAT " is not a request: this case can't be expressed", number);
    request = session->requests->pdata[number - 1];
    if (request->letter != letter || !g_str_equal(request->wanted->bucket, bucket))
        g_error("a request of another agent or bucket: this case can't be expressed");
    return request;
}

typedef struct {
    gboolean is_done;
    GError *error;
} Release;

static void
on_released(GObject *source, GAsyncResult *result, gpointer data)
{
    Release *release = data;
    gboolean released =
        web_locks_lock_release_finish(WEB_LOCKS_LOCK(source), result, &release->error);

    g_assert_true(released == (release->error == NULL));
    release->is_done = TRUE;
}

static gboolean
is_release_done(gpointer data)
{
    const Release *release = data;

    return release->is_done;
}

static GError *
release_and_wait(const Request *request)
{
    Release release = {0};

    if (request->is_sync) {
        web_locks_lock_release_sync(request->lock, NULL, &release.error);
    } else {
        web_locks_lock_release_async(request->lock, NULL, on_released, &release);
        g_assert_false(web_locks_lock_get_held(request->lock));
        g_assert_true(private_bus_wait(is_release_done, &release));
    }
    g_assert_false(web_locks_lock_get_held(request->lock));
    return release.error;
}

static void
release_lock(gpointer self, char letter, const char *bucket, guint64 id, SpecAnswer *answer)
{
    Request *request = find_request(self, letter, bucket, id);
    g_autoptr(GError) error = NULL;
    int why;

    if (request->lock == NULL) {
        answer->error = g_strdup("NotHeld");
        answer->message = g_strdup("There is no lock to release");
        return;
    }
    error = release_and_wait(request);
    take_error(answer, error);
    if (request->lost == NULL)
        return;

    /* The service only replies that the lock isn't held; the library has the reason. */
    why = g_str_equal(request->lost, "stolen") ? WEB_LOCKS_ERROR_STOLEN : WEB_LOCKS_ERROR_LOST;
    g_assert_error(error, WEB_LOCKS_ERROR, why);
    g_free(answer->error);
    answer->error = g_strdup("NotHeld");
}

static gboolean
is_request_done(gpointer data)
{
    const Request *request = data;

    return request->is_done;
}

static void
abort_request(gpointer self, char letter, const char *bucket, guint64 id, SpecAnswer *answer)
{
    Request *request = find_request(self, letter, bucket, id);
    gboolean was_done = request->is_done;

    g_assert_nonnull(request->cancellable);
    g_cancellable_cancel(request->cancellable);
    g_assert_true(private_bus_wait(is_request_done, request));
    /* The library doesn't report whether the abort came in time, so the result is waited for. */
    if (request->client != NULL)
        complete_pending_calls(get_manager(request->client, bucket));
    answer->aborted =
        !was_done && g_error_matches(request->error, G_IO_ERROR, G_IO_ERROR_CANCELLED);
}

static void
break_locks(gpointer self, char letter, const char *bucket, const char *name, SpecAnswer *answer)
{
    Client *client = bus_session_get_client(self, letter);
    g_autoptr(GError) error = NULL;
    int count = web_locks_manager_break_sync(get_manager(client, bucket), name, NULL, NULL, &error);

    answer->id = (guint64)MAX(count, 0);
    take_error(answer, error);
}

static void
append_infos(const BusSession *session, GListModel *infos, gboolean held, GPtrArray *texts)
{
    for (guint i = 0; i < g_list_model_get_n_items(infos); i++) {
        g_autoptr(WebLocksLockInfo) info = g_list_model_get_item(infos, i);
        char letter = bus_session_find_letter(session, web_locks_lock_info_get_client_id(info));

        g_assert_true(web_locks_lock_info_get_held(info) == held);
        g_ptr_array_add(texts,
                        g_strdup_printf("%s %s %c", web_locks_lock_info_get_name(info),
                                        name_mode(web_locks_lock_info_get_mode(info)), letter));
    }
}

static void
query(gpointer self, char letter, const char *bucket, GPtrArray *held, GPtrArray *pending)
{
    g_autoptr(GError) error = NULL;
    g_autoptr(WebLocksSnapshot) snapshot = web_locks_manager_query_sync(
        get_manager(bus_session_get_client(self, letter), bucket), NULL, &error);

    g_assert_no_error(error);
    append_infos(self, web_locks_snapshot_get_held(snapshot), TRUE, held);
    append_infos(self, web_locks_snapshot_get_pending(snapshot), FALSE, pending);
}

/* ---- time */

/* The reply to a query arrives after everything that the service sent before it. */
static void
settle(gpointer self)
{
    const BusSession *session = self;

    for (guint i = 0; i < SPEC_AGENTS; i++) {
        Client *client = (Client *)session->clients[i];
        g_autoptr(WebLocksSnapshot) snapshot = NULL;
        g_autoptr(GError) error = NULL;

        if (client == NULL)
            continue;
        /* NOLINTNEXTLINE(clang-analyzer-deadcode.DeadStores): its cleanup is its use */
        snapshot = web_locks_manager_query_sync(get_manager(client, "default"), NULL, &error);
        g_assert_no_error(error);
    }
    run_what_is_ready();
}

/* Events for other clients that are caused by an event are sent in the same turn, so they have
 * arrived after a query. */
static void
await(gpointer self, char letter)
{
    bus_session_wait_event(self, letter);
    settle(self);
}

const SpecDriver spec_driver_library = {
    .name = "library",
    .get_skip_reason = get_skip_reason,
    .set_up = bus_session_set_up,
    .tear_down = bus_session_tear_down,
    .start = start,
    .stop = stop,
    .join = join,
    .die = die,
    .request = request_lock,
    .release = release_lock,
    .abort = abort_request,
    .break_locks = break_locks,
    .query = query,
    .settle = settle,
    .await = await,
    .take_event = bus_session_take_event,
};
