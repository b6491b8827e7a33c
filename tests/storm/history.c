/* SPDX-FileCopyrightText: 2026 The WebLocks for D-Bus authors
 * SPDX-License-Identifier: LGPL-2.1-or-later */

#include "tests/storm/history.h"

#include <errno.h>
#include <fcntl.h>
#include <gio/gio.h>
#include <stdatomic.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

struct HistoryLog {
    HistoryHeader *header; /* start of the mapping */
    HistoryRecord *records;
    guint n_records;
    guint capacity;
};

static guint64
history_now(void)
{
    struct timespec now;

    clock_gettime(CLOCK_MONOTONIC, &now);
    return (guint64)now.tv_sec * G_GUINT64_CONSTANT(1000000000) + (guint64)now.tv_nsec;
}

static gsize
log_size(guint capacity)
{
    return sizeof(HistoryHeader) + (gsize)capacity * sizeof(HistoryRecord);
}

static gpointer
fail(GError **error, const char *what, const char *path, int number)
{
    g_set_error(error, G_IO_ERROR, (gint)g_io_error_from_errno(number), "%s %s: %s", what, path,
                g_strerror(number));
    return NULL;
}

HistoryLog *
history_log_new(const char *path, guint capacity, const HistoryHeader *header, GError **error)
{
    const gsize size = log_size(capacity);
    HistoryLog *self;
    void *memory;
    int fd = open(path, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0644);
    int r;

    if (fd < 0)
        return fail(error, "can't make", path, errno);
    r = posix_fallocate(fd, 0, (off_t)size);
    if (r != 0) {
        close(fd);
        return fail(error, "no space for", path, r);
    }
    memory = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    r = errno;
    close(fd);
    if (memory == MAP_FAILED)
        return fail(error, "can't map", path, r);

    self = g_new0(HistoryLog, 1);
    self->header = memory;
    self->records = (HistoryRecord *)(self->header + 1);
    self->capacity = capacity;
    *self->header = *header;
    self->header->magic = 0;
    atomic_thread_fence(memory_order_release);
    *(volatile guint64 *)&self->header->magic = HISTORY_MAGIC;
    return self;
}

void
history_log_free(HistoryLog *self)
{
    munmap(self->header, log_size(self->capacity));
    g_free(self);
}

void
history_log_set_unique(HistoryLog *self, guint32 unique)
{
    self->header->unique = unique;
    atomic_thread_fence(memory_order_release);
    *(volatile guint32 *)&self->header->has_unique = 1;
}

guint
history_log_get_free(HistoryLog *self)
{
    return self->capacity - self->n_records;
}

gboolean
history_log_write(HistoryLog *self, const HistoryRecord *record)
{
    HistoryRecord *place;

    if (self->n_records == self->capacity)
        return FALSE;
    place = &self->records[self->n_records++];
    *place = *record;
    place->client = self->header->client;
    place->time = history_now();
    /* That the file is valid after a kill depends on this order only. */
    atomic_thread_fence(memory_order_release);
    *(volatile guint32 *)&place->valid = self->n_records;
    return TRUE;
}
