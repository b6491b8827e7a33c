/* SPDX-FileCopyrightText: 2026 The WebLocks for D-Bus authors
 * SPDX-License-Identifier: LGPL-2.1-or-later */

/* `weblocks break` and `weblocks steal`: end held locks of a name. Break also ends those of a
 * sandboxed application or, for root, of another user, one by one. Steal requests the lock with the
 * option `steal` and releases it immediately, so the next pending request is granted. */

#include <glib/gi18n.h>
#include <pwd.h>
#include <stdio.h>
#include <unistd.h>

#include "cli/commands.h"
#include "cli/lock-output.h"
#include "cli/status.h"
#include "cli/target.h"
#include "cli/text.h"

typedef struct {
    Target target;
    const char *name;
    const char *application; /* NULL: none */
    const char *client;      /* NULL: all clients */
    guint uid;
    gboolean has_uid; /* it was given */
    const char *why;  /* of the request that steals; NULL: none */
} Break;

/* Ends the locks, and prints who has lost each. Returns how many there were, or -1 and an error. */
typedef int EndLocks(const Break *self, WebLocksManager *manager, GListModel *held, GError **error);

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

static void
print_loser(WebLocksLockInfo *info, gboolean is_stolen)
{
    g_autofree char *name = text_for_terminal(web_locks_lock_info_get_name(info));
    g_autofree char *holder = lock_output_holder(info, TRUE);
    g_autofree char *who = text_for_terminal(holder);

    printf(is_stolen ? _("%s: stolen from %s\n") : _("%s: broken, was held by %s\n"), name, who);
}

/* A lock that was released meanwhile is not counted. */
static int
break_each(const Break *self, WebLocksManager *manager, GListModel *held, GError **error)
{
    int n_broken = 0;

    for (guint i = 0; i < g_list_model_get_n_items(held); i++) {
        g_autoptr(WebLocksLockInfo) info = g_list_model_get_item(held, i);
        int n;

        if (self->client != NULL &&
            !g_str_equal(web_locks_lock_info_get_client_id(info), self->client))
            continue;
        n = web_locks_manager_break_sync(manager, self->name, info, NULL, error);
        if (n < 0)
            return -1;
        if (n > 0)
            print_loser(info, FALSE);
        n_broken += n;
    }
    return n_broken;
}

/* If another client steals the lock before it is released, it is broken all the same, so this is
 * not an error. */
static int
steal_all(const Break *self, WebLocksManager *manager, GListModel *held, GError **error)
{
    g_autoptr(WebLocksOptions) options = web_locks_options_new();
    g_autoptr(WebLocksLock) lock = NULL;
    g_autoptr(GError) release_error = NULL;
    const guint n_held = g_list_model_get_n_items(held);

    if (n_held == 0)
        return 0;
    web_locks_options_set_steal(options, TRUE);
    web_locks_options_set_why(options, self->why);
    lock = web_locks_manager_request_sync(manager, self->name, options, NULL, error);
    if (lock == NULL)
        return -1;
    if (!web_locks_lock_release_sync(lock, NULL, &release_error) &&
        !g_error_matches(release_error, WEB_LOCKS_ERROR, WEB_LOCKS_ERROR_STOLEN)) {
        g_propagate_error(error, g_steal_pointer(&release_error));
        return -1;
    }
    for (guint i = 0; i < n_held; i++) {
        g_autoptr(WebLocksLockInfo) info = g_list_model_get_item(held, i);

        print_loser(info, TRUE);
    }
    return (int)n_held;
}

static Status
end_locks(const Break *self, EndLocks *end)
{
    g_autoptr(GError) error = NULL;
    g_autoptr(WebLocksManager) manager = find_manager(self, &error);
    g_autoptr(WebLocksSnapshot) before = NULL;
    Status status = STATUS_OK;
    int n_ended = 0;

    if (manager != NULL)
        before = web_locks_manager_inspect_sync(manager, self->name, NULL, &error);
    if (before != NULL)
        n_ended = end(self, manager, web_locks_snapshot_get_held(before), &error);
    if (error != NULL)
        return target_complain(&self->target, error);
    if (manager == NULL && self->uid != geteuid() && geteuid() != 0) {
        complain(_("only root may end the locks of another user"));
        return STATUS_FORBIDDEN;
    }
    if (n_ended == 0) {
        complain(_("the lock '%s' is not held"), self->name);
        return STATUS_CONFLICT;
    }
    flush_output(&status);
    return status;
}

static int
run(const Command *command,
    int argc,
    char **argv,
    const Option *options,
    Break *self,
    EndLocks *end)
{
    int status;

    if (!options_parse(command, options, &argc, &argv, &status))
        return status;
    self->name = options_get_lock_name(command, argc, argv, &status);
    return self->name != NULL ? (int)end_locks(self, end) : status;
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

    return run(command, argc, argv, options, &self, break_each);
}

int
command_steal(const Command *command, int argc, char **argv)
{
    Break self = {.target = TARGET_DEFAULT};
    const Option options[] = {{"why", 0, "TEXT",
                               N_("Purpose shown by 'weblocks list' while the lock is stolen"),
                               option_text, &self.why},
                              TARGET_OPTIONS(&self.target),
                              {NULL}};

    return run(command, argc, argv, options, &self, steal_all);
}
