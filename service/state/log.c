/* SPDX-FileCopyrightText: 2026 The WebLocks for D-Bus authors
 * SPDX-License-Identifier: LGPL-2.1-or-later */

#include "log.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "writer-lock.h"

#define HEAD_MAGIC     0x736b636f4c626557 /* "WebLocks" */
#define FORMAT_VERSION 3

/* It is read too: see RequestRecord. */
#define FORMAT_VERSION_BEFORE 2

/* Version 1 was a file of LMDB: its number, and where that is. */
#define LMDB_MAGIC    0xBEEFC0DE
#define LMDB_POSITION 16

/* The greatest size of a file: 65,536 requests with the longest names take a fifth of it. */
#define BYTES_MAX (sizeof(void *) > 4 ? 1024UL * 1024 * 1024 : 256UL * 1024 * 1024)

typedef struct {
    guint64 size;      /* of the records */
    guint64 file_size; /* the file has at least this size */
    guint64 digest;    /* of these two and of the frame before */
} FrameHead;

/* A frame ends with the digest of all that is before, and this as the last byte of that: it tells a
 * frame that was written to its end from one that was not, where there is a zero. */
#define FRAME_MARK 0xff
#define END_BYTES  sizeof(guint64)

G_STATIC_ASSERT(sizeof(LogHead) == 56);
G_STATIC_ASSERT(sizeof(FrameHead) == 24);

/* ---- digests */

/* The digest of `size` bytes, a multiple of eight. Each step can be undone if the word is known, so
 * any change of one word changes the digest. It protects against accidents, not against somebody
 * who may write the file. */
static guint64
digest(guint64 key, const void *bytes, gsize size)
{
    const guint8 *next = bytes;
    guint64 sum = key + size;

    for (gsize i = 0; i < size; i += sizeof(guint64)) {
        guint64 word;

        memcpy(&word, next + i, sizeof word);
        sum = (sum ^ word) * G_GUINT64_CONSTANT(0x9e3779b97f4a7c15);
        sum = sum << 29 | sum >> 35;
    }
    return sum;
}

static guint64
digest_of_head(const LogHead *head)
{
    return digest(head->magic, head, G_STRUCT_OFFSET(LogHead, digest));
}

LogHead
log_make_head(const guint8 *bus_id, const guint8 *boot_id)
{
    LogHead head = {.magic = HEAD_MAGIC, .version = FORMAT_VERSION};

    memcpy(head.bus_id, bus_id, LOG_ID_BYTES);
    memcpy(head.boot_id, boot_id, LOG_ID_BYTES);
    head.digest = digest_of_head(&head);
    return head;
}

static FrameHead
make_frame_head(guint64 previous, guint64 size, guint64 file_size)
{
    FrameHead head = {size, file_size, 0};

    head.digest = digest(previous, &head, G_STRUCT_OFFSET(FrameHead, digest));
    return head;
}

/* ---- files */

static void
close_file(LogFile *file)
{
    if (file->fd >= 0)
        close(file->fd);
    *file = (LogFile){.fd = -1};
}

/* It has what a predecessor has left. */
static gboolean
set_file(LogFile *file, int fd)
{
    struct stat status;

    if (fd < 0 || fstat(fd, &status) < 0 || !S_ISREG(status.st_mode)) {
        if (fd >= 0)
            close(fd);
        return FALSE;
    }
    *file = (LogFile){fd, (gsize)status.st_size, (gsize)status.st_size};
    return TRUE;
}

Log *
log_open(const char *path, const guint8 *bus_id, const guint8 *boot_id, GError **error)
{
    Log *log = g_new0(Log, 1);
    int fd = open(path, O_RDWR | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);

    log->path = g_strdup(path);
    log->spare_path = g_strdup_printf("%s.new", path);
    log->head = log_make_head(bus_id, boot_id);
    log->file.fd = log->spare.fd = -1;
    if (fd < 0 && (errno == EMFILE || errno == ENFILE || errno == ENOMEM))
        writer_lock_set_error(error, path);
    else if (!set_file(&log->file, fd) || writer_lock_set(fd))
        return log;
    log_free(log);
    return NULL;
}

void
log_free(Log *log)
{
    close_file(&log->file);
    close_file(&log->spare);
    g_free(log->path);
    g_free(log->spare_path);
    g_free(log);
}

gboolean
log_is_in_place(const Log *log)
{
    return writer_lock_is_at(log->file.fd, log->path) &&
           (log->spare.fd < 0 || writer_lock_is_at(log->spare.fd, log->spare_path));
}

void
log_put_aside(Log *log, const char *path)
{
    remove(path); /* a file of another type would prevent the renaming */
    if (rename(log->path, path) < 0 && remove(log->path) < 0)
        g_warning("%s: %s", log->path, g_strerror(errno));
    close_file(&log->file);
}

void
log_keep(Log *log, const char *path)
{
    remove(path);
    if (link(log->path, path) < 0)
        g_warning("%s: %s", path, g_strerror(errno));
    close_file(&log->file);
}

/* ---- room */

/* Opens the spare file, unless it is open and has its name. One that the service may not use, as
 * one that has another name too, is replaced. Sets errno on failure; EPERM if that is not possible.
 */
static gboolean
have_spare(Log *log)
{
    g_autoptr(GError) refusal = NULL;
    struct stat status;
    int fd;

    if (log->spare.fd >= 0 && fstat(log->spare.fd, &status) == 0 && status.st_nlink == 1 &&
        status.st_uid == geteuid() && writer_lock_is_at(log->spare.fd, log->spare_path))
        return TRUE;
    close_file(&log->spare);
    fd = writer_lock_open_file(log->spare_path, &refusal);
    if (refusal != NULL) {
        remove(log->spare_path);
        errno = EPERM;
        fd = writer_lock_open_file(log->spare_path, NULL);
    }
    return set_file(&log->spare, fd);
}

static gboolean
allocate(LogFile *file, gsize size)
{
    if (size <= file->size)
        return TRUE;
    /* Only the new part, since each page is visited, even if it exists. */
    do
        errno = posix_fallocate(file->fd, (off_t)file->size, (off_t)(size - file->size));
    while (errno == EINTR);
    if (errno == 0)
        file->size = size;
    return errno == 0;
}

gboolean
log_reserve(Log *log, gsize size)
{
    return size <= BYTES_MAX && have_spare(log) && allocate(&log->spare, size) &&
           (log->file.fd < 0 || allocate(&log->file, size));
}

void
log_shrink_spare(Log *log, gsize size)
{
    LogFile *spare = &log->spare;

    if (!have_spare(log) || spare->size <= size || ftruncate(spare->fd, (off_t)size) < 0)
        return;
    spare->size = size;
    spare->end = MIN(spare->end, size);
}

/* ---- writing */

static gboolean
write_fully(int fd, const void *bytes, gsize size, gsize position)
{
    const guint8 *next = bytes;

    while (size > 0) {
        ssize_t n_written = pwrite(fd, next, size, (off_t)position);

        if (n_written < 0 && errno == EINTR)
            continue;
        if (n_written <= 0)
            return FALSE;
        next += n_written;
        position += (gsize)n_written;
        size -= (gsize)n_written;
    }
    return TRUE;
}

static gboolean
write_zeros(int fd, gsize from, gsize to)
{
    static const guint8 zeros[65536];

    for (; from < to; from += MIN(to - from, sizeof zeros))
        if (!write_fully(fd, zeros, MIN(to - from, sizeof zeros), from))
            return FALSE;
    return TRUE;
}

void
log_begin_frame(GByteArray *frame)
{
    g_byte_array_set_size(frame, sizeof(FrameHead));
}

guint64
log_seal(GByteArray *frame, guint64 previous, gsize file_size)
{
    gsize size = frame->len - sizeof(FrameHead);
    const FrameHead head = make_frame_head(previous, size, file_size);
    guint64 sum = digest(head.digest, frame->data + sizeof head, size);

    memcpy(frame->data, &head, sizeof head);
    g_byte_array_append(frame, (const guint8 *)&sum, sizeof sum);
    frame->data[frame->len - 1] = FRAME_MARK;
    return sum;
}

gboolean
log_append(Log *log, GByteArray *frame, GError **error)
{
    guint64 sum;

    /* The head of the next frame has to be in the part that the size in this one covers. */
    if (log->file.end + frame->len + END_BYTES + sizeof(FrameHead) > log->file.size)
        return FALSE;
    sum = log_seal(frame, log->digest, log->file.size);
    if (!write_fully(log->file.fd, frame->data, frame->len, log->file.end)) {
        writer_lock_set_error(error, log->path);
        return FALSE;
    }
    log->digest = sum;
    log->file.end += frame->len;
    return TRUE;
}

/* The spare file gets the name of the file, and the file that of the spare one. */
static gboolean
exchange(Log *log)
{
    const LogFile old = log->file;

    /* It fails if there is no file, and where it is not supported. */
    if (renameat2(AT_FDCWD, log->spare_path, AT_FDCWD, log->path, RENAME_EXCHANGE) < 0 &&
        rename(log->spare_path, log->path) < 0)
        return FALSE;
    log->file = log->spare;
    log->spare = old;
    have_spare(log); /* the old file may have no name now, or two */
    return TRUE;
}

gboolean
log_replace(Log *log, GByteArray *frame, GError **error)
{
    gsize end = sizeof log->head + frame->len + END_BYTES;
    LogFile *spare = &log->spare;
    gsize zeros_until;
    guint64 sum;

    if (have_spare(log) && allocate(spare, end + sizeof(FrameHead))) {
        sum = log_seal(frame, log->head.digest, spare->size);
        zeros_until = spare->end;
        spare->end = MAX(end, zeros_until);
        if (write_fully(spare->fd, &log->head, sizeof log->head, 0) &&
            write_fully(spare->fd, frame->data, frame->len, sizeof log->head) &&
            write_zeros(spare->fd, end, zeros_until) && exchange(log)) {
            log->file.end = end;
            log->digest = sum;
            return TRUE;
        }
    }
    writer_lock_set_error(error, log->spare_path);
    return FALSE;
}

/* ---- reading */

static const char damaged[] = "the state is damaged: it is not what was written";

static const char *
check_head(const LogHead *expected, const guint8 *bytes, gsize size)
{
    guint32 lmdb;
    LogHead head;

    if (size < sizeof head)
        return damaged;
    memcpy(&head, bytes, sizeof head);
    memcpy(&lmdb, bytes + LMDB_POSITION, sizeof lmdb);
    if (head.magic != HEAD_MAGIC && lmdb == LMDB_MAGIC)
        return "the state is in the format of an earlier version of the service";
    if (head.magic == HEAD_MAGIC && head.version != FORMAT_VERSION &&
        head.version != FORMAT_VERSION_BEFORE)
        return "the state is in the format of another version of the service";
    if (head.magic != HEAD_MAGIC || head.digest != digest_of_head(&head))
        return damaged;
    if (memcmp(head.bus_id, expected->bus_id, LOG_ID_BYTES) != 0)
        return "the state is that of another bus";
    if (memcmp(head.boot_id, expected->boot_id, LOG_ID_BYTES) != 0)
        return "the state is from before the last boot";
    return NULL;
}

/* Whether what is behind the last frame, which ends at `end`, is what a kill leaves: only zeros, or
 * the beginning of a frame, which would end at `torn_end`, and then zeros. */
static gboolean
is_sound_end(const guint8 *bytes, gsize size, gsize end, gsize torn_end)
{
    /* There is always a frame: a file gets its name after the first one is written. */
    if (end == sizeof(LogHead) || torn_end > size)
        return FALSE;
    bytes += torn_end;
    size -= torn_end;
    /* Each byte equals the next one. */
    return size == 0 || (bytes[0] == 0 && memcmp(bytes, bytes + 1, size - 1) == 0);
}

const char *
log_extract_records(const LogHead *expected, guint8 *bytes, gsize *size)
{
    gsize position = sizeof(LogHead), n_records = 0, torn_end;
    const char *fault = check_head(expected, bytes, *size);
    guint64 sum;

    if (fault != NULL)
        return fault;
    memcpy(&sum, bytes + G_STRUCT_OFFSET(LogHead, digest), sizeof sum);
    for (;;) {
        gsize left = *size - position;
        const guint8 *records;
        FrameHead head;

        torn_end = position + sizeof head;
        if (left < sizeof head)
            return damaged;
        memcpy(&head, bytes + position, sizeof head);
        if (head.digest != make_frame_head(sum, head.size, head.file_size).digest)
            break;
        left -= sizeof head;
        if (head.file_size > *size || left < END_BYTES || head.size % 8 != 0 ||
            head.size > left - END_BYTES)
            return damaged;
        records = bytes + position + sizeof head;
        torn_end += head.size + END_BYTES - 1;
        sum = digest(head.digest, records, head.size);
        /* A frame of which all but the mark is there is as good as one with it. */
        if (memcmp(records + head.size, &sum, sizeof sum - 1) != 0)
            break;
        memmove(bytes + n_records, records, head.size);
        n_records += head.size;
        position = torn_end + 1;
    }
    if (!is_sound_end(bytes, *size, position, torn_end))
        return damaged;
    *size = n_records;
    return NULL;
}

guint8 *
log_read(const Log *log, gsize *out_size, const char **out_fault, GError **error)
{
    const LogFile *file = &log->file;
    guint8 *bytes = NULL;
    ssize_t r = 1;

    *out_size = 0;
    *out_fault = NULL;
    if (file->fd < 0 || file->size > BYTES_MAX) {
        *out_fault = file->fd < 0 ? "the state is damaged: it is no file"
                                  : "the state is damaged: it is too long";
        return NULL;
    }
    bytes = g_try_malloc(file->size + 1);
    while (bytes != NULL && *out_size < file->size && r > 0) {
        r = pread(file->fd, bytes + *out_size, file->size - *out_size, (off_t)*out_size);
        if (r < 0 && errno == EINTR)
            r = 1;
        else if (r > 0)
            *out_size += (gsize)r;
    }
    if (bytes == NULL || r < 0) {
        g_set_error(error, G_FILE_ERROR, G_FILE_ERROR_NOMEM, "the state cannot be read now: %s",
                    bytes == NULL ? g_strerror(ENOMEM) : g_strerror(errno));
        g_free(bytes);
        return NULL;
    }
    *out_fault = log_extract_records(&log->head, bytes, out_size);
    if (*out_fault != NULL)
        g_clear_pointer(&bytes, g_free);
    return bytes;
}
