/* SPDX-FileCopyrightText: 2026 The WebLocks for D-Bus authors
 * SPDX-License-Identifier: LGPL-2.1-or-later */

/* The buckets of Unix groups, which several users share. */

#include <weblocks/weblocks.h>

#include "config.h"

#include <glib/gi18n-lib.h>
#include <grp.h>

#include "common/bus-names.h"

/**
 * web_locks_bucket_for_group:
 * @group: the name of a Unix group, or its decimal id
 * @error: return location for an error
 *
 * Gets the name of the bucket of a Unix group: all members share the locks in it, and so does
 * uid 0. It is for [ctor@WebLocks.Manager.new] with an agent on the system bus; on other buses it
 * is not supported. What is a lock in the bucket `default` of each user, such as that of a backup
 * that root or a user may start, is one lock there.
 *
 * A name is looked up in the system's database of groups, which takes as long as that; so do it in
 * another thread if that may be on a server. An id is not looked up.
 *
 * Errors: `G_IO_ERROR_NOT_FOUND` if there is no such group, and other codes of that domain if the
 * database can't be read.
 *
 * Returns: (transfer full): `group:` and the id
 * Since: 0.1
 */
char *
web_locks_bucket_for_group(const char *group, GError **error)
{
    char buffer[65536]; /* a line of the database */
    struct group entry, *found = NULL;
    guint64 gid;

    g_return_val_if_fail(group != NULL, NULL);
    g_return_val_if_fail(error == NULL || *error == NULL, NULL);

    if (!g_ascii_string_to_unsigned(group, 10, 0, G_MAXUINT32 - 1, &gid, NULL)) {
        int r = getgrnam_r(group, &entry, buffer, sizeof buffer, &found);

        if (found == NULL && r != 0)
            g_set_error(error, G_IO_ERROR, (int)g_io_error_from_errno(r),
                        _("cannot look up the group '%s'"), group);
        else if (found == NULL)
            g_set_error(error, G_IO_ERROR, G_IO_ERROR_NOT_FOUND, _("there is no group '%s'"),
                        group);
        if (found == NULL)
            return NULL;
        gid = found->gr_gid;
    }
    return g_strdup_printf(BUS_GROUP_PREFIX "%u", (guint)gid);
}
