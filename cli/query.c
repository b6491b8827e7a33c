/* SPDX-FileCopyrightText: 2026 The WebLocks for D-Bus authors
 * SPDX-License-Identifier: LGPL-2.1-or-later */

/* `weblocks query`: the snapshot of the standard [4.5]. */

#include "cli/commands.h"
#include "cli/listing.h"
#include "cli/status.h"

int
command_query(const Command *command, int argc, char **argv)
{
    Listing listing = {.target = TARGET_DEFAULT};
    int status;

    if (!listing_parse(&listing, command, &argc, &argv, &status))
        return status;
    if (argc > 0)
        return options_complain(command, "What is '%s'?", argv[0]);
    return listing_print(&listing);
}
