/* SPDX-FileCopyrightText: 2026 The WebLocks for D-Bus authors
 * SPDX-License-Identifier: LGPL-2.1-or-later */

/* quick-exit SOCKET N AT-ONCE SIZE...: N processes, AT-ONCE at a time, which each connect to the
 * socket, send SIZE bytes of standard input, wait for a reply, send the next part, and exit after
 * the last part. Prints how many failed. */

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

static char bytes[65536];

static int
run_client(const char *path, char **sizes)
{
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    const char *part = bytes;
    char answer[4096];

    strncpy(address.sun_path, path, sizeof address.sun_path - 1);
    if (fd < 0 || connect(fd, (struct sockaddr *)&address, sizeof address) < 0)
        return 1;
    for (; *sizes != NULL; sizes++) {
        long size = strtol(*sizes, NULL, 10);

        if (write(fd, part, (size_t)size) != size ||
            (sizes[1] != NULL && read(fd, answer, sizeof answer) <= 0))
            return 1;
        part += size;
    }
    return 0; /* the kernel closes it, as it does when a process is killed */
}

int
main(int argc, char **argv)
{
    long n = argc > 4 ? strtol(argv[2], NULL, 10) : 0;
    long at_once = argc > 4 ? strtol(argv[3], NULL, 10) : 0;
    long n_running = 0, n_failed = 0;
    int status;

    if (at_once <= 0 || fread(bytes, 1, sizeof bytes, stdin) == 0)
        return 2;
    for (long i = 0; i < n || n_running > 0;) {
        if (i < n && n_running < at_once) {
            pid_t pid = fork();

            if (pid == 0)
                _exit(run_client(argv[1], argv + 4));
            if (pid < 0)
                return 1;
            i++;
            n_running++;
        } else if (wait(&status) > 0) {
            n_running--;
            n_failed += status != 0;
        }
    }
    printf("%ld\n", n_failed);
    return 0;
}
