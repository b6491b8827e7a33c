/* SPDX-FileCopyrightText: 2026 The WebLocks for D-Bus authors
 * SPDX-License-Identifier: LGPL-2.1-or-later */

#include "service/bus/last-words.h"

#include <fcntl.h>
#include <linux/sockios.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <unistd.h>

/* As much as a socket may hold that was made as large as root may make it with sd-bus. */
#define BYTES_MAX (16 * 1024 * 1024)

static const char handshake[] = "\0AUTH EXTERNAL\r\nDATA\r\nBEGIN\r\n";

static gboolean
write_all(int file, const void *bytes, gsize n_bytes)
{
    return write(file, bytes, n_bytes) ==
           (ssize_t)n_bytes; /* a file in memory takes all or fails */
}

static gboolean
copy_what_is_left(int fd, int file)
{
    char buffer[4096];
    gsize n_copied = 0;
    ssize_t n;

    while (n_copied < BYTES_MAX && (n = recv(fd, buffer, sizeof buffer, MSG_DONTWAIT)) > 0) {
        if (!write_all(file, buffer, (gsize)n))
            return FALSE;
        n_copied += (gsize)n;
    }
    return n_copied > 0 && lseek(file, 0, SEEK_SET) == 0;
}

static sd_bus *
new_from_file(int file)
{
    int nowhere = open("/dev/null", O_WRONLY | O_CLOEXEC);
    sd_bus *bus = NULL;

    if (nowhere >= 0 && sd_bus_new(&bus) >= 0 && sd_bus_set_fd(bus, file, nowhere) >= 0)
        return bus;
    sd_bus_unref(bus);
    if (nowhere >= 0)
        close(nowhere);
    close(file);
    return NULL;
}

sd_bus *
last_words_new(int fd)
{
    int n_left = 0;
    int file;

    if (ioctl(fd, SIOCINQ, &n_left) < 0 || n_left == 0)
        return NULL;
    file = memfd_create("last words", MFD_CLOEXEC);
    if (file < 0)
        return NULL;
    if (write_all(file, handshake, sizeof handshake - 1) && copy_what_is_left(fd, file))
        return new_from_file(file);
    close(file);
    return NULL;
}
