/* SPDX-FileCopyrightText: 2026 The WebLocks for D-Bus authors
 * SPDX-License-Identifier: LGPL-2.1-or-later */

/* The bus and the bucket that a command works on, with the options that set them and the error
 * messages that depend on them. The strings of a Target are those of the command line. */

#pragma once

#include <weblocks/weblocks.h>

#include "cli/options.h"
#include "cli/status.h"

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

GBusType target_bus(const Target *target);

/* Return an owned object, or NULL and an error of the library. */
WebLocksAgent *target_connect(const Target *target, GError **error);
WebLocksManager *target_get_manager(const Target *target, GError **error);

/* Prints the error's message. Returns the exit status for it. */
Status complain_of(const GError *error);

/* Prints the error, of a call in the bucket. Returns the exit status for it. */
Status target_complain(const Target *target, const GError *error);

/* Changes the message of the error of a failed connection: what is missing, and what to do. */
void target_explain(const Target *target, GError *error);
