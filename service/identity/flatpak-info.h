/* SPDX-FileCopyrightText: 2026 The WebLocks for D-Bus authors
 * SPDX-License-Identifier: LGPL-2.1-or-later */

/* /.flatpak-info, the file by which Flatpak marks the root of each sandbox, and that of the proxy
 * which talks to the bus for it: what it says, and how it is read when whoever made it may be no
 * friend of ours.
 *
 * Nothing is followed, nothing is waited for, and no more than FLATPAK_INFO_MAX bytes are read. */

#pragma once

#include <glib.h>

#define FLATPAK_INFO_NAME ".flatpak-info"
#define FLATPAK_INFO_MAX  ((gsize)64 * 1024)

typedef enum {
    FLATPAK_INFO_NONE, /* there is no such file: it is no sandbox of Flatpak's */
    FLATPAK_INFO_APP,  /* there is, and it is that application's */
    FLATPAK_INFO_BAD,  /* all else, whatever it is */
} FlatpakInfo;

/* `root` is a descriptor of the directory. The id is owned, and NULL unless it is an application's.
 */
FlatpakInfo flatpak_info_read(int root, char **out_app_id);

/* The id in the bytes of such a file; NULL if there is none, or none that Flatpak would give. */
char *flatpak_info_parse(const char *data, gsize size);
