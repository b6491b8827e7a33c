/* SPDX-FileCopyrightText: 2026 The WebLocks for D-Bus authors
 * SPDX-License-Identifier: LGPL-2.1-or-later */

/* To be preloaded into Node.js: counts how often the library sends a packet, and writes the number
 * to the file SENDS_FILE at the end of the process. */

#include <stdio.h>
#include <stdlib.h>
#include <sys/socket.h>

static unsigned int n_sends;

ssize_t
send(int fd, const void *buffer, size_t length, int flags)
{
    __atomic_fetch_add(&n_sends, 1, __ATOMIC_RELAXED);
    return sendto(fd, buffer, length, flags, NULL, 0);
}

static void __attribute__((destructor)) report(void)
{
    const char *path = getenv("SENDS_FILE");
    FILE *file = path != NULL ? fopen(path, "we") : NULL;

    if (file == NULL)
        return;
    fprintf(file, "%u\n", n_sends);
    fclose(file);
}
