/* SPDX-FileCopyrightText: 2026 The WebLocks for D-Bus authors
 * SPDX-License-Identifier: LGPL-2.1-or-later */

/* A service that is about to leave, and a bus that goes, or never says a word. What becomes of
 * locks when the service goes is in test-mock-resync.c. */

#include "tests/client/mock-scene.h"

#define INVALID_STATE "org.w3.WebLocks.Error.InvalidState"
#define NEXT_SERVICE  ":1.3"

/* ---- InvalidState: the service was about to leave */

static void
test_leaving(Scene *s, gconstpointer data)
{
    g_autoptr(GDBusMessage) first = scene_ask(s), second = NULL;
    g_autoptr(GVariant) key_1 = mock_get_option(first, "key"), key_2 = NULL;
    g_autoptr(WebLocksLock) lock = NULL;

    mock_answer_error(s->mock, first, MOCK_SERVICE, INVALID_STATE);
    test_iterate();
    g_assert_cmpuint(s->answer.n_results, ==, 0);
    scene_restart(s, NEXT_SERVICE, SCENE_NOTHING); /* the question brings it back */
    second = mock_expect(s->mock, "Request");
    key_2 = mock_get_option(second, "key");
    g_assert_cmpuint(g_variant_get_uint64(key_1), ==, g_variant_get_uint64(key_2));
    mock_answer(s->mock, second, NEXT_SERVICE, "(uint64 1, uint64 7)");
    lock = answer_expect_lock(&s->answer);
    g_assert_cmpuint(web_locks_lock_get_token(lock), ==, 7);
}

/* The name is gone already when the answer comes. */
static void
test_left(Scene *s, gconstpointer data)
{
    g_autoptr(GDBusMessage) first = scene_ask(s), resync = NULL, second = NULL;
    g_autoptr(WebLocksLock) lock = NULL;

    scene_change_owner(s, NULL);
    mock_answer_error(s->mock, first, MOCK_SERVICE, INVALID_STATE);
    resync = scene_expect_resync(s, "org.w3.WebLocks");
    scene_change_owner(s, NEXT_SERVICE);
    scene_answer_resync(s, resync, SCENE_NOTHING);
    second = mock_expect(s->mock, "Request");
    mock_answer(s->mock, second, NEXT_SERVICE, "(uint64 1, uint64 7)");
    lock = answer_expect_lock(&s->answer);
    g_assert_nonnull(lock);
}

static void
test_leaving_for_ever(Scene *s, gconstpointer data)
{
    GDBusMessage *call = scene_ask(s);

    for (guint n_calls = 1; n_calls <= 16; n_calls++) {
        const char *owner = n_calls % 2 != 0 ? NEXT_SERVICE : MOCK_SERVICE;

        mock_answer_error(s->mock, call, n_calls % 2 != 0 ? MOCK_SERVICE : NEXT_SERVICE,
                          INVALID_STATE);
        g_clear_object(&call);
        if (n_calls == 16)
            break;
        scene_change_owner(s, owner);
        scene_resync(s, SCENE_NOTHING);
        call = mock_expect(s->mock, "Request");
    }
    answer_expect_error(&s->answer, WEB_LOCKS_ERROR, WEB_LOCKS_ERROR_INVALID_STATE);
}

static void
test_leaving_and_cancelled(Scene *s, gconstpointer data)
{
    g_autoptr(GDBusMessage) call = scene_ask_cancellably(s);

    mock_answer_error(s->mock, call, MOCK_SERVICE, INVALID_STATE);
    test_iterate();
    g_cancellable_cancel(s->cancellable);
    answer_expect_error(&s->answer, G_IO_ERROR, G_IO_ERROR_CANCELLED);
    mock_name_owner_changed(s->mock, MOCK_BUS, NEXT_SERVICE);
    mock_name_owner_changed(s->mock, MOCK_BUS, MOCK_SERVICE);
    scene_barrier(s); /* nothing was asked again */
}

static void
test_leaving_and_closed(Scene *s, gconstpointer data)
{
    g_autoptr(GDBusMessage) call = scene_ask(s);

    mock_answer_error(s->mock, call, MOCK_SERVICE, INVALID_STATE);
    scene_barrier(s);
    g_assert_cmpuint(s->answer.n_results, ==, 0);
    scene_close(s);
    answer_expect_error(&s->answer, WEB_LOCKS_ERROR, WEB_LOCKS_ERROR_ABORT);
}

static void
test_leaving_and_cut(Scene *s, gconstpointer data)
{
    g_autoptr(GDBusMessage) call = scene_ask(s);

    mock_answer_error(s->mock, call, MOCK_SERVICE, INVALID_STATE);
    scene_barrier(s);
    mock_bus_cut(s->mock);
    answer_expect_error(&s->answer, WEB_LOCKS_ERROR, WEB_LOCKS_ERROR_UNAVAILABLE);
}

/* ---- the bus */

static void
test_cut(Scene *s, gconstpointer data)
{
    g_autoptr(WebLocksLock) lock = scene_lock(s);
    g_autoptr(GDBusMessage) call = NULL;
    g_auto(Answer) query = {0};
    g_autoptr(GError) error = NULL;
    g_auto(Losses) losses = {0};

    losses_watch(&losses, lock);
    call = scene_ask(s);
    mock_answer(s->mock, call, MOCK_SERVICE, "(uint64 8, uint64 0)");
    scene_barrier(s);
    web_locks_manager_query_async(s->manager, NULL, answer_take, &query);
    mock_bus_cut(s->mock);
    answer_expect_error(&s->answer, WEB_LOCKS_ERROR, WEB_LOCKS_ERROR_UNAVAILABLE);
    g_assert_null(web_locks_manager_query_finish(s->manager, answer_wait(&query), &error));
    g_assert_error(error, WEB_LOCKS_ERROR, WEB_LOCKS_ERROR_UNAVAILABLE);
    test_wait(test_is_set, &losses.n_lost);
    g_assert_cmpstr(losses.reason, ==, "terminated");
    g_assert_false(web_locks_agent_get_connected(s->agent));
}

static void
test_hello_refused(void)
{
    g_autoptr(MockBus) mock = mock_bus_new(MOCK_SERVICE);
    g_auto(Answer) connected = {0};
    g_autoptr(GError) error = NULL;

    mock_bus_refuse_hello(mock);
    web_locks_agent_new_for_address_async(mock_bus_get_address(mock), NULL, answer_take,
                                          &connected);
    g_assert_null(web_locks_agent_new_for_address_finish(answer_wait(&connected), &error));
    g_assert_error(error, WEB_LOCKS_ERROR, WEB_LOCKS_ERROR_UNAVAILABLE);
}

static void
test_hello_ignored(void)
{
    g_autoptr(MockBus) mock = mock_bus_new(MOCK_SERVICE);
    g_autoptr(GCancellable) cancellable = g_cancellable_new();
    g_auto(Answer) connected = {0};
    g_autoptr(GError) error = NULL;

    mock_bus_ignore_hello(mock);
    web_locks_agent_new_for_address_async(mock_bus_get_address(mock), cancellable, answer_take,
                                          &connected);
    test_wait(mock_is_connected, mock);
    g_assert_cmpuint(connected.n_results, ==, 0);
    g_cancellable_cancel(cancellable);
    g_assert_null(web_locks_agent_new_for_address_finish(answer_wait(&connected), &error));
    g_assert_error(error, G_IO_ERROR, G_IO_ERROR_CANCELLED);
}

/* ---- monitors */

/* The service comes back while its absence is still being told. */
static void
test_monitor_and_return(Scene *s, gconstpointer data)
{
    g_auto(Answer) ready = {0};
    g_autoptr(GError) error = NULL;
    g_autoptr(WebLocksMonitor) monitor = NULL;
    g_autoptr(GDBusMessage) watch_1 = NULL, query_1 = NULL, watch_2 = NULL, watch_3 = NULL;

    web_locks_monitor_new_async(s->manager, NULL, answer_take, &ready);
    watch_1 = mock_expect(s->mock, "Watch");
    mock_answer(s->mock, watch_1, MOCK_SERVICE, "()");
    query_1 = mock_expect(s->mock, "Query");
    mock_answer(s->mock, query_1, MOCK_SERVICE, "([('a', 'shared', ':1.1')], @a(sss) [])");
    monitor = web_locks_monitor_new_finish(answer_wait(&ready), &error);
    g_assert_no_error(error);
    g_assert_cmpuint(g_list_model_get_n_items(web_locks_monitor_get_held(monitor)), ==, 1);

    mock_name_owner_changed(s->mock, MOCK_BUS, NULL);
    watch_2 = mock_expect(s->mock, "Watch");
    mock_answer_error(s->mock, watch_2, MOCK_BUS, "org.freedesktop.DBus.Error.ServiceUnknown");
    mock_name_owner_changed(s->mock, MOCK_BUS, NEXT_SERVICE);
    /* That it is there again must not be missed. */
    watch_3 = mock_expect(s->mock, "Watch");
    g_assert_nonnull(watch_3);
}

/* Given up while the service is told to watch: it is told not to. */
static void
test_monitor_given_up(Scene *s, gconstpointer data)
{
    g_auto(Answer) ready = {0};
    g_autoptr(GError) error = NULL;
    g_autoptr(GDBusMessage) on = NULL, off = NULL;
    g_autoptr(GVariant) enable = NULL;

    web_locks_monitor_new_async(s->manager, s->cancellable, answer_take, &ready);
    on = mock_expect(s->mock, "Watch");
    g_cancellable_cancel(s->cancellable);
    g_assert_null(web_locks_monitor_new_finish(answer_wait(&ready), &error));
    g_assert_error(error, G_IO_ERROR, G_IO_ERROR_CANCELLED);
    answer_clear(&ready);
    mock_answer(s->mock, on, MOCK_SERVICE, "()");
    off = mock_expect(s->mock, "Watch");
    enable = g_variant_get_child_value(g_dbus_message_get_body(off), 0);
    g_assert_false(g_variant_get_boolean(enable));
}

#define ADD(name, func) g_test_add("/mock-service/" name, Scene, NULL, scene_start, func, scene_end)

int
main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    ADD("about-to-leave", test_leaving);
    ADD("has-just-left", test_left);
    ADD("about-to-leave-for-ever", test_leaving_for_ever);
    ADD("about-to-leave-and-cancelled", test_leaving_and_cancelled);
    ADD("about-to-leave-and-closed", test_leaving_and_closed);
    ADD("about-to-leave-and-the-bus-dies", test_leaving_and_cut);
    ADD("the-bus-dies", test_cut);
    g_test_add_func("/mock-service/hello-is-refused", test_hello_refused);
    g_test_add_func("/mock-service/hello-is-not-answered", test_hello_ignored);
    ADD("monitor-and-a-quick-return", test_monitor_and_return);
    ADD("monitor-given-up", test_monitor_given_up);
    return g_test_run();
}
