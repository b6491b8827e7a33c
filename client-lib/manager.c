/* SPDX-FileCopyrightText: 2026 The WebLocks for D-Bus authors
 * SPDX-License-Identifier: LGPL-2.1-or-later */

#include "config.h"

#include <glib/gi18n-lib.h>
#include <sys/random.h>
#include <unistd.h>

#include "client-lib/manager-private.h"

#include <string.h>

#include "client-lib/agent-private.h"
#include "client-lib/property-private.h"
#include "common/bus-names.h"
#include "common/bus-string.h"

/**
 * WebLocksManager:
 *
 * Requests locks in one storage bucket, and shows what is held there: the lock manager of a bucket
 * (section 2.2 of the standard), as used by one agent.
 *
 * A bucket is a name space: locks of the same name exclude each other only within one bucket. An
 * application uses its application id as the bucket's name. Buckets of other users and of sandboxed
 * applications are different buckets, even if they have the same name.
 *
 * A bucket need not be created or deleted. A manager is only the pair of an agent and a bucket's
 * name: several managers of the same pair are the same to the service, and none has locks or
 * requests of its own.
 *
 * Since: 0.1
 */
struct _WebLocksManager {
    GObject parent;
    WebLocksAgent *agent;
    GRefString *bucket;
    char *path;        /* NULL: the bucket's name is not valid */
    char *application; /* NULL: of a user, or the manager is not of an observed bucket */
    guint uid;
    gboolean observed; /* the bucket is another principal's, or this is its public name */
};

G_DEFINE_FINAL_TYPE(WebLocksManager, web_locks_manager, G_TYPE_OBJECT)

#define INSTALL(member, type, name, ...) \
    PROPERTY_INSTALL(WebLocksManager, member, type, name, __VA_ARGS__)
#define GETTER(Type, name, if_fail)                                                             \
    PROPERTY_GETTER(WebLocksManager, web_locks_manager, WEB_LOCKS_IS_MANAGER, Type, name, name, \
                    if_fail)

/* ---- constructors */

/* Encodes as sd_bus_path_encode() does: letters and digits are unchanged, except for a digit at the
 * beginning; every other byte becomes an underscore and two hexadecimal digits. */
static char *
encode_path(const char *bucket)
{
    GString *path = g_string_new(BUS_BUCKET_PREFIX "/");

    for (const char *p = bucket; *p != '\0'; p++) {
        if (g_ascii_isalpha(*p) || (g_ascii_isdigit(*p) && p > bucket))
            g_string_append_c(path, *p);
        else
            g_string_append_printf(path, "_%02x", (guchar)*p);
    }
    return g_string_free(path, FALSE);
}

static gboolean
is_bucket_name(const char *name)
{
    const size_t length = strnlen(name, BUS_BUCKET_BYTES_MAX + 1);

    return length > 0 && length <= BUS_BUCKET_BYTES_MAX && g_utf8_validate(name, -1, NULL) &&
           bus_string_is_valid(name);
}

gboolean
web_locks_manager_check_bucket(WebLocksManager *self, GError **error)
{
    if (self->path != NULL)
        return TRUE;
    g_set_error(error, G_IO_ERROR, G_IO_ERROR_INVALID_ARGUMENT,
                _("a bucket name must be 1 to %d bytes of UTF-8"), BUS_BUCKET_BYTES_MAX);
    return FALSE;
}

/**
 * web_locks_manager_new:
 * @agent: (nullable): an agent; %NULL for the default agent of the session bus
 * @bucket: (nullable): the bucket's name: 1 to 255 bytes of UTF-8; %NULL for the default bucket
 *
 * Creates a manager for a bucket.
 *
 * This function does no I/O, and can't fail: the agent connects when it is first used, and
 * operations with a bucket name that is not valid fail with `G_IO_ERROR_INVALID_ARGUMENT`.
 *
 * Returns: (transfer full): a manager
 * Since: 0.1
 */
WebLocksManager *
web_locks_manager_new(WebLocksAgent *agent, const char *bucket)
{
    g_return_val_if_fail(agent == NULL || WEB_LOCKS_IS_AGENT(agent), NULL);
    return g_object_new(WEB_LOCKS_TYPE_MANAGER, "agent", agent, "bucket", bucket, NULL);
}

/**
 * web_locks_agent_create_private_manager:
 * @self: an agent
 *
 * Creates a manager for a private session: a bucket with a random name that can't be guessed
 * (`private-` and 32 hexadecimal digits). Other processes of the same principal can join the
 * session if they get the value of [property@WebLocks.Manager:bucket], by web_locks_manager_new();
 * it doesn't depend on this agent. Pass it on by a pipe or an environment variable, since command
 * lines can be read by all users.
 *
 * Clients without a request in the session don't see this name:
 * web_locks_agent_list_observable_sync() and monitors of all buckets have its public name,
 * `private:` and a hash, in which case [property@WebLocks.Manager:observed] is %TRUE. So the user
 * can still look at the session and break its locks. An agent with a request there sees the name,
 * as long as it has one.
 *
 * Returns: (transfer full): a manager
 * Since: 0.1
 */
WebLocksManager *
web_locks_agent_create_private_manager(WebLocksAgent *self)
{
    guint64 random[2];
    g_autofree char *bucket = NULL;

    g_return_val_if_fail(WEB_LOCKS_IS_AGENT(self), NULL);

    if (getrandom(random, sizeof random, 0) != sizeof random)
        g_error("getrandom() failed");
    bucket =
        g_strdup_printf(BUS_PRIVATE_PREFIX "%016" G_GINT64_MODIFIER "x%016" G_GINT64_MODIFIER "x",
                        random[0], random[1]);
    return web_locks_manager_new(self, bucket);
}

WebLocksManager *
web_locks_manager_new_observed(
    WebLocksAgent *agent, const char *path, const char *bucket, const char *application, guint uid)
{
    WebLocksManager *self = web_locks_manager_new(agent, bucket);

    g_free(self->path);
    self->path = g_strdup(path);
    self->application = application[0] != '\0' ? g_strdup(application) : NULL;
    self->uid = uid;
    if (!g_str_has_prefix(path, BUS_BUCKET_PREFIX "/"))
        self->observed = TRUE;
    return self;
}

/* ---- properties */

Connection *
web_locks_manager_get_connection(WebLocksManager *self)
{
    return web_locks_agent_get_connection(self->agent);
}

void
web_locks_manager_call(WebLocksManager *self,
                       const MethodCallKind *kind,
                       gpointer data,
                       Caller caller)
{
    Connection *connection = web_locks_manager_get_connection(self);
    GError *error = NULL;

    if (web_locks_manager_check_bucket(self, &error))
        connection_call(connection, kind, data, caller);
    else
        method_call_refuse(kind, data, connection_get_session(connection), error, caller);
}

void
web_locks_manager_start_request(WebLocksManager *self,
                                const char *name,
                                const RequestOptions *options,
                                Caller caller)
{
    Connection *connection = web_locks_manager_get_connection(self);
    GError *error = NULL;

    if (web_locks_manager_check_request(self, name, options, &error))
        connection_request(connection, self->bucket, name, options, caller);
    else
        caller_fail(caller, connection_get_session(connection), error);
}

const char *
web_locks_manager_get_path(WebLocksManager *self)
{
    return self->path;
}

/**
 * web_locks_manager_get_agent:
 * @self: a manager
 *
 * Gets the agent of the manager.
 *
 * Returns: (transfer none): the agent
 * Since: 0.1
 */
GETTER(WebLocksAgent *, agent, NULL)

/**
 * web_locks_manager_get_bucket:
 * @self: a manager
 *
 * Gets the bucket's name. The name of a private session is a secret: any client of the same user
 * and sandbox that has it can join by web_locks_manager_new().
 *
 * Returns: (transfer none): the name
 * Since: 0.1
 */
GETTER(const char *, bucket, NULL)

/**
 * web_locks_manager_get_application:
 * @self: a manager
 *
 * Gets the id of the sandboxed application to which the bucket belongs, if the manager is one of
 * web_locks_agent_list_observable_finish().
 *
 * Returns: (transfer none) (nullable): an application id; %NULL if the bucket is that of a user, or
 *   if the manager is one of web_locks_manager_new()
 * Since: 0.1
 */
GETTER(const char *, application, NULL)

/**
 * web_locks_manager_get_uid:
 * @self: a manager
 *
 * Gets the user to whom the bucket belongs.
 *
 * Returns: a user id
 * Since: 0.1
 */
GETTER(guint, uid, 0)

/**
 * web_locks_manager_get_observed:
 * @self: a manager
 *
 * Gets whether the bucket belongs to another principal, or is a private session by its public name:
 * see [method@WebLocks.Agent.create_private_manager]. Such a bucket can be queried, inspected and
 * watched, and its locks can be broken; requests for locks fail with
 * [error@WebLocks.Error.SECURITY].
 *
 * Returns: whether the bucket can only be observed
 * Since: 0.1
 */
GETTER(gboolean, observed, FALSE)

/* ---- GObject */

/* That of an application is its own; scripts and programs without an id share one. */
static const char *
get_default_bucket(void)
{
    GApplication *application = g_application_get_default();
    const char *id = application != NULL ? g_application_get_application_id(application) : NULL;

    return id != NULL ? id : "default";
}

static void
web_locks_manager_set_property(GObject *object, guint id, const GValue *value, GParamSpec *pspec)
{
    const char *bucket;

    if (id != G_STRUCT_OFFSET(WebLocksManager, bucket)) {
        property_set(object, id, value, pspec);
        return;
    }
    bucket = g_value_get_string(value);
    WEB_LOCKS_MANAGER(object)->bucket =
        g_ref_string_new(bucket != NULL ? bucket : get_default_bucket());
}

static void
web_locks_manager_constructed(GObject *object)
{
    WebLocksManager *self = WEB_LOCKS_MANAGER(object);

    G_OBJECT_CLASS(web_locks_manager_parent_class)->constructed(object);
    if (self->agent == NULL)
        self->agent = web_locks_agent_dup_default(G_BUS_TYPE_SESSION);
    if (is_bucket_name(self->bucket))
        self->path = encode_path(self->bucket);
    self->observed = g_str_has_prefix(self->bucket, BUS_PUBLIC_PREFIX);
    self->uid = getuid();
}

static void
web_locks_manager_finalize(GObject *object)
{
    WebLocksManager *self = WEB_LOCKS_MANAGER(object);

    g_clear_object(&self->agent);
    g_clear_pointer(&self->bucket, g_ref_string_release);
    g_free(self->path);
    g_free(self->application);
    G_OBJECT_CLASS(web_locks_manager_parent_class)->finalize(object);
}

static void
web_locks_manager_class_init(WebLocksManagerClass *class)
{
    GObjectClass *object_class = G_OBJECT_CLASS(class);
    const GParamFlags flags = G_PARAM_READABLE | G_PARAM_STATIC_STRINGS;
    const GParamFlags construct_flags =
        G_PARAM_READWRITE | G_PARAM_CONSTRUCT_ONLY | G_PARAM_STATIC_STRINGS;

    object_class->get_property = property_get;
    object_class->set_property = web_locks_manager_set_property;
    object_class->constructed = web_locks_manager_constructed;
    object_class->finalize = web_locks_manager_finalize;

    /**
     * WebLocksManager:agent:
     *
     * The agent of the manager. If none is given, it is the default agent of the session bus and of
     * the thread-default main context.
     *
     * Since: 0.1
     */
    INSTALL(agent, object, "agent", WEB_LOCKS_TYPE_AGENT, construct_flags);
    /**
     * WebLocksManager:bucket:
     *
     * The bucket's name: 1 to 255 bytes of UTF-8. If none is given, it is the id of the default
     * `GApplication` or, if there is none with an id, `default`.
     *
     * Since: 0.1
     */
    INSTALL(bucket, string, "bucket", NULL, construct_flags);
    /**
     * WebLocksManager:application:
     *
     * The id of the sandboxed application to which an observed bucket belongs.
     *
     * Since: 0.1
     */
    INSTALL(application, string, "application", NULL, flags);
    /**
     * WebLocksManager:uid:
     *
     * The user to whom the bucket belongs.
     *
     * Since: 0.1
     */
    INSTALL(uid, uint, "uid", 0, G_MAXUINT, 0, flags);
    /**
     * WebLocksManager:observed:
     *
     * Whether the bucket can only be observed: it belongs to another principal, or it is a private
     * session by its public name.
     *
     * Since: 0.1
     */
    INSTALL(observed, boolean, "observed", FALSE, flags);
}

static void
web_locks_manager_init(WebLocksManager *self)
{
}
