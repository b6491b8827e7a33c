/* SPDX-FileCopyrightText: 2026 The WebLocks for D-Bus authors
 * SPDX-License-Identifier: LGPL-2.1-or-later */

#include "tests/storm/resource.h"

#include <errno.h>
#include <fcntl.h>
#include <gio/gio.h>
#include <stdatomic.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

struct Resource {
    int locks[HISTORY_N_NAMES]; /* -1: not asked */
    _Atomic guint64 *highest;   /* shared by all processes */
};

static int
open_shared(const char *directory, const char *what, guint principal, GError **error)
{
    g_autofree char *path = g_strdup_printf("%s/%s-%u", directory, what, principal);
    const int fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0600);

    if (fd < 0) {
        const int number = errno;

        g_set_error(error, G_IO_ERROR, (gint)g_io_error_from_errno(number), "%s: %s", path,
                    g_strerror(number));
    }
    return fd;
}

static gboolean
map_highest(Resource *self, int fd, GError **error)
{
    const gsize size = HISTORY_N_NAMES * sizeof(guint64);
    void *memory = MAP_FAILED;
    int number;

    /* Always of the same size: the file is never truncated for other readers. */
    if (ftruncate(fd, (off_t)size) == 0)
        memory = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    number = errno;
    if (memory == MAP_FAILED) {
        g_set_error(error, G_IO_ERROR, (gint)g_io_error_from_errno(number), "the resource: %s",
                    g_strerror(number));
        return FALSE;
    }
    self->highest = memory;
    return TRUE;
}

Resource *
resource_new(const char *directory, guint principal, gboolean has_oracle, GError **error)
{
    Resource *self = g_new0(Resource, 1);
    int fd;

    for (guint i = 0; i < HISTORY_N_NAMES; i++) {
        g_autofree char *what = g_strdup_printf("oracle-%u", i);

        self->locks[i] = has_oracle ? open_shared(directory, what, principal, error) : -1;
        if (has_oracle && self->locks[i] < 0) {
            resource_free(self);
            return NULL;
        }
    }
    fd = open_shared(directory, "resource", principal, error);
    if (fd < 0 || !map_highest(self, fd, error))
        g_clear_pointer(&self, resource_free);
    if (fd >= 0)
        close(fd);
    return self;
}

void
resource_free(Resource *self)
{
    for (guint i = 0; i < HISTORY_N_NAMES; i++)
        if (self->locks[i] > 0)
            close(self->locks[i]);
    if (self->highest != NULL)
        munmap((void *)self->highest, HISTORY_N_NAMES * sizeof(guint64));
    g_free(self);
}

static gboolean
set_lock(Resource *self, guint name, short type)
{
    struct flock lock = {.l_type = type, .l_whence = SEEK_SET};

    return self->locks[name] < 0 || fcntl(self->locks[name], F_OFD_SETLK, &lock) == 0;
}

gboolean
resource_try_lock(Resource *self, guint name, gboolean exclusive)
{
    return set_lock(self, name, exclusive ? F_WRLCK : F_RDLCK);
}

void
resource_unlock(Resource *self, guint name)
{
    set_lock(self, name, F_UNLCK);
}

gboolean
resource_write(Resource *self, guint name, guint64 token, guint64 *highest)
{
    guint64 seen = atomic_load(&self->highest[name]);

    /* Equal: a holder writes as often as it likes. */
    while (seen < token)
        if (atomic_compare_exchange_weak(&self->highest[name], &seen, token))
            break;
    *highest = seen;
    return seen <= token;
}
