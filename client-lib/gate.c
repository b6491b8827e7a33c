/* SPDX-FileCopyrightText: 2026 The WebLocks for D-Bus authors
 * SPDX-License-Identifier: LGPL-2.1-or-later */

#include "client-lib/gate.h"

#include <pthread.h>

struct Gate {
    gatomicrefcount n_refs;
    GRecMutex mutex;
    int n_forks; /* when it was made */
};

/* How many forks this process is away from the first; counted, because asking for the process id is
 * a system call each time. */
static int n_forks;

static void
count_fork(void)
{
    n_forks++;
}

static void
start_counting_forks(void)
{
    static gsize is_counting;

    if (!g_once_init_enter(&is_counting))
        return;
    if (pthread_atfork(NULL, NULL, count_fork) != 0)
        g_error("No memory to watch for forks");
    g_once_init_leave(&is_counting, 1);
}

Gate *
gate_new(void)
{
    Gate *self = g_new0(Gate, 1);

    g_atomic_ref_count_init(&self->n_refs);
    g_rec_mutex_init(&self->mutex);
    start_counting_forks();
    self->n_forks = n_forks;
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
    return self->n_forks == n_forks;
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

int
gate_count_forks(void)
{
    return n_forks;
}
