/* SPDX-FileCopyrightText: 2026 The WebLocks for D-Bus authors
 * SPDX-License-Identifier: LGPL-2.1-or-later */

#include "client-lib/sync.h"

#include <poll.h>
#include <sys/eventfd.h>
#include <unistd.h>

/* How long a request that was given up waits for the service to confirm, so that a grant that
 * crossed is handed back: there may be no main loop that would do it later. A service that needs
 * longer does not answer. */
#define SETTLE_US (1 * G_TIME_SPAN_SECOND)

/* ---- what wakes a thread */

/* Each thread has one, for all its calls; a forked process has its own. */
typedef struct {
    int fd;
    int n_forks;
} Waker;

static void
waker_free(gpointer data)
{
    Waker *waker = data;

    /* In the child of a fork the number may be somebody else's by now. */
    if (waker->n_forks == gate_count_forks())
        close(waker->fd);
    g_free(waker);
}

static GPrivate this_waker = G_PRIVATE_INIT(waker_free);

static int
get_waker_fd(void)
{
    Waker *waker = g_private_get(&this_waker);

    if (waker == NULL || waker->n_forks != gate_count_forks()) {
        waker = g_new(Waker, 1);
        waker->fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
        if (waker->fd < 0)
            g_error("No event descriptor: %s", g_strerror(errno));
        waker->n_forks = gate_count_forks();
        g_private_replace(&this_waker, waker);
    }
    return waker->fd;
}

/* ---- the call */

void
sync_call_init(SyncCall *self, Connection *connection, GCancellable *cancellable)
{
    *self = (SyncCall){0};
    self->connection = connection_ref(connection);
    self->cancellable = cancellable;
    self->thread = g_thread_self();
    self->waiter.wake_fd = get_waker_fd();
}

void
sync_call_finish(SyncCall *self, gpointer pointer, gboolean boolean, GError *error)
{
    self->pointer = pointer;
    self->boolean = boolean;
    self->error = error;
    self->is_done = TRUE;
    if (self->thread != g_thread_self())
        connection_wake(&self->waiter);
}

/* Outside the gate: sleeps until there may be something to process. FALSE: it is only late. */
static gboolean
wait_for_messages(SyncCall *self, ConnectionPoll *wanted)
{
    struct pollfd fds[] = {
        wanted->fds[0],
        wanted->fds[1],
        {.fd = self->waiter.wake_fd, .events = POLLIN},
    };
    gint64 left_us = wanted->until_us - g_get_monotonic_time();
    int timeout_ms = -1;
    guint64 count;

    if (wanted->until_us != G_MAXINT64)
        timeout_ms = (int)CLAMP((left_us + 999) / 1000, 0, G_MAXINT);
    if (poll(fds, G_N_ELEMENTS(fds), timeout_ms) <= 0)
        return FALSE;
    wanted->fds[0].revents = fds[0].revents;
    wanted->fds[1].revents = fds[1].revents;
    if ((fds[2].revents & POLLIN) && read(self->waiter.wake_fd, &count, sizeof count) < 0)
        g_debug("Woken by nobody: %s", g_strerror(errno));
    return TRUE;
}

/* Inside the gate, which is open while it sleeps. */
static void
process_until(SyncCall *self, gboolean (*is_over)(const SyncCall *self), gint64 until_us)
{
    Gate *gate = connection_get_gate(self->connection);

    connection_add_waiter(self->connection, &self->waiter);
    while (!is_over(self) && g_get_monotonic_time() < until_us) {
        ConnectionPoll wanted;
        gboolean has_news;

        connection_get_poll(self->connection, &wanted);
        if (wanted.until_us == 0 && connection_process(self->connection, NULL))
            continue;
        wanted.until_us = MIN(wanted.until_us, until_us);
        gate_leave(gate);
        has_news = wait_for_messages(self, &wanted);
        gate_enter(gate);
        connection_process(self->connection, has_news ? &wanted : NULL);
    }
    connection_remove_waiter(self->connection, &self->waiter);
}

static gboolean
is_done(const SyncCall *self)
{
    return self->is_done;
}

static gboolean
is_settled(const SyncCall *self)
{
    return !connection_has_abandoned(self->connection);
}

/* If nobody runs a main loop, nobody else will take the answer before the next call. */
static gboolean
is_routed(const SyncCall *self)
{
    return !route_is_asking(connection_get_route(self->connection));
}

static void
sync_call_wait(SyncCall *self, GError **error)
{
    Gate *gate = connection_get_gate(self->connection);

    gate_enter(gate);
    process_until(self, is_done, G_MAXINT64);
    if (!is_routed(self))
        process_until(self, is_routed, G_MAXINT64);
    if (g_error_matches(self->error, G_IO_ERROR, G_IO_ERROR_CANCELLED) && !is_settled(self))
        process_until(self, is_settled, g_get_monotonic_time() + SETTLE_US);
    gate_leave(gate);
    connection_unref(self->connection);
    if (self->error != NULL)
        g_propagate_error(error, self->error);
}

gpointer
sync_call_wait_pointer(SyncCall *self, GError **error)
{
    sync_call_wait(self, error);
    return self->pointer;
}

gboolean
sync_call_wait_boolean(SyncCall *self, GError **error)
{
    sync_call_wait(self, error);
    return self->boolean;
}
