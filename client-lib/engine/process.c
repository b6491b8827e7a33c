/* SPDX-FileCopyrightText: 2026 The WebLocks for D-Bus authors
 * SPDX-License-Identifier: LGPL-2.1-or-later */

#include "client-lib/engine/process.h"

#include <fcntl.h>
#include <pthread.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

int process_n_forks;

/* The number of a descriptor may be reused for another file before the fork(), so the device and
 * inode are recorded, too. */
typedef struct {
    int fd;
    dev_t device;
    ino_t inode;
} GuardedFd;

static GArray *guarded_fds; /* of GuardedFd */

/* ---- mutexes */

static GMutex mutexes[N_PROCESS_MUTEXES];

void
process_lock(ProcessMutex mutex)
{
    g_mutex_lock(&mutexes[mutex]);
}

void
process_unlock(ProcessMutex mutex)
{
    g_mutex_unlock(&mutexes[mutex]);
}

/* ---- fork() */

static void
before_fork(void)
{
    for (guint i = 0; i < N_PROCESS_MUTEXES; i++)
        process_lock((ProcessMutex)i);
}

static void
after_fork_in_parent(void)
{
    for (guint i = N_PROCESS_MUTEXES; i-- > 0;)
        process_unlock((ProcessMutex)i);
}

/* Only async-signal-safe functions may be called here. The descriptor numbers stay in use, so that
 * code that closes them later does not close an unrelated file. */
static void
after_fork_in_child(void)
{
    int null_fd = open("/dev/null", O_RDWR | O_CLOEXEC);

    process_n_forks++;
    for (guint i = 0; null_fd >= 0 && guarded_fds != NULL && i < guarded_fds->len; i++) {
        const GuardedFd *guarded = &g_array_index(guarded_fds, GuardedFd, i);
        struct stat now;

        if (fstat(guarded->fd, &now) == 0 && now.st_dev == guarded->device &&
            now.st_ino == guarded->inode)
            dup3(null_fd, guarded->fd, O_CLOEXEC);
    }
    if (null_fd >= 0)
        close(null_fd);
    if (guarded_fds != NULL)
        g_array_set_size(guarded_fds, 0);
    after_fork_in_parent();
}

/* When the library is loaded, and not when it is first used: a fork() during the first use would
 * otherwise leave the child with a "once" that never ends. */
static void __attribute__((constructor)) install_fork_handlers(void)
{
    if (pthread_atfork(before_fork, after_fork_in_parent, after_fork_in_child) != 0)
        g_error("could not register fork handlers: out of memory");
}

/* ---- the eventfd of a thread */

/* The child of a fork() creates a new one. */
typedef struct {
    int fd;
    int n_forks;
} WakeFd;

static void
wake_fd_free(gpointer data)
{
    WakeFd *self = data;

    /* In the child of a fork() the number may refer to another file. */
    if (self->n_forks == process_n_forks)
        close(self->fd);
    g_free(self);
}

static GPrivate this_wake_fd = G_PRIVATE_INIT(wake_fd_free);

int
process_get_wake_fd(void)
{
    WakeFd *self = g_private_get(&this_wake_fd);

    if (self == NULL || self->n_forks != process_n_forks) {
        const int fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);

        if (fd < 0)
            return -1;
        self = g_new(WakeFd, 1);
        self->fd = fd;
        self->n_forks = process_n_forks;
        g_private_replace(&this_wake_fd, self);
    }
    return self->fd;
}

/* ---- guarded descriptors */

/* With the mutex locked. */
static void
guard(int fd)
{
    GuardedFd guarded = {.fd = fd};
    struct stat now;

    if (fstat(fd, &now) != 0)
        return;
    guarded.device = now.st_dev;
    guarded.inode = now.st_ino;
    if (guarded_fds == NULL)
        guarded_fds = g_array_new(FALSE, FALSE, sizeof guarded);
    g_array_append_val(guarded_fds, guarded);
}

void
process_guard_fd(int fd)
{
    process_lock(PROCESS_MUTEX_FDS);
    guard(fd);
    process_unlock(PROCESS_MUTEX_FDS);
}

int
process_open_socket(int domain, int type)
{
    int fd;

    process_lock(PROCESS_MUTEX_FDS);
    fd = socket(domain, type | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (fd >= 0)
        guard(fd);
    process_unlock(PROCESS_MUTEX_FDS);
    return fd;
}

void
process_unguard_fd(int fd)
{
    process_lock(PROCESS_MUTEX_FDS);
    for (guint i = 0; guarded_fds != NULL && i < guarded_fds->len; i++) {
        if (g_array_index(guarded_fds, GuardedFd, i).fd == fd) {
            g_array_remove_index_fast(guarded_fds, i);
            break;
        }
    }
    process_unlock(PROCESS_MUTEX_FDS);
}
