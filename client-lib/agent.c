/* SPDX-FileCopyrightText: 2026 The WebLocks for D-Bus authors
 * SPDX-License-Identifier: LGPL-2.1-or-later */

#include "config.h"

#include "client-lib/agent-private.h"

#include <libintl.h>

#include "client-lib/engine/process.h"
#include "client-lib/property-private.h"

/**
 * WebLocksAgent:
 *
 * A client that requests locks (section 2.4 of the standard), with a connection to the bus of its
 * own. The unique name of the connection is its client id. All its requests and locks end when the
 * connection ends.
 *
 * A process needs one agent for each of its parts that should exclude each other. Most processes
 * need only the default one: web_locks_agent_dup_default().
 *
 * An agent connects to its bus when it is first used. To wait until it is connected, for its
 * [property@WebLocks.Agent:client-id] or to find out whether there is a bus, call
 * g_async_initable_init_async() or g_initable_init(): they fail with
 * [error@WebLocks.Error.UNAVAILABLE] if the bus can't be reached, after at most 25 seconds, and may
 * be called again. The lock service need not be running: the bus starts it when it is needed.
 *
 * An agent can be used from any thread. Asynchronous operations return in the main context that was
 * thread-default when they were started. Signals are emitted in the main context that was
 * thread-default when the agent was created; this context has to run for asynchronous operations to
 * make progress. Synchronous calls need no main context.
 *
 * Since: 0.1
 */
struct _WebLocksAgent {
    GObject parent;
    GBusType bus_type;
    char *address;
    Connection *connection;

    gboolean is_default;   /* in `default_agents`; then also: */
    GMainContext *context; /* only compared */
    guint n_lookups;       /* that are about to take a reference */
};

static void initable_init(GInitableIface *iface);
static void async_initable_init(GAsyncInitableIface *iface);

G_DEFINE_FINAL_TYPE_WITH_CODE(WebLocksAgent,
                              web_locks_agent,
                              G_TYPE_OBJECT,
                              G_IMPLEMENT_INTERFACE(G_TYPE_INITABLE, initable_init)
                                  G_IMPLEMENT_INTERFACE(G_TYPE_ASYNC_INITABLE, async_initable_init))

enum {
    PROP_CLIENT_ID = 1,
    PROP_CONNECTED,
    PROP_SERVICE_RUNNING,
    N_PROPS,
};
static GParamSpec *properties[N_PROPS];

Connection *
web_locks_agent_get_connection(WebLocksAgent *self)
{
    return self->connection;
}

/* ---- notification of property changes */

/* A weak reference to the agent, for notifications: a queued notification must not keep the agent
 * alive, and the last strong reference must not be dropped with the session lock held. */
typedef struct {
    GWeakRef agent;
    int is_queued; /* whether a notification is queued; atomic */
} AgentRef;

static void
agent_ref_clear(gpointer data)
{
    g_weak_ref_clear(&((AgentRef *)data)->agent);
}

static void
agent_ref_unref(gpointer data)
{
    g_atomic_rc_box_release_full(data, agent_ref_clear);
}

static void
notify(gpointer data)
{
    AgentRef *ref = data;
    g_autoptr(GObject) self = g_weak_ref_get(&ref->agent);

    g_atomic_int_set(&ref->is_queued, FALSE);
    if (self == NULL)
        return;
    g_object_freeze_notify(self);
    g_object_notify_by_pspec(self, properties[PROP_CLIENT_ID]);
    g_object_notify_by_pspec(self, properties[PROP_CONNECTED]);
    g_object_notify_by_pspec(self, properties[PROP_SERVICE_RUNNING]);
    g_object_thaw_notify(self);
}

static void
on_connection_changed(Session *session, gpointer data)
{
    AgentRef *ref = data;

    if (g_atomic_int_compare_and_exchange(&ref->is_queued, FALSE, TRUE))
        session_deliver(session, session_get_context(session), notify, g_atomic_rc_box_acquire(ref),
                        agent_ref_unref);
}

/* ---- constructors */

/**
 * web_locks_agent_new:
 * @bus_type: which bus, if @address is %NULL
 * @address: (nullable): the D-Bus address of a message bus, of one or several unix sockets; %NULL
 *   for a well-known bus
 *
 * Creates an agent that is a client of its own. It connects to the bus when it is first used.
 *
 * Returns: (transfer full): an agent
 * Since: 0.1
 */
WebLocksAgent *
web_locks_agent_new(GBusType bus_type, const char *address)
{
    return g_object_new(WEB_LOCKS_TYPE_AGENT, "bus-type", bus_type, "address", address, NULL);
}

/* ---- default agents */

/* Those that exist. Protected by PROCESS_MUTEX_AGENTS, with which an agent that is disposed of
 * removes itself. No reference is taken with the mutex held: that could run code of a language's
 * binding that waits for a thread with the lock of the interpreter, which waits for the mutex. So
 * an agent that is found doesn't end before end_lookup(). */
static GPtrArray *default_agents;

/* Finds an agent whose connection has not ended. */
static WebLocksAgent *
find_agent(GBusType bus_type, GMainContext *context)
{
    for (guint i = 0; default_agents != NULL && i < default_agents->len; i++) {
        WebLocksAgent *known = default_agents->pdata[i];

        if (known->bus_type == bus_type && known->context == context &&
            connection_check(known->connection, NULL))
            return known;
    }
    return NULL;
}

static void
remember_agent(WebLocksAgent *agent)
{
    agent->is_default = TRUE;
    agent->context = connection_get_context(agent->connection);
    if (default_agents == NULL)
        default_agents = g_ptr_array_new();
    g_ptr_array_add(default_agents, agent);
}

/* Returns FALSE if the agent was disposed of meanwhile. */
static gboolean
end_lookup(WebLocksAgent *agent)
{
    gboolean is_default, is_last;

    process_lock(PROCESS_MUTEX_AGENTS);
    is_last = --agent->n_lookups == 0;
    is_default = agent->is_default;
    process_unlock(PROCESS_MUTEX_AGENTS);
    if (is_last && !is_default)
        g_object_unref(agent); /* the reference of web_locks_agent_dispose() */
    return is_default;
}

static void
web_locks_agent_dispose(GObject *object)
{
    WebLocksAgent *self = WEB_LOCKS_AGENT(object);

    process_lock(PROCESS_MUTEX_AGENTS);
    if (self->is_default) {
        g_ptr_array_remove_fast(default_agents, self);
        self->is_default = FALSE;
        if (self->n_lookups > 0)
            g_object_ref(self);
    }
    process_unlock(PROCESS_MUTEX_AGENTS);
    G_OBJECT_CLASS(web_locks_agent_parent_class)->dispose(object);
}

/**
 * web_locks_agent_dup_default:
 * @bus_type: which bus
 *
 * Gets the shared agent for parts of a program that need no agent of their own. There is one for
 * each bus and thread-default main context, as long as there are references to it.
 *
 * Nobody can close it, since other parts of the program may use it. If its connection has ended,
 * this function creates a new agent.
 *
 * Returns: (transfer full): an agent
 * Since: 0.1
 */
WebLocksAgent *
web_locks_agent_dup_default(GBusType bus_type)
{
    g_autoptr(GMainContext) context = g_main_context_ref_thread_default();
    WebLocksAgent *self, *found;

    for (;;) {
        process_lock(PROCESS_MUTEX_AGENTS);
        self = found = find_agent(bus_type, context);
        if (found != NULL) {
            found->n_lookups++;
        } else {
            self = web_locks_agent_new(bus_type, NULL);
            remember_agent(self);
        }
        process_unlock(PROCESS_MUTEX_AGENTS);
        if (found == NULL)
            return self;
        g_object_ref(found);
        if (end_lookup(found))
            return found;
        g_object_unref(found);
    }
}

/* ---- connecting: GInitable and GAsyncInitable */

static gboolean
connect_sync(GInitable *initable, GCancellable *cancellable, GError **error)
{
    SyncCall sync;

    connection_connect(WEB_LOCKS_AGENT(initable)->connection, caller_of_sync(&sync, cancellable));
    return sync_call_wait(&sync, error) != NULL;
}

static void
connect_async(GAsyncInitable *initable,
              int io_priority,
              GCancellable *cancellable,
              GAsyncReadyCallback callback,
              gpointer user_data)
{
    connection_connect(WEB_LOCKS_AGENT(initable)->connection,
                       caller_async(initable, connect_async, cancellable, callback, user_data));
}

static gboolean
connect_finish(GAsyncInitable *initable, GAsyncResult *result, GError **error)
{
    g_return_val_if_fail(async_result_is_valid(result, initable, connect_async), FALSE);
    return async_result_take(result, error) != NULL;
}

static void
initable_init(GInitableIface *iface)
{
    iface->init = connect_sync;
}

static void
async_initable_init(GAsyncInitableIface *iface)
{
    iface->init_async = connect_async;
    iface->init_finish = connect_finish;
}

/* ---- the end */

/**
 * web_locks_agent_close:
 * @self: an agent
 *
 * Ends the agent, as the end of its process would: pending requests fail with
 * [error@WebLocks.Error.CLOSED], and all locks are lost. The agent can't be used again. Its
 * connection to the bus is closed.
 *
 * An agent of web_locks_agent_dup_default() must not be closed: it belongs to the other parts of
 * the program, too. It ends when nobody uses it any more.
 *
 * Since: 0.1
 */
void
web_locks_agent_close(WebLocksAgent *self)
{
    g_return_if_fail(WEB_LOCKS_IS_AGENT(self));
    g_return_if_fail(!self->is_default);
    connection_close(self->connection);
}

/* ---- batches */

/**
 * web_locks_agent_batch:
 * @self: an agent
 * @function: (scope call): a function that starts asynchronous requests of this agent, and releases
 *   its locks
 * @user_data: for @function
 *
 * Calls @function, and then sends what it has started together. That costs less than to send each
 * by itself.
 *
 * Callbacks of the library that request something have this effect, too: the requests are sent when
 * the main context of the agent has called all callbacks that are due. Releases are sent
 * immediately there. Synchronous functions send what was started before, and themselves.
 *
 * Since: 0.1
 */
void
web_locks_agent_batch(WebLocksAgent *self, WebLocksBatchFunc function, gpointer user_data)
{
    g_return_if_fail(WEB_LOCKS_IS_AGENT(self));
    g_return_if_fail(function != NULL);

    connection_batch(self->connection, function, user_data);
}

/* ---- properties */

/**
 * web_locks_agent_get_client_id:
 * @self: an agent
 *
 * Gets the client id (section 2.4 of the standard): the unique name of the agent's connection, such
 * as `:1.42`.
 *
 * Returns: (transfer none) (nullable): the id; %NULL until it is connected
 * Since: 0.1
 */
const char *
web_locks_agent_get_client_id(WebLocksAgent *self)
{
    g_return_val_if_fail(WEB_LOCKS_IS_AGENT(self), NULL);
    return connection_get_client_id(self->connection);
}

/**
 * web_locks_agent_get_connected:
 * @self: an agent
 *
 * Gets whether the agent is connected to its bus.
 *
 * Returns: whether it is
 * Since: 0.1
 */
gboolean
web_locks_agent_get_connected(WebLocksAgent *self)
{
    g_return_val_if_fail(WEB_LOCKS_IS_AGENT(self), FALSE);
    return connection_is_connected(self->connection);
}

/**
 * web_locks_agent_get_service_running:
 * @self: an agent
 *
 * Gets whether the lock service is running on the agent's bus, as the bus has last reported it.
 *
 * This is for programs that show the state of the service. To request a lock it need not be known:
 * the bus starts a service that isn't running when it is needed.
 *
 * Returns: whether it is; %FALSE while the agent isn't connected
 * Since: 0.1
 */
gboolean
web_locks_agent_get_service_running(WebLocksAgent *self)
{
    g_return_val_if_fail(WEB_LOCKS_IS_AGENT(self), FALSE);
    return connection_is_served(self->connection);
}

/* ---- GObject */

static void
web_locks_agent_get_property(GObject *object, guint id, GValue *value, GParamSpec *pspec)
{
    WebLocksAgent *self = WEB_LOCKS_AGENT(object);

    if (id == PROP_CLIENT_ID)
        g_value_set_string(value, web_locks_agent_get_client_id(self));
    else if (id == PROP_CONNECTED)
        g_value_set_boolean(value, web_locks_agent_get_connected(self));
    else if (id == PROP_SERVICE_RUNNING)
        g_value_set_boolean(value, web_locks_agent_get_service_running(self));
    else
        property_get(object, id, value, pspec);
}

static void
web_locks_agent_constructed(GObject *object)
{
    WebLocksAgent *self = WEB_LOCKS_AGENT(object);
    AgentRef *ref = g_atomic_rc_box_new0(AgentRef);

    G_OBJECT_CLASS(web_locks_agent_parent_class)->constructed(object);
    g_weak_ref_init(&ref->agent, self);
    self->connection =
        connection_new(self->bus_type, self->address, on_connection_changed, ref, agent_ref_unref);
}

static void
web_locks_agent_finalize(GObject *object)
{
    WebLocksAgent *self = WEB_LOCKS_AGENT(object);

    connection_unref(self->connection);
    g_free(self->address);
    G_OBJECT_CLASS(web_locks_agent_parent_class)->finalize(object);
}

static void
web_locks_agent_class_init(WebLocksAgentClass *class)
{
    GObjectClass *object_class = G_OBJECT_CLASS(class);
    const GParamFlags flags = G_PARAM_READABLE | G_PARAM_STATIC_STRINGS;
    const GParamFlags construct_flags =
        G_PARAM_READWRITE | G_PARAM_CONSTRUCT_ONLY | G_PARAM_STATIC_STRINGS;

    /* Every message of the library comes from an agent or from a call that has created one. */
    bindtextdomain(GETTEXT_PACKAGE, WEBLOCKS_LOCALEDIR);
    bind_textdomain_codeset(GETTEXT_PACKAGE, "UTF-8");

    object_class->get_property = web_locks_agent_get_property;
    object_class->set_property = property_set;
    object_class->constructed = web_locks_agent_constructed;
    object_class->dispose = web_locks_agent_dispose;
    object_class->finalize = web_locks_agent_finalize;

    /**
     * WebLocksAgent:bus-type:
     *
     * The bus to connect to, if [property@WebLocks.Agent:address] is %NULL.
     *
     * Since: 0.1
     */
    PROPERTY_INSTALL(WebLocksAgent, bus_type, enum, "bus-type", G_TYPE_BUS_TYPE, G_BUS_TYPE_SESSION,
                     construct_flags);
    /**
     * WebLocksAgent:address:
     *
     * The D-Bus address of the bus to connect to; %NULL for a well-known bus.
     *
     * Since: 0.1
     */
    PROPERTY_INSTALL(WebLocksAgent, address, string, "address", NULL, construct_flags);
    /**
     * WebLocksAgent:client-id:
     *
     * The unique name of the agent on its bus; %NULL until it is connected.
     *
     * Since: 0.1
     */
    properties[PROP_CLIENT_ID] = g_param_spec_string("client-id", NULL, NULL, NULL, flags);
    /**
     * WebLocksAgent:connected:
     *
     * Whether the agent is connected to its bus. After the connection has ended, the agent does not
     * connect again.
     *
     * Since: 0.1
     */
    properties[PROP_CONNECTED] = g_param_spec_boolean("connected", NULL, NULL, FALSE, flags);
    /**
     * WebLocksAgent:service-running:
     *
     * Whether the lock service is running on the agent's bus. %FALSE while the agent isn't
     * connected.
     *
     * Since: 0.1
     */
    properties[PROP_SERVICE_RUNNING] =
        g_param_spec_boolean("service-running", NULL, NULL, FALSE, flags);
    g_object_class_install_properties(object_class, N_PROPS, properties);
}

static void
web_locks_agent_init(WebLocksAgent *self)
{
}
