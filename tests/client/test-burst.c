/* SPDX-FileCopyrightText: 2026 The WebLocks for D-Bus authors
 * SPDX-License-Identifier: LGPL-2.1-or-later */

/* More simultaneous requests than the service grants, or reads, at a time: each gets a reply soon.
 * */

#include <string.h>

#include "tests/client/fixture.h"
#include "tests/lib/case.h"

#define N_REQUESTS    10000u
#define N_HELD_BEFORE 10u
/* The service's default limit. */
#define PER_CLIENT 1024u

typedef struct {
    GPtrArray *locks; /* of WebLocksLock */
    guint n_refused;
    guint n_other; /* errors */
} Burst;

static void
on_answer(GObject *source, GAsyncResult *result, gpointer data)
{
    Burst *burst = data;
    g_autoptr(GError) error = NULL;
    WebLocksLock *lock =
        web_locks_manager_request_finish(WEB_LOCKS_MANAGER(source), result, &error);

    if (lock != NULL) {
        g_ptr_array_add(burst->locks, lock);
    } else if (g_error_matches(error, WEB_LOCKS_ERROR, WEB_LOCKS_ERROR_LIMITS) &&
               strstr(error->message, "requestsPerClient") != NULL) {
        burst->n_refused++;
    } else {
        g_test_message("another error: %s", error->message);
        burst->n_other++;
    }
}

static gboolean
is_through(gpointer data)
{
    const Burst *burst = data;

    return burst->locks->len + burst->n_refused + burst->n_other == N_REQUESTS;
}

static void
request_all(Burst *burst, WebLocksManager *manager, WebLocksOptions *options)
{
    burst->locks = g_ptr_array_new_with_free_func(g_object_unref);
    for (guint i = 0; i < N_REQUESTS; i++) {
        g_autofree char *name = g_strdup_printf("of the burst %u", i);

        web_locks_manager_request_async(manager, name, options, NULL, on_answer, burst);
    }
}

/* The requests are the first calls of an agent that is not connected; or it holds a lock, and they
 * have time-outs. */
static void
test_first_turn(gconstpointer holds)
{
    g_autoptr(WebLocksAgent) agent = web_locks_agent_new(G_BUS_TYPE_NONE, test_bus()->address);
    g_autoptr(WebLocksManager) manager = test_manager_of(agent), other = test_manager_new();
    g_autoptr(WebLocksOptions) options = web_locks_options_new();
    g_autoptr(GPtrArray) before = g_ptr_array_new_with_free_func(g_object_unref);
    g_autoptr(WebLocksLock) others = test_lock(other, "others");
    Burst burst = {0};

    for (guint i = 0; holds != NULL && i < N_HELD_BEFORE; i++) {
        g_autofree char *name = g_strdup_printf("held before %u", i);

        g_ptr_array_add(before, test_lock(manager, name));
    }
    if (holds != NULL)
        web_locks_options_set_timeout(options, 60000);
    request_all(&burst, manager, options);
    test_wait(is_through, &burst);
    g_assert_cmpuint(burst.n_other, ==, 0);
    g_assert_cmpuint(burst.locks->len, ==, PER_CLIENT - before->len);
    for (guint i = 0; i < burst.locks->len; i++)
        g_assert_true(web_locks_lock_get_held(burst.locks->pdata[i]));
    for (guint i = 0; i < before->len; i++)
        g_assert_true(web_locks_lock_get_held(before->pdata[i]));
    g_assert_true(web_locks_lock_get_held(others));

    g_ptr_array_unref(burst.locks);
    g_ptr_array_set_size(before, 0);
    test_wait_for_state(other, "others | ");
}

/* The main context does not run, so a synchronous call of this or another thread reads the answers.
 * */
TEST("/burst/followed-by-a-sync-call", test_followed_by_sync_call)
{
    g_autoptr(WebLocksManager) manager = test_manager_new();
    g_autoptr(WebLocksSnapshot) snapshot = NULL;
    Burst burst = {0};

    request_all(&burst, manager, NULL);
    snapshot = no_error(web_locks_manager_query_sync(manager, NULL, &test_error));
    g_assert_cmpuint(g_list_model_get_n_items(web_locks_snapshot_get_held(snapshot)), ==,
                     PER_CLIENT);
    g_assert_cmpuint(burst.locks->len + burst.n_refused, ==, 0); /* no callbacks within a call */
    test_wait(is_through, &burst);
    g_assert_cmpuint(burst.n_other, ==, 0);
    g_ptr_array_unref(burst.locks);
    test_wait_for_state(manager, " | ");
}

int
main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    test_cases_add();
    g_test_add_data_func("/burst/first-turn", NULL, test_first_turn);
    g_test_add_data_func("/burst/holding-something", "holds", test_first_turn);
    return test_run(NULL);
}
