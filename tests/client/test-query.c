/* SPDX-FileCopyrightText: 2026 The WebLocks for D-Bus authors
 * SPDX-License-Identifier: LGPL-2.1-or-later */

/* Query, Inspect, and the list of buckets. */

#include <unistd.h>

#include "tests/client/fixture.h"
#include "tests/lib/case.h"

static WebLocksSnapshot *
query(WebLocksManager *manager)
{
    WebLocksSnapshot *snapshot = no_error(web_locks_manager_query_sync(manager, NULL, &test_error));

    return snapshot;
}

static WebLocksSnapshot *
inspect(WebLocksManager *manager, const char *name)
{
    g_auto(Answer) answer = {0};

    web_locks_manager_inspect_async(manager, name, NULL, answer_take, &answer);
    return no_error(web_locks_manager_inspect_finish(manager, answer_wait(&answer), &test_error));
}

TEST("/query/inspect", test_inspect_all)
{
    g_autoptr(WebLocksManager) one = test_manager_new(), two = test_manager_new();
    g_autoptr(WebLocksOptions) options =
        g_object_new(WEB_LOCKS_TYPE_OPTIONS, "why", "to print", "command", "lp (pid 12)", NULL);
    g_autoptr(WebLocksLock) a =
        no_error(web_locks_manager_request_sync(one, "a", options, NULL, &test_error));
    g_autoptr(WebLocksLock) other = test_lock(one, "other");
    g_autoptr(WebLocksSnapshot) snapshot = NULL;
    g_autoptr(WebLocksLockInfo) held = NULL, pending = NULL;
    g_auto(Answer) waiting = {0};

    answer_ask(&waiting, two, "a");
    test_settle(two);

    snapshot = inspect(two, "a");
    g_assert_cmpuint(g_list_model_get_n_items(web_locks_snapshot_get_held(snapshot)), ==, 1);
    g_assert_cmpuint(g_list_model_get_n_items(web_locks_snapshot_get_pending(snapshot)), ==, 1);
    held = g_list_model_get_item(web_locks_snapshot_get_held(snapshot), 0);
    pending = g_list_model_get_item(web_locks_snapshot_get_pending(snapshot), 0);

    g_assert_cmpstr(web_locks_lock_info_get_name(held), ==, "a");
    g_assert_cmpint(web_locks_lock_info_get_mode(held), ==, WEB_LOCKS_MODE_EXCLUSIVE);
    g_assert_cmpstr(web_locks_lock_info_get_client_id(held), ==, test_client_id(one));
    g_assert_cmpuint(web_locks_lock_info_get_token(held), ==, web_locks_lock_get_token(a));
    g_assert_cmpstr(web_locks_lock_info_get_why(held), ==, "to print");
    g_assert_cmpuint(web_locks_lock_info_get_pid(held), ==, (guint)getpid());
    g_assert_cmpuint(web_locks_lock_info_get_uid(held), ==, getuid());
    g_assert_cmpstr(web_locks_lock_info_get_process(held), !=, "");
    g_assert_cmpstr(web_locks_lock_info_get_who(held), ==, "lp");
    g_assert_cmpuint(web_locks_lock_info_get_who_pid(held), ==, 12);
    g_assert_cmpuint(web_locks_lock_info_get_position(held), ==, 0);
    g_assert_cmpint(g_get_real_time() - web_locks_lock_info_get_since(held), <,
                    60 * G_TIME_SPAN_SECOND);

    g_assert_cmpuint(web_locks_lock_info_get_token(pending), ==, 0);
    g_assert_cmpuint(web_locks_lock_info_get_position(pending), ==, 1);
    g_assert_cmpstr(web_locks_lock_info_get_why(pending), ==, "");
    g_assert_cmpstr(web_locks_lock_info_get_who(pending), ==,
                    web_locks_lock_info_get_process(pending));
    g_assert_cmpuint(web_locks_lock_info_get_who_pid(pending), ==, (guint)getpid());
    g_assert_nonnull(web_locks_lock_info_get_blocked_by(pending));
    g_assert_cmpstr(web_locks_lock_info_get_blocked_by(pending)[0], ==, test_client_id(one));
    g_assert_null(web_locks_lock_info_get_blocked_by(pending)[1]);

    web_locks_agent_close(web_locks_manager_get_agent(two));
    answer_wait(&waiting);
}

/* More entries than fit into one reply: the pages are joined, and each entry is there once. What a
 * reply to Query has is in ../fuzz/fuzz-query-reply.c. */
#define ENTRIES 2500

static void
check_names(GListModel *infos)
{
    g_autoptr(GHashTable) seen = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, NULL);

    for (guint i = 0; i < g_list_model_get_n_items(infos); i++) {
        g_autoptr(WebLocksLockInfo) info = g_list_model_get_item(infos, i);

        g_assert_true(g_hash_table_add(seen, g_strdup(web_locks_lock_info_get_name(info))));
    }
    g_assert_cmpuint(g_hash_table_size(seen), ==, ENTRIES);
}

TEST("/query/pages", test_pages)
{
    g_autoptr(WebLocksManager) manager = test_manager_new(), waiter = test_manager_new();
    g_autoptr(GPtrArray) names = g_ptr_array_new_with_free_func(g_free);
    g_autoptr(GPtrArray) locks = NULL;
    g_autoptr(WebLocksSnapshot) inspected = NULL, queried = NULL;
    g_autoptr(WebLocksLockInfo) first = NULL, again = NULL;
    GListModel *held;

    for (guint i = 0; i < ENTRIES; i++)
        g_ptr_array_add(names, g_strdup_printf("name %u", i));
    g_ptr_array_add(names, NULL);
    locks = no_error(web_locks_manager_request_many_sync(manager, (const char *const *)names->pdata,
                                                         NULL, NULL, &test_error));
    g_assert_cmpuint(locks->len, ==, ENTRIES);
    for (guint i = 0; i < ENTRIES; i++) {
        web_locks_manager_request_async(waiter, names->pdata[i], NULL, NULL, NULL, NULL);
        /* Buses limit the number of calls without a reply. */
        if (i % 100 == 0)
            test_settle(waiter);
    }
    inspected = inspect(waiter, NULL);
    check_names(web_locks_snapshot_get_held(inspected));
    check_names(web_locks_snapshot_get_pending(inspected));
    queried = query(waiter);
    check_names(web_locks_snapshot_get_held(queried));
    check_names(web_locks_snapshot_get_pending(queried));
    held = web_locks_snapshot_get_held(queried);
    g_assert_true(g_list_model_get_item_type(held) == WEB_LOCKS_TYPE_LOCK_INFO);
    g_assert_null(g_list_model_get_item(held, ENTRIES));
    first = g_list_model_get_item(held, 0);
    again = g_list_model_get_item(held, 0);
    g_assert_true(first == again);
    g_clear_object(&queried); /* infos outlive their list */
    g_assert_cmpstr(web_locks_lock_info_get_client_id(first), ==, test_client_id(manager));
    g_clear_pointer(&locks, g_ptr_array_unref);
    web_locks_agent_close(web_locks_manager_get_agent(waiter));
    test_wait_for_state(manager, " | ");
}

/* A snapshot doesn't change. */
TEST("/query/a-snapshot-does-not-change", test_snapshot_stays)
{
    g_autoptr(WebLocksManager) manager = test_manager_new();
    g_autoptr(WebLocksLock) lock = test_lock(manager, "a");
    g_autoptr(WebLocksSnapshot) snapshot = query(manager);

    test_release(lock);
    test_settle(manager);
    g_assert_cmpuint(g_list_model_get_n_items(web_locks_snapshot_get_held(snapshot)), ==, 1);
}

static gboolean
is_listed(GPtrArray *buckets, WebLocksManager *manager)
{
    for (guint i = 0; i < buckets->len; i++)
        if (g_str_equal(web_locks_manager_get_bucket(buckets->pdata[i]),
                        web_locks_manager_get_bucket(manager)))
            return !web_locks_manager_get_observed(buckets->pdata[i]);
    return FALSE;
}

/* Returns the manager, borrowed, for the only private session that is listed by its public name. */
static WebLocksManager *
find_session(GPtrArray *buckets)
{
    WebLocksManager *found = NULL;

    for (guint i = 0; i < buckets->len; i++)
        if (g_str_has_prefix(web_locks_manager_get_bucket(buckets->pdata[i]), "private:")) {
            g_assert_null(found);
            found = buckets->pdata[i];
        }
    g_assert_nonnull(found);
    return found;
}

/* Who has no request in it can look at it, and end its locks, and no more. */
TEST("/query/private-session", test_private)
{
    g_autoptr(WebLocksAgent) agent = test_agent_new(), observer = test_agent_new();
    g_autoptr(WebLocksManager) private = web_locks_agent_create_private_manager(agent);
    g_autoptr(WebLocksManager) named =
        web_locks_manager_new(observer, web_locks_manager_get_bucket(private)),
                               by_name = NULL;
    g_autoptr(WebLocksLock) secret = test_lock(private, "a"), joined = NULL;
    g_autoptr(GPtrArray) buckets = web_locks_agent_list_observable_sync(observer, NULL, NULL);
    g_auto(Answer) answer = {0}, of_new = {0};
    WebLocksManager *session = find_session(buckets);

    g_assert_false(is_listed(buckets, private));
    g_assert_true(web_locks_manager_get_observed(session));
    assert_state(session, "a | ");
    answer_ask(&answer, session, "b");
    answer_expect_error(&answer, WEB_LOCKS_ERROR, WEB_LOCKS_ERROR_SECURITY);
    by_name = web_locks_manager_new(observer, web_locks_manager_get_bucket(session));
    answer_ask(&of_new, by_name, "b");
    answer_expect_error(&of_new, WEB_LOCKS_ERROR, WEB_LOCKS_ERROR_SECURITY);
    g_assert_cmpint(no_error(web_locks_manager_break_sync(by_name, "a", NULL, NULL, &test_error)),
                    ==, 1);
    joined = test_lock(named, "a");
    assert_state(session, "a | ");
}

TEST("/query/buckets", test_buckets)
{
    g_autoptr(WebLocksManager) manager = test_manager_new();
    WebLocksAgent *agent = web_locks_manager_get_agent(manager);
    g_autoptr(WebLocksManager) private = web_locks_agent_create_private_manager(agent);
    g_autoptr(WebLocksManager) other_private = web_locks_agent_create_private_manager(agent);
    g_autoptr(WebLocksLock) lock = test_lock(manager, "a"), secret = test_lock(private, "a");
    g_autoptr(GPtrArray) buckets = NULL, later = NULL;
    g_auto(Answer) answer = {0};

    g_assert_cmpstr(web_locks_manager_get_bucket(private), !=,
                    web_locks_manager_get_bucket(other_private));
    buckets = no_error(web_locks_agent_list_observable_sync(agent, NULL, &test_error));
    g_assert_true(is_listed(buckets, manager));
    g_assert_true(is_listed(buckets, private));
    test_release(secret);
    test_release(lock);
    web_locks_agent_list_observable_async(agent, NULL, answer_take, &answer);
    later =
        no_error(web_locks_agent_list_observable_finish(agent, answer_wait(&answer), &test_error));
    g_assert_false(is_listed(later, manager));
    g_assert_false(is_listed(later, private));
}

int
main(int argc, char **argv)
{
    static const char *const limits[] = {"requestsPerClient=10000", NULL};

    g_test_init(&argc, &argv, NULL);
    test_cases_add();
    return test_run(limits);
}
