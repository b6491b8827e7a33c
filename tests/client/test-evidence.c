/* SPDX-FileCopyrightText: 2026 The WebLocks for D-Bus authors
 * SPDX-License-Identifier: LGPL-2.1-or-later */

/* Evidence about holders, with real processes and clients. The rules with times are in
 * test-evidence-rules.c and scripts/monitors.txt. */

#include <signal.h>
#include <sys/wait.h>

#include "client-lib/evidence/evidence.h"
#include "tests/client/fixture.h"

static void
wait_until(WebLocksMonitor *monitor, const char *expected)
{
    test_wait_for_shown(monitor, test_list, expected);
}

/* ---- the evidence of all held locks, as "NAME WHAT; ..."; NAME is that in the bucket of the test,
 * or "other/..." */

static gboolean
is_in_other(WebLocksLockInfo *info)
{
    WebLocksManager *manager = web_locks_lock_info_get_manager(info);

    return manager != NULL && g_str_has_suffix(web_locks_manager_get_bucket(manager), "-other");
}

static int
compare(gconstpointer a, gconstpointer b)
{
    return g_strcmp0(*(const char *const *)a, *(const char *const *)b);
}

static char *
describe(GListModel *held)
{
    g_autoptr(GPtrArray) texts = g_ptr_array_new_with_free_func(g_free);

    for (guint i = 0; i < g_list_model_get_n_items(held); i++) {
        g_autoptr(WebLocksLockInfo) info = g_list_model_get_item(held, i);
        const Evidence evidence = evidence_get(info);

        g_assert_true((evidence == 0) == (*evidence_get_text(info) == '\0'));
        if (evidence != 0)
            g_ptr_array_add(texts, g_strdup_printf("%s%s %s; ", is_in_other(info) ? "other/" : "",
                                                   web_locks_lock_info_get_name(info),
                                                   evidence == EVIDENCE_STOPPED ? "stopped"
                                                   : evidence == EVIDENCE_CYCLE ? "cycle"
                                                                                : "?"));
    }
    g_ptr_array_sort(texts, compare); /* the order of buckets is not specified */
    g_ptr_array_add(texts, NULL);
    return g_strjoinv("", (char **)texts->pdata);
}

static void
update(WebLocksMonitor *monitor)
{
    GListModel *held = web_locks_monitor_get_held(monitor);
    GListModel *pending = web_locks_monitor_get_pending(monitor);

    for (guint i = 0; i < g_list_model_get_n_items(held); i++) {
        g_autoptr(WebLocksLockInfo) info = g_list_model_get_item(held, i);

        evidence_update(monitor, info);
    }
    for (guint i = 0; i < g_list_model_get_n_items(pending); i++) {
        g_autoptr(WebLocksLockInfo) info = g_list_model_get_item(pending, i);

        evidence_update(monitor, info);
        g_assert_cmpint(evidence_get(info), ==, 0);
    }
}

/* The last held lock with that name in a monitor. */
static WebLocksLockInfo *
get_held(WebLocksMonitor *monitor, const char *name)
{
    GListModel *held = web_locks_monitor_get_held(monitor);

    for (guint i = g_list_model_get_n_items(held); i-- > 0;) {
        g_autoptr(WebLocksLockInfo) info = g_list_model_get_item(held, i);

        if (g_str_equal(web_locks_lock_info_get_name(info), name))
            return g_steal_pointer(&info);
    }
    g_error("%s is not held", name);
}

#define assert_evidence_of(held, expected)           \
    G_STMT_START                                     \
    {                                                \
        g_autofree char *evidence_ = describe(held); \
        g_assert_cmpstr(evidence_, ==, expected);    \
    }                                                \
    G_STMT_END

#define assert_evidence(monitor, expected) \
    assert_evidence_of(web_locks_monitor_get_held(monitor), expected)

/* ---- processes */

/* A process that holds a lock. */
static GSubprocess *
holder_new(const char *name)
{
    g_autoptr(GError) error = NULL;
    GSubprocess *holder = g_subprocess_new(
        G_SUBPROCESS_FLAGS_STDIN_PIPE | G_SUBPROCESS_FLAGS_STDOUT_PIPE, &error,
        g_getenv("WEBLOCKS_TEST_HOLDER"), test_bus()->address, test_bucket(), name, NULL);

    g_assert_no_error(error);
    return holder;
}

/* Returns when the process is in the state that the signal causes. */
static void
signal_and_wait(GSubprocess *process, int number, int what)
{
    const char *pid = g_subprocess_get_identifier(process);
    siginfo_t info;

    g_subprocess_send_signal(process, number);
    g_assert_cmpint(waitid(P_PID, (id_t)g_ascii_strtoull(pid, NULL, 10), &info, what), ==, 0);
}

static void
test_stopped(void)
{
    g_autoptr(WebLocksManager) watcher = test_manager_new();
    g_autoptr(WebLocksMonitor) monitor = test_monitor_new_all(web_locks_manager_get_agent(watcher));
    g_autoptr(GSubprocess) holder = holder_new("a");
    g_autoptr(WebLocksLockInfo) info = NULL;
    g_autoptr(WebLocksLock) lock = NULL;
    g_auto(Answer) waiting = {0};

    wait_until(monitor, "a | ");
    info = get_held(monitor, "a");
    signal_and_wait(holder, SIGSTOP, WSTOPPED);
    update(monitor);
    assert_evidence(monitor, ""); /* no request waits */
    answer_ask(&waiting, watcher, "a");
    wait_until(monitor, "a | a");
    assert_evidence(monitor, ""); /* no request was made */
    g_assert_true(evidence_update(monitor, info));
    assert_evidence(monitor, "a stopped; ");
    g_assert_cmpstr(evidence_get_text(info), ==, "The process is stopped.");
    g_assert_false(evidence_update(monitor, info));
    signal_and_wait(holder, SIGCONT, WCONTINUED);
    g_assert_true(evidence_update(monitor, info));
    assert_evidence(monitor, "");
    g_subprocess_force_exit(holder);
    lock = answer_expect_lock(&waiting);
    g_subprocess_wait(holder, NULL, NULL);
    update(monitor);
    evidence_update(monitor, info); /* it is no longer in the list */
    g_assert_cmpint(evidence_get(info), ==, 0);
}

/* ---- cycles */

/* A client with locks in two buckets. */
typedef struct {
    WebLocksManager *manager;
    WebLocksManager *other;
    GPtrArray *locks;
} Client;

static void
client_init(Client *client)
{
    g_autoptr(GError) error = NULL;
    g_autofree char *other = g_strconcat(test_bucket(), "-other", NULL);

    client->manager = test_manager_new();
    client->other = web_locks_manager_new(web_locks_manager_get_agent(client->manager), other);
    g_assert_no_error(error);
    client->locks = g_ptr_array_new_with_free_func(g_object_unref);
}

static void
client_hold(Client *client, WebLocksManager *manager, const char *name)
{
    g_ptr_array_add(client->locks, test_lock(manager, name));
}

static void
ignore(GObject *source, GAsyncResult *result, gpointer client)
{
    g_autoptr(GError) error = NULL;
    WebLocksLock *lock =
        web_locks_manager_request_finish(WEB_LOCKS_MANAGER(source), result, &error);

    if (lock != NULL)
        g_object_unref(lock);
}

static void
client_wait(WebLocksManager *manager, const char *name)
{
    web_locks_manager_request_async(manager, name, NULL, NULL, ignore, NULL);
    test_settle(manager);
}

static void
client_clear(Client *client)
{
    web_locks_agent_close(web_locks_manager_get_agent(client->manager));
    g_ptr_array_unref(client->locks);
    g_object_unref(client->manager);
    g_object_unref(client->other);
    test_iterate();
}

/* All clients of this test are in this process. */
static void
assert_text(WebLocksMonitor *monitor, const char *name, guint n_clients)
{
    g_autoptr(WebLocksLockInfo) info = get_held(monitor, name);
    GString *expected = g_string_new("Waiting for each other: ");

    for (guint i = 0; i < n_clients; i++)
        g_string_append_printf(expected, "%s%s (process %u)", i > 0 ? ", " : "",
                               web_locks_lock_info_get_process(info),
                               web_locks_lock_info_get_pid(info));
    g_string_append_c(expected, '.');
    g_assert_cmpstr(evidence_get_text(info), ==, expected->str);
    g_string_free(expected, TRUE);
}

/* The locks and requests of both buckets, as read by a program that inspects one after the other.
 * */
static void
inspect(const Client *client, GListStore *held, GListStore *pending)
{
    WebLocksManager *managers[] = {client->manager, client->other};

    for (guint i = 0; i < G_N_ELEMENTS(managers); i++) {
        g_autoptr(GError) error = NULL;
        g_autoptr(WebLocksSnapshot) snapshot =
            web_locks_manager_inspect_sync(managers[i], NULL, NULL, &error);
        GListModel *lists[] = {web_locks_snapshot_get_held(snapshot),
                               web_locks_snapshot_get_pending(snapshot)};

        g_assert_no_error(error);
        evidence_update_lists(lists[0], lists[1]);
        assert_evidence_of(lists[0], "");
        for (guint list = 0; list < G_N_ELEMENTS(lists); list++)
            for (guint item = 0; item < g_list_model_get_n_items(lists[list]); item++) {
                g_autoptr(GObject) info = g_list_model_get_item(lists[list], item);

                g_list_store_append(list == 0 ? held : pending, info);
            }
    }
}

#define CYCLE_OF_THREE \
    "other/z cycle; "  \
    "x cycle; y cycle; "

/* The locks of three clients are in two buckets. A fourth one, which waits for one of them and
 * holds a lock with the name of another of them in the other bucket, is not on the cycle. */
static void
test_three(void)
{
    g_autoptr(WebLocksMonitor) monitor = NULL;
    g_autoptr(GListStore) held = g_list_store_new(WEB_LOCKS_TYPE_LOCK_INFO);
    g_autoptr(GListStore) pending = g_list_store_new(WEB_LOCKS_TYPE_LOCK_INFO);
    Client clients[5], *a = &clients[0], *b = &clients[1], *c = &clients[2], *fourth = &clients[3],
                       *last = &clients[4];

    for (guint i = 0; i < G_N_ELEMENTS(clients); i++)
        client_init(&clients[i]);
    client_hold(a, a->manager, "x");
    client_hold(b, b->manager, "y");
    client_hold(c, c->other, "z");
    client_hold(fourth, fourth->manager, "z");
    client_wait(a->manager, "y");
    client_wait(b->other, "z");
    client_wait(c->manager, "x");
    client_wait(fourth->manager, "x");
    client_wait(last->manager, "z");
    monitor = test_monitor_new_all(web_locks_manager_get_agent(last->manager));
    update(monitor);
    assert_evidence(monitor, CYCLE_OF_THREE);
    assert_text(monitor, "x", 3);
    inspect(last, held, pending);
    evidence_update_lists(G_LIST_MODEL(held), G_LIST_MODEL(pending));
    assert_evidence_of(G_LIST_MODEL(held), CYCLE_OF_THREE);
    for (guint i = 0; i < G_N_ELEMENTS(clients); i++)
        client_clear(&clients[i]);
}

/* Two holders of a shared lock, which both request it exclusively. */
static void
test_upgrade(void)
{
    g_autoptr(WebLocksManager) watcher = test_manager_new();
    g_autoptr(WebLocksMonitor) monitor = test_monitor_new_all(web_locks_manager_get_agent(watcher));
    g_autoptr(WebLocksOptions) shared = test_shared();
    g_autoptr(GError) error = NULL;
    Client clients[2];

    for (guint i = 0; i < G_N_ELEMENTS(clients); i++) {
        client_init(&clients[i]);
        g_ptr_array_add(clients[i].locks, web_locks_manager_request_sync(clients[i].manager, "s",
                                                                         shared, NULL, &error));
        g_assert_no_error(error);
    }
    client_wait(clients[0].manager, "s");
    wait_until(monitor, "s:s s:s | s");
    update(monitor);
    assert_evidence(monitor, ""); /* it waits for itself, for less than a minute */
    client_wait(clients[1].manager, "s");
    wait_until(monitor, "s:s s:s | s s");
    update(monitor);
    assert_evidence(monitor, "s cycle; s cycle; ");
    assert_text(monitor, "s", 2);
    client_clear(&clients[0]);
    client_clear(&clients[1]);
}

int
main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/evidence/stopped", test_stopped);
    g_test_add_func("/evidence/cycle-of-three", test_three);
    g_test_add_func("/evidence/cycle-of-shared", test_upgrade);
    return test_run(NULL);
}
