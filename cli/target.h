/* SPDX-FileCopyrightText: 2026 The WebLocks for D-Bus authors
 * SPDX-License-Identifier: LGPL-2.1-or-later */

/* The bus and the bucket that a command works on, with the options that set them and the error
 * messages that depend on them. The strings of a Target are those of the command line.
 *
 * The options are those of the program, the rest is in its module (module.h): target-bus.h. */

#pragma once

#include "cli/options.h"

typedef struct {
    const char *bucket;
    gboolean system;
    gboolean all; /* all buckets that the caller may look at, also of other principals */
} Target;

extern const char target_default_bucket[];
#define TARGET_DEFAULT ((Target){.bucket = target_default_bucket})

/* Entries for the command's table of options. */
#define TARGET_OPTIONS(target)                                                        \
    {"bucket",    'b',                                                                \
     "BUCKET",    N_("The storage bucket of the name (default: default)"),            \
     option_text, &(target)->bucket},                                                 \
        {"group",           0,                                                        \
         "GROUP",           N_("The bucket of this Unix group, on the system bus"),   \
         target_take_group, &(target)->bucket},                                       \
    {                                                                                 \
        "system", 0, NULL, N_("Use the system bus, not the session bus"), option_set, \
            &(target)->system                                                         \
    }
#define TARGET_ALL_OPTION(target)                                                                 \
    {                                                                                             \
        "all", 'a', NULL, N_("All buckets that you may look at, also of sandboxed applications"), \
            option_set, &(target)->all                                                            \
    }
gboolean target_take_group(const char *group, gpointer into, GError **error);

/* For a command with the option --all. Returns FALSE after reporting an error; then *out_status is
 * the exit status. */
gboolean target_check_all(const Target *target, const Command *command, int *out_status);

/* Whether the bucket is shared with other hosts. */
gboolean target_is_clustered(const Target *target);
