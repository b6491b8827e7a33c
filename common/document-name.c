/* SPDX-FileCopyrightText: 2026 The WebLocks for D-Bus authors
 * SPDX-License-Identifier: LGPL-2.1-or-later */

#include "document-name.h"

#include <string.h>

/* The service's default limit of a resource name. */
#define NAME_BYTES_MAX 1024

char *
document_name_from_uri(const char *uri)
{
    g_autofree char *hash = NULL;

    if (strlen(uri) <= NAME_BYTES_MAX)
        return g_strdup(uri);
    hash = g_compute_checksum_for_string(G_CHECKSUM_SHA256, uri, -1);
    return g_strconcat("sha256:", hash, NULL);
}

char *
document_name_from_path(const char *path)
{
    g_autofree char *uri = g_filename_to_uri(path, NULL, NULL);

    return uri != NULL ? document_name_from_uri(uri) : NULL;
}
