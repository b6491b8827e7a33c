/* SPDX-FileCopyrightText: 2026 The WebLocks for D-Bus authors
 * SPDX-License-Identifier: LGPL-2.1-or-later */

#include "cli/holder-options.h"

#include "cli/language.h"

Option *
holder_options_table(HolderOptions *into, const Option *own)
{
    const Option options[] = {
        {"shared", 's', NULL, N_("Request a shared lock"), option_set, &into->shared},
        {"exclusive", 'x', NULL, N_("Request an exclusive lock (default)"), option_unset,
         &into->shared},
        {"nonblock", 'n', NULL, N_("Fail if the lock is not available immediately"), option_set,
         &into->nonblock},
        {"nb", 0, NULL, NULL, option_set, &into->nonblock},
        {"wait", 'w', "TIME", N_("Fail if the lock is not granted within that time"), option_time,
         &into->wait},
        {"timeout", 0, "TIME", NULL, option_time, &into->wait},
        {"connect-timeout", 0, "TIME",
         N_("Fail if the cluster can't be reached for that time while waiting"), option_time,
         &into->connect_timeout},
        {"conflict-exit-code", 'E', "STATUS",
         N_("Exit status if the lock could not be acquired (default: 1)"), option_status,
         &into->conflict_status},
        {"steal", 0, NULL, N_("Steal the lock from its holders"), option_set, &into->steal},
        {"slots", 0, "N", N_("Let N holders have the lock at the same time"), option_count,
         &into->slots},
        {"why", 0, "TEXT", N_("Purpose shown by 'weblocks list'"), option_text, &into->why},
        {"verbose", 'v', NULL, N_("Report how long the request took, or who holds the lock"),
         option_set, &into->verbose},
        TARGET_OPTIONS(&into->target)};
    GArray *table = g_array_new(TRUE, TRUE, sizeof(Option));

    for (; own->name != NULL; own++)
        g_array_append_vals(table, own, 1);
    g_array_append_vals(table, options, G_N_ELEMENTS(options));
    return (Option *)(gpointer)g_array_free(table, FALSE);
}

gboolean
holder_options_check(HolderOptions *options, const Command *command)
{
    if (options->connect_timeout >= 0 && !target_is_clustered(&options->target)) {
        options_complain(command, _("--connect-timeout is for buckets of a cluster"));
        return FALSE;
    }
    if (options->slots > 1 && (options->shared || target_is_clustered(&options->target))) {
        options_complain(command, _("--slots cannot be combined with --shared, and is not for "
                                    "buckets of a cluster"));
        return FALSE;
    }
    options->nonblock = options->nonblock || (options->wait >= 0 && options->wait <= 0);
    if (!options->steal || !(options->shared || options->wait >= 0 || options->nonblock))
        return TRUE;
    options_complain(command, _("--steal cannot be combined with --shared, --nonblock or --wait"));
    return FALSE;
}
