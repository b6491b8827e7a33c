/* SPDX-FileCopyrightText: 2026 The WebLocks for D-Bus authors
 * SPDX-License-Identifier: LGPL-2.1-or-later */

/* The convention for locks on documents, which different editors share. */

#include <weblocks/weblocks.h>

#include <stdlib.h>

#include "common/document-name.h"

/* Returns the path without symbolic links; also if the file itself doesn't exist yet. */
static char *
resolve(const char *path)
{
    g_autofree char *directory = g_path_get_dirname(path);
    g_autofree char *name = g_path_get_basename(path);
    char *resolved = realpath(path, NULL);
    g_autofree char *parent = resolved == NULL ? realpath(directory, NULL) : NULL;

    if (parent != NULL)
        resolved = g_build_filename(parent, name, NULL);
    return resolved != NULL ? resolved : g_strdup(path);
}

static char *
get_canonical_uri(GFile *file)
{
    g_autofree char *path = g_file_is_native(file) ? g_file_get_path(file) : NULL;
    g_autofree char *resolved = path != NULL ? resolve(path) : NULL;

    return resolved != NULL ? g_filename_to_uri(resolved, NULL, NULL) : g_file_get_uri(file);
}

/**
 * web_locks_document_name_for_file:
 * @file: a document, which need not exist
 *
 * Gets the lock name of a document, by which different editors exclude each other in the bucket
 * [const@WebLocks.DOCUMENTS_BUCKET].
 *
 * It is the URI of the file, for a local file without symbolic links; if that is longer than 1,024
 * bytes, `sha256:` and the hexadecimal SHA-256 hash of the URI. For a local file this looks at the
 * file system, without changing it; so it takes as long as that, if it is on a server.
 *
 * A sandboxed application is another principal, with other buckets: it neither excludes the editors
 * outside of its sandbox nor is it excluded by them.
 *
 * Returns: (transfer full): a name of ASCII characters
 * Since: 0.1
 */
char *
web_locks_document_name_for_file(GFile *file)
{
    g_autofree char *uri = NULL;

    g_return_val_if_fail(G_IS_FILE(file), NULL);

    uri = get_canonical_uri(file);
    return document_name_from_uri(uri);
}
