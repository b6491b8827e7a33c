/* SPDX-FileCopyrightText: 2026 The WebLocks for D-Bus authors
 * SPDX-License-Identifier: LGPL-2.1-or-later */

/* lock-cell: what each function does to each state of a cell, and that a client and a service on
 * two threads always agree on who has the lock. */

#include "common/lock-cell.h"

enum { KEY = 7, FIRST = 1000, LAST = 1003 };

static void
test_enter_and_leave(void)
{
    LockCell cell = {0};
    guint64 token = 0;

    g_assert_false(lock_cell_enter(&cell, KEY, &token));
    g_assert_false(lock_cell_enter(&cell, 0, &token));
    g_assert_false(lock_cell_leave(&cell, 0));

    lock_cell_open(&cell, KEY, FIRST, LAST);
    g_assert_true(lock_cell_is_held(&cell, KEY, FIRST));
    g_assert_false(lock_cell_is_held(&cell, KEY + 1, FIRST));
    g_assert_false(lock_cell_is_held(&cell, KEY, FIRST + 1));
    g_assert_false(lock_cell_enter(&cell, KEY, &token)); /* it is held */
    g_assert_false(lock_cell_leave(&cell, FIRST + 1));
    g_assert_true(lock_cell_leave(&cell, FIRST));
    g_assert_false(lock_cell_leave(&cell, FIRST));
    g_assert_false(lock_cell_is_held(&cell, KEY, FIRST));

    g_assert_false(lock_cell_enter(&cell, KEY + 1, &token));
    for (guint64 expected = FIRST + 1; expected <= LAST; expected++) {
        g_assert_true(lock_cell_enter(&cell, KEY, &token));
        g_assert_cmpuint(token, ==, expected);
        g_assert_true(lock_cell_is_held(&cell, KEY, expected));
        g_assert_true(lock_cell_leave(&cell, token));
    }
    g_assert_false(lock_cell_enter(&cell, KEY, &token)); /* no token is left */
    g_assert_cmpuint(token, ==, LAST);
}

static void
test_close(void)
{
    const gint64 before_us = g_get_monotonic_time();
    LockCell cell = {0};
    LockCellClosed closed;
    guint64 token;

    lock_cell_open(&cell, KEY, FIRST, LAST);
    lock_cell_close(&cell, &closed);
    g_assert_true(closed.is_held);
    g_assert_cmpuint(closed.token, ==, FIRST);
    g_assert_cmpint(closed.since_us, ==, 0);
    g_assert_false(lock_cell_is_held(&cell, KEY, FIRST));
    g_assert_false(lock_cell_leave(&cell, FIRST));

    lock_cell_open(&cell, KEY, FIRST, LAST);
    g_assert_true(lock_cell_leave(&cell, FIRST));
    g_assert_true(lock_cell_enter(&cell, KEY, &token));
    lock_cell_close(&cell, &closed);
    g_assert_true(closed.is_held);
    g_assert_cmpuint(closed.token, ==, FIRST + 1);
    /* The coarse clock is up to a tick behind. */
    g_assert_cmpint(closed.since_us, >=, before_us - 20000);
    g_assert_cmpint(closed.since_us, <=, g_get_monotonic_time());

    /* Parked; and the time of an earlier token isn't used. */
    lock_cell_open(&cell, KEY + 1, LAST, LAST + 1);
    g_assert_true(lock_cell_leave(&cell, LAST));
    lock_cell_close(&cell, &closed);
    g_assert_false(closed.is_held);
    g_assert_cmpuint(closed.token, ==, LAST);
    g_assert_cmpint(closed.since_us, ==, 0);
    g_assert_false(lock_cell_enter(&cell, KEY + 1, &token));

    /* A client that has changed everything: what it wrote is returned, and the cell is closed. */
    memset(&cell, 0xff, sizeof cell);
    lock_cell_close(&cell, &closed);
    g_assert_true(closed.is_held);
    g_assert_cmpuint(closed.token, ==, G_MAXUINT64 >> 2);
    g_assert_false(lock_cell_leave(&cell, closed.token));
}

/* ---- two threads */

enum { ROUNDS = 3000, ROUNDS_MIN = 20, RANGE = 50, HOLDERS_MAX = 1 };

/* Where a thread gets a processor once in a while only, fewer rounds are enough. */
#define ENOUGH_US (2 * G_USEC_PER_SEC)

/* How long one waits for the other, which then has lost the lock. */
#define PATIENCE_US (20 * G_USEC_PER_SEC)

typedef struct {
    LockCell cell;
    guint n_holders;      /* atomic */
    guint in_lock;        /* not atomic: only whoever has the lock changes it */
    guint n_entered;      /* the client's: since the start */
    gboolean is_returned; /* atomic: the client has released a lock whose cell was closed */
    guint64 handed;   /* atomic: the first token of the range, with which it is held; 0: taken */
    gboolean is_over; /* atomic */
} Shared;

static void
hold(Shared *self)
{
    g_assert_cmpuint(__atomic_add_fetch(&self->n_holders, 1, __ATOMIC_RELAXED), <=, HOLDERS_MAX);
    self->in_lock++;
    __atomic_sub_fetch(&self->n_holders, 1, __ATOMIC_RELAXED);
}

/* Enters and leaves until the cell is closed. If it is closed while the lock is held, says so. */
static gpointer
run_client(gpointer data)
{
    Shared *self = data;
    guint64 token, last_token = 0;

    while (!__atomic_load_n(&self->is_over, __ATOMIC_ACQUIRE)) {
        if ((token = __atomic_exchange_n(&self->handed, 0, __ATOMIC_ACQUIRE)) == 0 &&
            !lock_cell_enter(&self->cell, KEY, &token)) {
            g_thread_yield();
            continue;
        }
        g_assert_cmpuint(token, >, last_token);
        last_token = token;
        hold(self);
        /* Now and then the service is next while the lock is held, and while it is parked. */
        if (++self->n_entered % 7 == 0)
            g_thread_yield();
        if (!lock_cell_leave(&self->cell, token))
            __atomic_store_n(&self->is_returned, TRUE, __ATOMIC_RELEASE);
        if (self->n_entered % 5 == 0)
            g_thread_yield();
    }
    return NULL;
}

static void
wait_returned(Shared *self)
{
    const gint64 until_us = g_get_monotonic_time() + PATIENCE_US;

    while (!__atomic_exchange_n(&self->is_returned, FALSE, __ATOMIC_ACQUIRE)) {
        g_assert_cmpint(g_get_monotonic_time(), <, until_us);
        g_thread_yield();
    }
}

static void
test_two_threads(void)
{
    Shared shared = {.n_holders = 0};
    GThread *client = g_thread_new("client", run_client, &shared);
    guint n_held = 0, n_parked = 0, n_own = 0;
    const gint64 until_us = g_get_monotonic_time() + ENOUGH_US;
    guint64 next = FIRST;

    for (guint round = 0;
         round < ROUNDS && (round < ROUNDS_MIN || g_get_monotonic_time() < until_us); round++) {
        LockCellClosed closed;

        lock_cell_open(&shared.cell, KEY, next, next + RANGE);
        __atomic_store_n(&shared.handed, next, __ATOMIC_RELEASE);
        /* It is closed at once, or at some time after the client has entered. */
        while (round % 2 == 0 && __atomic_load_n(&shared.handed, __ATOMIC_RELAXED) != 0)
            g_thread_yield();
        for (guint i = round % 64; i > 0; i--)
            __atomic_load_n(&shared.cell.word, __ATOMIC_RELAXED);
        lock_cell_close(&shared.cell, &closed);
        g_assert_cmpuint(closed.token, >=, next);
        g_assert_cmpuint(closed.token, <=, next + RANGE);
        next = closed.token + 1;
        if (closed.is_held) {
            n_held++;
            wait_returned(&shared);
        } else {
            n_parked++;
        }
        hold(&shared); /* now it is ours */
        n_own++;
    }
    __atomic_store_n(&shared.is_over, TRUE, __ATOMIC_RELEASE);
    g_thread_join(client);
    g_assert_cmpuint(shared.in_lock, ==, shared.n_entered + n_own);
    g_test_message("closed held %u times, parked %u; entered %u times", n_held, n_parked,
                   shared.n_entered);
}

int
main(int argc, char *argv[])
{
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/lock-cell/enter-and-leave", test_enter_and_leave);
    g_test_add_func("/lock-cell/close", test_close);
    g_test_add_func("/lock-cell/two-threads", test_two_threads);
    return g_test_run();
}
