/* SPDX-FileCopyrightText: 2026 The WebLocks for D-Bus authors
 * SPDX-License-Identifier: LGPL-2.1-or-later */

/* Sequences of clients' operations, with time-outs and restarts between them: eight agents of three
 * principals, on the core and on a model of the standard's text.
 *
 * An operation is six bytes; see tests/unit/lock-world.h, which compares both sides after each. */

#include <string.h>

#include "tests/fuzz/fuzz.h"
#include "tests/unit/lock-world.h"

/* More operations find nothing more, and after each everything is compared. */
#define OPERATIONS_MAX 400

G_STATIC_ASSERT(sizeof(LockOperation) == 6);

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    LockWorld *world =
        lock_world_new("this input", LOCK_WORLD_CLUSTER, g_getenv("WEBLOCKS_FUZZ_LOUD") != NULL);

    for (guint i = 0; i < OPERATIONS_MAX && size >= sizeof(LockOperation); i++) {
        LockOperation operation;

        memcpy(&operation, data, sizeof operation);
        lock_world_do(world, &operation);
        data += sizeof operation;
        size -= sizeof operation;
    }
    lock_world_free(world);
    return 0;
}
