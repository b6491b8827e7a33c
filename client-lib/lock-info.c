/* SPDX-FileCopyrightText: 2026 The WebLocks for D-Bus authors
 * SPDX-License-Identifier: LGPL-2.1-or-later */

#include "client-lib/lock-info-private.h"
#include "client-lib/property-private.h"

/**
 * WebLocksLockInfo:
 *
 * A held lock or a pending request: the `LockInfo` of the standard (section 3.2).
 *
 * A query returns name, mode and client; only inspecting returns the rest.
 *
 * Since: 0.1
 */
G_DEFINE_FINAL_TYPE(WebLocksLockInfo, web_locks_lock_info, G_TYPE_OBJECT)

#define INSTALL(member, type, name, ...) \
    PROPERTY_INSTALL(WebLocksLockInfo, member, type, name, __VA_ARGS__, flags)
#define GETTER(Type, name, if_fail)                                                            \
    PROPERTY_GETTER(WebLocksLockInfo, web_locks_lock_info, WEB_LOCKS_IS_LOCK_INFO, Type, name, \
                    name, if_fail)

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
GETTER(guint64, id, 0)

/**
 * web_locks_lock_info_get_since:
 * @self: a lock info
 *
 * Gets when the lock was granted or, if it is pending, requested. Only inspecting returns it.
 *
 * Returns: microseconds since 1970 in UTC, as g_get_real_time(); 0 if it is not known
 * Since: 0.1
 */
GETTER(gint64, since, 0)

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
GETTER(const char *, application, NULL)

/**
 * web_locks_lock_info_get_uid:
 * @self: a lock info
 *
 * Gets the user id of the client. Only inspecting returns it.
 *
 * Returns: the user id; %G_MAXUINT, which is that of no user, if it is not known
 * Since: 0.1
 */
GETTER(guint, uid, G_MAXUINT)

/**
 * web_locks_lock_info_get_manager:
 * @self: a lock info
 *
 * Gets the bucket of the lock or request. With web_locks_manager_break_async() it ends the lock.
 *
 * Returns: (transfer none) (nullable): the manager; %NULL if this is the result of a query
 * Since: 0.1
 */
GETTER(WebLocksManager *, manager, NULL)

/**
 * web_locks_lock_info_get_name:
 * @self: a lock info
 *
 * Gets the resource name.
 *
 * Returns: (transfer none): the name
 * Since: 0.1
 */
GETTER(const char *, name, NULL)

/**
 * web_locks_lock_info_get_mode:
 * @self: a lock info
 *
 * Gets the lock mode.
 *
 * Returns: the mode
 * Since: 0.1
 */
GETTER(WebLocksMode, mode, WEB_LOCKS_MODE_EXCLUSIVE)

/**
 * web_locks_lock_info_get_held:
 * @self: a lock info
 *
 * Gets whether the lock is held; otherwise the request is pending.
 *
 * Returns: %TRUE: held; %FALSE: waiting
 * Since: 0.1
 */
GETTER(gboolean, held, FALSE)

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
GETTER(const char *, client_id, NULL)

/**
 * web_locks_lock_info_get_token:
 * @self: a lock info
 *
 * Gets the fencing token of a held lock. Only inspecting returns it.
 *
 * Returns: the token; 0 if it is pending, or not from inspecting
 * Since: 0.1
 */
GETTER(guint64, token, 0)

/**
 * web_locks_lock_info_get_why:
 * @self: a lock info
 *
 * Gets the purpose that the client has given. Only inspecting returns it.
 *
 * Returns: (transfer none): a few words; "" if there are none
 * Since: 0.1
 */
GETTER(const char *, why, NULL)

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
    web_locks_lock_info_find_who(self);
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
    web_locks_lock_info_find_who(self);
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
GETTER(guint, pid, 0)

/**
 * web_locks_lock_info_get_process:
 * @self: a lock info
 *
 * Gets the name of the client's process. Only inspecting returns it.
 *
 * Returns: (transfer none): the name; "" if it is not known
 * Since: 0.1
 */
GETTER(const char *, process, NULL)

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
GETTER(guint, slots, 1)

/**
 * web_locks_lock_info_get_position:
 * @self: a lock info
 *
 * Gets the position in the queue of the name: 1 is next. Only inspecting returns it.
 *
 * Returns: the place; 0 if it is held
 * Since: 0.1
 */
GETTER(guint, position, 0)

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
    if (g_str_has_prefix(pspec->name, "who"))
        web_locks_lock_info_find_who(WEB_LOCKS_LOCK_INFO(object));
    property_get(object, id, value, pspec);
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
    const GParamFlags flags = G_PARAM_READABLE | G_PARAM_EXPLICIT_NOTIFY | G_PARAM_STATIC_STRINGS;

    object_class->get_property = web_locks_lock_info_get_property;
    object_class->finalize = web_locks_lock_info_finalize;

    /**
     * WebLocksLockInfo:name:
     *
     * The resource name.
     *
     * Since: 0.1
     */
    INSTALL(name, string, "name", NULL);
    /**
     * WebLocksLockInfo:mode:
     *
     * Exclusive or shared.
     *
     * Since: 0.1
     */
    INSTALL(mode, enum, "mode", WEB_LOCKS_TYPE_MODE, WEB_LOCKS_MODE_EXCLUSIVE);
    /**
     * WebLocksLockInfo:held:
     *
     * Whether it is held, and not waiting.
     *
     * Since: 0.1
     */
    INSTALL(held, boolean, "held", FALSE);
    /**
     * WebLocksLockInfo:client-id:
     *
     * Whose it is: the unique name of its agent on the bus.
     *
     * Since: 0.1
     */
    INSTALL(client_id, string, "client-id", NULL);
    /**
     * WebLocksLockInfo:token:
     *
     * The fencing token; 0 if it is pending, or not from inspecting.
     *
     * Since: 0.1
     */
    INSTALL(token, uint64, "token", 0, G_MAXUINT64, 0);
    /**
     * WebLocksLockInfo:why:
     *
     * The purpose that its client has given.
     *
     * Since: 0.1
     */
    INSTALL(why, string, "why", NULL);
    /**
     * WebLocksLockInfo:pid:
     *
     * The process id of its client; 0 if it is not known.
     *
     * Since: 0.1
     */
    INSTALL(pid, uint, "pid", 0, G_MAXUINT, 0);
    /**
     * WebLocksLockInfo:process:
     *
     * The name of the process of its client.
     *
     * Since: 0.1
     */
    INSTALL(process, string, "process", NULL);
    /**
     * WebLocksLockInfo:position:
     *
     * Its position among the pending requests for the name, from 1; 0 if it is held.
     *
     * Since: 0.1
     */
    INSTALL(position, uint, "position", 0, G_MAXUINT, 0);
    /**
     * WebLocksLockInfo:blocked-by:
     *
     * The ids of the clients whose locks and requests have to end before it can be granted.
     *
     * Since: 0.1
     */
    INSTALL(blocked_by, boxed, "blocked-by", G_TYPE_STRV);
    /**
     * WebLocksLockInfo:id:
     *
     * The id of the lock or request, unique together with
     * [property@WebLocks.LockInfo:client-id]; 0 if it is not known.
     *
     * Since: 0.1
     */
    INSTALL(id, uint64, "id", 0, G_MAXUINT64, 0);
    /**
     * WebLocksLockInfo:since:
     *
     * When the lock was granted or, if it is pending, requested: microseconds since 1970; 0 if it
     * is not known.
     *
     * Since: 0.1
     */
    INSTALL(since, int64, "since", G_MININT64, G_MAXINT64, 0);
    /**
     * WebLocksLockInfo:application:
     *
     * The application id of the client; "" if it is in no sandbox, or it is not known.
     *
     * Since: 0.1
     */
    INSTALL(application, string, "application", NULL);
    /**
     * WebLocksLockInfo:uid:
     *
     * The user id of the client; %G_MAXUINT if it is not known.
     *
     * Since: 0.1
     */
    INSTALL(uid, uint, "uid", 0, G_MAXUINT, G_MAXUINT);
    /**
     * WebLocksLockInfo:manager:
     *
     * The bucket; %NULL if this is the result of a query.
     *
     * Since: 0.1
     */
    INSTALL(manager, object, "manager", WEB_LOCKS_TYPE_MANAGER);
    /**
     * WebLocksLockInfo:who:
     *
     * The name by which people know its client: a command, an application, a script or a process.
     *
     * Since: 0.1
     */
    INSTALL(who, string, "who", NULL);
    /**
     * WebLocksLockInfo:who-pid:
     *
     * The process that [property@WebLocks.LockInfo:who] names; 0 if it is not known.
     *
     * Since: 0.1
     */
    INSTALL(who_pid, uint, "who-pid", 0, G_MAXUINT, 0);
    /**
     * WebLocksLockInfo:slots:
     *
     * How many exclusive locks of this kind can be held at the same time; 1 if it is no counting
     * lock, or not known.
     *
     * Since: 0.1
     */
    INSTALL(slots, uint, "slots", 0, G_MAXUINT, 1);
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
