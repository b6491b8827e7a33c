/* SPDX-FileCopyrightText: 2026 The WebLocks for D-Bus authors
 * SPDX-License-Identifier: LGPL-2.1-or-later */

/* Lock names of documents, which the window shows as file names: the inverse of
 * common/document-name. */

#pragma once

#include <glib.h>

/* Splits the lock name of a document into the name of the file and its folder, for people. Returns:
 * FALSE if the name is not the URI of a file */
gboolean viewer_document_split(const char *lock_name, char **name, char **folder);
