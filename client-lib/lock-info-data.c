/* SPDX-FileCopyrightText: 2026 The WebLocks for D-Bus authors
 * SPDX-License-Identifier: LGPL-2.1-or-later */

/* Where a WebLocksLockInfo has its values from: a reply of the service, and what a monitor knows of
 * changes since. */

#include "client-lib/lock-info-private.h"

#include <string.h>

#include "client-lib/property-private.h"
#include "common/bus-names.h"
#include "common/lock-mode.h"

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
        self->since = g_get_real_time() - (gint64)MIN(age_ms, (guint64)G_MAXINT64 / 2000) * 1000;
    return g_steal_pointer(&self);
}

gboolean
web_locks_lock_info_is_of_another_host(WebLocksLockInfo *self)
{
    return g_str_has_prefix(self->client_id, BUS_HOST_PREFIX);
}

/* ---- changes, in a monitor */

int
web_locks_lock_info_compare(gpointer a, gpointer b)
{
    const WebLocksLockInfo *self = a, *other = b;

    if (self->rank != other->rank)
        return self->rank < other->rank ? -1 : 1;
    return self->order < other->order ? -1 : self->order > other->order;
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
    const gboolean is_blocked = !g_strv_equal((const char *const *)self->blocked_by, blocked_by);

    if (self->position == position && !is_blocked)
        return;
    freeze(self, frozen);
    property_change(self, "position", &position);
    if (!is_blocked)
        return;
    g_strfreev(self->blocked_by);
    self->blocked_by = g_strdupv((char **)blocked_by);
    g_object_notify(G_OBJECT(self), "blocked-by");
}

LockState
web_locks_lock_info_get_state(const WebLocksLockInfo *self)
{
    return (LockState){self->held, self->mode, self->slots, self->token, self->since};
}

void
web_locks_lock_info_set_state(WebLocksLockInfo *self, const LockState *state, GPtrArray *frozen)
{
    static const char *const none[] = {NULL};

    if (self->held == state->held && self->mode == state->mode)
        return;
    freeze(self, frozen);
    if (state->held)
        web_locks_lock_info_set_queued(self, 0, none, frozen);
    property_change(self, "held", &state->held);
    property_change(self, "mode", &state->mode);
    property_change(self, "slots", &state->slots);
    property_change(self, "token", &state->token);
    property_change(self, "since", &state->since);
}
