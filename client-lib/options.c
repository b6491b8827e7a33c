/* SPDX-FileCopyrightText: 2026 The WebLocks for D-Bus authors
 * SPDX-License-Identifier: LGPL-2.1-or-later */

#include "config.h"

#include "client-lib/options-private.h"

#include <glib/gi18n-lib.h>
#include <string.h>

#include "client-lib/property-private.h"
#include "common/bus-string.h"
#include "common/limit-id.h"

/* Well above the service's limit, for each of `why` and `for`. */
#define WHY_BYTES_MAX 8192

/**
 * WebLocksOptions:
 *
 * The options of a lock request: the standard's `LockOptions` (section 3.2), and additionally a
 * time-out, a description of the purpose, and the number of slots of a counting lock.
 *
 * A request copies its options when it is made; later changes don't affect it. The standard's
 * `signal` is the [class@Gio.Cancellable] of the request. Unlike a `signal`, it may be combined
 * with all options.
 *
 * Since: 0.1
 */
struct _WebLocksOptions {
    GObject parent;
    RequestOptions values;
};

G_DEFINE_FINAL_TYPE(WebLocksOptions, web_locks_options, G_TYPE_OBJECT)

#define INSTALL(member, type, name, ...) \
    PROPERTY_INSTALL(WebLocksOptions, values.member, type, name, __VA_ARGS__, flags)
#define GETTER(Type, name, if_fail)                                                       \
    PROPERTY_GETTER(WebLocksOptions, web_locks_options, WEB_LOCKS_IS_OPTIONS, Type, name, \
                    values.name, if_fail)

#define SETTER(Type, name, property) \
    PROPERTY_SETTER(WebLocksOptions, web_locks_options, WEB_LOCKS_IS_OPTIONS, Type, name, property)

/* ---- the plain struct */

void
request_options_copy(RequestOptions *self, const RequestOptions *other)
{
    *self = *other;
    self->why = g_strdup(other->why);
    self->command = g_strdup(other->command);
}

void
request_options_init(RequestOptions *self, WebLocksOptions *options)
{
    static const RequestOptions defaults = {.mode = WEB_LOCKS_MODE_EXCLUSIVE, .slots = 1};

    request_options_copy(self, options != NULL ? &options->values : &defaults);
}

void
request_options_clear(RequestOptions *self)
{
    g_clear_pointer(&self->why, g_free);
    g_clear_pointer(&self->command, g_free);
}

/* `key` is the name of the option, for messages. */
static gboolean
check_text(const char *text, const char *key, GError **error)
{
    if (text != NULL && strnlen(text, WHY_BYTES_MAX + 1) > WHY_BYTES_MAX) {
        g_set_error(error, WEB_LOCKS_ERROR, WEB_LOCKS_ERROR_LIMITS,
                    _("the limit %s is reached: a '%s' of more than %d bytes is not sent"),
                    limit_id_get_name(LIMIT_WHY_BYTES), key, WHY_BYTES_MAX);
        return FALSE;
    }
    if (text != NULL && !bus_string_is_valid(text)) {
        g_set_error(error, G_IO_ERROR, G_IO_ERROR_INVALID_ARGUMENT,
                    _("'%s' must be UTF-8 without noncharacters"), key);
        return FALSE;
    }
    return TRUE;
}

gboolean
request_options_check(const RequestOptions *self, GError **error)
{
    const char *broken = NULL;

    if (self->steal && self->if_available)
        broken = _("'steal' and 'if-available' exclude each other");
    else if (self->steal && self->mode != WEB_LOCKS_MODE_EXCLUSIVE)
        broken = _("only an exclusive lock can be stolen");
    if (broken != NULL) {
        g_set_error_literal(error, WEB_LOCKS_ERROR, WEB_LOCKS_ERROR_NOT_SUPPORTED, broken);
        return FALSE;
    }
    if (!check_text(self->why, "why", error) || !check_text(self->command, "command", error))
        return FALSE;
    if (self->timeout_ms > 0 && self->if_available) {
        g_set_error_literal(error, G_IO_ERROR, G_IO_ERROR_INVALID_ARGUMENT,
                            _("'timeout' and 'if-available' exclude each other"));
        return FALSE;
    }
    if (self->slots == 0 || (self->slots > 1 && self->mode != WEB_LOCKS_MODE_EXCLUSIVE)) {
        g_set_error_literal(error, G_IO_ERROR, G_IO_ERROR_INVALID_ARGUMENT,
                            _("'slots' must not be 0, and only exclusive locks are counted"));
        return FALSE;
    }
    return TRUE;
}

/* ---- the object */

/**
 * web_locks_options_new:
 *
 * Creates options with the defaults: exclusive, without time-out.
 *
 * Returns: (transfer full): new options
 * Since: 0.1
 */
WebLocksOptions *
web_locks_options_new(void)
{
    return g_object_new(WEB_LOCKS_TYPE_OPTIONS, NULL);
}

/**
 * web_locks_options_get_mode:
 * @self: options
 *
 * Gets the lock mode.
 *
 * Returns: the mode
 * Since: 0.1
 */
GETTER(WebLocksMode, mode, WEB_LOCKS_MODE_EXCLUSIVE)

/**
 * web_locks_options_set_mode:
 * @self: options
 * @mode: exclusive or shared
 *
 * Sets the lock mode (section 2.3 of the standard).
 *
 * Since: 0.1
 */
void
web_locks_options_set_mode(WebLocksOptions *self, WebLocksMode mode)
{
    g_return_if_fail(WEB_LOCKS_IS_OPTIONS(self));
    g_return_if_fail(mode == WEB_LOCKS_MODE_EXCLUSIVE || mode == WEB_LOCKS_MODE_SHARED);
    property_change(self, "mode", &mode);
}

/**
 * web_locks_options_get_if_available:
 * @self: options
 *
 * Gets whether the request never waits, and returns %NULL without an error instead.
 *
 * Returns: whether the request never waits
 * Since: 0.1
 */
GETTER(gboolean, if_available, FALSE)

/**
 * web_locks_options_set_if_available:
 * @self: options
 * @if_available: whether the request never waits
 *
 * Sets whether the request never waits: if it can't be granted immediately, its result is %NULL
 * without an error, which is not a failure. In a bucket that several machines share, this can take
 * up to 2 seconds, in which the other machines are asked.
 *
 * Since: 0.1
 */
SETTER(gboolean, if_available, "if-available")

/**
 * web_locks_options_get_steal:
 * @self: options
 *
 * Gets whether the request steals the lock from its holders.
 *
 * Returns: whether the request steals
 * Since: 0.1
 */
GETTER(gboolean, steal, FALSE)

/**
 * web_locks_options_set_steal:
 * @self: options
 * @steal: whether the request steals
 *
 * Sets whether the request steals the lock from its holders; it is then granted before all pending
 * requests. The holders are notified by [signal@WebLocks.Lock::lost], but may still be using the
 * resource. In a bucket that several machines share, the request fails with
 * %WEB_LOCKS_ERROR_UNAVAILABLE if the lock could not be taken from other machines within 5 seconds.
 *
 * Since: 0.1
 */
SETTER(gboolean, steal, "steal")

/**
 * web_locks_options_get_timeout:
 * @self: options
 *
 * Gets the time-out of the request.
 *
 * Returns: the time-out in milliseconds; 0 for none
 * Since: 0.1
 */
PROPERTY_GETTER(
    WebLocksOptions, web_locks_options, WEB_LOCKS_IS_OPTIONS, guint, timeout, values.timeout_ms, 0)

/**
 * web_locks_options_set_timeout:
 * @self: options
 * @timeout_ms: the time-out in milliseconds of the monotonic clock; 0 for none
 *
 * Sets the time after which a pending request fails with [error@WebLocks.Error.TIMEOUT].
 *
 * Since: 0.1
 */
SETTER(guint, timeout, "timeout")

/**
 * web_locks_options_get_why:
 * @self: options
 *
 * Gets the description of the lock's purpose.
 *
 * Returns: (transfer none) (nullable): the description, or %NULL
 * Since: 0.1
 */
GETTER(const char *, why, NULL)

/**
 * web_locks_options_set_why:
 * @self: options
 * @why: (nullable): at most 256 bytes of UTF-8, or %NULL
 *
 * Sets a description of the lock's purpose, for users: `weblocks list` and
 * web_locks_manager_inspect_async() show it.
 *
 * Since: 0.1
 */
SETTER(const char *, why, "why")

/**
 * web_locks_options_get_command:
 * @self: options
 *
 * Gets what the lock is for, if that is another process.
 *
 * Returns: (transfer none) (nullable): the command and its process id, or %NULL
 * Since: 0.1
 */
GETTER(const char *, command, NULL)

/**
 * web_locks_options_set_command:
 * @self: options
 * @command: (nullable): at most 256 bytes of UTF-8, or %NULL
 *
 * Sets what the lock is for, if that is another process: its command and its process id, as in
 * `rsync (pid 123)`. It is shown to users in place of this process, see
 * [property@WebLocks.LockInfo:who]; so a program that runs others, as `weblocks run` does, shows
 * which. In the D-Bus interface this is the option `for`.
 *
 * Since: 0.1
 */
SETTER(const char *, command, "command")

/**
 * web_locks_options_get_slots:
 * @self: options
 *
 * Gets how many exclusive locks of this kind can be held at the same time.
 *
 * Returns: the number; 1 if it is no counting lock
 * Since: 0.1
 */
GETTER(guint, slots, 1)

/**
 * web_locks_options_set_slots:
 * @self: options
 * @slots: the number; 1: an exclusive lock like any other
 *
 * Sets how many exclusive locks of this kind can be held at the same time: a counting lock.
 *
 * The request is granted while fewer than @slots exclusive locks that were requested with the same
 * number are held, and nothing waits before it. Shared locks and other numbers exclude each other
 * as usual. With [property@WebLocks.Options:steal] all locks of the name are stolen. A request with
 * 0, or with more than 1 and a shared mode, fails with `G_IO_ERROR_INVALID_ARGUMENT`; with more
 * than 1 in a bucket that several machines share it fails with
 * [error@WebLocks.Error.NOT_SUPPORTED].
 *
 * The fencing tokens of a counting lock grow, but don't fence: a resource that refused the lower
 * one would refuse a holder.
 *
 * Since: 0.1
 */
SETTER(guint, slots, "slots")

/* ---- GObject */

static void
web_locks_options_finalize(GObject *object)
{
    request_options_clear(&WEB_LOCKS_OPTIONS(object)->values);
    G_OBJECT_CLASS(web_locks_options_parent_class)->finalize(object);
}

static void
web_locks_options_class_init(WebLocksOptionsClass *class)
{
    GObjectClass *object_class = G_OBJECT_CLASS(class);
    const GParamFlags flags = G_PARAM_READWRITE | G_PARAM_EXPLICIT_NOTIFY | G_PARAM_STATIC_STRINGS;

    object_class->get_property = property_get;
    object_class->set_property = property_set;
    object_class->finalize = web_locks_options_finalize;

    /**
     * WebLocksOptions:mode:
     *
     * The lock mode.
     *
     * Since: 0.1
     */
    INSTALL(mode, enum, "mode", WEB_LOCKS_TYPE_MODE, WEB_LOCKS_MODE_EXCLUSIVE);
    /**
     * WebLocksOptions:if-available:
     *
     * Whether the request never waits: if it can't be granted immediately, its result is %NULL
     * without an error.
     *
     * Since: 0.1
     */
    INSTALL(if_available, boolean, "if-available", FALSE);
    /**
     * WebLocksOptions:steal:
     *
     * Whether the request steals the lock from its holders.
     *
     * Since: 0.1
     */
    INSTALL(steal, boolean, "steal", FALSE);
    /**
     * WebLocksOptions:timeout:
     *
     * The time-out of the request in milliseconds; 0 for none.
     *
     * Since: 0.1
     */
    INSTALL(timeout_ms, uint, "timeout", 0, G_MAXUINT32, 0);
    /**
     * WebLocksOptions:why:
     *
     * A description of the lock's purpose, for users.
     *
     * Since: 0.1
     */
    INSTALL(why, string, "why", NULL);
    /**
     * WebLocksOptions:command:
     *
     * What the lock is for, if that is another process: its command and its process id, as in
     * `rsync (pid 123)`.
     *
     * Since: 0.1
     */
    INSTALL(command, string, "command", NULL);
    /**
     * WebLocksOptions:slots:
     *
     * How many exclusive locks of this kind can be held at the same time; 1 if it is no counting
     * lock.
     *
     * Since: 0.1
     */
    INSTALL(slots, uint, "slots", 0, G_MAXUINT32, 1);
}

static void
web_locks_options_init(WebLocksOptions *self)
{
    self->values.slots = 1;
}
