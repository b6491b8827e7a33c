/* SPDX-FileCopyrightText: 2026 The WebLocks for D-Bus authors
 * SPDX-License-Identifier: LGPL-2.1-or-later */

#include "tests/client/fixture.h"

#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>

#include "tests/lib/loss-name.h"

#define WAIT_SECONDS 60

_Thread_local GError *test_error;
static PrivateBus *bus;
static const char *const *service_limits;

/* ---- the program */

PrivateBus *
test_bus(void)
{
    return bus;
}

guint
test_factor(void)
{
    const char *factor = g_getenv("WEBLOCKS_TEST_TIMEOUT_FACTOR");

    return factor != NULL ? (guint)CLAMP(g_ascii_strtoull(factor, NULL, 10), 1, 100) : 1;
}

static void
start_bus(void)
{
    bus = private_bus_new();
    /* Code that uses the session bus gets this one. */
    g_setenv("DBUS_SESSION_BUS_ADDRESS", bus->address, TRUE);
}

int
test_run(const char *const *limits)
{
    static const char *const no_limits[] = {NULL};
    int status;

    service_limits = limits != NULL ? limits : no_limits;
    start_bus();
    test_service_start();
    status = g_test_run();
    if (bus->service != NULL)
        private_bus_stop_service(bus);
    private_bus_free(bus);
    return status;
}

int
test_run_on_bus(void)
{
    int status;

    start_bus();
    status = g_test_run();
    private_bus_free(bus);
    return status;
}

void
test_service_start(void)
{
    private_bus_start_service(bus, service_limits);
}

void
test_service_start_with(const char *option)
{
    private_bus_replace_service(bus, option);
}

void
test_service_stop(void)
{
    private_bus_stop_service(bus);
}

static gboolean
is_service_gone(gpointer data)
{
    return bus->service_owner == NULL;
}

void
test_service_kill(void)
{
    g_subprocess_force_exit(bus->service);
    g_subprocess_wait(bus->service, NULL, NULL);
    g_assert_true(private_bus_wait(is_service_gone, NULL));
    g_clear_object(&bus->service);
}

static pid_t
service_pid(void)
{
    return (pid_t)g_ascii_strtoll(g_subprocess_get_identifier(bus->service), NULL, 10);
}

void
test_service_pause(void)
{
    siginfo_t info;

    g_subprocess_send_signal(bus->service, SIGSTOP);
    g_assert_cmpint(waitid(P_PID, (id_t)service_pid(), &info, WSTOPPED | WNOWAIT), ==, 0);
}

void
test_service_resume(void)
{
    g_subprocess_send_signal(bus->service, SIGCONT);
}

const char *
test_bucket(void)
{
    return g_test_get_path();
}

/* ---- agents */

WebLocksAgent *
test_agent_new(void)
{
    WebLocksAgent *agent = web_locks_agent_new(G_BUS_TYPE_NONE, bus->address);

    no_error(g_initable_init(G_INITABLE(agent), NULL, &test_error));
    return agent;
}

WebLocksManager *
test_manager_of(WebLocksAgent *agent)
{
    return web_locks_manager_new(agent, test_bucket());
}

WebLocksManager *
test_manager_new(void)
{
    g_autoptr(WebLocksAgent) agent = test_agent_new();

    return test_manager_of(agent);
}

const char *
test_client_id(WebLocksManager *manager)
{
    return web_locks_agent_get_client_id(web_locks_manager_get_agent(manager));
}

WebLocksOptions *
test_if_available(void)
{
    return g_object_new(WEB_LOCKS_TYPE_OPTIONS, "if-available", TRUE, NULL);
}

WebLocksOptions *
test_shared(void)
{
    return g_object_new(WEB_LOCKS_TYPE_OPTIONS, "mode", WEB_LOCKS_MODE_SHARED, NULL);
}

WebLocksOptions *
test_steal(void)
{
    return g_object_new(WEB_LOCKS_TYPE_OPTIONS, "steal", TRUE, NULL);
}

static WebLocksLock *
lock_with(WebLocksManager *manager, const char *name, WebLocksOptions *take_options)
{
    g_autoptr(WebLocksOptions) options = take_options;
    WebLocksLock *lock =
        no_error(web_locks_manager_request_sync(manager, name, options, NULL, &test_error));

    g_assert_nonnull(lock);
    return lock;
}

WebLocksLock *
test_lock(WebLocksManager *manager, const char *name)
{
    WebLocksLock *lock = lock_with(manager, name, test_if_available());

    g_assert_true(web_locks_lock_get_held(lock));
    return lock;
}

WebLocksLock *
test_lock_stolen(WebLocksManager *manager, const char *name)
{
    return lock_with(manager, name, test_steal());
}

void
test_release(WebLocksLock *lock)
{
    assert_done(web_locks_lock_release_sync(lock, NULL, &test_error));
    g_assert_false(web_locks_lock_get_held(lock));
}

/* ---- waiting */

static gboolean
on_too_late(gpointer data)
{
    g_error("Not within %u s: %s", WAIT_SECONDS * test_factor(), (const char *)data);
    return G_SOURCE_REMOVE;
}

void
test_wait_for(TestCondition condition, gpointer data, const char *what)
{
    GMainContext *context = g_main_context_get_thread_default();
    g_autoptr(GSource) deadline = g_timeout_source_new_seconds(WAIT_SECONDS * test_factor());

    g_source_set_callback(deadline, on_too_late, (gpointer)what, NULL);
    g_source_attach(deadline, context);
    while (!condition(data))
        g_main_context_iteration(context, TRUE);
    g_source_destroy(deadline);
}

gboolean
test_is_set(gpointer guint_not_zero)
{
    return g_atomic_int_get((guint *)guint_not_zero) != 0;
}

void
test_iterate(void)
{
    while (g_main_context_iteration(g_main_context_get_thread_default(), FALSE))
        ;
}

void
test_settle(WebLocksManager *manager)
{
    g_autofree char *state = test_state(manager);

    g_assert_nonnull(state);
    test_iterate();
}

/* ---- answers */

void
answer_take(GObject *source, GAsyncResult *result, gpointer data)
{
    Answer *answer = data;

    answer->n_results++;
    answer->thread = g_thread_self();
    answer->context = g_main_context_get_thread_default();
    g_set_object(&answer->result, result);
}

void
answer_clear(Answer *answer)
{
    g_clear_object(&answer->result);
    answer->n_results = 0;
}

GAsyncResult *
answer_wait(Answer *answer)
{
    test_wait_for(test_is_set, &answer->n_results, "the answer of a call");
    g_assert_cmpuint(answer->n_results, ==, 1);
    return answer->result;
}

void
answer_ask(Answer *answer, WebLocksManager *manager, const char *name)
{
    web_locks_manager_request_async(manager, name, NULL, NULL, answer_take, answer);
}

static WebLocksLock *
answer_get_lock(Answer *answer, GError **error)
{
    GAsyncResult *result = answer_wait(answer);
    g_autoptr(GObject) source = g_async_result_get_source_object(result);

    return web_locks_manager_request_finish(WEB_LOCKS_MANAGER(source), result, error);
}

WebLocksLock *
answer_expect_lock(Answer *answer)
{
    WebLocksLock *lock = no_error(answer_get_lock(answer, &test_error));

    g_assert_nonnull(lock);
    return lock;
}

void
answer_expect_error(Answer *answer, GQuark domain, int code)
{
    g_autoptr(GError) error = NULL;
    g_autoptr(WebLocksLock) lock = answer_get_lock(answer, &error);

    g_assert_error(error, domain, code);
    g_assert_null(lock);
}

/* ---- signals of lost locks */

static void
on_lost(WebLocksLock *lock, const GError *error, gpointer data)
{
    Losses *losses = data;

    losses->n_lost++;
    g_free(losses->reason);
    losses->reason = g_strdup(loss_name(error));
    losses->was_held = web_locks_lock_get_held(lock);
    losses->thread = g_thread_self();
}

static void
on_held_notify(WebLocksLock *lock, GParamSpec *pspec, gpointer data)
{
    Losses *losses = data;

    losses->n_held_notifies++;
    g_assert_false(web_locks_lock_get_held(lock));
}

void
losses_watch(Losses *losses, WebLocksLock *lock)
{
    g_signal_connect(lock, "lost", G_CALLBACK(on_lost), losses);
    g_signal_connect(lock, "notify::held", G_CALLBACK(on_held_notify), losses);
}

void
losses_clear(Losses *losses)
{
    g_clear_pointer(&losses->reason, g_free);
}

/* ---- the contents of a bucket */

char *
test_list(GListModel *infos)
{
    GString *list = g_string_new(NULL);

    for (guint i = 0; i < g_list_model_get_n_items(infos); i++) {
        g_autoptr(WebLocksLockInfo) info = g_list_model_get_item(infos, i);

        if (i > 0)
            g_string_append_c(list, ' ');
        g_string_append(list, web_locks_lock_info_get_name(info));
        if (web_locks_lock_info_get_mode(info) == WEB_LOCKS_MODE_SHARED)
            g_string_append(list, ":s");
    }
    return g_string_free(list, FALSE);
}

static int
compare_words(gconstpointer a, gconstpointer b)
{
    return strcmp(*(const char *const *)a, *(const char *const *)b);
}

/* The order of held locks is not specified. */
static char *
sort_words(const char *words)
{
    g_auto(GStrv) list = g_strsplit(words, " ", -1);

    qsort(list, g_strv_length(list), sizeof *list, compare_words);
    return g_strjoinv(" ", list);
}

char *
test_state(WebLocksManager *manager)
{
    g_autoptr(WebLocksSnapshot) snapshot =
        no_error(web_locks_manager_query_sync(manager, NULL, &test_error));
    g_autofree char *held = NULL, *sorted = NULL, *pending = NULL;

    held = test_list(web_locks_snapshot_get_held(snapshot));
    sorted = sort_words(held);
    pending = test_list(web_locks_snapshot_get_pending(snapshot));
    return g_strdup_printf("%s | %s", sorted, pending);
}

void
test_wait_for_state(WebLocksManager *manager, const char *expected)
{
    gint64 deadline = g_get_monotonic_time() + WAIT_SECONDS * test_factor() * G_USEC_PER_SEC;
    g_autofree char *state = test_state(manager);

    while (g_strcmp0(state, expected) != 0 && g_get_monotonic_time() < deadline) {
        g_main_context_iteration(g_main_context_get_thread_default(), FALSE);
        g_free(state);
        state = test_state(manager);
    }
    g_assert_cmpstr(state, ==, expected);
}

char *
test_shown(WebLocksMonitor *monitor, TestList list)
{
    g_autofree char *held = list(web_locks_monitor_get_held(monitor));
    g_autofree char *pending = list(web_locks_monitor_get_pending(monitor));

    return g_strdup_printf("%s | %s", held, pending);
}

gboolean
test_is_shown(gpointer data)
{
    const Shown *shown = data;
    g_autofree char *now = test_shown(shown->monitor, shown->list);

    return g_str_equal(now, shown->expected);
}

WebLocksMonitor *
test_monitor_new_all(WebLocksAgent *agent)
{
    WebLocksMonitor *monitor = no_error(web_locks_monitor_new_all_sync(agent, NULL, &test_error));

    g_assert_null(web_locks_monitor_get_manager(monitor));
    return monitor;
}

void
test_wait_for_shown(WebLocksMonitor *monitor, TestList list, const char *expected)
{
    Shown shown = {monitor, list, expected};

    test_wait_for(test_is_shown, &shown, expected);
}
