/* SPDX-FileCopyrightText: 2026 The WebLocks for D-Bus authors
 * SPDX-License-Identifier: LGPL-2.1-or-later */

#include "client-lib/lock-info-private.h"

#include <string.h>

#include "client-lib/who.h"
#include "common/bus-names.h"
#include "common/lock-mode.h"

/**
 * WebLocksLockInfo:
 *
 * A held lock or a pending request: the `LockInfo` of the standard (section 3.2).
 *
 * A query returns name, mode and client; only inspecting returns the rest.
 *
 * Since: 0.1
 */
struct _WebLocksLockInfo {
    GObject parent;
    WebLocksManager *manager; /* NULL: of a query */
    char *name;
    WebLocksMode mode;
    guint slots;
    gboolean held;
    char *client_id;
    guint64 token;
    char *why;
    guint64 id;
    guint64 key; /* 0: of another client */
    gint64 since_us;
    guint pid;
    char *process;
    char *command; /* the option `for` */
    char *who;     /* NULL: nobody has asked for it yet */
    guint who_pid; /* if `who` is known */
    char *application;
    guint uid;
    guint position;
    char **blocked_by;
    guint64 cursor;
    guint64 rank;  /* of the bucket, if this is of a monitor */
    guint64 order; /* in the bucket, likewise */
};

G_DEFINE_FINAL_TYPE(WebLocksLockInfo, web_locks_lock_info, G_TYPE_OBJECT)

enum {
    PROP_NAME = 1,
    PROP_MODE,
    PROP_HELD,
    PROP_CLIENT_ID,
    PROP_TOKEN,
    PROP_WHY,
    PROP_PID,
    PROP_PROCESS,
    PROP_POSITION,
    PROP_BLOCKED_BY,
    PROP_ID,
    PROP_SINCE,
    PROP_APPLICATION,
    PROP_UID,
    PROP_MANAGER,
    PROP_WHO,
    PROP_WHO_PID,
    PROP_SLOTS,
    N_PROPS,
};
static GParamSpec *properties[N_PROPS];

/* ---- from D-Bus messages */

static WebLocksMode
mode_from_word(const char *word)
{
    LockMode mode = LOCK_MODE_EXCLUSIVE;

    lock_mode_from_string(word, &mode);
    return mode == LOCK_MODE_SHARED ? WEB_LOCKS_MODE_SHARED : WEB_LOCKS_MODE_EXCLUSIVE;
}

WebLocksLockInfo *
web_locks_lock_info_new_from_query(const char *name,
                                   const char *mode,
                                   const char *client_id,
                                   gboolean held)
{
    WebLocksLockInfo *self = g_object_new(WEB_LOCKS_TYPE_LOCK_INFO, NULL);

    g_free(self->name);
    g_free(self->client_id);
    self->name = g_strdup(name);
    self->mode = mode_from_word(mode);
    self->client_id = g_strdup(client_id);
    self->held = held;
    return self;
}

/* Reads a value of the type of the place that is to have it. Returns FALSE if it has another one.
 */
static gboolean
read_value(GVariant *value, const char *type, gpointer place)
{
    if (!g_variant_is_of_type(value, G_VARIANT_TYPE(type)))
        return FALSE;
    if (type[0] == 's') {
        g_free(*(char **)place);
        *(char **)place = g_variant_dup_string(value, NULL);
    } else if (type[0] == 'a') {
        g_strfreev(*(char ***)place);
        *(char ***)place = g_variant_dup_strv(value, NULL);
    } else {
        g_variant_get(value, type, place);
    }
    return TRUE;
}

/* Unknown keys, of a newer service, are ignored. */
WebLocksLockInfo *
web_locks_lock_info_new_from_inspect(GVariant *entry)
{
    g_autoptr(WebLocksLockInfo) self = g_object_new(WEB_LOCKS_TYPE_LOCK_INFO, NULL);
    g_autofree char *mode = g_strdup(""), *state = g_strdup("");
    guint64 age_ms = G_MAXUINT64;
    const struct {
        const char *key;
        const char *type;
        gpointer place;
    } known[] = {
        {"name", "s", &self->name},
        {"clientId", "s", &self->client_id},
        {"why", "s", &self->why},
        {"for", "s", &self->command},
        {"process", "s", &self->process},
        {"app", "s", &self->application},
        {"blockedBy", "as", &self->blocked_by},
        {"token", "t", &self->token},
        {"id", "t", &self->id},
        {"key", "t", &self->key},
        {"cursor", "t", &self->cursor},
        {"pid", "u", &self->pid},
        {"uid", "u", &self->uid},
        {"position", "u", &self->position},
        {"slots", "u", &self->slots},
        {"mode", "s", &mode},
        {"state", "s", &state},
        {"age", "t", &age_ms},
    };

    for (guint i = 0; i < G_N_ELEMENTS(known); i++) {
        g_autoptr(GVariant) value = g_variant_lookup_value(entry, known[i].key, NULL);

        if (value != NULL && !read_value(value, known[i].type, known[i].place))
            return NULL;
    }
    self->mode = mode_from_word(mode);
    self->held = strcmp(state, BUS_STATE_HELD) == 0;
    self->slots = MAX(self->slots, 1);
    if (age_ms != G_MAXUINT64)
        self->since_us = g_get_real_time() - (gint64)MIN(age_ms, (guint64)G_MAXINT64 / 2000) * 1000;
    return g_steal_pointer(&self);
}

guint64
web_locks_lock_info_get_cursor(WebLocksLockInfo *self)
{
    return self->cursor;
}

guint64
web_locks_lock_info_get_key(WebLocksLockInfo *self)
{
    return self->key;
}

gboolean
web_locks_lock_info_is_of_another_host(WebLocksLockInfo *self)
{
    return g_str_has_prefix(self->client_id, BUS_HOST_PREFIX);
}

/* ---- for monitors */

void
web_locks_lock_info_set_manager(WebLocksLockInfo *self, WebLocksManager *manager)
{
    g_set_object(&self->manager, manager);
}

void
web_locks_lock_info_set_order(WebLocksLockInfo *self, guint64 rank, guint64 order)
{
    self->rank = rank;
    self->order = order;
}

guint64
web_locks_lock_info_get_order(WebLocksLockInfo *self)
{
    return self->order;
}

int
web_locks_lock_info_compare(gpointer a, gpointer b)
{
    const WebLocksLockInfo *self = a, *other = b;

    if (self->rank != other->rank)
        return self->rank < other->rank ? -1 : 1;
    return self->order < other->order ? -1 : self->order > other->order;
}

static void
notify(WebLocksLockInfo *self, guint property)
{
    g_object_notify_by_pspec(G_OBJECT(self), properties[property]);
}

static void
freeze(WebLocksLockInfo *self, GPtrArray *frozen)
{
    g_object_freeze_notify(G_OBJECT(self));
    g_ptr_array_add(frozen, g_object_ref(self));
}

void
web_locks_lock_info_set_queued(WebLocksLockInfo *self,
                               guint position,
                               const char *const *blocked_by,
                               GPtrArray *frozen)
{
    const gboolean is_moved = self->position != position;
    const gboolean is_blocked = !g_strv_equal((const char *const *)self->blocked_by, blocked_by);

    if (!is_moved && !is_blocked)
        return;
    freeze(self, frozen);
    if (is_moved)
        notify(self, PROP_POSITION);
    if (is_blocked)
        notify(self, PROP_BLOCKED_BY);
    self->position = position;
    if (is_blocked) {
        g_strfreev(self->blocked_by);
        self->blocked_by = g_strdupv((char **)blocked_by);
    }
}

void
web_locks_lock_info_set_granted(WebLocksLockInfo *self, const LockGrant *grant, GPtrArray *frozen)
{
    static const char *const none[] = {NULL};

    web_locks_lock_info_set_queued(self, 0, none, frozen);
    freeze(self, frozen);
    self->held = TRUE;
    self->token = grant->token;
    self->since_us = grant->since_us;
    notify(self, PROP_HELD);
    notify(self, PROP_TOKEN);
    notify(self, PROP_SINCE);
}

void
web_locks_lock_info_set_downgraded(WebLocksLockInfo *self, GPtrArray *frozen)
{
    freeze(self, frozen);
    self->mode = WEB_LOCKS_MODE_SHARED;
    self->slots = 1;
    notify(self, PROP_MODE);
    notify(self, PROP_SLOTS);
}

LockGrant
web_locks_lock_info_get_grant(WebLocksLockInfo *self)
{
    return (LockGrant){self->token, self->since_us};
}

/* ---- properties */

/**
 * web_locks_lock_info_get_id:
 * @self: a lock info
 *
 * Gets the id of the lock or request, which is unique together with its client id. Only inspecting
 * returns it.
 *
 * Returns: the id; 0 if it is not known
 * Since: 0.1
 */
guint64
web_locks_lock_info_get_id(WebLocksLockInfo *self)
{
    g_return_val_if_fail(WEB_LOCKS_IS_LOCK_INFO(self), 0);
    return self->id;
}

/**
 * web_locks_lock_info_get_since:
 * @self: a lock info
 *
 * Gets when the lock was granted or, if it is pending, requested. Only inspecting returns it.
 *
 * Returns: microseconds since 1970 in UTC, as g_get_real_time(); 0 if it is not known
 * Since: 0.1
 */
gint64
web_locks_lock_info_get_since(WebLocksLockInfo *self)
{
    g_return_val_if_fail(WEB_LOCKS_IS_LOCK_INFO(self), 0);
    return self->since_us;
}

/**
 * web_locks_lock_info_get_application:
 * @self: a lock info
 *
 * Gets the application id of the client, if it is in a Flatpak or Snap sandbox. Only inspecting
 * returns it.
 *
 * Returns: (transfer none): the application id; "" if there is none, or it is not known
 * Since: 0.1
 */
const char *
web_locks_lock_info_get_application(WebLocksLockInfo *self)
{
    g_return_val_if_fail(WEB_LOCKS_IS_LOCK_INFO(self), NULL);
    return self->application;
}

/**
 * web_locks_lock_info_get_uid:
 * @self: a lock info
 *
 * Gets the user id of the client. Only inspecting returns it.
 *
 * Returns: the user id; %G_MAXUINT, which is that of no user, if it is not known
 * Since: 0.1
 */
guint
web_locks_lock_info_get_uid(WebLocksLockInfo *self)
{
    g_return_val_if_fail(WEB_LOCKS_IS_LOCK_INFO(self), G_MAXUINT);
    return self->uid;
}

/**
 * web_locks_lock_info_get_manager:
 * @self: a lock info
 *
 * Gets the bucket of the lock or request. With web_locks_manager_break_async() it ends the lock.
 *
 * Returns: (transfer none) (nullable): the manager; %NULL if this is the result of a query
 * Since: 0.1
 */
WebLocksManager *
web_locks_lock_info_get_manager(WebLocksLockInfo *self)
{
    g_return_val_if_fail(WEB_LOCKS_IS_LOCK_INFO(self), NULL);
    return self->manager;
}

/**
 * web_locks_lock_info_get_name:
 * @self: a lock info
 *
 * Gets the resource name.
 *
 * Returns: (transfer none): the name
 * Since: 0.1
 */
const char *
web_locks_lock_info_get_name(WebLocksLockInfo *self)
{
    g_return_val_if_fail(WEB_LOCKS_IS_LOCK_INFO(self), NULL);
    return self->name;
}

/**
 * web_locks_lock_info_get_mode:
 * @self: a lock info
 *
 * Gets the lock mode.
 *
 * Returns: the mode
 * Since: 0.1
 */
WebLocksMode
web_locks_lock_info_get_mode(WebLocksLockInfo *self)
{
    g_return_val_if_fail(WEB_LOCKS_IS_LOCK_INFO(self), WEB_LOCKS_MODE_EXCLUSIVE);
    return self->mode;
}

/**
 * web_locks_lock_info_get_held:
 * @self: a lock info
 *
 * Gets whether the lock is held; otherwise the request is pending.
 *
 * Returns: %TRUE: held; %FALSE: waiting
 * Since: 0.1
 */
gboolean
web_locks_lock_info_get_held(WebLocksLockInfo *self)
{
    g_return_val_if_fail(WEB_LOCKS_IS_LOCK_INFO(self), FALSE);
    return self->held;
}

/**
 * web_locks_lock_info_get_client_id:
 * @self: a lock info
 *
 * Gets the client: the unique name of its agent on the bus, as
 * [property@WebLocks.Agent:client-id]. In a bucket that several hosts share, it is `host:` and the
 * name of a host if another host holds or waits for the lock.
 *
 * Returns: (transfer none): the unique name
 * Since: 0.1
 */
const char *
web_locks_lock_info_get_client_id(WebLocksLockInfo *self)
{
    g_return_val_if_fail(WEB_LOCKS_IS_LOCK_INFO(self), NULL);
    return self->client_id;
}

/**
 * web_locks_lock_info_get_token:
 * @self: a lock info
 *
 * Gets the fencing token of a held lock. Only inspecting returns it.
 *
 * Returns: the token; 0 if it is pending, or not from inspecting
 * Since: 0.1
 */
guint64
web_locks_lock_info_get_token(WebLocksLockInfo *self)
{
    g_return_val_if_fail(WEB_LOCKS_IS_LOCK_INFO(self), 0);
    return self->token;
}

/**
 * web_locks_lock_info_get_why:
 * @self: a lock info
 *
 * Gets the purpose that the client has given. Only inspecting returns it.
 *
 * Returns: (transfer none): a few words; "" if there are none
 * Since: 0.1
 */
const char *
web_locks_lock_info_get_why(WebLocksLockInfo *self)
{
    g_return_val_if_fail(WEB_LOCKS_IS_LOCK_INFO(self), NULL);
    return self->why;
}

static void
find_who(WebLocksLockInfo *self)
{
    if (self->who == NULL)
        self->who = who_get(self, self->command, &self->who_pid);
}

/**
 * web_locks_lock_info_get_who:
 * @self: a lock info
 *
 * Gets the name by which people know who holds the lock or waits for it: the command that runs
 * under the lock, if the client has named one, as `weblocks run` does; the name of the application
 * that its desktop entry has, or its id; the script that an interpreter runs; the process; or, if
 * nothing is known of that, the bucket. Another host is `host:` and its name. Beside it,
 * [property@WebLocks.LockInfo:why] tells several windows of one process apart.
 *
 * It is found out at the first call, from small files of `/proc` and the desktop entry, and then
 * stays the same. It is no proof: processes choose their names and commands. Only inspecting
 * returns enough for it.
 *
 * Returns: (transfer none): the name; that of a query is [property@WebLocks.LockInfo:client-id]
 * Since: 0.1
 */
const char *
web_locks_lock_info_get_who(WebLocksLockInfo *self)
{
    g_return_val_if_fail(WEB_LOCKS_IS_LOCK_INFO(self), NULL);
    find_who(self);
    return self->who;
}

/**
 * web_locks_lock_info_get_who_pid:
 * @self: a lock info
 *
 * Gets the process that [property@WebLocks.LockInfo:who] names: of the command that runs under the
 * lock, or of the client.
 *
 * Returns: the process id; 0 if it is not known
 * Since: 0.1
 */
guint
web_locks_lock_info_get_who_pid(WebLocksLockInfo *self)
{
    g_return_val_if_fail(WEB_LOCKS_IS_LOCK_INFO(self), 0);
    find_who(self);
    return self->who_pid;
}

/**
 * web_locks_lock_info_get_pid:
 * @self: a lock info
 *
 * Gets the process id of the client. Only inspecting returns it.
 *
 * Returns: the process id; 0 if it is not known
 * Since: 0.1
 */
guint
web_locks_lock_info_get_pid(WebLocksLockInfo *self)
{
    g_return_val_if_fail(WEB_LOCKS_IS_LOCK_INFO(self), 0);
    return self->pid;
}

/**
 * web_locks_lock_info_get_process:
 * @self: a lock info
 *
 * Gets the name of the client's process. Only inspecting returns it.
 *
 * Returns: (transfer none): the name; "" if it is not known
 * Since: 0.1
 */
const char *
web_locks_lock_info_get_process(WebLocksLockInfo *self)
{
    g_return_val_if_fail(WEB_LOCKS_IS_LOCK_INFO(self), NULL);
    return self->process;
}

/**
 * web_locks_lock_info_get_slots:
 * @self: a lock info
 *
 * Gets how many exclusive locks of this kind can be held at the same time. Only inspecting returns
 * it.
 *
 * Returns: the number; 1 if it is no counting lock, or not known
 * Since: 0.1
 */
guint
web_locks_lock_info_get_slots(WebLocksLockInfo *self)
{
    g_return_val_if_fail(WEB_LOCKS_IS_LOCK_INFO(self), 1);
    return self->slots;
}

/**
 * web_locks_lock_info_get_position:
 * @self: a lock info
 *
 * Gets the position in the queue of the name: 1 is next. Only inspecting returns it.
 *
 * Returns: the place; 0 if it is held
 * Since: 0.1
 */
guint
web_locks_lock_info_get_position(WebLocksLockInfo *self)
{
    g_return_val_if_fail(WEB_LOCKS_IS_LOCK_INFO(self), 0);
    return self->position;
}

/**
 * web_locks_lock_info_get_blocked_by:
 * @self: a lock info
 *
 * Gets the clients whose locks and requests have to end before this request can be granted. Only
 * inspecting returns it.
 *
 * Returns: (transfer none) (array zero-terminated=1): client ids
 * Since: 0.1
 */
const char *const *
web_locks_lock_info_get_blocked_by(WebLocksLockInfo *self)
{
    g_return_val_if_fail(WEB_LOCKS_IS_LOCK_INFO(self), NULL);
    return (const char *const *)self->blocked_by;
}

/* ---- GObject */

static void
web_locks_lock_info_get_property(GObject *object, guint id, GValue *value, GParamSpec *pspec)
{
    WebLocksLockInfo *self = WEB_LOCKS_LOCK_INFO(object);

    switch (id) {
    case PROP_NAME:
        g_value_set_string(value, self->name);
        break;
    case PROP_MODE:
        g_value_set_enum(value, (int)self->mode);
        break;
    case PROP_HELD:
        g_value_set_boolean(value, self->held);
        break;
    case PROP_CLIENT_ID:
        g_value_set_string(value, self->client_id);
        break;
    case PROP_TOKEN:
        g_value_set_uint64(value, self->token);
        break;
    case PROP_WHY:
        g_value_set_string(value, self->why);
        break;
    case PROP_PID:
        g_value_set_uint(value, self->pid);
        break;
    case PROP_PROCESS:
        g_value_set_string(value, self->process);
        break;
    case PROP_POSITION:
        g_value_set_uint(value, self->position);
        break;
    case PROP_BLOCKED_BY:
        g_value_set_boxed(value, self->blocked_by);
        break;
    case PROP_ID:
        g_value_set_uint64(value, self->id);
        break;
    case PROP_SINCE:
        g_value_set_int64(value, self->since_us);
        break;
    case PROP_APPLICATION:
        g_value_set_string(value, self->application);
        break;
    case PROP_UID:
        g_value_set_uint(value, self->uid);
        break;
    case PROP_MANAGER:
        g_value_set_object(value, self->manager);
        break;
    case PROP_WHO:
        g_value_set_string(value, web_locks_lock_info_get_who(self));
        break;
    case PROP_WHO_PID:
        g_value_set_uint(value, web_locks_lock_info_get_who_pid(self));
        break;
    case PROP_SLOTS:
        g_value_set_uint(value, self->slots);
        break;
    default:
        G_OBJECT_WARN_INVALID_PROPERTY_ID(object, id, pspec);
    }
}

static void
web_locks_lock_info_finalize(GObject *object)
{
    WebLocksLockInfo *self = WEB_LOCKS_LOCK_INFO(object);

    g_clear_object(&self->manager);
    g_free(self->name);
    g_free(self->client_id);
    g_free(self->why);
    g_free(self->process);
    g_free(self->command);
    g_free(self->who);
    g_free(self->application);
    g_strfreev(self->blocked_by);
    G_OBJECT_CLASS(web_locks_lock_info_parent_class)->finalize(object);
}

static void
web_locks_lock_info_class_init(WebLocksLockInfoClass *class)
{
    GObjectClass *object_class = G_OBJECT_CLASS(class);
    const GParamFlags flags = G_PARAM_READABLE | G_PARAM_STATIC_STRINGS;

    object_class->get_property = web_locks_lock_info_get_property;
    object_class->finalize = web_locks_lock_info_finalize;

    /**
     * WebLocksLockInfo:name:
     *
     * The resource name.
     *
     * Since: 0.1
     */
    properties[PROP_NAME] = g_param_spec_string("name", NULL, NULL, NULL, flags);
    /**
     * WebLocksLockInfo:mode:
     *
     * Exclusive or shared.
     *
     * Since: 0.1
     */
    properties[PROP_MODE] =
        g_param_spec_enum("mode", NULL, NULL, WEB_LOCKS_TYPE_MODE, WEB_LOCKS_MODE_EXCLUSIVE, flags);
    /**
     * WebLocksLockInfo:held:
     *
     * Whether it is held, and not waiting.
     *
     * Since: 0.1
     */
    properties[PROP_HELD] = g_param_spec_boolean("held", NULL, NULL, FALSE, flags);
    /**
     * WebLocksLockInfo:client-id:
     *
     * Whose it is: the unique name of its agent on the bus.
     *
     * Since: 0.1
     */
    properties[PROP_CLIENT_ID] = g_param_spec_string("client-id", NULL, NULL, NULL, flags);
    /**
     * WebLocksLockInfo:token:
     *
     * The fencing token; 0 if it is pending, or not from inspecting.
     *
     * Since: 0.1
     */
    properties[PROP_TOKEN] = g_param_spec_uint64("token", NULL, NULL, 0, G_MAXUINT64, 0, flags);
    /**
     * WebLocksLockInfo:why:
     *
     * The purpose that its client has given.
     *
     * Since: 0.1
     */
    properties[PROP_WHY] = g_param_spec_string("why", NULL, NULL, NULL, flags);
    /**
     * WebLocksLockInfo:pid:
     *
     * The process id of its client; 0 if it is not known.
     *
     * Since: 0.1
     */
    properties[PROP_PID] = g_param_spec_uint("pid", NULL, NULL, 0, G_MAXUINT, 0, flags);
    /**
     * WebLocksLockInfo:process:
     *
     * The name of the process of its client.
     *
     * Since: 0.1
     */
    properties[PROP_PROCESS] = g_param_spec_string("process", NULL, NULL, NULL, flags);
    /**
     * WebLocksLockInfo:position:
     *
     * Its position among the pending requests for the name, from 1; 0 if it is held.
     *
     * Since: 0.1
     */
    properties[PROP_POSITION] = g_param_spec_uint("position", NULL, NULL, 0, G_MAXUINT, 0, flags);
    /**
     * WebLocksLockInfo:blocked-by:
     *
     * The ids of the clients whose locks and requests have to end before it can be granted.
     *
     * Since: 0.1
     */
    properties[PROP_BLOCKED_BY] = g_param_spec_boxed("blocked-by", NULL, NULL, G_TYPE_STRV, flags);
    /**
     * WebLocksLockInfo:id:
     *
     * The id of the lock or request, unique together with
     * [property@WebLocks.LockInfo:client-id]; 0 if it is not known.
     *
     * Since: 0.1
     */
    properties[PROP_ID] = g_param_spec_uint64("id", NULL, NULL, 0, G_MAXUINT64, 0, flags);
    /**
     * WebLocksLockInfo:since:
     *
     * When the lock was granted or, if it is pending, requested: microseconds since 1970; 0 if it
     * is not known.
     *
     * Since: 0.1
     */
    properties[PROP_SINCE] =
        g_param_spec_int64("since", NULL, NULL, G_MININT64, G_MAXINT64, 0, flags);
    /**
     * WebLocksLockInfo:application:
     *
     * The application id of the client; "" if it is in no sandbox, or it is not known.
     *
     * Since: 0.1
     */
    properties[PROP_APPLICATION] = g_param_spec_string("application", NULL, NULL, NULL, flags);
    /**
     * WebLocksLockInfo:uid:
     *
     * The user id of the client; %G_MAXUINT if it is not known.
     *
     * Since: 0.1
     */
    properties[PROP_UID] = g_param_spec_uint("uid", NULL, NULL, 0, G_MAXUINT, G_MAXUINT, flags);
    /**
     * WebLocksLockInfo:manager:
     *
     * The bucket; %NULL if this is the result of a query.
     *
     * Since: 0.1
     */
    properties[PROP_MANAGER] =
        g_param_spec_object("manager", NULL, NULL, WEB_LOCKS_TYPE_MANAGER, flags);
    /**
     * WebLocksLockInfo:who:
     *
     * The name by which people know its client: a command, an application, a script or a process.
     *
     * Since: 0.1
     */
    properties[PROP_WHO] = g_param_spec_string("who", NULL, NULL, NULL, flags);
    /**
     * WebLocksLockInfo:who-pid:
     *
     * The process that [property@WebLocks.LockInfo:who] names; 0 if it is not known.
     *
     * Since: 0.1
     */
    properties[PROP_WHO_PID] = g_param_spec_uint("who-pid", NULL, NULL, 0, G_MAXUINT, 0, flags);
    /**
     * WebLocksLockInfo:slots:
     *
     * How many exclusive locks of this kind can be held at the same time; 1 if it is no counting
     * lock, or not known.
     *
     * Since: 0.1
     */
    properties[PROP_SLOTS] = g_param_spec_uint("slots", NULL, NULL, 0, G_MAXUINT, 1, flags);
    g_object_class_install_properties(object_class, N_PROPS, properties);
}

static void
web_locks_lock_info_init(WebLocksLockInfo *self)
{
    self->name = g_strdup("");
    self->client_id = g_strdup("");
    self->why = g_strdup("");
    self->process = g_strdup("");
    self->command = g_strdup("");
    self->application = g_strdup("");
    self->blocked_by = g_new0(char *, 1);
    self->uid = G_MAXUINT;
    self->slots = 1;
}
