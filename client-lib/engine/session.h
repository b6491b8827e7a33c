/* SPDX-FileCopyrightText: 2026 The WebLocks for D-Bus authors
 * SPDX-License-Identifier: LGPL-2.1-or-later */

/* The session lock of an agent, and its event loop.
 *
 * Everything that belongs to an agent is accessed with the session lock held, by any thread. No
 * code of the application runs while it is held: results and signals of objects are queued as
 * deliveries, and run without it.
 *
 * Events (descriptors that are ready, timers) are handled by whichever thread comes first: the one
 * that runs the main context that was thread-default when the session was made, or one that waits
 * in session_wait(), without any main context.
 *
 * Memory is counted by references. Independent of that, a session has users: the agent object, and
 * each lock or call that needs the connection. When the last user leaves, the connection is closed.
 *
 * After fork() the child locks nothing, since nobody there would ever unlock, and handles no
 * events. There the last user leaves everything as it is. */

#pragma once

#include <gio/gio.h>

typedef struct Session Session;

/* `unused` is called with the lock held when the last user has left; it calls session_close(). The
 * caller owns one reference and is the first user. */
Session *session_new(void (*unused)(gpointer data), gpointer data);
Session *session_ref(Session *self);
void session_unref(Session *self);

/* FALSE in the child of a fork. */
gboolean session_is_of_this_process(const Session *self);

/* The agent's main context; borrowed. */
GMainContext *session_get_context(const Session *self);

/* Takes the lock, and is a user until session_leave(). The same thread may enter again. */
void session_enter(Session *self);
void session_leave(Session *self);

/* ---- with the lock held */

void session_add_user(Session *self);
void session_remove_user(Session *self);
gboolean session_has_users(const Session *self);

/* No more events. Deliveries that are queued still run. */
void session_close(Session *self);

/* A descriptor that is polled. `ready` is called with the lock held. */
typedef struct {
    int fd;
    short events; /* of poll() */
    void (*ready)(gpointer data, short revents);
    gpointer data;
    gpointer tag; /* of the GSource */
} SessionWatch;
void session_add_watch(Session *self, SessionWatch *watch);
void session_set_watch_events(Session *self, SessionWatch *watch, short events);
void session_remove_watch(Session *self, SessionWatch *watch);

/* `expired` is called once, with the lock held, when it is time; zero-initialized is stopped. */
typedef struct {
    void (*expired)(gpointer data);
    gpointer data;
    gint64 due_us; /* of the monotonic clock; 0: it is stopped */
    GList link;
} SessionTimer;
void session_start_timer(Session *self, SessionTimer *timer, gint64 due_us);
void session_stop_timer(Session *self, SessionTimer *timer);

/* Something of the application that is called without the lock: the first member of a larger
 * struct. `free` is called after `run`, or instead of it if the context ends before. */
typedef struct SessionDelivery SessionDelivery;
struct SessionDelivery {
    SessionDelivery *next;
    void (*run)(SessionDelivery *self);
    void (*free)(SessionDelivery *self);
};

/* Runs it from `context`, in the order of these calls, and never from within session_wait(). */
void session_deliver(Session *self, GMainContext *context, SessionDelivery *delivery);

/* Whether this thread is running deliveries of the agent's context now, one after the other; and
 * what is to be called, with the lock held, when it has run them. Sync calls in between do it
 * earlier. */
gboolean session_is_delivering(const Session *self);
void session_set_after_deliveries(Session *self, void (*func)(gpointer data), gpointer data);
void session_call_after_deliveries(Session *self);

/* ---- waiting without a main context */

typedef struct {
    GList link;
    GThread *thread;
    int wake_fd;
} SessionWaiter;

/* Handles events until `is_over`, which is called with the lock held. The lock is held once on
 * entry, and is released while the thread sleeps. */
void session_wait(Session *self,
                  SessionWaiter *waiter,
                  gboolean (*is_over)(gpointer data),
                  gpointer data);

/* What a waiter waits for has come. Nothing happens if it is this thread, or zero-initialized. */
void session_wake(SessionWaiter *waiter);
