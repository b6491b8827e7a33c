/* SPDX-FileCopyrightText: 2026 The WebLocks for D-Bus authors
 * SPDX-License-Identifier: LGPL-2.1-or-later */

/* Several locks in one call: all or none, without deadlocks. */

#include "tests/client/fixture.h"
#include "tests/lib/case.h"

#define NAMES(...) ((const char *const[]){__VA_ARGS__, NULL})

static char *
list_locks(GPtrArray *locks)
{
    GString *list = g_string_new(NULL);

    for (guint i = 0; locks != NULL && i < locks->len; i++)
        g_string_append_printf(list, i > 0 ? " %s" : "%s",
                               web_locks_lock_get_name(locks->pdata[i]));
    return g_string_free(list, FALSE);
}

/* Requests the locks, and checks which are returned. */
static GPtrArray *
take(WebLocksManager *manager, const char *const *names, const char *expected)
{
    GPtrArray *locks =
        no_error(web_locks_manager_request_many_sync(manager, names, NULL, NULL, &test_error));
    g_autofree char *list = list_locks(locks);

    g_assert_cmpstr(list, ==, expected);
    return locks;
}

static GPtrArray *
finish(Answer *answer, GError **error)
{
    GAsyncResult *result = answer_wait(answer);
    g_autoptr(GObject) source = g_async_result_get_source_object(result);

    return web_locks_manager_request_many_finish(WEB_LOCKS_MANAGER(source), result, error);
}

static void
expect_error(Answer *answer, GQuark domain, int code)
{
    g_autoptr(GError) error = NULL;
    g_autoptr(GPtrArray) locks = finish(answer, &error);

    g_assert_error(error, domain, code);
    g_assert_null(locks);
}

/* ---- all */

TEST("/many/in-the-order-of-names", test_order)
{
    g_autoptr(WebLocksManager) manager = test_manager_new();
    g_autoptr(GPtrArray) locks =
        take(manager, NAMES("c", "a", "\xc3\xa4", "B", "c", "", "ab", "a"), " B a ab c \xc3\xa4");

    assert_state(manager, " B a ab c \xc3\xa4 | ");
    for (guint i = 0; i < locks->len; i++)
        test_release(locks->pdata[i]);
}

TEST("/many/waits", test_waiting)
{
    g_autoptr(WebLocksManager) holder = test_manager_new(), waiter = test_manager_new();
    g_autoptr(WebLocksLock) held = test_lock(holder, "b");
    g_autoptr(GPtrArray) locks = NULL;
    g_autofree char *list = NULL;
    g_auto(Answer) answer = {0};

    web_locks_manager_request_many_async(waiter, NAMES("c", "b", "a"), NULL, NULL, answer_take,
                                         &answer);
    while (answer.n_results == 0) {
        g_autofree char *state = test_state(waiter);

        test_iterate();
        if (g_str_equal(state, "a b | b"))
            break;
    }
    g_assert_cmpuint(answer.n_results, ==, 0);
    test_release(held);
    locks = no_error(finish(&answer, &test_error));
    list = list_locks(locks);
    g_assert_cmpstr(list, ==, "a b c");
}

/* ---- none */

TEST("/many/none-if-one-is-not-available", test_if_available_taken)
{
    g_autoptr(WebLocksManager) holder = test_manager_new(), other = test_manager_new();
    g_autoptr(WebLocksLock) held = test_lock(holder, "b");
    g_autoptr(WebLocksOptions) options = test_if_available();
    g_autoptr(GPtrArray) locks = no_error(web_locks_manager_request_many_sync(
        other, NAMES("a", "b", "c"), options, NULL, &test_error));

    g_assert_null(locks);
    assert_state(other, "b | ");
}

TEST("/many/none-if-a-name-is-bad", test_bad_name)
{
    g_autoptr(WebLocksManager) manager = test_manager_new();

    assert_fails(
        web_locks_manager_request_many_sync(manager, NAMES("a", "-b"), NULL, NULL, &test_error),
        WEB_LOCKS_ERROR, WEB_LOCKS_ERROR_NOT_SUPPORTED);
    assert_fails(
        web_locks_manager_request_many_sync(manager, NAMES("a", "\xff"), NULL, NULL, &test_error),
        G_IO_ERROR, G_IO_ERROR_INVALID_ARGUMENT);
    assert_state(manager, " | "); /* not even "a" was requested */
}

/* One time-out for all: it continues while the first ones are granted. */
TEST("/many/none-in-time", test_timed_out)
{
    g_autoptr(WebLocksManager) holder = test_manager_new(), waiter = test_manager_new();
    g_autoptr(WebLocksLock) held = test_lock(holder, "b");
    g_autoptr(WebLocksOptions) options = g_object_new(WEB_LOCKS_TYPE_OPTIONS, "timeout", 50, NULL);

    assert_fails(web_locks_manager_request_many_sync(waiter, NAMES("a", "b", "c"), options, NULL,
                                                     &test_error),
                 WEB_LOCKS_ERROR, WEB_LOCKS_ERROR_TIMEOUT);
    test_wait_for_state(holder, "b | ");
}

/* At every stage: before any grant, between two, after the last. */
TEST("/many/none-wherever-it-is-cancelled", test_cancelled_anywhere)
{
    g_autoptr(WebLocksManager) manager = test_manager_new();
    guint n_granted = 0, n_cancelled = 0;

    for (guint n_steps = 0; n_granted == 0; n_steps++) {
        g_autoptr(GCancellable) cancellable = g_cancellable_new();
        g_autoptr(GPtrArray) locks = NULL;
        g_autoptr(GError) error = NULL;
        g_auto(Answer) answer = {0};

        web_locks_manager_request_many_async(manager, NAMES("a", "b", "c"), NULL, cancellable,
                                             answer_take, &answer);
        for (guint i = 0; i < n_steps && answer.n_results == 0; i++)
            g_main_context_iteration(NULL, TRUE);
        if (answer.n_results > 0)
            n_granted++;
        g_cancellable_cancel(cancellable);
        locks = finish(&answer, &error);
        if (locks == NULL) {
            g_assert_error(error, G_IO_ERROR, G_IO_ERROR_CANCELLED);
            n_cancelled++;
        }
        g_clear_pointer(&locks, g_ptr_array_unref);
        answer_clear(&answer);
        test_wait_for_state(manager, " | ");
    }
    g_assert_cmpuint(n_cancelled, >, 0);
}

/* The first is stolen while the second is waited for. */
TEST("/many/none-if-one-is-stolen-meanwhile", test_stolen_meanwhile)
{
    g_autoptr(WebLocksManager) holder = test_manager_new(), waiter = test_manager_new(),
                               stealing = test_manager_new();
    g_autoptr(WebLocksLock) held = test_lock(holder, "b"), stolen = NULL;
    g_auto(Answer) answer = {0};

    web_locks_manager_request_many_async(waiter, NAMES("a", "b"), NULL, NULL, answer_take, &answer);
    test_wait_for_state(holder, "a b | b");
    stolen = test_lock_stolen(stealing, "a");
    test_release(held);
    expect_error(&answer, WEB_LOCKS_ERROR, WEB_LOCKS_ERROR_STOLEN);
    test_wait_for_state(stealing, "a | ");
}

TEST("/many/none-if-closed", test_closed_meanwhile)
{
    g_autoptr(WebLocksManager) holder = test_manager_new(), waiter = test_manager_new();
    g_autoptr(WebLocksLock) held = test_lock(holder, "b");
    g_auto(Answer) answer = {0};

    web_locks_manager_request_many_async(waiter, NAMES("a", "b"), NULL, NULL, answer_take, &answer);
    test_wait_for_state(holder, "a b | b");
    web_locks_agent_close(web_locks_manager_get_agent(waiter));
    expect_error(&answer, WEB_LOCKS_ERROR, WEB_LOCKS_ERROR_CLOSED);
    test_wait_for_state(holder, "b | ");
}

/* ---- no deadlocks */

#define ROUNDS 200

static const char *const *const crossed[] = {NAMES("a", "b"), NAMES("b", "a")};

static gpointer
take_often(gpointer data)
{
    const char *const *names = data;
    g_autoptr(GMainContext) context = g_main_context_new();

    g_main_context_push_thread_default(context);
    {
        g_autoptr(WebLocksManager) manager = test_manager_new();

        for (guint i = 0; i < ROUNDS; i++) {
            g_autoptr(GPtrArray) locks = take(manager, names, "a b");

            if (i % 2 == 0)
                for (guint k = 0; k < locks->len; k++)
                    test_release(locks->pdata[k]);
        }
    }
    g_main_context_pop_thread_default(context);
    return NULL;
}

TEST("/many/crossed-orders", test_crossed)
{
    g_autoptr(WebLocksManager) observer = test_manager_new();
    GThread *threads[2];

    for (guint i = 0; i < 2; i++)
        threads[i] = g_thread_new("crossed", take_often, (gpointer)crossed[i]);
    for (guint i = 0; i < 2; i++)
        g_thread_join(threads[i]);
    test_wait_for_state(observer, " | ");
}

TEST_MAIN(test_run(NULL))
