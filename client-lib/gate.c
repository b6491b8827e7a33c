/* SPDX-FileCopyrightText: 2026 The WebLocks for D-Bus authors
 * SPDX-License-Identifier: LGPL-2.1-or-later */

#include "client-lib/gate.h"

#include <unistd.h>

struct Gate {
    gatomicrefcount n_refs;
    GRecMutex mutex;
    pid_t pid;
};

Gate *
gate_new(void)
{
    Gate *self = g_new0(Gate, 1);

    g_atomic_ref_count_init(&self->n_refs);
    g_rec_mutex_init(&self->mutex);
    self->pid = getpid();
    return self;
}

Gate *
gate_ref(Gate *self)
{
    g_atomic_ref_count_inc(&self->n_refs);
    return self;
}

void
gate_unref(Gate *self)
{
    if (!g_atomic_ref_count_dec(&self->n_refs))
        return;
    g_rec_mutex_clear(&self->mutex);
    g_free(self);
}

gboolean
gate_is_of_this_process(const Gate *self)
{
    return getpid() == self->pid;
}

void
gate_enter(Gate *self)
{
    gate_ref(self);
    if (gate_is_of_this_process(self))
        g_rec_mutex_lock(&self->mutex);
}

void
gate_leave(Gate *self)
{
    if (gate_is_of_this_process(self))
        g_rec_mutex_unlock(&self->mutex);
    gate_unref(self);
}
