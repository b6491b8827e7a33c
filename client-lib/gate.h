/* SPDX-FileCopyrightText: 2026 The WebLocks for D-Bus authors
 * SPDX-License-Identifier: LGPL-2.1-or-later */

/* The one lock of a connection.
 *
 * All that belongs to a connection, sd-bus too, is touched inside the gate only, by whatever
 * thread. Nothing of the application runs inside.
 *
 * It lives longer than its connection if a source of another thread is just at it. In the child of
 * a fork it locks nothing, since nobody there would ever open it. */

#pragma once

#include <glib.h>

typedef struct Gate Gate;

Gate *gate_new(void);
Gate *gate_ref(Gate *self);
void gate_unref(Gate *self);

/* One may enter again what one has entered. The gate lives from enter to leave. */
void gate_enter(Gate *self);
void gate_leave(Gate *self);

/* FALSE in the child of a fork. */
gboolean gate_is_of_this_process(const Gate *self);

/* How many forks this process is away from the first. */
int gate_count_forks(void);

/* A socket that a forked child must not keep open: the bus would take the child for us. */
void gate_guard_fd(int fd);
void gate_unguard_fd(int fd);
