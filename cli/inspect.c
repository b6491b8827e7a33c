/* SPDX-FileCopyrightText: 2026 The WebLocks for D-Bus authors
 * SPDX-License-Identifier: LGPL-2.1-or-later */

/* `weblocks inspect`: prints held locks and pending requests with all their details. */

#include "cli/commands.h"

#include "cli/listing.h"
#include "cli/status.h"
#include <glib/gi18n.h>

int
command_inspect(const Command *command, int argc, char **argv)
{
    Listing listing = {.target = TARGET_DEFAULT, .detailed = TRUE};
    int status;

    if (!listing_parse(&listing, command, &argc, &argv, &status))
        return status;
    if (argc > 1)
        return options_complain(command, _("unexpected argument '%s'"), argv[1]);
    if (argc == 1 && !g_utf8_validate(argv[0], -1, NULL))
        return options_complain(command, _("'%s' is not valid UTF-8"), argv[0]);
    listing.name = argv[0];
    return listing_print(&listing);
}
