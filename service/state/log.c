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
#define FORMAT_VERSION 2

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

/* What a frame ends with. The last byte tells a frame that was written to its end from one that was
 * not: after a kill in between there is a zero. */
typedef struct {
    guint8 digest[7];
    guint8 mark;
} FrameEnd;

#define FRAME_MARK 0xff

G_STATIC_ASSERT(sizeof(LogHead) == 56);
G_STATIC_ASSERT(sizeof(FrameHead) == 24);
G_STATIC_ASSERT(sizeof(FrameEnd) == 8);

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
set_errno(GError **error, const char *path)
{
    gboolean is_full = errno == ENOSPC || errno == EDQUOT || errno == EFBIG;

    g_set_error(error, G_FILE_ERROR, (int)g_file_error_from_errno(errno), "%s%s: %s",
                is_full ? "no space for the state: " : "", path, g_strerror(errno));
}

static gboolean
lock_file(int fd)
{
    struct flock range = {.l_type = F_WRLCK, .l_whence = SEEK_SET};

    return fcntl(fd, F_OFD_SETLK, &range) == 0;
}

Log *
log_open(const char *path, const guint8 *bus_id, const guint8 *boot_id, GError **error)
{
    Log *log = g_new0(Log, 1);
    struct stat status;

    log->path = g_strdup(path);
    log->spare_path = g_strdup_printf("%s.new", path);
    log->can_allocate = TRUE;
    log->head = log_make_head(bus_id, boot_id);
    log->fd = open(path, O_RDWR | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
    if (log->fd < 0 && (errno == EMFILE || errno == ENFILE || errno == ENOMEM)) {
        set_errno(error, path);
    } else if (log->fd < 0 || fstat(log->fd, &status) < 0 || !S_ISREG(status.st_mode)) {
        if (log->fd >= 0)
            close(log->fd);
        log->fd = -1;
        return log;
    } else if (lock_file(log->fd)) {
        log->size = log->end = (gsize)status.st_size;
        return log;
    }
    log_free(log);
    return NULL;
}

void
log_free(Log *log)
{
    if (log->fd >= 0)
        close(log->fd);
    g_free(log->path);
    g_free(log->spare_path);
    g_free(log);
}

guint8 *
log_read(const Log *log, gsize *out_size, const char **out_fault, GError **error)
{
    g_autofree guint8 *bytes = NULL;
    gsize n_read = 0;
    ssize_t r = 1;

    if (log->fd < 0 || log->size > BYTES_MAX) {
        *out_fault = log->fd < 0 ? "the state is damaged: it is no file"
                                 : "the state is damaged: it is too long";
        return NULL;
    }
    *out_fault = NULL;
    bytes = g_try_malloc(log->size + 1);
    while (bytes != NULL && n_read < log->size && r > 0) {
        r = pread(log->fd, bytes + n_read, log->size - n_read, (off_t)n_read);
        if (r < 0 && errno == EINTR)
            r = 1;
        else if (r > 0)
            n_read += (gsize)r;
    }
    if (bytes == NULL || r < 0) {
        g_set_error(error, G_FILE_ERROR, G_FILE_ERROR_NOMEM, "the state cannot be read now: %s",
                    bytes == NULL ? g_strerror(ENOMEM) : g_strerror(errno));
        return NULL;
    }
    *out_size = n_read;
    return g_steal_pointer(&bytes);
}

gboolean
log_is_in_place(const Log *log)
{
    struct stat status;

    return writer_lock_is_at(log->fd, log->path) &&
           (log->spare_size == 0 || lstat(log->spare_path, &status) == 0);
}

gboolean
log_exists(const Log *log)
{
    struct stat status;

    return log->fd >= 0 || lstat(log->path, &status) == 0;
}

void
log_put_aside(Log *log, const char *path)
{
    remove(path); /* a file of another type would prevent the renaming */
    if (rename(log->path, path) < 0 && remove(log->path) < 0)
        g_warning("%s: %s", log->path, g_strerror(errno));
    if (log->fd >= 0)
        close(log->fd);
    log->fd = -1;
    log->size = log->end = 0;
}

/* ---- room */

/* The spare file, locked. One that the service may not use, as one that has another name too, is
 * replaced. */
static int
open_spare(Log *log, GError **error)
{
    int fd = writer_lock_open_file(log->spare_path, NULL);
    struct stat status;

    if (fd < 0) {
        remove(log->spare_path);
        fd = writer_lock_open_file(log->spare_path, error);
        if (fd < 0)
            return -1;
    }
    if (fstat(fd, &status) < 0 || !lock_file(fd)) {
        set_errno(error, log->spare_path);
        close(fd);
        return -1;
    }
    /* What is in a file that a predecessor has left is not known. */
    if (log->spare_size == 0 || log->spare_end > (gsize)status.st_size)
        log->spare_end = (gsize)status.st_size;
    log->spare_size = (gsize)status.st_size;
    return fd;
}

static gboolean
allocate(Log *log, int fd, gsize *size, gsize new_size)
{
    if (new_size <= *size)
        return TRUE;
    /* Only the new part: fallocate() visits each page, even if it exists. */
    if (log->can_allocate && fallocate(fd, 0, (off_t)*size, (off_t)(new_size - *size)) < 0) {
        if (errno != EOPNOTSUPP && errno != ENOSYS)
            return FALSE;
        log->can_allocate = FALSE;
    }
    if (!log->can_allocate && ftruncate(fd, (off_t)new_size) < 0)
        return FALSE;
    *size = new_size;
    return TRUE;
}

gboolean
log_reserve(Log *log, gsize size)
{
    gboolean has_room;
    int fd;

    if (size <= log->spare_size && (size <= log->size || log->fd < 0))
        return TRUE;
    if (size > BYTES_MAX || (fd = open_spare(log, NULL)) < 0)
        return FALSE;
    has_room = allocate(log, fd, &log->spare_size, size) &&
               (log->fd < 0 || allocate(log, log->fd, &log->size, size));
    close(fd);
    return has_room;
}

gboolean
log_fits(const Log *log, const GByteArray *frame)
{
    /* The head of the next frame has to be in the part that this one knows. */
    return log->end + frame->len + sizeof(FrameEnd) + sizeof(FrameHead) <= log->size;
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
    FrameEnd end = {.mark = FRAME_MARK};

    memcpy(frame->data, &head, sizeof head);
    memcpy(end.digest, &sum, sizeof end.digest);
    g_byte_array_append(frame, (const guint8 *)&end, sizeof end);
    return sum;
}

gboolean
log_append(Log *log, GByteArray *frame, GError **error)
{
    guint64 sum = log_seal(frame, log->digest, log->size);

    if (!write_fully(log->fd, frame->data, frame->len, log->end)) {
        set_errno(error, log->path);
        return FALSE;
    }
    log->digest = sum;
    log->end += frame->len;
    return TRUE;
}

/* The spare file gets the name of the file, and the file that of the spare one. */
static gboolean
exchange(Log *log)
{
    struct stat status;

    if (renameat2(AT_FDCWD, log->spare_path, AT_FDCWD, log->path, RENAME_EXCHANGE) < 0) {
        /* Not supported, or there is no file. */
        log->spare_size = 0;
        return rename(log->spare_path, log->path) == 0;
    }
    log->spare_size = log->size;
    log->spare_end = log->end;
    /* A file that has another name too stays as it is. */
    if (log->fd < 0 || fstat(log->fd, &status) < 0 || status.st_nlink != 1) {
        remove(log->spare_path);
        log->spare_size = 0;
    }
    return TRUE;
}

gboolean
log_replace(Log *log, GByteArray *frame, GError **error)
{
    gsize needed = sizeof log->head + frame->len + sizeof(FrameEnd) + sizeof(FrameHead);
    int fd = open_spare(log, error);
    gsize size, end, zeros_until;
    guint64 sum;

    if (fd < 0)
        return FALSE;
    if (!allocate(log, fd, &log->spare_size, needed))
        goto failed;
    size = log->spare_size;
    sum = log_seal(frame, log->head.digest, size);
    end = sizeof log->head + frame->len;
    zeros_until = log->spare_end;
    log->spare_end = MAX(end, zeros_until);
    if (!write_fully(fd, &log->head, sizeof log->head, 0) ||
        !write_fully(fd, frame->data, frame->len, sizeof log->head) ||
        !write_zeros(fd, end, zeros_until) || !exchange(log))
        goto failed;
    if (log->fd >= 0)
        close(log->fd);
    log->fd = fd;
    log->size = size;
    log->end = end;
    log->digest = sum;
    return TRUE;

failed:
    set_errno(error, log->spare_path);
    close(fd);
    return FALSE;
}

/* ---- reading */

static const char damaged[] = "the state is damaged: it is not what was written";

const char *
log_reader_begin(LogReader *reader, const LogHead *expected, const guint8 *bytes, gsize size)
{
    guint32 lmdb;
    LogHead head;

    if (size < sizeof head)
        return damaged;
    memcpy(&head, bytes, sizeof head);
    memcpy(&lmdb, bytes + LMDB_POSITION, sizeof lmdb);
    if (head.magic != HEAD_MAGIC && lmdb == LMDB_MAGIC)
        return "the state is in the format of an earlier version of the service";
    if (head.magic == HEAD_MAGIC && head.version != FORMAT_VERSION)
        return "the state is in the format of another version of the service";
    if (head.magic != HEAD_MAGIC || head.digest != digest_of_head(&head))
        return damaged;
    if (memcmp(head.bus_id, expected->bus_id, LOG_ID_BYTES) != 0)
        return "the state is that of another bus";
    if (memcmp(head.boot_id, expected->boot_id, LOG_ID_BYTES) != 0)
        return "the state is from before the last boot";
    *reader = (LogReader){bytes, size, sizeof head, head.digest};
    return NULL;
}

static gboolean
is_zero(const LogReader *reader, gsize from)
{
    const guint8 *bytes = reader->bytes + from;
    gsize size = reader->size - from;

    /* Each byte equals the next one. */
    return size == 0 || (bytes[0] == 0 && memcmp(bytes, bytes + 1, size - 1) == 0);
}

/* After the last frame: only zeros, or the beginning of a frame and then zeros. There is always a
 * frame, since a file gets its name after the first one is written. */
static const char *
end_reading(const LogReader *reader, gsize torn_until)
{
    gboolean is_sound = reader->position > sizeof(LogHead) && torn_until <= reader->size &&
                        is_zero(reader, torn_until);

    return is_sound ? NULL : damaged;
}

const char *
log_reader_next(LogReader *reader, const guint8 **out_records, gsize *out_size)
{
    gsize left = reader->size - reader->position;
    const guint8 *bytes = reader->bytes + reader->position;
    FrameHead head, expected;
    gsize end;
    guint64 sum;

    *out_records = NULL;
    if (left < sizeof head)
        return damaged;
    memcpy(&head, bytes, sizeof head);
    expected = make_frame_head(reader->digest, head.size, head.file_size);
    if (head.digest != expected.digest)
        return end_reading(reader, reader->position + sizeof head);
    left -= sizeof head;
    if (head.file_size > reader->size || left < sizeof(FrameEnd) || head.size % 8 != 0 ||
        head.size > left - sizeof(FrameEnd))
        return damaged;
    bytes += sizeof head;
    end = reader->position + sizeof head + head.size + sizeof(FrameEnd);
    sum = digest(head.digest, bytes, head.size);
    /* A frame of which all but the mark is there is as good as one with it. */
    if (memcmp(bytes + head.size, &sum, sizeof((FrameEnd *)0)->digest) != 0)
        return end_reading(reader, end - 1);
    *out_records = bytes;
    *out_size = head.size;
    reader->position = end;
    reader->digest = sum;
    return NULL;
}
