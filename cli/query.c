/* SPDX-FileCopyrightText: 2026 The WebLocks for D-Bus authors
 * SPDX-License-Identifier: LGPL-2.1-or-later */

/* `weblocks query`: prints the standard's snapshot of held locks and pending requests [4.5]. */

#include "cli/commands.h"

#include "cli/listing.h"
#include "cli/status.h"
#include <glib/gi18n.h>

int
command_query(const Command *command, int argc, char **argv)
{
    Listing listing = {.target = TARGET_DEFAULT};
    int status;

    if (!listing_parse(&listing, command, &argc, &argv, &status))
        return status;
    if (argc > 0)
        return options_complain(command, _("unexpected argument '%s'"), argv[0]);
    return listing_print(&listing);
}
