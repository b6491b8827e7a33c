/* SPDX-FileCopyrightText: 2026 The WebLocks for D-Bus authors
 * SPDX-License-Identifier: LGPL-2.1-or-later */

/* Monitors: list models that are updated automatically. */

#include <string.h>
#include <unistd.h>

#include "tests/client/fixture.h"
#include "tests/lib/case.h"

static WebLocksMonitor *
monitor_new(WebLocksManager *manager)
{
    WebLocksMonitor *monitor = no_error(web_locks_monitor_new_sync(manager, NULL, &test_error));

    g_assert_true(web_locks_monitor_get_manager(monitor) == manager);
    return monitor;
}

static void
wait_until(WebLocksMonitor *monitor, const char *expected)
{
    test_wait_for_shown(monitor, test_list, expected);
}

#define assert_shows(monitor, expected)                           \
    G_STMT_START                                                  \
    {                                                             \
        g_autofree char *shown_ = test_shown(monitor, test_list); \
        g_assert_cmpstr(shown_, ==, expected);                    \
    }                                                             \
    G_STMT_END

typedef struct {
    WebLocksMonitor *monitor;
    GString *text; /* what was notified, and the lists at that time */
} Notified;

static void
on_notify(WebLocksLockInfo *info, GParamSpec *pspec, gpointer data)
{
    const Notified *notified = data;
    g_autofree char *shown = test_shown(notified->monitor, test_list);

    g_string_append_printf(notified->text, "%s: %s; ", pspec->name, shown);
}

/* A request is one item until its lock ends, also if the service restarts so quickly that the lists
 * don't become empty. What changes is notified when both lists have changed. */
static void
check_one_item(GMainContext *context)
{
    g_autoptr(WebLocksManager) watcher = test_manager_new(), one = test_manager_new(),
                               two = test_manager_new(), three = test_manager_new();
    g_autoptr(WebLocksMonitor) monitor = monitor_new(watcher);
    g_autoptr(WebLocksLock) first = test_lock(one, "a"), second = NULL, third = NULL, other = NULL;
    g_auto(Answer) answer_two = {0}, answer_three = {0};
    g_autoptr(WebLocksLockInfo) item = NULL;
    g_autoptr(GString) text = g_string_new(NULL);
    Notified notified = {monitor, text};

    answer_ask(&answer_two, two, "a");
    wait_until(monitor, "a | a");
    answer_ask(&answer_three, three, "a");
    wait_until(monitor, "a | a a");
    item = g_list_model_get_item(web_locks_monitor_get_pending(monitor), 1);
    g_signal_connect(item, "notify", G_CALLBACK(on_notify), &notified);
    g_assert_cmpuint(web_locks_lock_info_get_position(item), ==, 2);
    test_release(first);
    second = answer_expect_lock(&answer_two);
    wait_until(monitor, "a | a");
    g_assert_cmpuint(web_locks_lock_info_get_position(item), ==, 1);
    g_assert_nonnull(strstr(text->str, "position: a | a; "));
    g_assert_nonnull(strstr(text->str, "blocked-by: a | a; "));

    g_main_context_pop_thread_default(context);
    test_service_kill();
    test_service_start();
    g_main_context_push_thread_default(context);
    other = test_lock(one, "b"); /* after which everything has been read again */
    wait_until(monitor, "a b | a");
    g_string_truncate(text, 0);
    test_release(second);
    third = answer_expect_lock(&answer_three);
    wait_until(monitor, "a b | ");
    g_assert_nonnull(strstr(text->str, "held: a b | ; "));
    g_assert_nonnull(strstr(text->str, "token: a b | ; "));
    g_assert_cmpuint(web_locks_lock_info_get_token(item), ==, web_locks_lock_get_token(third));
    g_assert_cmpuint(web_locks_lock_info_get_position(item), ==, 0);
    g_signal_handlers_disconnect_by_data(item, &notified);
}

TEST("/monitor/one-item", test_one_item)
{
    g_autoptr(GMainContext) context = g_main_context_new();

    g_main_context_push_thread_default(context);
    check_one_item(context);
    test_iterate();
    g_main_context_pop_thread_default(context);
}

/* ---- the service */

typedef struct {
    GListModel *held;
    guint64 token;
} Expected;

static gboolean
has_token(gpointer data)
{
    const Expected *expected = data;
    g_autoptr(WebLocksLockInfo) info = g_list_model_get_item(expected->held, 0);

    return info != NULL && web_locks_lock_info_get_token(info) == expected->token;
}

/* Without its state, the next service gives the same id to another lock of the same client. */
TEST("/monitor/service-without-state", test_service_without_state)
{
    g_autoptr(WebLocksManager) one = test_manager_new();
    g_autoptr(GMainContext) context = g_main_context_new();

    g_main_context_push_thread_default(context);
    {
        g_autoptr(WebLocksManager) watcher = test_manager_new();
        g_autoptr(WebLocksMonitor) monitor = monitor_new(watcher);
        g_autoptr(WebLocksLock) lost = test_lock(one, "a"), lock = NULL;
        Expected expected = {web_locks_monitor_get_held(monitor)};

        wait_until(monitor, "a | ");
        g_main_context_pop_thread_default(context);
        test_service_kill();
        test_service_start_with("--no-state");
        lock = test_lock(one, "a");
        g_main_context_push_thread_default(context);
        expected.token = web_locks_lock_get_token(lock);
        g_assert_cmpuint(expected.token, !=, web_locks_lock_get_token(lost));
        test_wait(has_token, &expected);
    }
    test_iterate();
    g_main_context_pop_thread_default(context);
    test_service_kill();
    test_service_start();
}

/* ---- how the lists change */

static void
on_items_changed(GListModel *list, guint position, guint n_removed, guint n_added, gpointer changes)
{
    g_string_append_printf(changes, "%u-%u+%u ", position, n_removed, n_added);
}

/* Unchanged items are not replaced, so a view keeps its position. */
TEST("/monitor/changes-are-minimal", test_minimal_changes)
{
    g_autoptr(WebLocksManager) watcher = test_manager_new(), one = test_manager_new();
    g_autoptr(WebLocksLock) a = test_lock(one, "a"), b = test_lock(one, "b"),
                            c = test_lock(one, "c"), d = NULL;
    g_autoptr(WebLocksMonitor) monitor = monitor_new(watcher);
    GListModel *held = web_locks_monitor_get_held(monitor);
    g_autoptr(WebLocksLockInfo) first = g_list_model_get_item(held, 0), first_now = NULL;
    g_autoptr(GString) changes = g_string_new(NULL);

    assert_shows(monitor, "a b c | ");
    g_signal_connect(held, "items-changed", G_CALLBACK(on_items_changed), changes);
    test_release(b);
    wait_until(monitor, "a c | ");
    g_assert_cmpstr(changes->str, ==, "1-1+0 ");
    d = test_lock(one, "d");
    wait_until(monitor, "a c d | ");
    g_assert_cmpstr(changes->str, ==, "1-1+0 2-0+1 ");
    test_release(a);
    wait_until(monitor, "c d | ");
    g_assert_cmpstr(changes->str, ==, "1-1+0 2-0+1 0-1+0 ");
    first_now = g_list_model_get_item(held, 0);
    g_assert_true(first != first_now);
}

/* More signals than are queued, while the main context does not run: everything is read again. */
TEST("/monitor/many-signals", test_many_signals)
{
    g_autoptr(WebLocksManager) watcher = test_manager_new(), one = test_manager_new();
    g_autoptr(WebLocksMonitor) monitor = monitor_new(watcher);
    g_autoptr(WebLocksLock) kept = test_lock(one, "kept");

    for (guint i = 0; i < 2100; i++) {
        g_autoptr(WebLocksLock) lock = test_lock(one, "x");

        test_release(lock);
        if (i % 20 == 0) {
            g_autofree char *state = test_state(watcher); /* it also reads the signals */

            g_assert_cmpstr(state, ==, "kept | ");
        }
    }
    assert_shows(monitor, " | ");
    wait_until(monitor, "kept | ");
}

/* ---- several */

static gpointer
unref_in_thread(gpointer object)
{
    g_object_unref(object);
    return NULL;
}

TEST("/monitor/dropped-in-another-thread", test_dropped_in_thread)
{
    g_autoptr(WebLocksManager) manager = test_manager_new(), one = test_manager_new();

    for (guint i = 0; i < 20; i++) {
        WebLocksMonitor *monitor = monitor_new(manager);
        g_autoptr(WebLocksLock) lock = test_lock(one, "a");
        GThread *thread = g_thread_new("unref", unref_in_thread, monitor);

        test_settle(manager);
        g_thread_join(thread);
        test_settle(manager);
    }
}

/* Whether the lock "last" was read, after 500 others. */
static gboolean
shows_last(gpointer monitor)
{
    GListModel *held = web_locks_monitor_get_held(monitor);
    g_autoptr(WebLocksLockInfo) info =
        g_list_model_get_item(held, g_list_model_get_n_items(held) - 1);

    return g_list_model_get_n_items(held) == 501 && info != NULL &&
           g_str_equal(web_locks_lock_info_get_name(info), "last");
}

typedef struct {
    WebLocksManager *manager;
    WebLocksMonitor *monitor;
    gboolean is_async;
    int is_done; /* atomic */
} Creation;

static gpointer
create_in_thread(gpointer data)
{
    Creation *self = data;
    g_autoptr(GMainContext) context = g_main_context_new();
    g_autoptr(GError) error = NULL;
    g_auto(Answer) answer = {0};

    g_main_context_push_thread_default(context);
    if (self->is_async) {
        web_locks_monitor_new_async(self->manager, NULL, answer_take, &answer);
        while (answer.n_results == 0)
            g_main_context_iteration(context, TRUE);
        self->monitor = web_locks_monitor_new_finish(answer.result, &error);
    } else {
        self->monitor = web_locks_monitor_new_sync(self->manager, NULL, &error);
    }
    g_assert_no_error(error);
    g_main_context_pop_thread_default(context);
    g_atomic_int_set(&self->is_done, TRUE);
    return NULL;
}

static WebLocksLock *
lock_number(WebLocksManager *manager, guint number)
{
    g_autofree char *name = g_strdup_printf("%u", number);

    return test_lock(manager, name);
}

/* Created by a thread that is not the one of the agent's main context, in which changes are
 * reported meanwhile. The bucket is large, so that reading it takes longer than the delay after a
 * change. */
TEST("/monitor/created-in-another-thread", test_created_in_thread)
{
    g_autoptr(WebLocksManager) manager = test_manager_new(), one = test_manager_new();
    g_autoptr(GPtrArray) others = g_ptr_array_new_with_free_func(g_object_unref);
    g_autoptr(WebLocksMonitor) first = monitor_new(manager); /* so the bucket is watched */
    guint n_locks;

    for (n_locks = 0; n_locks < 500; n_locks++)
        g_ptr_array_add(others, lock_number(one, n_locks));
    for (guint i = 0; i < 20; i++) {
        Creation creation = {.manager = manager, .is_async = i % 2 != 0};
        GThread *thread = g_thread_new("create", create_in_thread, &creation);
        g_autoptr(WebLocksMonitor) monitor = NULL;
        g_autoptr(WebLocksLock) last = NULL;

        while (!g_atomic_int_get(&creation.is_done)) {
            test_release(others->pdata[0]);
            g_ptr_array_remove_index(others, 0);
            g_ptr_array_add(others, lock_number(one, n_locks++));
            test_iterate();
        }
        g_thread_join(thread);
        monitor = creation.monitor;
        last = test_lock(one, "last");
        test_wait(shows_last, monitor);
    }
}

static void
on_changed_unref(GListModel *list, guint position, guint n_removed, guint n_added, gpointer monitor)
{
    g_clear_object((WebLocksMonitor **)monitor);
}

static gboolean
is_null(gpointer data)
{
    return *(gpointer *)data == NULL;
}

TEST("/monitor/dropped-in-a-handler", test_dropped_in_handler)
{
    g_autoptr(WebLocksManager) manager = test_manager_new();
    WebLocksMonitor *monitor = monitor_new(manager);
    g_autoptr(WebLocksLock) lock = NULL;

    g_signal_connect(web_locks_monitor_get_held(monitor), "items-changed",
                     G_CALLBACK(on_changed_unref), &monitor);
    lock = test_lock(manager, "a");
    test_wait(is_null, &monitor);
    test_settle(manager);
}

/* ---- all buckets */

#define BUCKET_A "monitor/a"
#define BUCKET_B "monitor/b"

static WebLocksManager *
manager_of_bucket(const char *bucket)
{
    g_autoptr(WebLocksAgent) agent = test_agent_new();
    g_autoptr(GError) error = NULL;
    WebLocksManager *manager = web_locks_manager_new(agent, bucket);

    g_assert_no_error(error);
    return manager;
}

static int
compare_words(gconstpointer a, gconstpointer b)
{
    return strcmp(*(const char *const *)a, *(const char *const *)b);
}

/* The entries "BUCKET:NAME", sorted, since the order of buckets is not specified. */
static char *
list_all(GListModel *infos)
{
    g_autoptr(GPtrArray) words = g_ptr_array_new_with_free_func(g_free);

    for (guint i = 0; i < g_list_model_get_n_items(infos); i++) {
        g_autoptr(WebLocksLockInfo) info = g_list_model_get_item(infos, i);
        WebLocksManager *manager = web_locks_lock_info_get_manager(info);

        g_ptr_array_add(words, g_strdup_printf("%s:%s", web_locks_manager_get_bucket(manager),
                                               web_locks_lock_info_get_name(info)));
    }
    g_ptr_array_sort(words, compare_words);
    g_ptr_array_add(words, NULL);
    return g_strjoinv(" ", (char **)words->pdata);
}

static void
wait_until_all(WebLocksMonitor *monitor, const char *expected)
{
    test_wait_for_shown(monitor, list_all, expected);
}

/* Items have details and the manager of their bucket, by which a lock can be broken. Items of other
 * buckets are not replaced. */
TEST("/monitor/all-buckets/items", test_all_items)
{
    g_autoptr(WebLocksAgent) watcher = test_agent_new();
    g_autoptr(WebLocksManager) a = manager_of_bucket(BUCKET_A), b = manager_of_bucket(BUCKET_B);
    g_autoptr(WebLocksLock) x = test_lock(a, "x"), y = NULL, z = NULL;
    g_autoptr(WebLocksMonitor) monitor = test_monitor_new_all(watcher);
    g_autoptr(WebLocksLockInfo) item = NULL, item_now = NULL, item_of_b = NULL;
    GListModel *held = web_locks_monitor_get_held(monitor);
    WebLocksManager *manager;

    wait_until_all(monitor, "monitor/a:x | ");
    item = g_list_model_get_item(held, 0);
    manager = web_locks_lock_info_get_manager(item);
    g_assert_true(web_locks_manager_get_agent(manager) == watcher);
    g_assert_cmpuint(web_locks_manager_get_uid(manager), ==, getuid());
    g_assert_cmpuint(web_locks_lock_info_get_pid(item), ==, (guint)getpid());
    y = test_lock(a, "y");
    wait_until_all(monitor, "monitor/a:x monitor/a:y | ");
    item_now = g_list_model_get_item(held, 1);
    g_assert_true(web_locks_lock_info_get_manager(item_now) == manager);
    g_assert_cmpint(no_error(web_locks_manager_break_sync(manager, "x", item, NULL, &test_error)),
                    ==, 1);
    wait_until_all(monitor, "monitor/a:y | ");
    z = test_lock(b, "z");
    wait_until_all(monitor, "monitor/a:y monitor/b:z | ");
    for (guint i = 0; i < 2; i++) {
        g_autoptr(WebLocksLockInfo) each = g_list_model_get_item(held, i);

        if (web_locks_lock_info_get_manager(each) != manager)
            g_set_object(&item_of_b, each);
    }
    g_assert_cmpstr(web_locks_lock_info_get_name(item_of_b), ==, "z");
}

/* A private session is shown by its public name, and to a client with a request there by its name.
 */
TEST("/monitor/all-buckets/private-session", test_all_private)
{
    g_autoptr(WebLocksAgent) agent = test_agent_new(), watcher = test_agent_new();
    g_autoptr(WebLocksManager) private = web_locks_agent_create_private_manager(agent);
    const char *name = web_locks_manager_get_bucket(private);
    g_autoptr(WebLocksManager) joined = web_locks_manager_new(watcher, name);
    g_autofree char *digest = g_compute_checksum_for_string(G_CHECKSUM_SHA256, name, -1);
    g_autofree char *of_one = g_strdup_printf("private:%.32s:x | ", digest);
    g_autofree char *of_two = g_strdup_printf("private:%.32s:x private:%.32s:z | ", digest, digest);
    g_autofree char *by_name = g_strdup_printf("%s:x %s:y | ", name, name);
    g_autoptr(WebLocksLock) x = test_lock(private, "x"), y = NULL, z = NULL;
    g_autoptr(WebLocksMonitor) monitor = test_monitor_new_all(watcher);

    wait_until_all(monitor, of_one);
    y = test_lock(joined, "y");
    wait_until_all(monitor, by_name);
    test_release(y);
    z = test_lock(private, "z");
    wait_until_all(monitor, of_two);
}

/* A limit of one watch shows when Watch was called to end it. */
TEST("/monitor/all-buckets/watch-ends", test_all_watch_ends)
{
    g_autoptr(WebLocksAgent) agent = test_agent_new();
    g_autoptr(WebLocksManager) manager = test_manager_of(agent);
    WebLocksMonitor *of_bucket = monitor_new(manager), *all, *twin;

    assert_fails(web_locks_monitor_new_all_sync(agent, NULL, &test_error), WEB_LOCKS_ERROR,
                 WEB_LOCKS_ERROR_LIMITS);
    g_object_unref(of_bucket);
    all = test_monitor_new_all(agent);
    twin = test_monitor_new_all(agent);
    g_object_unref(all);
    assert_fails(web_locks_monitor_new_sync(manager, NULL, &test_error), WEB_LOCKS_ERROR,
                 WEB_LOCKS_ERROR_LIMITS);
    g_object_unref(twin);
    g_object_unref(monitor_new(manager));
}

TEST("/monitor/all-buckets/no-service", test_all_without_service)
{
    g_autoptr(WebLocksAgent) agent = test_agent_new();

    test_service_stop();
    assert_fails(web_locks_monitor_new_all_sync(agent, NULL, &test_error), WEB_LOCKS_ERROR,
                 WEB_LOCKS_ERROR_UNAVAILABLE);
    test_service_start();
    web_locks_agent_close(agent);
    assert_fails(web_locks_monitor_new_all_sync(agent, NULL, &test_error), WEB_LOCKS_ERROR,
                 WEB_LOCKS_ERROR_INVALID_STATE);
}

int
main(int argc, char **argv)
{
    static const char *const limits[] = {"watchesPerClient=1", NULL};

    g_test_init(&argc, &argv, NULL);
    test_cases_add();
    return test_run(limits);
}
