/* SPDX-FileCopyrightText: 2026 The WebLocks for D-Bus authors
 * SPDX-License-Identifier: LGPL-2.1-or-later */

/* Reads a store's file that may be damaged in any way.
 *
 * LMDB trusts its file: a wrong byte can send it outside of the map, or round in circles. So a
 * child process reads it, and hands over what it finds; if it dies of it, or takes too long, the
 * file is damaged. What it hands over is then held against the header's digest, so that a fault
 * that LMDB doesn't notice is noticed too. */

#pragma once

#include <glib.h>

#include "records.h"

typedef struct {
    const guint8 *key; /* in `bytes`, as is the value */
    const guint8 *value;
    guint32 key_size;
    guint32 value_size;
} LoadedRecord;

typedef struct {
    HeaderRecord header;
    GByteArray *bytes;
    GArray *records; /* of LoadedRecord, in the order of their keys, without the header */
} LoadedState;

/* NULL: there is no file (STORE_ERROR_NO_FILE), it is damaged (STORE_ERROR_DAMAGED), or it can't be
 * told now (STORE_ERROR_NO_RESOURCE). Blocks. */
LoadedState *load_state(const char *path, GError **error);
void loaded_state_free(LoadedState *state);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(LoadedState, loaded_state_free)

/* The second half of it: `bytes` is what the child has handed over. Takes it. */
LoadedState *load_state_from_bytes(GByteArray *bytes, GError **error);
