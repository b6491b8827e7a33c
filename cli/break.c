/* SPDX-FileCopyrightText: 2026 The WebLocks for D-Bus authors
 * SPDX-License-Identifier: LGPL-2.1-or-later */

/* `weblocks break`: ends held locks of a name, also those of a sandboxed application or, for root,
 * of another user. */

#include <glib/gi18n.h>
#include <pwd.h>
#include <unistd.h>

#include "cli/commands.h"
#include "cli/lock-output.h"
#include "cli/status.h"
#include "cli/target-bus.h"

typedef struct {
    Target target;
    const char *name;
    const char *application; /* NULL: none */
    const char *client;      /* NULL: all clients */
    guint uid;
    gboolean has_uid; /* it was given */
} Break;

/* As in chown(1), a name that consists of digits is a name if there is such a user. */
static gboolean
take_user(const char *value, gpointer into, GError **error)
{
    const struct passwd *user = getpwnam(value);
    Break *self = into;
    guint64 uid;

    if (user != NULL) {
        uid = user->pw_uid;
    } else if (!g_ascii_string_to_unsigned(value, 10, 0, G_MAXUINT32 - 1, &uid, NULL)) {
        g_set_error(error, G_OPTION_ERROR, G_OPTION_ERROR_BAD_VALUE,
                    _("'%s' is neither a user nor a user id"), value);
        return FALSE;
    }
    self->uid = (guint)uid;
    self->has_uid = TRUE;
    return TRUE;
}

static gboolean
is_wanted(const Break *self, WebLocksManager *manager)
{
    return web_locks_manager_get_uid(manager) == self->uid &&
           g_strcmp0(web_locks_manager_get_application(manager), self->application) == 0 &&
           g_str_equal(web_locks_manager_get_bucket(manager), self->target.bucket);
}

/* Returns an owned manager, or NULL: without an error if there is nothing in that bucket. */
static WebLocksManager *
find_manager(const Break *self, GError **error)
{
    g_autoptr(WebLocksAgent) agent = NULL;
    g_autoptr(GPtrArray) managers = NULL;

    if (self->application == NULL && !self->has_uid)
        return target_get_manager(&self->target, error);
    agent = target_connect(&self->target, error);
    if (agent != NULL)
        managers = web_locks_agent_list_observable_sync(agent, NULL, error);
    for (guint i = 0; managers != NULL && i < managers->len; i++) {
        if (is_wanted(self, managers->pdata[i]))
            return g_object_ref(managers->pdata[i]);
    }
    return NULL;
}

/* Returns how many locks were broken, or -1 and an error. A lock that was released meanwhile is not
 * counted. */
static int
break_held(const Break *self, WebLocksManager *manager, GError **error)
{
    g_autoptr(WebLocksSnapshot) before =
        web_locks_manager_inspect_sync(manager, self->name, NULL, error);
    GListModel *held = before != NULL ? web_locks_snapshot_get_held(before) : NULL;
    int n_broken = 0;

    for (guint i = 0; held != NULL && i < g_list_model_get_n_items(held); i++) {
        g_autoptr(WebLocksLockInfo) info = g_list_model_get_item(held, i);
        int n;

        if (self->client != NULL &&
            !g_str_equal(web_locks_lock_info_get_client_id(info), self->client))
            continue;
        n = web_locks_manager_break_sync(manager, self->name, info, NULL, error);
        if (n < 0)
            return -1;
        if (n > 0)
            lock_output_print_loser(info, FALSE);
        n_broken += n;
    }
    return held != NULL ? n_broken : -1;
}

static Status
break_locks(const Break *self)
{
    g_autoptr(GError) error = NULL;
    g_autoptr(WebLocksManager) manager = find_manager(self, &error);
    Status status = STATUS_OK;
    int n_broken = 0;

    if (manager != NULL)
        n_broken = break_held(self, manager, &error);
    if (error != NULL)
        return target_complain(&self->target, error);
    if (n_broken == 0) {
        complain(_("the lock '%s' is not held"), self->name);
        return STATUS_CONFLICT;
    }
    flush_output(&status);
    return status;
}

int
command_break(const Command *command, int argc, char **argv)
{
    Break self = {.target = TARGET_DEFAULT, .uid = getuid()};
    const Option options[] = {{"app", 0, "APP", N_("The locks of this sandboxed application"),
                               option_text, &self.application},
                              {"uid", 0, "USER",
                               N_("The locks of this user, by name or id; for root only"),
                               take_user, &self},
                              {"client", 0, "CLIENT", N_("Only locks of the client with this id"),
                               option_text, &self.client},
                              TARGET_OPTIONS(&self.target),
                              {NULL}};
    int status;

    if (!options_parse(command, options, &argc, &argv, &status))
        return status;
    self.name = options_get_lock_name(command, argc, argv, &status);
    if (self.name == NULL)
        return status;
    return break_locks(&self);
}
