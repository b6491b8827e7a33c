/* SPDX-FileCopyrightText: 2026 The WebLocks for D-Bus authors
 * SPDX-License-Identifier: LGPL-2.1-or-later */

/* The lock name of a document in the bucket `documents`, which the library and the service make of
 * the same path. */

#pragma once

#include <glib.h>

/* Returns the URI; if it is longer than the default limit of a name, `sha256:` and its hash. */
char *document_name_from_uri(const char *uri);

/* The name of a local file, by its absolute path without symbolic links. NULL: it isn't absolute.
 */
char *document_name_from_path(const char *path);
