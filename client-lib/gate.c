/* SPDX-FileCopyrightText: 2026 The WebLocks for D-Bus authors
 * SPDX-License-Identifier: LGPL-2.1-or-later */

#include "client-lib/gate.h"

#include <fcntl.h>
#include <pthread.h>
#include <sys/stat.h>
#include <unistd.h>

struct Gate {
    gatomicrefcount n_refs;
    GRecMutex mutex;
    int n_forks; /* when it was made */
};

/* How many forks this process is away from the first; counted, because asking for the process id is
 * a system call each time. */
static int n_forks;

/* With what it is, since the number may be another's by the time of a fork. */
typedef struct {
    int fd;
    dev_t device;
    ino_t inode;
} GuardedFd;

static GMutex guarded_mutex;
static GArray *guarded_fds; /* of GuardedFd */

static void
before_fork(void)
{
    g_mutex_lock(&guarded_mutex);
}

static void
after_fork_in_parent(void)
{
    g_mutex_unlock(&guarded_mutex);
}

/* The numbers stay taken, so that nobody closes a stranger's descriptor later. Only what is safe
 * after a fork of many threads. */
static void
after_fork_in_child(void)
{
    int nothing = open("/dev/null", O_RDWR | O_CLOEXEC);

    n_forks++;
    for (guint i = 0; nothing >= 0 && guarded_fds != NULL && i < guarded_fds->len; i++) {
        const GuardedFd *guarded = &g_array_index(guarded_fds, GuardedFd, i);
        struct stat now;

        if (fstat(guarded->fd, &now) == 0 && now.st_dev == guarded->device &&
            now.st_ino == guarded->inode)
            dup3(nothing, guarded->fd, O_CLOEXEC);
    }
    if (nothing >= 0)
        close(nothing);
    if (guarded_fds != NULL)
        g_array_set_size(guarded_fds, 0);
    g_mutex_unlock(&guarded_mutex);
}

static void
start_counting_forks(void)
{
    static gsize is_counting;

    if (!g_once_init_enter(&is_counting))
        return;
    if (pthread_atfork(before_fork, after_fork_in_parent, after_fork_in_child) != 0)
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

void
gate_guard_fd(int fd)
{
    GuardedFd guarded = {.fd = fd};
    struct stat now;

    if (fstat(fd, &now) != 0)
        return;
    guarded.device = now.st_dev;
    guarded.inode = now.st_ino;
    g_mutex_lock(&guarded_mutex);
    if (guarded_fds == NULL)
        guarded_fds = g_array_new(FALSE, FALSE, sizeof guarded);
    g_array_append_val(guarded_fds, guarded);
    g_mutex_unlock(&guarded_mutex);
}

void
gate_unguard_fd(int fd)
{
    g_mutex_lock(&guarded_mutex);
    for (guint i = 0; guarded_fds != NULL && i < guarded_fds->len; i++) {
        if (g_array_index(guarded_fds, GuardedFd, i).fd == fd) {
            g_array_remove_index_fast(guarded_fds, i);
            break;
        }
    }
    g_mutex_unlock(&guarded_mutex);
}
