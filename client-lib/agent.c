/* SPDX-FileCopyrightText: 2026 The WebLocks for D-Bus authors
 * SPDX-License-Identifier: LGPL-2.1-or-later */

#include "client-lib/agent-private.h"

#include "client-lib/post.h"
#include "client-lib/ticket.h"

/**
 * WebLocksAgent:
 *
 * One who asks for locks (section 2.4 of the standard): a bus connection of its own, whose unique
 * name is its client id. What it holds and awaits ends when its connection ends.
 *
 * A process has as many agents as it has parts that should exclude each other; mostly one, the
 * default one: web_locks_agent_get_default().
 *
 * It may be used by any thread. Results of asynchronous calls come to the main context that was
 * thread-default at the call; signals come to the one that was thread-default when the agent was
 * made. That context has to run for asynchronous calls to make progress. Sync calls need none.
 *
 * Since: 0.1
 */
struct _WebLocksAgent {
    GObject parent;
    GBusType bus_type;
    char *address;
    gboolean private_socket;
    Connection *connection;
};

G_DEFINE_FINAL_TYPE(WebLocksAgent, web_locks_agent, G_TYPE_OBJECT)

enum {
    PROP_BUS_TYPE = 1,
    PROP_ADDRESS,
    PROP_PRIVATE_SOCKET,
    PROP_CLIENT_ID,
    PROP_CONNECTED,
    N_PROPS,
};
static GParamSpec *properties[N_PROPS];

Connection *
web_locks_agent_get_connection(WebLocksAgent *self)
{
    return self->connection;
}

/* ---- telling that the connection opened or closed */

typedef struct {
    GWeakRef agent;
    GMainContext *context;
} AgentRef;

static void
agent_ref_clear(gpointer data)
{
    AgentRef *ref = data;

    g_weak_ref_clear(&ref->agent);
    g_main_context_unref(ref->context);
}

static void
agent_ref_unref(gpointer data)
{
    g_atomic_rc_box_release_full(data, agent_ref_clear);
}

static void
tell_changed(gpointer data)
{
    g_autoptr(GObject) self = g_weak_ref_get(&((AgentRef *)data)->agent);

    if (self == NULL)
        return;
    g_object_freeze_notify(self);
    g_object_notify_by_pspec(self, properties[PROP_CLIENT_ID]);
    g_object_notify_by_pspec(self, properties[PROP_CONNECTED]);
    g_object_thaw_notify(self);
}

/* Inside the gate. The agent is not touched: this must not drop its last reference, nor keep it if
 * its context never runs. */
static void
on_connection_changed(gpointer data)
{
    AgentRef *ref = data;

    post_to_context(ref->context, tell_changed, g_atomic_rc_box_acquire(ref), agent_ref_unref);
}

/* ---- making one */

/* Not connected yet. */
static WebLocksAgent *
agent_new(GBusType bus_type, const char *address)
{
    return g_object_new(WEB_LOCKS_TYPE_AGENT, "bus-type", bus_type, "address", address, NULL);
}

static void
on_new_connected(GObject *source, GAsyncResult *result, gpointer data)
{
    g_autoptr(GTask) task = data;
    GError *error = NULL;

    if (web_locks_agent_connect_finish(WEB_LOCKS_AGENT(source), result, &error))
        g_task_return_pointer(task, g_object_ref(source), g_object_unref);
    else
        g_task_return_error(task, error);
}

static void
connect_new(WebLocksAgent *self,
            gpointer tag,
            GCancellable *cancellable,
            GAsyncReadyCallback callback,
            gpointer user_data)
{
    GTask *task = g_task_new(NULL, cancellable, callback, user_data);

    g_task_set_source_tag(task, tag);
    web_locks_agent_connect_async(self, cancellable, on_new_connected, task);
    g_object_unref(self);
}

static WebLocksAgent *
connect_new_sync(WebLocksAgent *agent, GCancellable *cancellable, GError **error)
{
    g_autoptr(WebLocksAgent) self = agent;

    if (!web_locks_agent_connect_sync(self, cancellable, error))
        return NULL;
    return g_steal_pointer(&self);
}

/**
 * web_locks_agent_new_async:
 * @bus_type: which bus
 * @cancellable: (nullable): ends the wait
 * @callback: (scope async) (nullable): called when the agent is connected
 * @user_data: for @callback
 *
 * Makes an agent, with a connection of its own.
 *
 * Since: 0.1
 */
void
web_locks_agent_new_async(GBusType bus_type,
                          GCancellable *cancellable,
                          GAsyncReadyCallback callback,
                          gpointer user_data)
{
    connect_new(agent_new(bus_type, NULL), web_locks_agent_new_async, cancellable, callback,
                user_data);
}

/**
 * web_locks_agent_new_finish:
 * @result: the result of web_locks_agent_new_async()
 * @error: return location for an error
 *
 * Ends what web_locks_agent_new_async() began. Fails with [error@WebLocks.Error.UNAVAILABLE] if the
 * bus can't be reached. That the lock service runs is not needed yet: the bus starts it.
 *
 * Returns: (transfer full): a connected agent
 * Since: 0.1
 */
WebLocksAgent *
web_locks_agent_new_finish(GAsyncResult *result, GError **error)
{
    g_return_val_if_fail(g_task_is_valid(result, NULL), NULL);
    g_return_val_if_fail(g_async_result_is_tagged(result, web_locks_agent_new_async), NULL);
    return g_task_propagate_pointer(G_TASK(result), error);
}

/**
 * web_locks_agent_new_sync:
 * @bus_type: which bus
 * @cancellable: (nullable): ends the wait
 * @error: return location for an error
 *
 * Makes an agent, and waits until it is connected.
 *
 * See web_locks_agent_new_finish() for errors.
 *
 * Returns: (transfer full): a connected agent
 * Since: 0.1
 */
WebLocksAgent *
web_locks_agent_new_sync(GBusType bus_type, GCancellable *cancellable, GError **error)
{
    return connect_new_sync(agent_new(bus_type, NULL), cancellable, error);
}

/**
 * web_locks_agent_new_for_address_async:
 * @address: the D-Bus address of a message bus
 * @cancellable: (nullable): ends the wait
 * @callback: (scope async) (nullable): called when the agent is connected
 * @user_data: for @callback
 *
 * Makes an agent on a bus that is neither the session's nor the system's.
 *
 * Since: 0.1
 */
void
web_locks_agent_new_for_address_async(const char *address,
                                      GCancellable *cancellable,
                                      GAsyncReadyCallback callback,
                                      gpointer user_data)
{
    g_return_if_fail(address != NULL);

    connect_new(agent_new(G_BUS_TYPE_NONE, address), web_locks_agent_new_for_address_async,
                cancellable, callback, user_data);
}

/**
 * web_locks_agent_new_for_address_finish:
 * @result: the result of web_locks_agent_new_for_address_async()
 * @error: return location for an error
 *
 * Ends what web_locks_agent_new_for_address_async() began.
 *
 * See web_locks_agent_new_finish() for errors.
 *
 * Returns: (transfer full): a connected agent
 * Since: 0.1
 */
WebLocksAgent *
web_locks_agent_new_for_address_finish(GAsyncResult *result, GError **error)
{
    g_return_val_if_fail(g_task_is_valid(result, NULL), NULL);
    g_return_val_if_fail(g_async_result_is_tagged(result, web_locks_agent_new_for_address_async),
                         NULL);
    return g_task_propagate_pointer(G_TASK(result), error);
}

/**
 * web_locks_agent_new_for_address_sync:
 * @address: the D-Bus address of a message bus
 * @cancellable: (nullable): ends the wait
 * @error: return location for an error
 *
 * Makes an agent on a bus that is neither the session's nor the system's, and waits until it is
 * connected.
 *
 * See web_locks_agent_new_finish() for errors.
 *
 * Returns: (transfer full): a connected agent
 * Since: 0.1
 */
WebLocksAgent *
web_locks_agent_new_for_address_sync(const char *address, GCancellable *cancellable, GError **error)
{
    g_return_val_if_fail(address != NULL, NULL);

    return connect_new_sync(agent_new(G_BUS_TYPE_NONE, address), cancellable, error);
}

/* ---- the default ones */

typedef struct {
    GBusType bus_type;
    GMainContext *context; /* only to compare with: a living agent has a reference */
    GWeakRef agent;
    gpointer address; /* of the agent; only to compare with */
} DefaultAgent;

static GMutex default_agents_mutex;
static GPtrArray *default_agents;

static void
default_agent_free(gpointer data)
{
    DefaultAgent *entry = data;

    g_weak_ref_clear(&entry->agent);
    g_free(entry);
}

static void
forget_default_agent(WebLocksAgent *agent)
{
    g_mutex_lock(&default_agents_mutex);
    for (guint i = 0; default_agents != NULL && i < default_agents->len; i++) {
        if (((DefaultAgent *)g_ptr_array_index(default_agents, i))->address == agent) {
            g_ptr_array_remove_index_fast(default_agents, i);
            break;
        }
    }
    g_mutex_unlock(&default_agents_mutex);
}

/* An agent that was closed, or whose bus went away, won't come back: forget it. Agents of other
 * contexts are not ours to hold, not even for a moment. */
static WebLocksAgent *
find_default_agent(GBusType bus_type, GMainContext *context, GPtrArray *over)
{
    for (guint i = 0; i < default_agents->len; i++) {
        DefaultAgent *entry = g_ptr_array_index(default_agents, i);
        WebLocksAgent *agent;

        if (entry->bus_type != bus_type || entry->context != context)
            continue;
        agent = g_weak_ref_get(&entry->agent);
        if (agent != NULL && !connection_is_over(agent->connection))
            return agent;
        g_ptr_array_remove_index_fast(default_agents, i);
        if (agent != NULL)
            g_ptr_array_add(over, agent);
        return NULL;
    }
    return NULL;
}

/**
 * web_locks_agent_get_default:
 * @bus_type: which bus
 *
 * Gets the agent that all parts of a program use that have no reason for one of their own: there is
 * one for each bus and thread-default main context, as long as somebody has a reference to it.
 *
 * It connects when it is first used, or by web_locks_agent_connect_async(). If its connection ends,
 * this function makes a new one.
 *
 * Returns: (transfer full): an agent
 * Since: 0.1
 */
WebLocksAgent *
web_locks_agent_get_default(GBusType bus_type)
{
    g_autoptr(GMainContext) context = g_main_context_ref_thread_default();
    g_autoptr(GPtrArray) over = g_ptr_array_new_with_free_func(g_object_unref);
    WebLocksAgent *self;

    g_mutex_lock(&default_agents_mutex);
    if (default_agents == NULL)
        default_agents = g_ptr_array_new_with_free_func(default_agent_free);
    self = find_default_agent(bus_type, context, over);
    if (self == NULL) {
        DefaultAgent *entry = g_new0(DefaultAgent, 1);

        self = agent_new(bus_type, NULL);
        entry->bus_type = bus_type;
        entry->context = context;
        entry->address = self;
        g_weak_ref_init(&entry->agent, self);
        g_ptr_array_add(default_agents, entry);
    }
    g_mutex_unlock(&default_agents_mutex);
    return self;
}

/* ---- connecting */

typedef struct {
    Connection *connection;
    Ticket *ticket; /* NULL: cancelled */
} Connect;

static void
on_settled(gpointer data)
{
    g_autofree Connect *self = data;
    GError *error = NULL;

    if (self->ticket == NULL)
        return;
    if (connection_open(self->connection, &error))
        ticket_return_boolean(self->ticket, TRUE);
    else
        ticket_return_error(self->ticket, error);
}

static void
on_connect_cancelled(gpointer data)
{
    Connect *self = data;

    ticket_free(g_steal_pointer(&self->ticket));
}

/* Takes the ticket. */
static void
start_connect(Connection *connection, Ticket *ticket)
{
    Connect *connect = g_new0(Connect, 1);
    GError *error = NULL;

    connect->connection = connection;
    connect->ticket = ticket;
    connection_enter(connection);
    if (!ticket_listen(ticket, on_connect_cancelled, connect))
        g_free(connect);
    else if (connection_open(connection, &error))
        connection_when_settled(connection, on_settled, connect);
    else {
        ticket_return_error(ticket, error);
        g_free(connect);
    }
    connection_leave(connection);
}

/**
 * web_locks_agent_connect_async:
 * @self: an agent
 * @cancellable: (nullable): ends the wait
 * @callback: (scope async) (nullable): called when the agent is connected
 * @user_data: for @callback
 *
 * Connects the agent to its bus, if it isn't connected yet. Only default agents are not, and they
 * connect by themselves when they are used; who wants to know [property@WebLocks.Agent:client-id]
 * before that, or whether there is a bus, asks for it here.
 *
 * Since: 0.1
 */
void
web_locks_agent_connect_async(WebLocksAgent *self,
                              GCancellable *cancellable,
                              GAsyncReadyCallback callback,
                              gpointer user_data)
{
    GTask *task;

    g_return_if_fail(WEB_LOCKS_IS_AGENT(self));
    g_return_if_fail(cancellable == NULL || G_IS_CANCELLABLE(cancellable));

    task = g_task_new(self, cancellable, callback, user_data);
    g_task_set_source_tag(task, web_locks_agent_connect_async);
    start_connect(self->connection, ticket_new_for_task(self->connection, task));
}

/**
 * web_locks_agent_connect_finish:
 * @self: an agent
 * @result: the result of web_locks_agent_connect_async()
 * @error: return location for an error
 *
 * Ends what web_locks_agent_connect_async() began.
 *
 * See web_locks_agent_new_finish() for errors.
 *
 * Returns: whether the agent is connected
 * Since: 0.1
 */
gboolean
web_locks_agent_connect_finish(WebLocksAgent *self, GAsyncResult *result, GError **error)
{
    g_return_val_if_fail(g_task_is_valid(result, self), FALSE);
    g_return_val_if_fail(g_async_result_is_tagged(result, web_locks_agent_connect_async), FALSE);
    return g_task_propagate_boolean(G_TASK(result), error);
}

/**
 * web_locks_agent_connect_sync:
 * @self: an agent
 * @cancellable: (nullable): ends the wait
 * @error: return location for an error
 *
 * Connects the agent to its bus, if it isn't connected yet, and waits for it.
 *
 * See web_locks_agent_new_finish() for errors.
 *
 * Returns: whether the agent is connected
 * Since: 0.1
 */
gboolean
web_locks_agent_connect_sync(WebLocksAgent *self, GCancellable *cancellable, GError **error)
{
    SyncCall call;

    g_return_val_if_fail(WEB_LOCKS_IS_AGENT(self), FALSE);
    g_return_val_if_fail(cancellable == NULL || G_IS_CANCELLABLE(cancellable), FALSE);

    sync_call_init(&call, self->connection, cancellable);
    start_connect(self->connection, ticket_new_for_sync(&call));
    return sync_call_wait_boolean(&call, error);
}

/**
 * web_locks_agent_close:
 * @self: an agent
 *
 * Ends the agent, as the end of its process would: what waits fails with
 * [error@WebLocks.Error.ABORT], and every lock is lost. It can't be used again.
 *
 * Since: 0.1
 */
void
web_locks_agent_close(WebLocksAgent *self)
{
    g_return_if_fail(WEB_LOCKS_IS_AGENT(self));
    connection_close(self->connection);
}

/* ---- what it is */

/**
 * web_locks_agent_get_client_id:
 * @self: an agent
 *
 * Gets the client id (section 2.4 of the standard): the unique name of the agent on its bus, such
 * as
 * `:1.42`.
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
    return connection_is_open(self->connection) &&
           connection_get_client_id(self->connection) != NULL;
}

/* ---- GObject */

static void
web_locks_agent_get_property(GObject *object, guint id, GValue *value, GParamSpec *pspec)
{
    WebLocksAgent *self = WEB_LOCKS_AGENT(object);

    switch (id) {
    case PROP_BUS_TYPE:
        g_value_set_enum(value, (int)self->bus_type);
        break;
    case PROP_ADDRESS:
        g_value_set_string(value, self->address);
        break;
    case PROP_PRIVATE_SOCKET:
        g_value_set_boolean(value, self->private_socket);
        break;
    case PROP_CLIENT_ID:
        g_value_set_string(value, web_locks_agent_get_client_id(self));
        break;
    case PROP_CONNECTED:
        g_value_set_boolean(value, web_locks_agent_get_connected(self));
        break;
    default:
        G_OBJECT_WARN_INVALID_PROPERTY_ID(object, id, pspec);
    }
}

static void
web_locks_agent_set_property(GObject *object, guint id, const GValue *value, GParamSpec *pspec)
{
    WebLocksAgent *self = WEB_LOCKS_AGENT(object);

    switch (id) {
    case PROP_BUS_TYPE:
        self->bus_type = (GBusType)g_value_get_enum(value);
        break;
    case PROP_ADDRESS:
        self->address = g_value_dup_string(value);
        break;
    case PROP_PRIVATE_SOCKET:
        self->private_socket = g_value_get_boolean(value);
        break;
    default:
        G_OBJECT_WARN_INVALID_PROPERTY_ID(object, id, pspec);
    }
}

static void
web_locks_agent_constructed(GObject *object)
{
    WebLocksAgent *self = WEB_LOCKS_AGENT(object);
    AgentRef *ref = g_atomic_rc_box_new0(AgentRef);

    G_OBJECT_CLASS(web_locks_agent_parent_class)->constructed(object);
    self->connection = connection_new(self->bus_type, self->address, self->private_socket);
    g_weak_ref_init(&ref->agent, self);
    ref->context = g_main_context_ref(connection_get_context(self->connection));
    connection_set_watcher(self->connection, on_connection_changed, ref, agent_ref_unref);
}

static void
web_locks_agent_finalize(GObject *object)
{
    WebLocksAgent *self = WEB_LOCKS_AGENT(object);

    forget_default_agent(self);
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

    object_class->get_property = web_locks_agent_get_property;
    object_class->set_property = web_locks_agent_set_property;
    object_class->constructed = web_locks_agent_constructed;
    object_class->finalize = web_locks_agent_finalize;

    /**
     * WebLocksAgent:bus-type:
     *
     * Which bus, if there is no [property@WebLocks.Agent:address].
     *
     * Since: 0.1
     */
    properties[PROP_BUS_TYPE] = g_param_spec_enum("bus-type", NULL, NULL, G_TYPE_BUS_TYPE,
                                                  G_BUS_TYPE_SESSION, construct_flags);
    /**
     * WebLocksAgent:address:
     *
     * The D-Bus address of a bus that is neither the session's nor the system's.
     *
     * Since: 0.1
     */
    properties[PROP_ADDRESS] = g_param_spec_string("address", NULL, NULL, NULL, construct_flags);
    /**
     * WebLocksAgent:private-socket:
     *
     * Whether the agent talks to the lock service on a private socket, without the bus between,
     * where the service offers one and the bus carries it. It is the same but for the time that it
     * takes: a third to a half. The bus still tells who is who, and when somebody is gone.
     *
     * Since: 0.1
     */
    properties[PROP_PRIVATE_SOCKET] =
        g_param_spec_boolean("private-socket", NULL, NULL, TRUE, construct_flags);
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
     * Whether the agent is connected to its bus. Once it has ended, that is for good.
     *
     * Since: 0.1
     */
    properties[PROP_CONNECTED] = g_param_spec_boolean("connected", NULL, NULL, FALSE, flags);
    g_object_class_install_properties(object_class, N_PROPS, properties);
}

static void
web_locks_agent_init(WebLocksAgent *self)
{
}
