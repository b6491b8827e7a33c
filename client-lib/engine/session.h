/* SPDX-FileCopyrightText: 2026 The WebLocks for D-Bus authors
 * SPDX-License-Identifier: LGPL-2.1-or-later */

/* The session lock of an agent, and its event loop.
 *
 * All data of an agent is accessed with the session lock held, from any thread. No application code
 * runs while it is held: results and GObject signals are queued as deliveries and run without it.
 *
 * Events (ready descriptors, timers) are handled by whichever of these threads comes first: the one
 * that runs the session's main context, which is the thread-default context of the thread that
 * created the session, or a thread in session_wait(), which needs no main context.
 *
 * The memory is reference-counted. Independently, a session counts its users: the agent object, and
 * each lock or call that needs the connection. When there are no users any more, the connection is
 * closed.
 *
 * After fork(), the child takes no lock, since the thread that had it does not exist in the child,
 * and handles no events. In the child, nothing is closed when the last user is removed. */

#pragma once

#include <gio/gio.h>

/* The longest time that an operation waits for the bus or the service; only a request that waits
 * for a lock may take longer. The usual time-out of D-Bus libraries, documented as 25 seconds. */
#define ANSWER_TIMEOUT_US (25 * G_TIME_SPAN_SECOND)

typedef struct Session Session;

typedef struct {
    /* There are no users any more. It has to call session_close(). */
    void (*unused)(gpointer data);
    /* Events have been handled, or what session_progress_later() was called for. */
    void (*progress)(gpointer data);
} SessionFuncs;

/* The functions are called with the lock held. The caller owns one reference and counts as the
 * first user. */
Session *session_new(const SessionFuncs *funcs, gpointer data);
Session *session_ref(Session *self);
void session_unref(Session *self);

/* Returns FALSE in the child of a fork(). */
gboolean session_is_of_this_process(const Session *self);

/* The agent's main context; borrowed. */
GMainContext *session_get_context(const Session *self);

/* Takes the lock (recursive), and adds a user until session_leave(). */
void session_enter(Session *self);
void session_leave(Session *self);

/* ---- with the lock held */

void session_add_user(Session *self);
void session_remove_user(Session *self);

/* Stops handling events. Queued deliveries still run. */
void session_close(Session *self);

/* A polled descriptor, owned by the caller. `ready` is called with the lock held. */
typedef struct {
    int fd;
    short events; /* as for poll() */
    void (*ready)(gpointer data, short revents);
    gpointer data;
    gpointer tag; /* private: from g_source_add_unix_fd() */
} SessionDescriptor;
void session_add_descriptor(Session *self, SessionDescriptor *descriptor);
void session_set_descriptor_events(Session *self, SessionDescriptor *descriptor, short events);
void session_remove_descriptor(Session *self, SessionDescriptor *descriptor);

/* Handles the events that have happened, without waiting. Returns FALSE if there may be more: a
 * peer that keeps sending does not keep the thread here. */
gboolean session_catch_up(Session *self);

/* A timer, owned by the caller. `expired` is called once, with the lock held. A zero-initialized
 * timer is stopped. */
typedef struct {
    void (*expired)(gpointer data);
    gpointer data;
    gint64 due_us; /* monotonic time in microseconds; 0: stopped */
    GList link;
} SessionTimer;
void session_start_timer(Session *self, SessionTimer *timer, gint64 due_us);
void session_stop_timer(Session *self, SessionTimer *timer);

/* Calls `run`, which may call application code, in `context` and without the lock. Such deliveries
 * run in the order of these calls, and never from within session_wait(). `data_free` is called
 * after `run`, or instead of it if the context is destroyed before. */
void session_deliver(Session *self,
                     GMainContext *context,
                     void (*run)(gpointer data),
                     gpointer data,
                     GDestroyNotify data_free);

/* TRUE while the calling thread runs a batch of deliveries of the agent's context. */
gboolean session_is_delivering(const Session *self);

/* To be called while session_is_delivering(): funcs.progress is called when all deliveries that are
 * queued have run, and no later than in a main loop that one of them runs. */
void session_progress_later(Session *self);

/* ---- waiting without a main context */

typedef struct {
    GList link;
    GThread *thread;
    int wake_fd;
    gboolean is_over;
} SessionWaiter;

/* Handles events until session_end_wait(), which may have been called before. On entry the lock is
 * held exactly once; it is released while the thread polls. */
void session_wait(Session *self, SessionWaiter *waiter);

/* The same, but polls once only, which a signal handler ends too. Returns whether the wait is over;
 * if not, it may be called again. */
gboolean session_wait_once(Session *self, SessionWaiter *waiter);

/* Ends the wait, or lets it not begin if the waiter is zero-initialized. In any thread. */
void session_end_wait(SessionWaiter *waiter);
