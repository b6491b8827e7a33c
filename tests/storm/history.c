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

guint64
history_now(void)
{
    struct timespec now;

    clock_gettime(CLOCK_MONOTONIC, &now);
    return (guint64)now.tv_sec * G_GUINT64_CONSTANT(1000000000) + (guint64)now.tv_nsec;
}

/* ---- writing */

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

/* ---- reading */

HistoryFile *
history_file_open(const char *path, GError **error)
{
    g_autoptr(GMappedFile) file = g_mapped_file_new(path, FALSE, error);
    HistoryFile *self;
    const char *data;
    gsize size;
    guint n;

    if (file == NULL)
        return NULL;
    self = g_new0(HistoryFile, 1);
    data = g_mapped_file_get_contents(file);
    size = g_mapped_file_get_length(file);
    self->file = g_steal_pointer(&file);
    /* The client was killed before it wrote anything. */
    if (size < sizeof(HistoryHeader) || ((const HistoryHeader *)data)->magic == 0)
        return self;
    if (((const HistoryHeader *)data)->magic != HISTORY_MAGIC) {
        g_set_error(error, G_IO_ERROR, G_IO_ERROR_INVALID_DATA, "%s is no history", path);
        history_file_free(self);
        return NULL;
    }
    self->header = *(const HistoryHeader *)data;
    self->records = (const HistoryRecord *)(data + sizeof(HistoryHeader));
    n = (guint)((size - sizeof(HistoryHeader)) / sizeof(HistoryRecord));
    while (self->n_records < n && self->records[self->n_records].valid == self->n_records + 1)
        self->n_records++;
    return self;
}

void
history_file_free(HistoryFile *self)
{
    g_clear_pointer(&self->file, g_mapped_file_unref);
    g_free(self);
}

/* ---- as text */

const char *
history_kind_to_string(guint kind)
{
    static const char *const names[] = {
        [HISTORY_NONE] = "nothing",
        [HISTORY_REQUEST] = "request",
        [HISTORY_ENTER] = "enter",
        [HISTORY_END] = "end",
        [HISTORY_ABORT] = "abort",
        [HISTORY_LEAVE] = "leave",
        [HISTORY_RELEASE] = "release answered",
        [HISTORY_LOST] = "lost",
        [HISTORY_ORACLE] = "kernel's lock",
        [HISTORY_FENCE] = "write",
        [HISTORY_QUERY] = "query",
        [HISTORY_ROW] = "row",
        [HISTORY_ROWS] = "query answered",
        [HISTORY_QUIET] = "quiet",
        [HISTORY_SENT] = "sent",
        [HISTORY_EXIT] = "exit",
        [HISTORY_SPAWN] = "spawn",
        [HISTORY_KILL] = "kill",
        [HISTORY_REAPED] = "reaped",
        [HISTORY_STOP] = "stop",
        [HISTORY_CONTINUE] = "continue",
        [HISTORY_UNSETTLED] = "not quiet in time",
        [HISTORY_SERVICE_KILL] = "SERVICE kill",
        [HISTORY_SERVICE_DEAD] = "SERVICE dead",
        [HISTORY_SERVICE_READY] = "SERVICE ready",
        [HISTORY_BARRIER] = "barrier",
        [HISTORY_BUS] = "new bus",
        [HISTORY_LEFT] = "left over",
        [HISTORY_STORM_END] = "end of the storm",
        [HISTORY_FAULT] = "FAULT",
        [HISTORY_FAULT_END] = "FAULT ends",
    };

    if (kind >= G_N_ELEMENTS(names) || names[kind] == NULL)
        return "?";
    return names[kind];
}

const char *
history_outcome_to_string(guint outcome)
{
    static const char *const names[] = {
        [HISTORY_OK] = "ok",
        [HISTORY_UNAVAILABLE] = "not available",
        [HISTORY_CANCELLED] = "cancelled",
        [HISTORY_TIMEOUT] = "timed out",
        [HISTORY_STOLEN] = "stolen",
        [HISTORY_GONE] = "lost",
        [HISTORY_FAILED] = "failed",
        [HISTORY_REFUSED] = "refused",
        [HISTORY_UNREACHABLE] = "no service",
    };

    return outcome < G_N_ELEMENTS(names) ? names[outcome] : "?";
}

static void
append_request(GString *text, const HistoryRecord *record)
{
    g_string_append_printf(text, " lock %u", record->name);
    if (record->kind == HISTORY_ROW)
        g_string_append_printf(text, " of :1.%u %s", record->subject,
                               record->flags & HISTORY_FLAG_HELD ? "held" : "pending");
    if (record->kind == HISTORY_ROW || record->kind == HISTORY_REQUEST)
        g_string_append(text, record->mode == 0 ? " exclusive" : " shared");
    if (record->flags & HISTORY_FLAG_IF_AVAILABLE)
        g_string_append(text, " ifAvailable");
    if (record->flags & HISTORY_FLAG_STEAL)
        g_string_append(text, " steal");
    if (record->kind == HISTORY_REQUEST && record->detail != 0)
        g_string_append_printf(text, " time-out %" G_GUINT64_FORMAT " ms", record->detail);
    if (record->position != 0)
        g_string_append_printf(text, " position %u", record->position);
    if (record->token != 0)
        g_string_append_printf(text, " token %" G_GUINT64_FORMAT, record->token);
    if (record->kind == HISTORY_FENCE)
        g_string_append_printf(text, " highest %" G_GUINT64_FORMAT, record->detail);
}

char *
history_record_to_string(const HistoryRecord *record, guint64 start)
{
    GString *text = g_string_new(NULL);

    g_string_append_printf(text, "%12.6f  ", (double)(gint64)(record->time - start) / 1e9);
    if (record->client == 0)
        g_string_append(text, "supervisor");
    else
        g_string_append_printf(text, "client %u", record->client);
    g_string_append_printf(text, ": %s", history_kind_to_string(record->kind));
    if (record->kind < HISTORY_QUIET) {
        g_string_append_printf(text, " %" G_GUINT64_FORMAT, record->request);
        if (record->kind != HISTORY_QUERY && record->kind != HISTORY_ROWS)
            append_request(text, record);
    } else if (record->kind >= HISTORY_FAULT) {
        g_string_append_printf(text, " %" G_GUINT64_FORMAT " of host %u", record->request,
                               record->subject);
    } else if (record->subject != 0) {
        g_string_append_printf(text, " of client %u", record->subject);
    }
    if (record->outcome != HISTORY_OK)
        g_string_append_printf(text, ": %s", history_outcome_to_string(record->outcome));
    return g_string_free(text, FALSE);
}
