/* SPDX-FileCopyrightText: 2026 The WebLocks for D-Bus authors
 * SPDX-License-Identifier: LGPL-2.1-or-later */

/* What the functions that are called in a batch have started is sent together. */

#include <sys/socket.h>

#include "tests/client/fixture.h"
#include "tests/lib/case.h"

#define N_LOCKS 64u

/* How often this program has called send(), which the library does for each packet. */
static guint n_sends;

ssize_t
send(int fd, const void *buffer, size_t length, int flags)
{
    n_sends++;
    return sendto(fd, buffer, length, flags, NULL, 0);
}

typedef struct {
    WebLocksManager *manager;
    WebLocksLock *locks[N_LOCKS]; /* to be released; may be NULL */
    Answer released[N_LOCKS];
    Answer requested[N_LOCKS];
} Work;

/* Releases what is held, and requests all of it again. */
static void
work(gpointer data)
{
    Work *work = data;

    for (guint i = 0; i < N_LOCKS; i++) {
        g_autofree char *name = g_strdup_printf("%u", i);

        if (work->locks[i] != NULL)
            web_locks_lock_release_async(work->locks[i], NULL, answer_take, &work->released[i]);
        answer_ask(&work->requested[i], work->manager, name);
    }
}

static void
finish(Work *work)
{
    for (guint i = 0; i < N_LOCKS; i++) {
        WebLocksLock *lock = answer_expect_lock(&work->requested[i]);

        if (work->locks[i] != NULL)
            g_assert_true(web_locks_lock_release_finish(work->locks[i],
                                                        answer_wait(&work->released[i]), NULL));
        answer_clear(&work->released[i]);
        answer_clear(&work->requested[i]);
        g_clear_object(&work->locks[i]);
        work->locks[i] = lock;
    }
}

TEST("/batch/together", test_together)
{
    g_autoptr(WebLocksAgent) agent = test_agent_new();
    g_autoptr(WebLocksManager) manager = test_manager_of(agent);
    g_autoptr(WebLocksLock) first = test_lock(manager, "first");
    Work all = {.manager = manager};

    web_locks_agent_batch(agent, work, &all);
    finish(&all);
    n_sends = 0;
    web_locks_agent_batch(agent, work, &all);
    g_assert_cmpuint(n_sends, ==, 1);
    finish(&all);
    g_assert_cmpuint(n_sends, ==, 1);

    /* Without a batch each is sent by itself: this is what the number above is compared with. */
    n_sends = 0;
    work(&all);
    g_assert_cmpuint(n_sends, ==, 2 * N_LOCKS);
    finish(&all);
    for (guint i = 0; i < N_LOCKS; i++)
        g_clear_object(&all.locks[i]);
}

/* Releases what is held, without an answer, by each of the two ways. */
static void
drop(gpointer data)
{
    Work *work = data;

    for (guint i = 0; i < N_LOCKS; i += 2) {
        web_locks_lock_release(work->locks[i]);
        g_assert_false(web_locks_lock_get_held(work->locks[i]));
        g_clear_object(&work->locks[i]);
        g_clear_object(&work->locks[i + 1]);
    }
}

TEST("/batch/without-answers", test_without_answers)
{
    g_autoptr(WebLocksAgent) agent = test_agent_new();
    g_autoptr(WebLocksManager) manager = test_manager_of(agent);
    Work all = {.manager = manager};

    work(&all);
    finish(&all);
    n_sends = 0;
    web_locks_agent_batch(agent, drop, &all);
    g_assert_cmpuint(n_sends, ==, 1);
    assert_state(manager, " | ");
}

typedef struct {
    WebLocksAgent *agent;
    WebLocksManager *manager;
    Answer outer, inner;
    guint n_sends; /* when the callback ended */
} Nested;

static void
ask_inner(gpointer data)
{
    Nested *nested = data;

    answer_ask(&nested->inner, nested->manager, "inner");
}

static void
on_outer(GObject *source, GAsyncResult *result, gpointer data)
{
    Nested *nested = data;

    answer_take(source, result, &nested->outer);
    n_sends = 0;
    web_locks_agent_batch(nested->agent, ask_inner, nested);
    nested->n_sends = n_sends;
}

/* In a callback of the library, a batch is part of what the other callbacks send. */
TEST("/batch/in-callback", test_in_callback)
{
    g_autoptr(WebLocksAgent) agent = test_agent_new();
    g_autoptr(WebLocksManager) manager = test_manager_of(agent);
    g_autoptr(WebLocksLock) outer = NULL, inner = NULL;
    Nested nested = {.agent = agent, .manager = manager};

    web_locks_manager_request_async(manager, "outer", NULL, NULL, on_outer, &nested);
    outer = answer_expect_lock(&nested.outer);
    g_assert_cmpuint(nested.n_sends, ==, 0);
    inner = answer_expect_lock(&nested.inner);
    g_assert_cmpuint(n_sends, ==, 1);
    answer_clear(&nested.outer);
    answer_clear(&nested.inner);
}

static void
on_outer_iterating(GObject *source, GAsyncResult *result, gpointer data)
{
    Nested *nested = data;

    answer_take(source, result, &nested->outer);
    n_sends = 0;
    ask_inner(nested);
    g_main_context_iteration(NULL, FALSE);
    nested->n_sends = n_sends;
    answer_wait(&nested->inner);
}

/* A main loop that a callback runs sends what the callback has requested, and has the answer. */
TEST("/batch/in-loop-in-callback", test_in_loop_in_callback)
{
    g_autoptr(WebLocksManager) manager = test_manager_new();
    g_autoptr(WebLocksLock) outer = NULL, inner = NULL;
    Nested nested = {.manager = manager};

    web_locks_manager_request_async(manager, "outer", NULL, NULL, on_outer_iterating, &nested);
    outer = answer_expect_lock(&nested.outer);
    g_assert_cmpuint(nested.n_sends, ==, 1);
    inner = answer_expect_lock(&nested.inner);
    answer_clear(&nested.outer);
    answer_clear(&nested.inner);
}

static gpointer
release_in_thread(gpointer lock)
{
    web_locks_lock_release(lock);
    return NULL;
}

static void
let_thread_release(gpointer lock)
{
    g_thread_join(g_thread_new("release", release_in_thread, lock));
    g_assert_cmpuint(n_sends, ==, 1);
}

/* What another thread does is not part of the batch. */
TEST("/batch/other-thread", test_other_thread)
{
    g_autoptr(WebLocksAgent) agent = test_agent_new();
    g_autoptr(WebLocksManager) manager = test_manager_of(agent);
    g_autoptr(WebLocksLock) lock = test_lock(manager, "held");

    n_sends = 0;
    web_locks_agent_batch(agent, let_thread_release, lock);
    g_assert_cmpuint(n_sends, ==, 1);
}

typedef struct {
    WebLocksManager *manager;
    WebLocksLock *held;
    Answer released, requested;
} Mixed;

static void
mix(gpointer data)
{
    Mixed *mixed = data;
    g_autoptr(WebLocksLock) lock = NULL;

    web_locks_lock_release_async(mixed->held, NULL, answer_take, &mixed->released);
    lock = test_lock(mixed->manager, "held"); /* synchronous: sends the release, too */
    answer_ask(&mixed->requested, mixed->manager, "held");
}

TEST("/batch/synchronous-calls", test_synchronous_calls)
{
    g_autoptr(WebLocksAgent) agent = test_agent_new();
    g_autoptr(WebLocksManager) manager = test_manager_of(agent);
    g_autoptr(WebLocksLock) held = test_lock(manager, "held");
    g_autoptr(WebLocksLock) lock = NULL;
    Mixed mixed = {.manager = manager, .held = held};

    web_locks_agent_batch(agent, mix, &mixed);
    lock = answer_expect_lock(&mixed.requested);
    answer_wait(&mixed.released);
    assert_state(manager, "held | ");
    answer_clear(&mixed.released);
    answer_clear(&mixed.requested);
}

TEST_MAIN(test_run(NULL))
