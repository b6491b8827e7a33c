/* SPDX-FileCopyrightText: 2026 The WebLocks for D-Bus authors
 * SPDX-License-Identifier: LGPL-2.1-or-later */

#include "loop.h"

#include <errno.h>
#include <gio/gio.h>
#include <poll.h>
#include <signal.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/timerfd.h>
#include <unistd.h>

/* How often sources are dispatched before the event loop has a turn. */
#define ROUNDS_MAX 16

struct Loop {
    GMainContext *context;
    GArray *fds;         /* of GPollFD: those of the context, as of the last query */
    GArray *watched;     /* of GPollFD: those in events_fd */
    int timeout_ms;      /* of the context, as of the last query; -1: none */
    gint64 timer_due_us; /* monotonic; G_MAXINT64: stopped */
    gboolean is_waiting; /* until the thread has called `ready` */

    int timer_fd;
    int events_fd; /* epoll: the context's descriptors and timer_fd */
    int end_fd;    /* eventfd */
    int wait_fd;   /* epoll: events_fd, once after each loop_wait(), and end_fd */

    GThread *thread;
    void (*ready)(gpointer data);
    gpointer data;
};

/* ---- the waiting thread */

static gpointer
wait_for_events(gpointer data)
{
    const Loop *self = data;
    struct epoll_event event;
    sigset_t all;

    sigfillset(&all);
    pthread_sigmask(SIG_BLOCK, &all, NULL);
    for (;;) {
        if (epoll_wait(self->wait_fd, &event, 1, -1) <= 0)
            continue;
        if (event.data.fd == self->end_fd)
            return NULL;
        self->ready(self->data);
    }
}

/* ---- descriptors */

/* Only one that is there can be changed, and one that was closed is not there any more, although
 * its number may be in use again. */
static void
watch(int epoll_fd, int fd, guint32 events)
{
    struct epoll_event event = {.events = events, .data.fd = fd};

    if (epoll_ctl(epoll_fd, EPOLL_CTL_MOD, fd, &event) != 0 && errno == ENOENT &&
        epoll_ctl(epoll_fd, EPOLL_CTL_ADD, fd, &event) != 0)
        g_warning("could not wait for descriptor %d: %s", fd, g_strerror(errno));
}

static gboolean
is_in_context(const Loop *self, int fd)
{
    for (guint i = 0; i < self->fds->len; i++)
        if (g_array_index(self->fds, GPollFD, i).fd == fd)
            return TRUE;
    return FALSE;
}

/* All are changed, since one may be another one with the number of one that was closed. */
static void
watch_descriptors(Loop *self)
{
    for (guint i = 0; i < self->watched->len; i++) {
        const int fd = g_array_index(self->watched, GPollFD, i).fd;

        if (!is_in_context(self, fd))
            epoll_ctl(self->events_fd, EPOLL_CTL_DEL, fd, NULL);
    }
    g_array_set_size(self->watched, 0);
    for (guint i = 0; i < self->fds->len; i++) {
        const GPollFD *wanted = &g_array_index(self->fds, GPollFD, i);

        /* The bits of poll() and epoll are the same. */
        watch(self->events_fd, wanted->fd, wanted->events);
        g_array_append_val(self->watched, *wanted);
    }
}

/* A timer that expires earlier than it has to is not changed: at worst loop_run() is called for
 * nothing. */
static void
set_timer(Loop *self, int timeout_ms)
{
    const gint64 now_us = g_get_monotonic_time();
    struct itimerspec due = {0};
    gint64 due_us;

    if (timeout_ms < 0)
        return;
    due_us = now_us + timeout_ms * G_GINT64_CONSTANT(1000);
    if (self->timer_due_us > now_us && self->timer_due_us <= due_us)
        return;
    self->timer_due_us = due_us;
    due.it_value.tv_sec = due_us / G_USEC_PER_SEC;
    due.it_value.tv_nsec = due_us % G_USEC_PER_SEC * 1000;
    timerfd_settime(self->timer_fd, TFD_TIMER_ABSTIME, &due, NULL);
}

static void
read_timer(Loop *self)
{
    guint64 count;

    if (self->timer_due_us <= g_get_monotonic_time() &&
        read(self->timer_fd, &count, sizeof count) > 0)
        self->timer_due_us = G_MAXINT64;
}

/* ---- dispatching */

/* Asks the context for its descriptors and its time-out. */
static void
query(Loop *self, int priority)
{
    guint n_max;

    do {
        n_max = self->fds->len;
        g_array_set_size(self->fds,
                         (guint)g_main_context_query(self->context, priority, &self->timeout_ms,
                                                     (GPollFD *)self->fds->data, (int)n_max));
    } while (self->fds->len > n_max);
}

/* Like g_poll(), whose unit is too large. */
static void
poll_descriptors(Loop *self, guint patience_us)
{
    const struct timespec patience = {0, patience_us * 1000L};

    ppoll((struct pollfd *)(void *)self->fds->data, self->fds->len, &patience, NULL);
}

/* Dispatches one round. Returns whether there was anything to dispatch. */
static gboolean
run_round(Loop *self, gboolean is_polling, guint patience_us)
{
    int priority;
    const gboolean is_ready = g_main_context_prepare(self->context, &priority);

    query(self, priority);
    if (is_polling)
        poll_descriptors(self, is_ready ? 0 : patience_us);
    else if (!is_ready)
        return FALSE;
    if (!g_main_context_check(self->context, priority, (GPollFD *)self->fds->data,
                              (int)self->fds->len))
        return FALSE;
    g_main_context_dispatch(self->context);
    self->timeout_ms = 0;
    return TRUE;
}

gboolean
loop_run(Loop *self, guint patience_us)
{
    guint n_rounds = 0;

    g_main_context_push_thread_default(self->context);
    while (n_rounds < ROUNDS_MAX && run_round(self, n_rounds == 0, patience_us))
        n_rounds++;
    g_main_context_pop_thread_default(self->context);
    return n_rounds > 0;
}

void
loop_wait(Loop *self)
{
    read_timer(self);
    watch_descriptors(self);
    set_timer(self, self->timeout_ms);
    watch(self->wait_fd, self->events_fd, EPOLLIN | EPOLLONESHOT);
    self->is_waiting = TRUE;
}

void
loop_pause(Loop *self)
{
    if (self->is_waiting)
        watch(self->wait_fd, self->events_fd, 0);
    self->is_waiting = FALSE;
}

/* ---- life */

GMainContext *
loop_get_context(const Loop *self)
{
    return self->context;
}

static void
close_all(const int *fds, guint n_fds)
{
    for (guint i = 0; i < n_fds; i++)
        if (fds[i] >= 0)
            close(fds[i]);
}

void
loop_free(Loop *self)
{
    const int fds[] = {self->wait_fd, self->end_fd, self->events_fd, self->timer_fd};
    const guint64 one = 1;

    if (self->thread != NULL && write(self->end_fd, &one, sizeof one) == sizeof one)
        g_thread_join(self->thread);
    close_all(fds, G_N_ELEMENTS(fds));
    g_main_context_unref(self->context);
    g_array_unref(self->fds);
    g_array_unref(self->watched);
    g_free(self);
}

static gboolean
open_descriptors(Loop *self, GError **error)
{
    self->timer_fd = timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC | TFD_NONBLOCK);
    self->events_fd = epoll_create1(EPOLL_CLOEXEC);
    self->end_fd = eventfd(0, EFD_CLOEXEC);
    self->wait_fd = epoll_create1(EPOLL_CLOEXEC);
    if (self->timer_fd < 0 || self->events_fd < 0 || self->end_fd < 0 || self->wait_fd < 0) {
        g_set_error(error, G_IO_ERROR, (int)g_io_error_from_errno(errno), "no descriptors: %s",
                    g_strerror(errno));
        return FALSE;
    }
    watch(self->events_fd, self->timer_fd, EPOLLIN);
    watch(self->wait_fd, self->end_fd, EPOLLIN);
    return TRUE;
}

Loop *
loop_new(void (*ready)(gpointer data), gpointer data, GError **error)
{
    Loop *self = g_new0(Loop, 1);

    self->context = g_main_context_new();
    self->fds = g_array_new(FALSE, TRUE, sizeof(GPollFD));
    self->watched = g_array_new(FALSE, FALSE, sizeof(GPollFD));
    self->timer_due_us = G_MAXINT64;
    self->ready = ready;
    self->data = data;
    if (open_descriptors(self, error))
        self->thread = g_thread_try_new("weblocks", wait_for_events, self, error);
    if (self->thread == NULL)
        g_clear_pointer(&self, loop_free);
    return self;
}
