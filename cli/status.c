/* SPDX-FileCopyrightText: 2026 The WebLocks for D-Bus authors
 * SPDX-License-Identifier: LGPL-2.1-or-later */

#include "cli/status.h"

#include <errno.h>
#include <glib/gi18n.h>
#include <stdarg.h>
#include <stdio.h>
#include <weblocks/weblocks.h>

#include "cli/text.h"

void
complain(const char *format, ...)
{
    g_autofree char *message = NULL;
    g_autofree char *safe = NULL;
    va_list arguments;

    va_start(arguments, format);
    message = g_strdup_vprintf(format, arguments);
    va_end(arguments);
    safe = text_for_terminal(message);
    fprintf(stderr, "weblocks: %s\n", safe);
}

static Status
status_of_error(const GError *error)
{
    if (g_error_matches(error, G_IO_ERROR, G_IO_ERROR_INVALID_ARGUMENT) ||
        g_error_matches(error, WEB_LOCKS_ERROR, WEB_LOCKS_ERROR_NOT_SUPPORTED))
        return STATUS_USAGE;
    if (g_error_matches(error, WEB_LOCKS_ERROR, WEB_LOCKS_ERROR_SECURITY))
        return STATUS_FORBIDDEN;
    if (error->domain == WEB_LOCKS_ERROR)
        return STATUS_UNAVAILABLE;
    return STATUS_SOFTWARE;
}

Status
complain_of(const GError *error)
{
    complain("%s", error->message);
    return status_of_error(error);
}

gboolean
flush_output(Status *status)
{
    gboolean failed = fflush(stdout) != 0 || ferror(stdout);
    int error = errno;

    clearerr(stdout);
    if (failed && error != EPIPE) {
        complain(_("cannot write the output: %s"), g_strerror(error));
        if (*status == STATUS_OK)
            *status = STATUS_OUTPUT;
    }
    return !failed;
}
