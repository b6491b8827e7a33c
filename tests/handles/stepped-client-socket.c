/* SPDX-FileCopyrightText: 2026 The WebLocks for D-Bus authors
 * SPDX-License-Identifier: LGPL-2.1-or-later */

/* The library's lock socket, which yields before it sends, and when it finds nothing to read. */

#include <sys/ioctl.h>
#include <sys/socket.h>
#include <unistd.h>

#include "client-lib/engine/process.h"

#include "tests/handles/sim.h"

#define send(fd, bytes, size, flags) \
    sim_send(sim_get_client(), DIRECTION_TO_SERVICE, fd, bytes, size, flags)
#define recv(fd, bytes, size, flags) \
    sim_receive(sim_get_client(), DIRECTION_TO_CLIENT, fd, bytes, size, flags)
#define ioctl(fd, request, out_bytes) sim_count_bytes(fd, out_bytes)
#define process_guard_fd(fd)          sim_keep_fd(fd)
#define process_unguard_fd(fd)
#define close(fd)         sim_close(fd)
#define shutdown(fd, how) sim_shut_down(fd)

#include "client-lib/engine/packet-socket.c" /* NOLINT(bugprone-suspicious-include) */
