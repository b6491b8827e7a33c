/* SPDX-FileCopyrightText: 2026 The WebLocks for D-Bus authors
 * SPDX-License-Identifier: LGPL-2.1-or-later */

/* libweblocks for JavaScript, by Node-API only, so that one object works in all versions of
 * Node.js, and in Bun and Deno.
 *
 * Each environment (the main thread, each worker) is an agent of its own. All functions of the
 * library are called in its thread and in its own main context (loop.h). platform.js calls the
 * functions below, with a number for each request, which is that of its lock, too. Results come by
 * the functions that start() gets: result(number, code, value), where `value` is the message if
 * `code` is not null, lost(number, code, message), and wanted(number) when it has changed whether
 * somebody waits.
 *
 * A process stays alive while operations are pending. What it holds does not keep it alive. */

#include <node_api.h>
#include <string.h>
#include <weblocks/weblocks.h>

#include "loop.h"
#include "value.h"

/* How long an answer is waited for before the thread waits instead: to wake up this thread by
 * another one takes longer than the service needs for an answer. */
#define ANSWER_PATIENCE_US 50

/* The flags of request(). */
enum {
    FLAG_SHARED = 1,
    FLAG_IF_AVAILABLE = 2,
    FLAG_STEAL = 4,
    FLAG_CAN_BE_CANCELLED = 8,
    FLAG_IS_CANCELLED = 16,
};

typedef struct {
    napi_env env;
    Loop *loop;
    napi_threadsafe_function wake;
    napi_ref result, lost, wanted;
    WebLocksAgent *agent;     /* NULL: none yet, or its connection has ended */
    WebLocksManager *manager; /* the one that was used last; NULL: none */
    char *bucket;             /* that of `manager`; NULL: the default one */
    GHashTable *requests;     /* number -> Request: pending requests and locks */
    guint n_pending;
    gboolean is_closing;
} Module;

typedef struct {
    Module *module;
    gint64 number;
    GCancellable *cancellable;
    WebLocksLock *lock; /* NULL: pending */
} Request;

/* ---- results */

/* An exception of the function, such as that of a listener, is an uncaught one: what called this
 * goes on. Otherwise this fails only while the environment ends. */
static void
call(Module *self, napi_ref function_ref, gint64 number, const char *code, napi_value value)
{
    napi_value function = NULL, receiver = NULL, exception = NULL;
    napi_value arguments[] = {
        value_new_number(self->env, (double)number),
        code != NULL ? value_new_string(self->env, code) : value_new_null(self->env), value};

    napi_get_reference_value(self->env, function_ref, &function);
    napi_get_undefined(self->env, &receiver);
    if (napi_call_function(self->env, receiver, function, G_N_ELEMENTS(arguments), arguments,
                           NULL) == napi_pending_exception &&
        napi_get_and_clear_last_exception(self->env, &exception) == napi_ok)
        napi_fatal_exception(self->env, exception);
}

static void
call_with_error(Module *self, napi_ref function, gint64 number, const GError *error)
{
    call(self, function, number, value_get_code(error),
         value_new_string(self->env, error->message));
}

/* The result of an operation; `value` NULL: none. */
static void
report(Module *self, gint64 number, const GError *error, napi_value value)
{
    if (self->is_closing)
        return;
    if (error != NULL)
        call_with_error(self, self->result, number, error);
    else
        call(self, self->result, number, NULL, value != NULL ? value : value_new_null(self->env));
}

static void
begin_pending(Module *self)
{
    if (self->n_pending++ == 0)
        napi_ref_threadsafe_function(self->env, self->wake);
}

static void
end_pending(Module *self)
{
    if (--self->n_pending == 0 && !self->is_closing)
        napi_unref_threadsafe_function(self->env, self->wake);
}

/* ---- requests and locks */

static void
on_lost(WebLocksLock *lock, GError *error, gpointer data)
{
    const Request *request = data;

    if (!request->module->is_closing)
        call_with_error(request->module, request->module->lost, request->number, error);
}

static void
on_wanted(WebLocksLock *lock, GParamSpec *property, gpointer data)
{
    const Request *request = data;
    Module *module = request->module;

    if (!module->is_closing)
        call(module, module->wanted, request->number, NULL, value_new_null(module->env));
}

static void
request_free(gpointer data)
{
    Request *self = data;

    if (self->lock != NULL)
        g_signal_handlers_disconnect_by_data(self->lock, self);
    g_clear_object(&self->lock);
    g_clear_object(&self->cancellable);
    g_free(self);
}

/* A loss is reported by a later delivery than the grant, so it is not missed. */
static void
take_lock(Request *self, WebLocksLock *take_lock)
{
    Module *module = self->module;

    self->lock = take_lock;
    g_signal_connect(self->lock, "lost", G_CALLBACK(on_lost), self);
    report(module, self->number, NULL,
           value_new_number(module->env, (double)web_locks_lock_get_token(self->lock)));
}

static void
on_requested(GObject *source, GAsyncResult *result, gpointer data)
{
    Request *request = data;
    Module *self = request->module;
    g_autoptr(GError) error = NULL;
    g_autoptr(WebLocksLock) lock =
        web_locks_manager_request_finish(WEB_LOCKS_MANAGER(source), result, &error);

    end_pending(self);
    if (lock != NULL && !self->is_closing) {
        take_lock(request, g_steal_pointer(&lock));
        return;
    }
    report(self, request->number, error, NULL);
    g_hash_table_remove(self->requests, &request->number);
}

typedef struct {
    Module *module;
    gint64 number;
} Operation;

static Operation *
operation_new(Module *module, gint64 number)
{
    Operation *self = g_new(Operation, 1);

    *self = (Operation){module, number};
    begin_pending(module);
    return self;
}

static void
end_operation(gpointer data, const GError *error, napi_value value)
{
    g_autofree Operation *operation = data;

    end_pending(operation->module);
    report(operation->module, operation->number, error, value);
}

static void
on_downgraded(GObject *source, GAsyncResult *result, gpointer data)
{
    g_autoptr(GError) error = NULL;

    web_locks_lock_downgrade_finish(WEB_LOCKS_LOCK(source), result, &error);
    end_operation(data, error, NULL);
}

static void
on_queried(GObject *source, GAsyncResult *result, gpointer data)
{
    const Module *self = ((const Operation *)data)->module;
    g_autoptr(GError) error = NULL;
    g_autoptr(WebLocksSnapshot) snapshot =
        web_locks_manager_query_finish(WEB_LOCKS_MANAGER(source), result, &error);
    napi_value value = NULL;

    if (snapshot != NULL && !self->is_closing) {
        napi_create_object(self->env, &value);
        napi_set_named_property(self->env, value, "held",
                                value_new_list(self->env, web_locks_snapshot_get_held(snapshot)));
        napi_set_named_property(
            self->env, value, "pending",
            value_new_list(self->env, web_locks_snapshot_get_pending(snapshot)));
    }
    end_operation(data, error, value);
}

/* ---- the agent */

/* An agent is not connected again. What is pending has references. */
static void
on_connected_changed(WebLocksAgent *agent, GParamSpec *pspec, gpointer data)
{
    Module *self = data;

    if (web_locks_agent_get_connected(agent) || self->agent != agent)
        return;
    g_clear_object(&self->manager);
    g_signal_handlers_disconnect_by_data(agent, self);
    g_clear_object(&self->agent);
}

static WebLocksAgent *
get_agent(Module *self)
{
    if (self->agent == NULL) {
        self->agent = web_locks_agent_new(G_BUS_TYPE_SESSION, NULL);
        g_signal_connect(self->agent, "notify::connected", G_CALLBACK(on_connected_changed), self);
    }
    return self->agent;
}

/* `bucket` is NULL for the default one. */
static WebLocksManager *
get_manager(Module *self, const char *bucket)
{
    WebLocksAgent *agent = get_agent(self);

    if (self->manager != NULL && g_strcmp0(self->bucket, bucket) == 0)
        return self->manager;
    g_clear_object(&self->manager);
    self->manager = web_locks_manager_new(agent, bucket);
    if (self->bucket != bucket) {
        g_free(self->bucket);
        self->bucket = g_strdup(bucket);
    }
    return self->manager;
}

/* ---- the functions for JavaScript */

static Module *
get_arguments(napi_env env, napi_callback_info info, napi_value *values, size_t n_values)
{
    void *data = NULL;

    napi_get_cb_info(env, info, &n_values, values, NULL, &data);
    return data;
}

/* For what is sent. The thread does not wait for the answer: look() and wait() have to follow. */
static Module *
enter(napi_env env, napi_callback_info info, napi_value *values, size_t n_values)
{
    Module *self = get_arguments(env, info, values, n_values);

    loop_pause(self->loop);
    g_main_context_push_thread_default(loop_get_context(self->loop));
    return self;
}

static void
leave(Module *self)
{
    g_main_context_pop_thread_default(loop_get_context(self->loop));
}

/* Returns NULL if there is no such lock. */
static Request *
get_held(Module *self, napi_value value)
{
    const gint64 number = value_get_number(self->env, value);
    Request *request = g_hash_table_lookup(self->requests, &number);

    return request != NULL && request->lock != NULL ? request : NULL;
}

/* request(number, bucket, name, flags, timeout, why, slots, command) */
static napi_value
request(napi_env env, napi_callback_info info)
{
    napi_value values[8];
    Module *self = enter(env, info, values, G_N_ELEMENTS(values));
    const gint64 flags = value_get_number(env, values[3]);
    const guint timeout_ms = (guint)value_get_number(env, values[4]);
    const gint64 slots = value_get_number(env, values[6]);
    char bucket[STRING_BYTES_MAX], name[STRING_BYTES_MAX], why[STRING_BYTES_MAX];
    char command[STRING_BYTES_MAX];
    const char *why_or_null = value_get_string(env, values[5], why);
    const char *command_or_null = value_get_string(env, values[7], command);
    g_autoptr(WebLocksOptions) options = NULL;
    Request *request = g_new0(Request, 1);

    request->module = self;
    request->number = value_get_number(env, values[0]);
    if (flags & (FLAG_CAN_BE_CANCELLED | FLAG_IS_CANCELLED))
        request->cancellable = g_cancellable_new();
    if (flags & FLAG_IS_CANCELLED)
        g_cancellable_cancel(request->cancellable);
    if ((flags & (FLAG_SHARED | FLAG_IF_AVAILABLE | FLAG_STEAL)) || timeout_ms > 0 || why_or_null ||
        slots != 1 || command_or_null) {
        options =
            g_object_new(WEB_LOCKS_TYPE_OPTIONS, "mode",
                         flags & FLAG_SHARED ? WEB_LOCKS_MODE_SHARED : WEB_LOCKS_MODE_EXCLUSIVE,
                         "if-available", (flags & FLAG_IF_AVAILABLE) != 0, "steal",
                         (flags & FLAG_STEAL) != 0, "timeout", timeout_ms, "why", why_or_null,
                         "command", command_or_null, "slots", (guint)slots, NULL);
    }
    g_hash_table_insert(self->requests, &request->number, request);
    begin_pending(self);
    value_get_string(env, values[2], name);
    web_locks_manager_request_async(get_manager(self, value_get_string(env, values[1], bucket)),
                                    name, options, request->cancellable, on_requested, request);
    leave(self);
    return NULL;
}

/* cancel(number): only pending requests can be cancelled. */
static napi_value
cancel(napi_env env, napi_callback_info info)
{
    napi_value values[1];
    Module *self = enter(env, info, values, G_N_ELEMENTS(values));
    const gint64 number = value_get_number(env, values[0]);
    const Request *request = g_hash_table_lookup(self->requests, &number);

    if (request != NULL && request->cancellable != NULL)
        g_cancellable_cancel(request->cancellable);
    leave(self);
    return NULL;
}

/* downgrade(number, number of the lock), which is held by the script */
static napi_value
downgrade(napi_env env, napi_callback_info info)
{
    napi_value values[2];
    Module *self = enter(env, info, values, G_N_ELEMENTS(values));
    const Request *request = get_held(self, values[1]);

    web_locks_lock_downgrade_async(request->lock, NULL, on_downgraded,
                                   operation_new(self, value_get_number(env, values[0])));
    leave(self);
    return NULL;
}

/* release(number): does not wait for the service. Returns null, or {code, message} if the lock was
 * lost, as far as the service has sent it. */
static napi_value
release(napi_env env, napi_callback_info info)
{
    napi_value values[1], value;
    Module *self = enter(env, info, values, G_N_ELEMENTS(values));
    Request *request = get_held(self, values[0]);
    const GError *error = request != NULL ? web_locks_lock_get_error(request->lock) : NULL;

    value = value_new_null(self->env);
    if (error != NULL) {
        napi_create_object(env, &value);
        value_set_string(self->env, value, "code", value_get_code(error));
        value_set_string(self->env, value, "message", error->message);
    }
    if (request != NULL) {
        web_locks_lock_release(request->lock);
        g_hash_table_remove(self->requests, &request->number);
    }
    leave(self);
    return value;
}

/* isWanted(number): whether somebody waits for the lock. */
static napi_value
is_wanted(napi_env env, napi_callback_info info)
{
    napi_value values[1], value = NULL;
    Module *self = get_arguments(env, info, values, G_N_ELEMENTS(values));
    const Request *request = get_held(self, values[0]);

    napi_get_boolean(env, request != NULL && web_locks_lock_get_wanted(request->lock), &value);
    return value;
}

/* listen(number): from now on, wanted(number) is called. */
static napi_value
listen_to_wanted(napi_env env, napi_callback_info info)
{
    napi_value values[1];
    Module *self = get_arguments(env, info, values, G_N_ELEMENTS(values));
    Request *request = get_held(self, values[0]);

    if (request != NULL)
        g_signal_connect(request->lock, "notify::wanted", G_CALLBACK(on_wanted), request);
    return NULL;
}

/* query(number, bucket) */
static napi_value
query(napi_env env, napi_callback_info info)
{
    napi_value values[2];
    Module *self = enter(env, info, values, G_N_ELEMENTS(values));
    char bucket[STRING_BYTES_MAX];

    web_locks_manager_query_async(get_manager(self, value_get_string(env, values[1], bucket)), NULL,
                                  on_queried,
                                  operation_new(self, value_get_number(env, values[0])));
    leave(self);
    return NULL;
}

/* ---- batches, and answers */

typedef struct {
    napi_env env;
    napi_value function;
} Batch;

static void
call_batch(gpointer data)
{
    const Batch *batch = data;
    napi_value receiver = NULL;

    napi_get_undefined(batch->env, &receiver);
    napi_call_function(batch->env, receiver, batch->function, 0, NULL, NULL);
}

/* batch(function): calls the function, and sends what the functions above append in it together. */
static napi_value
batch(napi_env env, napi_callback_info info)
{
    napi_value values[1];
    Module *self = enter(env, info, values, G_N_ELEMENTS(values));
    Batch batch = {env, values[0]};

    web_locks_agent_batch(get_agent(self), call_batch, &batch);
    leave(self);
    return NULL;
}

/* look(isExpecting): calls with the results that are there, and returns whether there were any. If
 * an answer is expected, it is waited for, but not long. */
static napi_value
look(napi_env env, napi_callback_info info)
{
    napi_value values[1], value = NULL;
    Module *self = get_arguments(env, info, values, G_N_ELEMENTS(values));
    bool is_expecting = false;

    napi_get_value_bool(env, values[0], &is_expecting);
    napi_get_boolean(env, loop_run(self->loop, is_expecting ? ANSWER_PATIENCE_US : 0), &value);
    return value;
}

/* wait(): lets the thread wait for events, until something is sent. */
static napi_value
wait_for_events(napi_env env, napi_callback_info info)
{
    loop_wait(get_arguments(env, info, NULL, 0)->loop);
    return NULL;
}

/* ---- life */

/* In the waiting thread. */
static void
wake(gpointer data)
{
    napi_call_threadsafe_function(((Module *)data)->wake, NULL, napi_tsfn_nonblocking);
}

/* `env` is NULL, and `context` is not valid any more, when the environment has ended. */
static void
on_wake(napi_env env, napi_value function, void *context, void *data)
{
    Module *self = context;

    if (env == NULL)
        return;
    loop_run(self->loop, 0);
    loop_wait(self->loop);
}

/* The agent ends, and with it all that it holds and waits for. Nothing may be called in JavaScript.
 */
static void
module_free(void *data)
{
    Module *self = data;
    g_autoptr(GMainContext) context = g_main_context_ref(loop_get_context(self->loop));

    self->is_closing = TRUE;
    loop_free(self->loop);
    if (self->wake != NULL)
        napi_release_threadsafe_function(self->wake, napi_tsfn_abort);
    if (self->agent != NULL) {
        g_signal_handlers_disconnect_by_data(self->agent, self);
        web_locks_agent_close(self->agent);
    }
    while (self->n_pending > 0 && g_main_context_iteration(context, FALSE))
        ;
    g_hash_table_unref(self->requests);
    g_clear_object(&self->manager);
    g_clear_object(&self->agent);
    g_free(self->bucket);
    g_free(self);
}

static const napi_property_descriptor functions[] = {
    {.utf8name = "batch", .method = batch},
    {.utf8name = "cancel", .method = cancel},
    {.utf8name = "downgrade", .method = downgrade},
    {.utf8name = "isWanted", .method = is_wanted},
    {.utf8name = "listen", .method = listen_to_wanted},
    {.utf8name = "look", .method = look},
    {.utf8name = "query", .method = query},
    {.utf8name = "release", .method = release},
    {.utf8name = "request", .method = request},
    {.utf8name = "wait", .method = wait_for_events},
};

/* start(result, lost, wanted): begins an agent, and returns its functions. The hook runs before the
 * end of the threadsafe function, since it is added after it. */
static napi_value
start(napi_env env, napi_callback_info info)
{
    g_autoptr(GError) error = NULL;
    napi_property_descriptor properties[G_N_ELEMENTS(functions)];
    napi_value values[3], object = NULL;
    Module *self;

    get_arguments(env, info, values, G_N_ELEMENTS(values));
    self = g_new0(Module, 1);
    self->env = env;
    self->loop = loop_new(wake, self, &error);
    if (self->loop == NULL) {
        napi_throw_error(env, NULL, error->message);
        g_free(self);
        return NULL;
    }
    self->requests = g_hash_table_new_full(g_int64_hash, g_int64_equal, NULL, request_free);
    if (napi_create_threadsafe_function(env, NULL, NULL, value_new_string(self->env, "weblocks"), 0,
                                        1, NULL, NULL, self, on_wake, &self->wake) != napi_ok ||
        napi_add_env_cleanup_hook(env, module_free, self) != napi_ok) {
        module_free(self);
        napi_throw_error(env, NULL, "no event loop");
        return NULL;
    }
    napi_unref_threadsafe_function(env, self->wake);
    napi_create_reference(env, values[0], 1, &self->result);
    napi_create_reference(env, values[1], 1, &self->lost);
    napi_create_reference(env, values[2], 1, &self->wanted);

    memcpy(properties, functions, sizeof properties);
    for (guint i = 0; i < G_N_ELEMENTS(properties); i++)
        properties[i].data = self;
    napi_create_object(env, &object);
    napi_define_properties(env, object, G_N_ELEMENTS(properties), properties);
    return object;
}

/* Node-API's symbol of a module that can be loaded in several environments. */
NAPI_MODULE_EXPORT napi_value napi_register_module_v1(napi_env env, napi_value exports);

napi_value
napi_register_module_v1(napi_env env, napi_value exports)
{
    const napi_property_descriptor property = {
        .utf8name = "start", .method = start, .attributes = napi_enumerable};

    napi_define_properties(env, exports, 1, &property);
    return exports;
}
