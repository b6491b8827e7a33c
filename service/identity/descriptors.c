/* SPDX-FileCopyrightText: 2026 The WebLocks for D-Bus authors
 * SPDX-License-Identifier: LGPL-2.1-or-later */

#include "descriptors.h"

#include <fcntl.h>
#include <sys/resource.h>
#include <unistd.h>

/* An upper bound for the limit, since some systems have a practically infinite one. With that,
 * descriptors_are_scarce() would never be TRUE. */
#define LIMIT_MAX 65536

void
descriptors_set_limit(void)
{
    struct rlimit limit;

    if (getrlimit(RLIMIT_NOFILE, &limit) < 0)
        return;
    limit.rlim_cur = MIN(limit.rlim_max, LIMIT_MAX);
    if (setrlimit(RLIMIT_NOFILE, &limit) < 0)
        g_debug("could not raise the limit of open files: %s", g_strerror(errno));
}

/* The kernel assigns the lowest free number, so a new descriptor's number is an estimate of how
 * many are open. */
gboolean
descriptors_are_scarce(DescriptorsUse use)
{
    struct rlimit limit;
    int fd = fcntl(STDERR_FILENO, F_DUPFD_CLOEXEC, 0);

    if (fd < 0)
        return TRUE;
    close(fd);
    return getrlimit(RLIMIT_NOFILE, &limit) < 0 || (rlim_t)fd >= limit.rlim_cur / 8 * use;
}
