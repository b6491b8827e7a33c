/* SPDX-FileCopyrightText: 2026 The WebLocks for D-Bus authors
 * SPDX-License-Identifier: LGPL-2.1-or-later */

#include "reader.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "store.h"

/* More than the space of 65,536 records of any length. */
#define PATIENCE_SECS 10
#define BYTES_MAX     (512UL * 1024 * 1024)
#define CHUNK_BYTES   65536

/* The format of the pipe: for each record this header, the key and the value; at the end a header
 * without a key. */
typedef struct {
    guint32 key_size;
    guint32 value_size;
} Frame;

/* The child's exit status besides success. */
#define EXIT_DAMAGED     1
#define EXIT_NO_RESOURCE 2

/* ---- the child */

static gboolean
write_fully(int fd, const void *bytes, gsize size)
{
    const guint8 *next = bytes;

    while (size > 0) {
        ssize_t n_written = write(fd, next, size);

        if (n_written < 0 && errno == EINTR)
            continue;
        if (n_written <= 0)
            return FALSE;
        next += n_written;
        size -= (gsize)n_written;
    }
    return TRUE;
}

typedef struct {
    int fd;
    GByteArray *pending;
} Sender;

static gboolean
send_pending(Sender *sender)
{
    gboolean is_sent = write_fully(sender->fd, sender->pending->data, sender->pending->len);

    g_byte_array_set_size(sender->pending, 0);
    return is_sent;
}

static gboolean
send_record(const void *key, gsize key_size, const void *value, gsize value_size, gpointer data)
{
    Sender *sender = data;
    const Frame frame = {(guint32)key_size, (guint32)value_size};

    if (key_size == 0 || value_size > BYTES_MAX)
        return FALSE;
    g_byte_array_append(sender->pending, (const guint8 *)&frame, sizeof frame);
    g_byte_array_append(sender->pending, key, frame.key_size);
    g_byte_array_append(sender->pending, value, frame.value_size);
    return sender->pending->len < CHUNK_BYTES || send_pending(sender);
}

static G_NORETURN void
run_child(const char *path, int fd, pid_t parent)
{
    static const int faults[] = {SIGSEGV, SIGBUS, SIGABRT, SIGFPE, SIGILL};
    const struct rlimit no_core = {0, 0};
    const Frame end = {0, 0};
    Sender sender = {fd, g_byte_array_new()};
    GError *error = NULL;

    /* The child has inherited the lock and the connection to the bus, so it must not outlive the
     * parent. */
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (getppid() != parent)
        _exit(EXIT_NO_RESOURCE);
    setrlimit(RLIMIT_CORE, &no_core);
    close(STDERR_FILENO); /* LMDB's messages; the parent logs the reason */
    /* Crashes on damaged files are expected, so a sanitizer must not report them. */
    for (guint i = 0; i < G_N_ELEMENTS(faults); i++)
        signal(faults[i], SIG_DFL);
    alarm(PATIENCE_SECS);
    if (!store_read(path, send_record, &sender, &error))
        _exit(g_error_matches(error, STORE_ERROR, STORE_ERROR_NO_RESOURCE) ? EXIT_NO_RESOURCE
                                                                           : EXIT_DAMAGED);
    _exit(send_pending(&sender) && write_fully(fd, &end, sizeof end) ? EXIT_SUCCESS
                                                                     : EXIT_NO_RESOURCE);
}

/* ---- the parent */

static gboolean
receive(int fd, GByteArray *bytes)
{
    gint64 deadline_us = g_get_monotonic_time() + (gint64)PATIENCE_SECS * G_USEC_PER_SEC;
    struct pollfd poll_fd = {.fd = fd, .events = POLLIN};

    while (bytes->len < BYTES_MAX) {
        gint64 left_us = deadline_us - g_get_monotonic_time();
        guint length = bytes->len;
        ssize_t n_read;

        if (left_us <= 0 || poll(&poll_fd, 1, (int)(left_us / 1000) + 1) == 0)
            return FALSE;
        g_byte_array_set_size(bytes, length + CHUNK_BYTES);
        n_read = read(fd, bytes->data + length, CHUNK_BYTES);
        g_byte_array_set_size(bytes, length + (guint)MAX(n_read, 0));
        if (n_read == 0)
            return TRUE;
        if (n_read < 0 && errno != EINTR)
            return FALSE;
    }
    return FALSE;
}

/* Returns the child's exit status. Any other end of the child counts as a damaged file. */
static int
wait_for_child(pid_t pid, gboolean is_needed)
{
    int status;

    if (!is_needed)
        kill(pid, SIGKILL);
    while (waitpid(pid, &status, 0) < 0)
        if (errno != EINTR)
            return EXIT_NO_RESOURCE;
    return is_needed && WIFEXITED(status) ? WEXITSTATUS(status) : EXIT_DAMAGED;
}

static void
set_damaged(GError **error, const char *what)
{
    g_set_error(error, STORE_ERROR, STORE_ERROR_DAMAGED, "the state is damaged: %s", what);
}

static void
set_no_resource(GError **error)
{
    g_set_error(error, STORE_ERROR, STORE_ERROR_NO_RESOURCE, "the state cannot be read now: %s",
                g_strerror(errno));
}

StateContents *
reader_read(const char *path, GError **error)
{
    g_autoptr(GByteArray) bytes = g_byte_array_new();
    gboolean is_received;
    struct stat file;
    int fds[2], status;
    pid_t parent = getpid();
    pid_t pid;

    if (lstat(path, &file) < 0) {
        g_set_error(error, STORE_ERROR, STORE_ERROR_NO_FILE, "%s: %s", path, g_strerror(errno));
        return NULL;
    }
    if (!S_ISREG(file.st_mode)) {
        set_damaged(error, "it is no file");
        return NULL;
    }
    if (pipe2(fds, O_CLOEXEC) < 0) {
        set_no_resource(error);
        return NULL;
    }
    if ((pid = fork()) < 0) {
        set_no_resource(error);
        close(fds[0]);
        close(fds[1]);
        return NULL;
    }
    if (pid == 0)
        run_child(path, fds[1], parent);
    close(fds[1]);
    is_received = receive(fds[0], bytes);
    close(fds[0]);
    status = wait_for_child(pid, is_received);
    if (status == EXIT_NO_RESOURCE) {
        set_no_resource(error);
        return NULL;
    }
    if (status != EXIT_SUCCESS) {
        set_damaged(error, "it can't be read");
        return NULL;
    }
    return reader_decode(g_steal_pointer(&bytes), error);
}

/* ---- what came */

/* Returns FALSE if there is no complete record. Moves `*position` behind the record. */
static gboolean
next_record(const GByteArray *bytes, gsize *position, RawRecord *out_record)
{
    gsize left = bytes->len - *position;
    Frame frame;

    if (left < sizeof frame)
        return FALSE;
    memcpy(&frame, bytes->data + *position, sizeof frame);
    left -= sizeof frame;
    if (frame.key_size > left || frame.value_size > left - frame.key_size)
        return FALSE;
    out_record->key = bytes->data + *position + sizeof frame;
    out_record->key_size = frame.key_size;
    out_record->value = out_record->key + frame.key_size;
    out_record->value_size = frame.value_size;
    *position += sizeof frame + frame.key_size + frame.value_size;
    return TRUE;
}

static gboolean
take_records(StateContents *state)
{
    guint64 digest = 0;
    gboolean has_header = FALSE;
    RawRecord record;
    gsize position = 0;

    for (;;) {
        if (!next_record(state->bytes, &position, &record))
            return FALSE;
        if (record.key_size == 0)
            break;
        if (record.key_size == 1 && !has_header) {
            has_header = record.key[0] == RECORD_HEADER &&
                         header_record_read(record.value, record.value_size, &state->header);
            if (!has_header)
                return FALSE;
            continue;
        }
        digest += record_digest(record.key, record.key_size, record.value, record.value_size);
        g_array_append_val(state->records, record);
    }
    return has_header && position == state->bytes->len &&
           state->records->len == state->header.n_records && digest == state->header.digest;
}

StateContents *
reader_decode(GByteArray *bytes, GError **error)
{
    StateContents *state = g_new0(StateContents, 1);

    state->bytes = bytes;
    state->records = g_array_new(FALSE, FALSE, sizeof(RawRecord));
    if (take_records(state))
        return state;
    state_contents_free(state);
    set_damaged(error, "what it has is not what was written");
    return NULL;
}

void
state_contents_free(StateContents *state)
{
    g_byte_array_unref(state->bytes);
    g_array_unref(state->records);
    g_free(state);
}
