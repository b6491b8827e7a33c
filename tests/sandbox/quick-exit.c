/* SPDX-FileCopyrightText: 2026 The WebLocks for D-Bus authors
 * SPDX-License-Identifier: LGPL-2.1-or-later */

/* quick-exit SOCKET N AT-ONCE: N processes, so many at a time, which each connect to that socket,
 * write what is on standard input, and have ended. */

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

static char bytes[65536];
static size_t n_bytes;

static void
be_quick(const char *path)
{
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);

    strncpy(address.sun_path, path, sizeof address.sun_path - 1);
    _exit(fd < 0 || connect(fd, (struct sockaddr *)&address, sizeof address) < 0 ||
          write(fd, bytes, n_bytes) != (ssize_t)n_bytes);
}

int
main(int argc, char **argv)
{
    int n = argc == 4 ? atoi(argv[2]) : 0, at_once = n > 0 ? atoi(argv[3]) : 0;
    int n_running = 0, n_failed = 0, status;

    if (at_once <= 0)
        return 2;
    n_bytes = fread(bytes, 1, sizeof bytes, stdin);
    for (int i = 0; i < n || n_running > 0;) {
        if (i < n && n_running < at_once) {
            pid_t pid = fork();

            if (pid == 0)
                be_quick(argv[1]);
            if (pid < 0)
                return 1;
            i++;
            n_running++;
        } else if (wait(&status) > 0) {
            n_running--;
            n_failed += status != 0;
        }
    }
    printf("%d\n", n_failed);
    return 0;
}
