/* SPDX-FileCopyrightText: 2026 The WebLocks for D-Bus authors
 * SPDX-License-Identifier: LGPL-2.1-or-later */

/* While somebody waits, the service is asked now and then what it has: so a signal that was lost is
 * no grant that was lost. The library is built with a shorter interval here. */

#include "tests/client/mock-scene.h"

#define GRANTED "(uint64 5, 'name', 'exclusive', '" MOCK_CLIENT "', uint64 6)"

/* A lock with id 5, and a wait with id 8. */
static WebLocksLock *
lock_and_wait(Scene *s)
{
    WebLocksLock *lock = scene_lock(s);
    g_autoptr(GDBusMessage) call = scene_ask(s);

    scene_answer(s, call, "(uint64 8, uint64 0)");
    return lock;
}

#define BOTH "[" SCENE_RECORD(5, 1, "name", 6) "," SCENE_RECORD(8, 2, "name", 0) "]"

static void
wait_for_answer(Scene *s)
{
    g_autoptr(GDBusMessage) call = scene_ask(s);

    scene_answer(s, call, "(uint64 5, uint64 0)");
}

static void
expect_lock(Scene *s, guint64 token)
{
    g_autoptr(WebLocksLock) lock = answer_expect_lock(&s->answer);

    g_assert_cmpuint(web_locks_lock_get_token(lock), ==, token);
    scene_close(s);
}

/* Again and again, on whatever way there is. */
static void
test_granted(Scene *s, gconstpointer data)
{
    wait_for_answer(s);
    for (guint i = 0; i < 3; i++) {
        scene_resync(s, SCENE_WAITING);
        g_assert_cmpuint(s->answer.n_results, ==, 0);
    }
    scene_resync(s, SCENE_HELD);
    expect_lock(s, 6);
}

/* The signal comes after all, late. */
static void
test_granted_twice(Scene *s, gconstpointer data)
{
    g_autoptr(GDBusMessage) call = scene_ask(s);
    g_autoptr(WebLocksLock) lock = NULL;
    g_auto(Losses) losses = {0};

    scene_answer(s, call, "(uint64 5, uint64 0)");
    scene_resync(s, SCENE_HELD);
    lock = answer_expect_lock(&s->answer);
    losses_watch(&losses, lock);
    scene_signal(s, call, "Granted", GRANTED);
    scene_barrier(s);
    g_assert_cmpuint(losses.n_lost, ==, 0);
    g_assert_true(web_locks_lock_get_held(lock));
    scene_close(s);
}

/* It ended, and nobody has told: it is said again. */
static void
test_missing(Scene *s, gconstpointer data)
{
    g_autoptr(WebLocksLock) lock = lock_and_wait(s);
    g_autoptr(GDBusMessage) again = NULL;
    g_autoptr(GVariant) key = NULL;
    g_auto(Losses) losses = {0};

    losses_watch(&losses, lock);
    scene_resync(s, SCENE_NOTHING);
    test_wait(test_is_set, &losses.n_lost);
    g_assert_cmpstr(losses.reason, ==, "lost");
    again = scene_expect(s, "Request");
    key = mock_get_option(again, "key");
    g_assert_cmpuint(g_variant_get_uint64(key), ==, 2);
    scene_answer(s, again, "(uint64 9, uint64 10)");
    expect_lock(s, 10);
}

/* No answer is no harm. */
static void
test_refused(Scene *s, gconstpointer error)
{
    g_autoptr(WebLocksLock) lock = lock_and_wait(s);
    g_autoptr(GDBusMessage) call = scene_expect(s, "Resync");

    mock_answer_error(s->mock, call, MOCK_SERVICE, error);
    scene_resync(s, BOTH);
    g_assert_true(web_locks_lock_get_held(lock));
    g_assert_cmpuint(s->answer.n_results, ==, 0);
    scene_close(s);
}

/* The question and a Release cross. */
static void
test_released(Scene *s, gconstpointer data)
{
    g_autoptr(WebLocksLock) lock = lock_and_wait(s);
    g_autoptr(GDBusMessage) look = scene_expect(s, "Resync"), release = NULL;
    g_auto(Answer) released = {0};
    g_autoptr(GError) error = NULL;

    web_locks_lock_release_async(lock, NULL, answer_take, &released);
    release = scene_expect(s, "Release");
    scene_answer_resync(s, look, BOTH);
    g_assert_cmpuint(released.n_results, ==, 0);
    scene_answer(s, release, "()");
    g_assert_true(web_locks_lock_release_finish(lock, answer_wait(&released), &error));
    g_assert_no_error(error);
    g_assert_cmpuint(s->answer.n_results, ==, 0);
    scene_close(s);
}

/* The question and a Request cross: its lock is younger than the answer. */
static void
test_requested(Scene *s, gconstpointer data)
{
    g_autoptr(GDBusMessage) look = NULL, call = NULL;
    g_autoptr(WebLocksLock) other = NULL;
    g_auto(Answer) answer = {0};

    wait_for_answer(s);
    look = scene_expect(s, "Resync");
    answer_ask(&answer, s->manager, "other");
    call = scene_expect(s, "Request");
    scene_answer(s, call, "(uint64 9, uint64 10)");
    other = answer_expect_lock(&answer);
    scene_answer_resync(s, look, SCENE_WAITING);
    g_assert_true(web_locks_lock_get_held(other));
    g_assert_cmpuint(s->answer.n_results, ==, 0);
    scene_close(s);
}

/* The service dies with the question under way. */
static void
test_dies(Scene *s, gconstpointer data)
{
    wait_for_answer(s);
    g_object_unref(scene_expect(s, "Resync"));
    scene_restart(s, ":1.3", SCENE_WAITING);
    scene_resync(s, SCENE_HELD);
    expect_lock(s, 6);
}

/* What is only held is not asked for. */
static void
test_not_waiting(Scene *s, gconstpointer data)
{
    g_autoptr(WebLocksLock) lock = NULL;
    const gint64 until_us = g_get_monotonic_time() + 20 * RESYNC_INTERVAL_MS * 1000;

    lock = scene_lock(s);
    while (g_get_monotonic_time() < until_us)
        test_iterate();
    scene_barrier(s);
    scene_close(s);
}

/* ---- a thread that waits without a main loop */

typedef struct {
    char *address;
    gboolean is_done; /* atomic */
} Thread;

static gpointer
wait_sync(gpointer data)
{
    Thread *self = data;
    g_autoptr(GMainContext) context = g_main_context_new();
    g_autoptr(GError) error = NULL;

    g_main_context_push_thread_default(context);
    {
        g_autoptr(WebLocksAgent) agent = g_object_new(WEB_LOCKS_TYPE_AGENT, "address",
                                                      self->address, "private-socket", FALSE, NULL);
        g_autoptr(WebLocksManager) manager = web_locks_agent_get_manager(agent, "bucket", NULL);
        g_autoptr(WebLocksLock) lock =
            web_locks_manager_request_sync(manager, "name", NULL, NULL, &error);

        g_assert_no_error(error);
        g_assert_cmpuint(web_locks_lock_get_token(lock), ==, 6);
        web_locks_agent_close(agent);
    }
    while (g_main_context_iteration(context, FALSE))
        ;
    g_main_context_pop_thread_default(context);
    g_atomic_int_set(&self->is_done, TRUE);
    g_main_context_wakeup(NULL);
    return NULL;
}

static void
test_sync(void)
{
    g_autoptr(MockBus) mock = mock_bus_new(MOCK_SERVICE);
    Thread self = {.address = g_strdup(mock_bus_get_address(mock))};
    GThread *thread = g_thread_new("waiter", wait_sync, &self);
    g_autoptr(GDBusMessage) request = mock_expect(mock, "Request");
    g_autoptr(GDBusMessage) first = NULL;
    g_autoptr(GDBusMessage) second = NULL;

    mock_answer(mock, request, MOCK_SERVICE, "(uint64 5, uint64 0)");
    first = mock_expect(mock, "Resync");
    mock_answer(mock, first, MOCK_SERVICE, "(" SCENE_WAITING ",)");
    second = mock_expect(mock, "Resync");
    mock_answer(mock, second, MOCK_SERVICE, "(" SCENE_HELD ",)");
    test_wait(test_is_set, &self.is_done);
    g_thread_join(thread);
    g_free(self.address);
    /* cppcheck-suppress memleak ; joining the thread has freed it */
}

#define ADD(name, start, func, data) \
    g_test_add("/mock-look/" name, Scene, data, start, func, scene_end)

int
main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    ADD("granted", scene_start, test_granted, NULL);
    ADD("granted-on-the-socket", scene_start_on_socket, test_granted, NULL);
    ADD("granted-twice", scene_start, test_granted_twice, NULL);
    ADD("granted-twice-on-the-socket", scene_start_on_socket, test_granted_twice, NULL);
    ADD("missing", scene_start, test_missing, NULL);
    ADD("refused", scene_start, test_refused, "org.freedesktop.DBus.Error.LimitsExceeded");
    ADD("unknown", scene_start, test_refused, "org.freedesktop.DBus.Error.UnknownMethod");
    ADD("released", scene_start, test_released, NULL);
    ADD("requested", scene_start, test_requested, NULL);
    ADD("dies", scene_start, test_dies, NULL);
    ADD("not-waiting", scene_start, test_not_waiting, NULL);
    g_test_add_func("/mock-look/sync", test_sync);
    return g_test_run();
}
