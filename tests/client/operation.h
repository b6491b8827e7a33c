/* SPDX-FileCopyrightText: 2026 The WebLocks for D-Bus authors
 * SPDX-License-Identifier: LGPL-2.1-or-later */

/* One operation of an application: an asynchronous call in the thread-default main context, or a
 * synchronous call in a separate thread, where no main loop runs. */

#pragma once

#include "tests/client/fixture.h"

typedef enum {
    OPERATION_NONE, /* not started */
    OPERATION_CONNECT,
    OPERATION_REQUEST,
    OPERATION_RELEASE,
    OPERATION_DOWNGRADE,
    OPERATION_QUERY,
    OPERATION_INSPECT,
    OPERATION_BREAK,
    OPERATION_BUCKETS,
    OPERATION_MONITOR,
    OPERATION_MONITOR_ALL,
} OperationKind;

typedef struct {
    OperationKind kind;
    GObject *target; /* an agent, a manager or a lock, according to the kind */
    char *name;      /* of a request, or of the locks to break */
    WebLocksOptions *options;
    GCancellable *cancellable;
    Losses *losses; /* of the lock, from its creation on */

    GThread *thread;
    int n_results;   /* atomic; the fields below are set before it is */
    GObject *object; /* a lock, a snapshot, a monitor */
    GError *error;
} Operation;

/* Starts the operation; the fields above the empty line must be set. */
void operation_start(Operation *self, gboolean is_sync);

/* Waits for the end of the operation. */
void operation_clear(Operation *self);

/* For test_wait(). */
gboolean operation_has_ended(gpointer operation);
