/* SPDX-FileCopyrightText: 2026 The WebLocks for D-Bus authors
 * SPDX-License-Identifier: LGPL-2.1-or-later */

#include "crash-guard.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "writer-lock.h"

#define DEATHS_MAX    3
#define DEATHS_WITHIN (10L * G_USEC_PER_SEC)

static void
write_marks(const CrashGuard *self)
{
    const CrashGuardMarks marks = self->marks;

    if (self->fd >= 0 && pwrite(self->fd, &marks, sizeof marks, 0) != sizeof marks)
        g_debug("%s: %s", self->path, g_strerror(errno));
}

static void
count_death(CrashGuard *self, gint64 now_us)
{
    if (self->marks.id == 0)
        return;
    if (self->marks.agent == self->marks.bad_agent && self->marks.id == self->marks.bad_id &&
        now_us >= self->marks.first_us && now_us - self->marks.first_us <= DEATHS_WITHIN) {
        self->marks.n_deaths++;
    } else {
        self->marks.bad_agent = self->marks.agent;
        self->marks.bad_id = self->marks.id;
        self->marks.n_deaths = 1;
        self->marks.first_us = now_us;
    }
    self->marks.agent = self->marks.id = 0;
}

void
crash_guard_begin(CrashGuard *self, const char *path, gint64 now_us)
{
    memset(self, 0, sizeof *self);
    self->path = g_strdup(path);
    self->fd = writer_lock_open_file(path, NULL);
    if (self->fd >= 0 && pread(self->fd, &self->marks, sizeof self->marks, 0) != sizeof self->marks)
        memset(&self->marks, 0, sizeof self->marks);
    count_death(self, now_us);
    write_marks(self);
}

gboolean
crash_guard_skips(CrashGuard *self, guint64 agent, guint64 id)
{
    if (self->marks.n_deaths >= DEATHS_MAX && agent == self->marks.bad_agent &&
        id == self->marks.bad_id)
        return TRUE;
    self->marks.agent = agent;
    self->marks.id = id;
    write_marks(self);
    return FALSE;
}

void
crash_guard_end(CrashGuard *self)
{
    if (self->fd >= 0)
        close(self->fd);
    unlink(self->path);
    g_clear_pointer(&self->path, g_free);
}
