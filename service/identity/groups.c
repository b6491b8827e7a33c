/* SPDX-FileCopyrightText: 2026 The WebLocks for D-Bus authors
 * SPDX-License-Identifier: LGPL-2.1-or-later */

#include "groups.h"

#include <grp.h>
#include <pwd.h>

G_STATIC_ASSERT(sizeof(gid_t) == sizeof(guint32));

guint32 *
groups_look_up(guint32 uid, gsize *out_n_gids)
{
    const struct passwd *user = getpwuid(uid);
    guint32 *gids;
    int n_gids = 0;

    *out_n_gids = 0;
    if (user == NULL)
        return NULL;
    getgrouplist(user->pw_name, user->pw_gid, NULL, &n_gids); /* sets their number */
    gids = g_new(guint32, (gsize)n_gids);
    if (getgrouplist(user->pw_name, user->pw_gid, gids, &n_gids) >= 0)
        *out_n_gids = (gsize)n_gids;
    return gids;
}
