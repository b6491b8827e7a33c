/* SPDX-FileCopyrightText: 2026 The WebLocks for D-Bus authors
 * SPDX-License-Identifier: LGPL-2.1-or-later */

/* `weblocks inspect`: prints held locks and pending requests with all their details. */

#include "cli/commands.h"

#include "cli/listing.h"
#include "cli/status.h"
int
command_inspect(const Command *command, int argc, char **argv)
{
    Listing listing = {.target = TARGET_DEFAULT, .detailed = TRUE};
    int status;

    if (!listing_parse(&listing, command, &argc, &argv, &status))
        return status;
    if (!options_get_optional_name(command, argc, argv, &listing.name, &status))
        return status;
    return listing_print(&listing);
}
