/* SPDX-FileCopyrightText: 2026 The WebLocks for D-Bus authors
 * SPDX-License-Identifier: LGPL-2.1-or-later */

/* WebLocksRequest: a wait that a signal handler interrupts, and that leaves the request pending. */

#include "tests/client/fixture.h"
#include "tests/lib/case.h"

#include <pthread.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

static WebLocksRequest *
request_new(WebLocksManager *manager)
{
    return web_locks_request_new(manager, "a", NULL, NULL);
}

static WebLocksLock *
wait_to_the_end(WebLocksRequest *request, GError **error)
{
    while (!web_locks_request_wait(request))
        ;
    return web_locks_request_finish(request, error);
}

static WebLocksLock *
expect_lock(WebLocksRequest *request)
{
    WebLocksLock *lock = no_error(wait_to_the_end(request, &test_error));

    g_assert_nonnull(lock);
    return lock;
}

static void
expect_error(WebLocksRequest *request, GQuark domain, int code)
{
    assert_fails(wait_to_the_end(request, &test_error), domain, code);
}

/* ---- signals of another thread */

typedef struct {
    pthread_t target;
    int is_over;
    GThread *thread;
} Signaller;

static volatile sig_atomic_t n_signals;

static void
on_signal(int number)
{
    n_signals++;
}

/* Again and again, since one that comes before the wait does not interrupt it. */
static gpointer
send_signals(gpointer data)
{
    const Signaller *self = data;

    while (!g_atomic_int_get(&self->is_over)) {
        pthread_kill(self->target, SIGUSR1);
        g_usleep(1000);
    }
    return NULL;
}

/* Waits until a signal has interrupted the wait of a request that is pending in the service. */
static void
interrupt(WebLocksRequest *request, WebLocksManager *holder, const char *state)
{
    const struct sigaction action = {.sa_handler = on_signal, .sa_flags = SA_RESTART};
    Signaller signaller = {.target = pthread_self()};

    g_assert_cmpint(sigaction(SIGUSR1, &action, NULL), ==, 0);
    n_signals = 0;
    signaller.thread = g_thread_new("signals", send_signals, &signaller);
    while (n_signals < 3)
        g_assert_false(web_locks_request_wait(request));
    g_atomic_int_set(&signaller.is_over, TRUE);
    g_thread_join(signaller.thread);
    assert_fails(web_locks_request_finish(request, &test_error), WEB_LOCKS_ERROR,
                 WEB_LOCKS_ERROR_INVALID_STATE);
    test_wait_for_state(holder, state);
}

TEST("/interrupt/place-in-the-queue", test_place_in_the_queue)
{
    g_autoptr(WebLocksManager) holder = test_manager_new(), waiter = test_manager_new();
    g_autoptr(WebLocksLock) held = test_lock(holder, "a"), lock = NULL;
    g_autoptr(WebLocksRequest) request = request_new(waiter);
    g_auto(Answer) next = {0};

    interrupt(request, holder, "a | a");
    answer_ask(&next, holder, "a");
    assert_state(holder, "a | a a");
    interrupt(request, holder, "a | a a");
    test_release(held);
    lock = expect_lock(request);
    g_assert_true(web_locks_lock_get_held(lock));
    assert_state(holder, "a | a");
    g_assert_cmpuint(next.n_results, ==, 0);
    test_release(lock);
    g_object_unref(answer_expect_lock(&next));
}

/* The service grants the lock when the thread does not wait any more. */
static WebLocksRequest *
granted_after_interrupt(WebLocksManager *holder, WebLocksManager *waiter)
{
    g_autoptr(WebLocksLock) held = test_lock(holder, "a");
    WebLocksRequest *request = request_new(waiter);

    interrupt(request, holder, "a | a");
    test_release(held);
    assert_state(holder, "a | ");
    return request;
}

TEST("/interrupt/granted-and-returned", test_granted_and_returned)
{
    g_autoptr(WebLocksManager) holder = test_manager_new(), waiter = test_manager_new();
    g_autoptr(WebLocksRequest) request = granted_after_interrupt(holder, waiter);
    g_autoptr(WebLocksLock) lock = expect_lock(request);

    assert_state(holder, "a | ");
    g_assert_true(web_locks_lock_get_held(lock));
}

/* Also when the grant has been read, by a main context. */
TEST("/interrupt/granted-and-dropped", test_granted_and_dropped)
{
    g_autoptr(WebLocksManager) holder = test_manager_new(), waiter = test_manager_new();

    for (guint is_read = 0; is_read < 2; is_read++) {
        WebLocksRequest *request = granted_after_interrupt(holder, waiter);

        if (is_read)
            test_settle(waiter);
        g_object_unref(request);
        test_wait_for_state(holder, " | ");
    }
}

/* ---- other ends of a wait */

TEST("/interrupt/other-results", test_other_results)
{
    g_autoptr(WebLocksManager) holder = test_manager_new(), manager = test_manager_new();
    g_autoptr(WebLocksLock) held = test_lock(holder, "a");
    g_autoptr(WebLocksOptions) options = test_if_available();
    g_autoptr(GCancellable) cancellable = g_cancellable_new();
    g_autoptr(WebLocksRequest) bad = web_locks_request_new(manager, "-a", NULL, NULL);
    g_autoptr(WebLocksRequest) none = web_locks_request_new(manager, "a", options, NULL);
    g_autoptr(WebLocksRequest) cancelled = web_locks_request_new(manager, "a", NULL, cancellable);

    expect_error(bad, WEB_LOCKS_ERROR, WEB_LOCKS_ERROR_NOT_SUPPORTED);
    expect_error(bad, WEB_LOCKS_ERROR, WEB_LOCKS_ERROR_INVALID_STATE);
    g_assert_null(no_error(wait_to_the_end(none, &test_error)));
    interrupt(cancelled, holder, "a | a");
    g_cancellable_cancel(cancellable);
    expect_error(cancelled, G_IO_ERROR, G_IO_ERROR_CANCELLED);
    test_wait_for_state(holder, "a | ");
}

/* Cancelling afterwards has no effect. */
TEST("/interrupt/dropped", test_dropped)
{
    g_autoptr(WebLocksManager) holder = test_manager_new(), manager = test_manager_new();
    g_autoptr(WebLocksLock) held = test_lock(holder, "a");
    g_autoptr(GCancellable) cancellable = g_cancellable_new();
    WebLocksRequest *request = web_locks_request_new(manager, "a", NULL, cancellable);

    interrupt(request, holder, "a | a");
    g_object_unref(request);
    test_wait_for_state(holder, "a | ");
    g_cancellable_cancel(cancellable);
    assert_state(holder, "a | ");
}

typedef struct {
    WebLocksRequest *request;
    WebLocksLock *held;
    GThread *thread;
} Contender;

/* Of two threads that wait, one is refused; it lets the other one have the lock. */
static gpointer
contend(gpointer data)
{
    Contender *self = data;
    g_autoptr(GError) error = NULL;
    WebLocksLock *lock = wait_to_the_end(self->request, &error);

    if (lock == NULL) {
        g_assert_error(error, WEB_LOCKS_ERROR, WEB_LOCKS_ERROR_INVALID_STATE);
        web_locks_lock_release(self->held);
    }
    return lock;
}

TEST("/interrupt/two-threads", test_two_threads)
{
    g_autoptr(WebLocksManager) holder = test_manager_new(), waiter = test_manager_new();
    g_autoptr(WebLocksLock) held = test_lock(holder, "a"), mine = NULL, its = NULL;
    g_autoptr(WebLocksRequest) request = request_new(waiter);
    Contender contender = {request, held, NULL};

    contender.thread = g_thread_new("contender", contend, &contender);
    mine = contend(&contender);
    its = g_thread_join(contender.thread);
    g_assert_true((mine == NULL) != (its == NULL));
}

TEST("/interrupt/fork", test_fork)
{
    g_autoptr(WebLocksManager) holder = test_manager_new(), waiter = test_manager_new();
    g_autoptr(WebLocksLock) held = test_lock(holder, "a"), lock = NULL;
    g_autoptr(WebLocksRequest) request = request_new(waiter);
    int status = 0;
    pid_t pid;

    interrupt(request, holder, "a | a");
    pid = fork();
    g_assert_cmpint(pid, >=, 0);
    if (pid == 0) {
        g_autoptr(GError) error = NULL;

        wait_to_the_end(request, &error);
        if (!g_error_matches(error, WEB_LOCKS_ERROR, WEB_LOCKS_ERROR_INVALID_STATE))
            _exit(1);
        g_object_unref(request);
        _exit(0);
    }
    g_assert_cmpint(waitpid(pid, &status, 0), ==, pid);
    g_assert_cmpint(status, ==, 0);
    assert_state(holder, "a | a");
    test_release(held);
    lock = expect_lock(request);
}

TEST_MAIN(test_run(NULL))
