/* SPDX-FileCopyrightText: 2026 The WebLocks for D-Bus authors
 * SPDX-License-Identifier: LGPL-2.1-or-later */

/* Reading of /.flatpak-info, the file with which Flatpak marks the root of each sandbox and of the
 * proxy that connects to the bus for it. The file is untrusted.
 *
 * Links are not followed, opening and reading don't block, and at most FLATPAK_INFO_MAX bytes are
 * accepted. */

#pragma once

#include <glib.h>

#define FLATPAK_INFO_NAME ".flatpak-info"
#define FLATPAK_INFO_MAX  ((gsize)64 * 1024)

typedef enum {
    FLATPAK_INFO_NONE, /* the file does not exist: not a Flatpak sandbox */
    FLATPAK_INFO_APP,  /* the file is valid and has an application id */
    FLATPAK_INFO_BAD,  /* everything else */
} FlatpakInfo;

/* `root` is a descriptor of the root directory. `*out_app_id` is owned by the caller, and NULL
 * unless the result is FLATPAK_INFO_APP. */
FlatpakInfo flatpak_info_read(int root, char **out_app_id);

/* Returns the owned application id from the file's contents, or NULL if it has no valid one. */
char *flatpak_info_parse(const char *data, gsize size);
