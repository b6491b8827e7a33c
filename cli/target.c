/* SPDX-FileCopyrightText: 2026 The WebLocks for D-Bus authors
 * SPDX-License-Identifier: LGPL-2.1-or-later */

#include "cli/target.h"

#include "cli/language.h"
#include "cli/module.h"
#include "cli/status.h"
#include "common/bus-names.h"

const char target_default_bucket[] = "default";

gboolean
target_take_group(const char *group, gpointer into, GError **error)
{
    const char *(*find_bucket)(const char *name, GError **) =
        module_find("target_find_bucket", error);
    const char *bucket = find_bucket != NULL ? find_bucket(group, error) : NULL;

    if (bucket != NULL)
        *(const char **)into = bucket;
    return bucket != NULL;
}

gboolean
target_check_all(const Target *target, const Command *command, int *out_status)
{
    if (!target->all || target->bucket == target_default_bucket)
        return TRUE;
    *out_status = options_complain(command, _("--all cannot be combined with --bucket or --group"));
    return FALSE;
}

gboolean
target_is_clustered(const Target *target)
{
    return g_str_has_prefix(target->bucket, BUS_CLUSTER_PREFIX);
}
