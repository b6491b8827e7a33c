/* SPDX-FileCopyrightText: 2026 The WebLocks for D-Bus authors
 * SPDX-License-Identifier: LGPL-2.1-or-later */

#include "cli/status.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "cli/language.h"
#include "cli/text.h"

/* How long to wait for a reader of standard error. */
#define UNREAD_MS 3000

static gboolean uses_thread;
static GThreadPool *writer; /* of one thread, since the first line */
static GMutex mutex;
static GCond written;
static guint n_unwritten; /* lines that the thread has not written yet; guarded by `mutex` */

/* Not by stdio: exit() may wait for a stream that another thread writes to. */
static void
write_line(const char *line)
{
    gsize length = strlen(line);

    while (length > 0) {
        ssize_t n = write(STDERR_FILENO, line, length);

        if (n < 0 && errno != EINTR)
            return;
        if (n > 0) {
            line += n;
            length -= (gsize)n;
        }
    }
}

static void
write_in_thread(gpointer line, gpointer unused)
{
    write_line(line);
    g_free(line);
    g_mutex_lock(&mutex);
    n_unwritten--;
    g_cond_signal(&written);
    g_mutex_unlock(&mutex);
}

void
complain_in_thread(void)
{
    uses_thread = TRUE;
}

void
complain_flush(void)
{
    const gint64 end = g_get_monotonic_time() + (gint64)UNREAD_MS * G_TIME_SPAN_MILLISECOND;

    g_mutex_lock(&mutex);
    while (n_unwritten > 0 && g_cond_wait_until(&written, &mutex, end))
        ;
    g_mutex_unlock(&mutex);
}

void
complain(const char *format, ...)
{
    g_autofree char *message = NULL;
    g_autofree char *safe = NULL;
    g_autofree char *line = NULL;
    va_list arguments;

    language_set();
    va_start(arguments, format);
    message = g_strdup_vprintf(format, arguments);
    va_end(arguments);
    safe = text_for_terminal(message);
    line = g_strdup_printf("weblocks: %s\n", safe);
    if (!uses_thread) {
        write_line(line);
        return;
    }
    if (writer == NULL)
        writer = g_thread_pool_new(write_in_thread, NULL, 1, FALSE, NULL);
    g_mutex_lock(&mutex);
    n_unwritten++;
    g_mutex_unlock(&mutex);
    g_thread_pool_push(writer, g_steal_pointer(&line), NULL);
}

gboolean
flush_output(Status *status)
{
    gboolean failed = fflush(stdout) != 0 || ferror(stdout);
    int error = errno;

    clearerr(stdout);
    if (failed && error != EPIPE) {
        complain(_("cannot write the output: %s"), language_strerror(error));
        if (*status == STATUS_OK)
            *status = STATUS_OUTPUT;
    }
    return !failed;
}
