/* SPDX-FileCopyrightText: 2026 The WebLocks for D-Bus authors
 * SPDX-License-Identifier: LGPL-2.1-or-later */

#include "client-lib/engine/session.h"

#include <poll.h>
#include <sys/eventfd.h>

#include "client-lib/engine/process.h"

/* One for the lock socket, one for the connection to the bus. */
#define DESCRIPTORS_MAX 2

/* How often input is handled before timers expire; each round reads all that is in the socket, or a
 * fair share of it. */
#define INPUT_ROUNDS_MAX 16

/* How often a thread that can't be woken polls, for lack of a descriptor. */
#define UNWOKEN_MS 10

typedef struct {
    GList link;
    void (*run)(gpointer data);
    gpointer data;
    GDestroyNotify data_free;
} Delivery;

struct Session {
    gatomicrefcount n_refs;
    GRecMutex mutex;
    int n_forks; /* process_n_forks at creation */
    GMainContext *context;

    guint n_users;
    const SessionFuncs *funcs;
    gpointer data;

    GSource *source; /* NULL: closed */
    SessionDescriptor *descriptors[DESCRIPTORS_MAX];
    guint n_descriptors;
    guint n_descriptor_changes;
    GQueue timers;        /* of SessionTimer, in the order in which they were started */
    gint64 next_timer_us; /* not later than the earliest timer; G_MAXINT64: none */
    GQueue waiters;       /* of SessionWaiter */

    GQueue deliveries;       /* of Delivery, for `context` */
    gboolean wants_progress; /* after these */
    int is_ready;            /* atomic: the source has to be dispatched even without events */
    GThread *delivering;
};

typedef struct {
    GSource parent;
    Session *session;
} SessionSource;

/* ---- the lock */

Session *
session_ref(Session *self)
{
    g_atomic_ref_count_inc(&self->n_refs);
    return self;
}

void
session_unref(Session *self)
{
    if (!g_atomic_ref_count_dec(&self->n_refs))
        return;
    g_assert(self->source == NULL && g_queue_is_empty(&self->deliveries));
    g_rec_mutex_clear(&self->mutex);
    g_free(self);
}

gboolean
session_is_of_this_process(const Session *self)
{
    return self->n_forks == process_n_forks;
}

GMainContext *
session_get_context(const Session *self)
{
    return self->context;
}

void
session_add_user(Session *self)
{
    self->n_users++;
}

void
session_remove_user(Session *self)
{
    g_assert(self->n_users > 0);
    if (--self->n_users == 0 && self->source != NULL && session_is_of_this_process(self))
        self->funcs->unused(self->data);
}

/* Unlike session_enter(), this adds no user: for callers that have a reference anyway. */
static void
lock(Session *self)
{
    if (session_is_of_this_process(self))
        g_rec_mutex_lock(&self->mutex);
    session_add_user(self);
}

static void
unlock(Session *self)
{
    session_remove_user(self);
    if (session_is_of_this_process(self))
        g_rec_mutex_unlock(&self->mutex);
}

void
session_enter(Session *self)
{
    lock(session_ref(self));
}

void
session_leave(Session *self)
{
    unlock(self);
    session_unref(self);
}

/* ---- deliveries */

static void
delivery_free(gpointer data)
{
    Delivery *delivery = data;

    delivery->data_free(delivery->data);
    g_free(delivery);
}

static gboolean
on_idle(gpointer data)
{
    Delivery *delivery = data;

    delivery->run(delivery->data);
    return G_SOURCE_REMOVE;
}

static void
deliver_by_idle_source(GMainContext *context, Delivery *delivery)
{
    g_autoptr(GSource) source = g_idle_source_new();

    g_source_set_static_name(source, "weblocks-delivery");
    g_source_set_priority(source, G_PRIORITY_DEFAULT);
    g_source_set_callback(source, on_idle, delivery, delivery_free);
    g_source_attach(source, context);
}

/* While a delivery runs a nested main loop, that loop runs the next deliveries. */
static void
update_ready(Session *self)
{
    g_atomic_int_set(&self->is_ready, self->wants_progress || !g_queue_is_empty(&self->deliveries));
}

void
session_deliver(Session *self,
                GMainContext *context,
                void (*run)(gpointer data),
                gpointer data,
                GDestroyNotify data_free)
{
    Delivery *delivery = g_new(Delivery, 1);

    *delivery = (Delivery){{.data = delivery}, run, data, data_free};
    if (context != self->context || self->source == NULL) {
        deliver_by_idle_source(context, delivery);
        return;
    }
    g_queue_push_tail_link(&self->deliveries, &delivery->link);
    if (!g_atomic_int_get(&self->is_ready)) {
        update_ready(self);
        if (!session_is_delivering(self))
            g_main_context_wakeup(self->context);
    }
}

static Delivery *
take_delivery(Session *self)
{
    const GList *link = g_queue_pop_head_link(&self->deliveries);

    update_ready(self);
    return link != NULL ? link->data : NULL;
}

gboolean
session_is_delivering(const Session *self)
{
    return self->delivering == g_thread_self();
}

static void
progress(Session *self)
{
    if (self->source != NULL && session_is_of_this_process(self))
        self->funcs->progress(self->data);
}

void
session_progress_later(Session *self)
{
    self->wants_progress = TRUE;
    update_ready(self);
}

/* ---- waiters */

static void
wake(SessionWaiter *waiter)
{
    if (waiter->thread != g_thread_self() && waiter->thread != NULL)
        eventfd_write(waiter->wake_fd, 1); /* it fails only if the counter is full already */
}

void
session_end_wait(SessionWaiter *waiter)
{
    waiter->is_over = TRUE;
    wake(waiter);
}

/* The descriptors or timers have changed: waiting threads have to poll again. */
static void
wake_waiters(Session *self)
{
    for (GList *link = self->waiters.head; link != NULL; link = link->next)
        wake(link->data);
}

/* ---- descriptors */

void
session_add_descriptor(Session *self, SessionDescriptor *descriptor)
{
    g_assert(self->n_descriptors < DESCRIPTORS_MAX && self->source != NULL);
    self->descriptors[self->n_descriptors++] = descriptor;
    descriptor->tag =
        g_source_add_unix_fd(self->source, descriptor->fd, (GIOCondition)descriptor->events);
    self->n_descriptor_changes++;
    wake_waiters(self);
}

void
session_set_descriptor_events(Session *self, SessionDescriptor *descriptor, short events)
{
    if (descriptor->events == events)
        return;
    descriptor->events = events;
    g_source_modify_unix_fd(self->source, descriptor->tag, (GIOCondition)events);
    wake_waiters(self);
}

void
session_remove_descriptor(Session *self, SessionDescriptor *descriptor)
{
    for (guint i = 0; i < self->n_descriptors; i++) {
        if (self->descriptors[i] != descriptor)
            continue;
        g_source_remove_unix_fd(self->source, descriptor->tag);
        self->descriptors[i] = self->descriptors[--self->n_descriptors];
        self->n_descriptor_changes++;
        wake_waiters(self);
        return;
    }
    g_assert_not_reached();
}

/* ---- timers */

static void
wake_at(Session *self, gint64 due_us)
{
    self->next_timer_us = due_us;
    g_source_set_ready_time(self->source, due_us != G_MAXINT64 ? due_us : -1);
}

void
session_start_timer(Session *self, SessionTimer *timer, gint64 due_us)
{
    session_stop_timer(self, timer);
    timer->due_us = due_us;
    timer->link.data = timer;
    g_queue_push_tail_link(&self->timers, &timer->link);
    if (due_us < self->next_timer_us) {
        wake_at(self, due_us);
        wake_waiters(self);
    }
}

/* The ready time of the source is not updated; at worst the source is dispatched once for nothing.
 */
void
session_stop_timer(Session *self, SessionTimer *timer)
{
    if (timer->due_us == 0)
        return;
    timer->due_us = 0;
    g_queue_unlink(&self->timers, &timer->link);
}

typedef struct {
    struct pollfd fds[1 + DESCRIPTORS_MAX]; /* the first one is the thread's eventfd */
    guint n_fds;
    guint n_descriptor_changes;
} Poll;

static void
poll_init(Poll *poll, const Session *self, int wake_fd)
{
    poll->fds[0] = (struct pollfd){.fd = wake_fd, .events = POLLIN};
    for (guint i = 0; i < self->n_descriptors; i++)
        poll->fds[1 + i] =
            (struct pollfd){.fd = self->descriptors[i]->fd, .events = self->descriptors[i]->events};
    poll->n_fds = 1 + self->n_descriptors;
    poll->n_descriptor_changes = self->n_descriptor_changes;
}

/* A descriptor's function may remove or add descriptors. */
static void
poll_handle(const Poll *poll, Session *self)
{
    eventfd_t count;

    if (poll->fds[0].revents != 0)
        eventfd_read(poll->fds[0].fd, &count);
    for (guint i = 1; i < poll->n_fds && poll->n_descriptor_changes == self->n_descriptor_changes;
         i++) {
        SessionDescriptor *descriptor = self->descriptors[i - 1];

        if (poll->fds[i].revents != 0)
            descriptor->ready(descriptor->data, poll->fds[i].revents);
    }
    progress(self);
}

/* Handles what can be read now, so that no timer expires before it: the thread may have been
 * stopped since it last polled. Returns FALSE if there may be more. */
static gboolean
handle_input(Session *self)
{
    Poll now;

    for (guint i = 0; i < INPUT_ROUNDS_MAX && self->source != NULL; i++) {
        poll_init(&now, self, -1);
        if (poll(now.fds, now.n_fds, 0) <= 0)
            return TRUE;
        poll_handle(&now, self);
    }
    return self->source == NULL;
}

static SessionTimer *
find_expired(Session *self, gint64 now_us)
{
    for (GList *link = self->timers.head; link != NULL; link = link->next) {
        SessionTimer *timer = link->data;

        if (timer->due_us <= now_us)
            return timer;
    }
    return NULL;
}

/* Runs expired timers. Returns whether there was one. */
static gboolean
run_timers(Session *self)
{
    SessionTimer *timer;
    gint64 now_us, next_us = G_MAXINT64;

    if (self->next_timer_us == G_MAXINT64)
        return FALSE;
    now_us = g_get_monotonic_time();
    if (now_us < self->next_timer_us)
        return FALSE;
    handle_input(self);
    while (self->source != NULL && (timer = find_expired(self, now_us)) != NULL) {
        session_stop_timer(self, timer);
        timer->expired(timer->data);
    }
    progress(self);
    if (self->source == NULL)
        return TRUE;
    for (GList *link = self->timers.head; link != NULL; link = link->next)
        next_us = MIN(next_us, ((SessionTimer *)link->data)->due_us);
    wake_at(self, next_us);
    return TRUE;
}

gboolean
session_catch_up(Session *self)
{
    const gboolean was_all = handle_input(self);

    if (self->source != NULL)
        run_timers(self);
    return was_all;
}

/* ---- the source of the main context */

static gboolean
source_prepare(GSource *source, int *timeout)
{
    *timeout = -1;
    return g_atomic_int_get(&((SessionSource *)source)->session->is_ready);
}

static gboolean
source_check(GSource *source)
{
    return g_atomic_int_get(&((SessionSource *)source)->session->is_ready);
}

static void
handle_watches(Session *self)
{
    Poll polled;

    poll_init(&polled, self, -1);
    for (guint i = 0; i < self->n_descriptors; i++)
        polled.fds[1 + i].revents =
            (short)g_source_query_unix_fd(self->source, self->descriptors[i]->tag);
    poll_handle(&polled, self);
}

/* Each delivery is removed from the queue just before it runs, since it may run a nested main
 * loop. */
static void
run_deliveries(Session *self)
{
    Delivery *delivery;

    while ((delivery = take_delivery(self)) != NULL) {
        unlock(self);
        delivery->run(delivery->data);
        delivery_free(delivery);
        lock(self);
    }
    if (!self->wants_progress)
        return;
    self->wants_progress = FALSE;
    update_ready(self);
    progress(self);
}

static gboolean
source_dispatch(GSource *source, GSourceFunc callback, gpointer data)
{
    Session *self = ((SessionSource *)source)->session;
    GThread *outer;

    if (!session_is_of_this_process(self))
        return G_SOURCE_REMOVE;
    session_enter(self);
    outer = self->delivering;
    self->delivering = g_thread_self(); /* results of these events are delivered below */
    if (self->source != NULL) {
        handle_watches(self);
        run_timers(self);
    }
    run_deliveries(self);
    self->delivering = outer;
    session_leave(self);
    return G_SOURCE_CONTINUE;
}

static void
source_finalize(GSource *source)
{
    session_unref(((SessionSource *)source)->session);
}

static GSourceFuncs source_funcs = {
    .prepare = source_prepare,
    .check = source_check,
    .dispatch = source_dispatch,
    .finalize = source_finalize,
};

Session *
session_new(const SessionFuncs *funcs, gpointer data)
{
    Session *self = g_new0(Session, 1);

    g_atomic_ref_count_init(&self->n_refs);
    g_rec_mutex_init(&self->mutex);
    self->n_forks = process_n_forks;
    self->context = g_main_context_ref_thread_default();
    self->n_users = 1;
    self->funcs = funcs;
    self->data = data;
    self->next_timer_us = G_MAXINT64;

    self->source = g_source_new(&source_funcs, sizeof(SessionSource));
    ((SessionSource *)self->source)->session = session_ref(self);
    g_source_set_static_name(self->source, "weblocks");
    /* Deliveries run in the dispatch function, and nested main loops in them have to get results.
     */
    g_source_set_can_recurse(self->source, TRUE);
    g_source_attach(self->source, self->context);
    return self;
}

void
session_close(Session *self)
{
    Delivery *delivery;
    GSource *source = g_steal_pointer(&self->source);

    g_assert(self->n_descriptors == 0 && g_queue_is_empty(&self->timers));
    while ((delivery = take_delivery(self)) != NULL)
        deliver_by_idle_source(self->context, delivery);
    g_source_destroy(source);
    g_source_unref(source);
    /* The context is released here, not when the session is freed: the last reference may belong to
     * a source of this context, which would be a reference cycle. */
    g_main_context_unref(self->context);
}

/* ---- waiting threads */

/* Returns the time-out for poll() in milliseconds, rounded up. */
static int
get_poll_timeout(const Session *self, const SessionWaiter *waiter)
{
    const int longest_ms = waiter->wake_fd < 0 ? UNWOKEN_MS : G_MAXINT;
    gint64 left_us;

    if (self->timers.length == 0)
        return waiter->wake_fd < 0 ? longest_ms : -1;
    left_us = self->next_timer_us - g_get_monotonic_time();
    return (int)CLAMP((left_us + 999) / 1000, 0, longest_ms);
}

static void
begin_wait(Session *self, SessionWaiter *waiter)
{
    waiter->thread = g_thread_self();
    waiter->wake_fd = process_get_wake_fd();
    waiter->link.data = waiter;
    g_queue_push_tail_link(&self->waiters, &waiter->link);
}

static void
poll_once(Session *self, const SessionWaiter *waiter)
{
    Poll wanted;
    int timeout_ms, n_ready;

    if (waiter->is_over || run_timers(self))
        return;
    poll_init(&wanted, self, waiter->wake_fd);
    timeout_ms = get_poll_timeout(self, waiter);
    g_rec_mutex_unlock(&self->mutex);
    n_ready = poll(wanted.fds, wanted.n_fds, timeout_ms);
    g_rec_mutex_lock(&self->mutex);
    if (n_ready > 0)
        poll_handle(&wanted, self);
}

static void
end_wait(Session *self, SessionWaiter *waiter)
{
    g_queue_unlink(&self->waiters, &waiter->link);
    waiter->thread = NULL;
}

void
session_wait(Session *self, SessionWaiter *waiter)
{
    begin_wait(self, waiter);
    while (!waiter->is_over)
        poll_once(self, waiter);
    end_wait(self, waiter);
}

gboolean
session_wait_once(Session *self, SessionWaiter *waiter)
{
    begin_wait(self, waiter);
    poll_once(self, waiter);
    end_wait(self, waiter);
    return waiter->is_over;
}
