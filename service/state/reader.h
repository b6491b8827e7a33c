/* SPDX-FileCopyrightText: 2026 The WebLocks for D-Bus authors
 * SPDX-License-Identifier: LGPL-2.1-or-later */

/* Reads a state file that may be damaged in any way.
 *
 * LMDB doesn't validate its file: a wrong byte can make it access memory outside of the map, or
 * loop forever. So a child process reads the file and sends the records through a pipe; if the
 * child crashes or takes too long, the file is damaged. Then the records are compared with the
 * header's digest, which detects damage that LMDB doesn't notice. */

#pragma once

#include <glib.h>

#include "records.h"

typedef struct {
    const guint8 *key; /* in `bytes`, as is the value */
    const guint8 *value;
    guint32 key_size;
    guint32 value_size;
} RawRecord;

typedef struct {
    HeaderRecord header;
    GByteArray *bytes;
    GArray *records; /* of RawRecord, in the order of their keys, without the header */
} StateContents;

/* Loads a state file. Returns NULL if there is no file (STORE_ERROR_NO_FILE), it is damaged
 * (STORE_ERROR_DAMAGED), or it can't be read for lack of resources (STORE_ERROR_NO_RESOURCE).
 * Blocks. */
StateContents *reader_read(const char *path, GError **error);
void state_contents_free(StateContents *state);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(StateContents, state_contents_free)

/* Parses and validates `bytes`, the child's output. Takes `bytes`. */
StateContents *reader_decode(GByteArray *bytes, GError **error);
