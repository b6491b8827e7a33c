/* SPDX-FileCopyrightText: 2026 The WebLocks for D-Bus authors
 * SPDX-License-Identifier: LGPL-2.1-or-later */

/* `weblocks steal`: breaks all held locks of a name.
 *
 * It requests the lock with the option `steal` and releases it immediately. So the previous holders
 * lose it, and the next pending request is granted. */

#include <glib/gi18n.h>

#include "cli/commands.h"
#include "cli/lock-output.h"
#include "cli/status.h"
#include "cli/target-bus.h"

/* Steals the lock and releases it. If another client steals it in between, the lock is broken all
 * the same, so this is not an error. */
static gboolean
break_lock(WebLocksManager *manager, const char *name, const char *why, GError **error)
{
    g_autoptr(WebLocksOptions) options = web_locks_options_new();
    g_autoptr(WebLocksLock) lock = NULL;
    g_autoptr(GError) release_error = NULL;

    web_locks_options_set_steal(options, TRUE);
    if (why != NULL)
        web_locks_options_set_why(options, why);
    lock = web_locks_manager_request_sync(manager, name, options, NULL, error);
    if (lock == NULL)
        return FALSE;
    if (!web_locks_lock_release_sync(lock, NULL, &release_error) &&
        !g_error_matches(release_error, WEB_LOCKS_ERROR, WEB_LOCKS_ERROR_STOLEN)) {
        g_propagate_error(error, g_steal_pointer(&release_error));
        return FALSE;
    }
    return TRUE;
}

static Status
steal(const Target *target, const char *name, const char *why)
{
    g_autoptr(GError) error = NULL;
    g_autoptr(WebLocksManager) manager = target_get_manager(target, &error);
    g_autoptr(WebLocksSnapshot) before = NULL;
    Status status = STATUS_OK;
    GListModel *held;

    if (manager != NULL)
        before = web_locks_manager_inspect_sync(manager, name, NULL, &error);
    if (before == NULL)
        return target_complain(target, error);
    held = web_locks_snapshot_get_held(before);
    if (g_list_model_get_n_items(held) == 0) {
        complain(_("the lock '%s' is not held"), name);
        return STATUS_CONFLICT;
    }
    if (!break_lock(manager, name, why, &error))
        return target_complain(target, error);
    for (guint i = 0; i < g_list_model_get_n_items(held); i++) {
        g_autoptr(WebLocksLockInfo) info = g_list_model_get_item(held, i);

        lock_output_print_loser(info, TRUE);
    }
    flush_output(&status);
    return status;
}

int
command_steal(const Command *command, int argc, char **argv)
{
    Target target = TARGET_DEFAULT;
    const char *why = NULL;
    const Option options[] = {{"why", 0, "TEXT",
                               N_("Purpose shown by 'weblocks list' while the lock is stolen"),
                               option_text, &why},
                              TARGET_OPTIONS(&target),
                              {NULL}};
    const char *name;
    int status;

    if (!options_parse(command, options, &argc, &argv, &status))
        return status;
    name = options_get_lock_name(command, argc, argv, &status);
    return name != NULL ? (int)steal(&target, name, why) : status;
}
