/* SPDX-FileCopyrightText: 2026 The WebLocks for D-Bus authors
 * SPDX-License-Identifier: LGPL-2.1-or-later */

#include "lease-timer.h"

#include <errno.h>
#include <glib-unix.h>
#include <sys/timerfd.h>
#include <time.h>
#include <unistd.h>

#include "boot-time.h"

static gboolean
on_readable(int fd, GIOCondition condition, gpointer data)
{
    const LeaseTimer *lease = data;
    guint64 n_expirations;

    if (read(fd, &n_expirations, sizeof n_expirations) == sizeof n_expirations)
        lease->on_timer(lease->data);
    return G_SOURCE_CONTINUE;
}

void
lease_timer_init(LeaseTimer *lease, void (*on_timer)(gpointer data), gpointer data)
{
    *lease = (LeaseTimer){
        .timer_fd = timerfd_create(CLOCK_BOOTTIME, TFD_CLOEXEC | TFD_NONBLOCK),
        .on_timer = on_timer,
        .data = data,
    };
    if (lease->timer_fd < 0)
        g_error("could not create a timer: %s", g_strerror(errno));
    lease->timer_id =
        g_unix_fd_add_full(G_PRIORITY_HIGH, lease->timer_fd, G_IO_IN, on_readable, lease, NULL);
}

void
lease_timer_fini(LeaseTimer *lease)
{
    g_clear_handle_id(&lease->timer_id, g_source_remove);
    close(lease->timer_fd);
}

void
lease_timer_set(LeaseTimer *lease, gint64 deadline_us)
{
    /* A time of 0 stops the timer. */
    const struct itimerspec value = {
        .it_value.tv_sec = deadline_us / G_USEC_PER_SEC,
        .it_value.tv_nsec = deadline_us % G_USEC_PER_SEC * 1000,
    };

    if (deadline_us == lease->deadline_us)
        return;
    lease->deadline_us = deadline_us;
    timerfd_settime(lease->timer_fd, TFD_TIMER_ABSTIME, &value, NULL);
}

gboolean
lease_timer_is_over(const LeaseTimer *lease)
{
    return lease->deadline_us != 0 && boot_time_get_us() >= lease->deadline_us;
}
