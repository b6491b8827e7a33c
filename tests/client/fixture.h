/* SPDX-FileCopyrightText: 2026 The WebLocks for D-Bus authors
 * SPDX-License-Identifier: LGPL-2.1-or-later */

/* What the tests of the client library share: one bus and one service for a test program, agents,
 * results of asynchronous calls, and the contents of a bucket as a string. */

#pragma once

#include <weblocks/weblocks.h>

#include "tests/lib/private-bus.h"

/* ---- the program */

/* Runs the tests on a private bus; `limits` is for the service. Returns the exit status. */
int test_run(const char *const *limits);
/* The same without a service. */
int test_run_on_bus(void);
PrivateBus *test_bus(void);

/* The factor of all time limits. */
guint test_factor(void);

void test_service_start(void);
/* With one more option; `--replace` takes over the name of a running service. */
void test_service_start_with(const char *option);
void test_service_stop(void);
/* By SIGKILL; returns when the bus has noticed. */
void test_service_kill(void);
/* Stops the process; it reads everything sent meanwhile when it continues. */
void test_service_pause(void);
void test_service_resume(void);

/* The bucket of the current test. */
const char *test_bucket(void);

/* ---- agents */

/* New agents, for the thread-default context. */
WebLocksAgent *test_agent_new(void);
WebLocksManager *test_manager_new(void);
WebLocksManager *test_manager_of(WebLocksAgent *agent);
const char *test_client_id(WebLocksManager *manager);

WebLocksOptions *test_if_available(void);
WebLocksOptions *test_shared(void);
WebLocksOptions *test_steal(void);

/* Requests a lock that is available. */
WebLocksLock *test_lock(WebLocksManager *manager, const char *name);
/* The same of a lock that somebody else may have, who loses it. */
WebLocksLock *test_lock_stolen(WebLocksManager *manager, const char *name);
void test_release(WebLocksLock *lock);

/* ---- waiting */

/* Runs the thread-default context until the condition is true; the test fails if it isn't within 20
 * seconds. */
typedef gboolean (*TestCondition)(gpointer data);
void test_wait_for(TestCondition condition, gpointer data, const char *what);
#define test_wait(condition, data) test_wait_for(condition, data, #condition)
gboolean test_is_set(gpointer guint_not_zero);

/* Dispatches everything that is ready in the thread-default context. */
void test_iterate(void);

/* Returns when everything that the service has sent to the manager's agent has arrived, and the
 * resulting callbacks have run. */
void test_settle(WebLocksManager *manager);

/* ---- errors */

/* What the calls below get as their argument for an error. */
extern _Thread_local GError *test_error;

/* The value of a call, which must have set no error. */
#define no_error(call)                 \
    ({                                 \
        __auto_type value = (call);    \
        g_assert_no_error(test_error); \
        value;                         \
    })
#define assert_done(call) g_assert_true(no_error(call))
/* The call returns NULL or FALSE, and sets this error. */
#define assert_fails(call, domain, code)          \
    G_STMT_START                                  \
    {                                             \
        g_assert_true(!(call));                   \
        g_assert_error(test_error, domain, code); \
        g_clear_error(&test_error);               \
    }                                             \
    G_STMT_END

/* ---- answers of async calls */

typedef struct {
    GAsyncResult *result;
    guint n_results;
    GThread *thread;       /* that the callback ran in */
    GMainContext *context; /* thread-default in the callback; borrowed */
} Answer;

/* A GAsyncReadyCallback. */
void answer_take(GObject *source, GAsyncResult *result, gpointer answer);
void answer_clear(Answer *answer);
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC(Answer, answer_clear)

GAsyncResult *answer_wait(Answer *answer);

/* Requests a lock with answer_take() as callback. */
void answer_ask(Answer *answer, WebLocksManager *manager, const char *name);
/* Waits for the result, which must be a lock. */
WebLocksLock *answer_expect_lock(Answer *answer);
/* Waits for the result, which must be this error. */
void answer_expect_error(Answer *answer, GQuark domain, int code);

/* ---- lost locks */

typedef struct {
    guint n_lost;
    guint n_held_notifies;
    char *reason;
    gboolean was_held; /* at the time of the signal */
    GThread *thread;
} Losses;

/* Records the signals and notifications of the lock. */
void losses_watch(Losses *losses, WebLocksLock *lock);
void losses_clear(Losses *losses);
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC(Losses, losses_clear)

/* ---- the contents of a bucket */

/* "NAME NAME:s" for an exclusive and a shared one; free. */
typedef char *(*TestList)(GListModel *infos);
char *test_list(GListModel *infos);
char *test_state(WebLocksManager *manager);

/* Asserts the held and pending requests in the service: "a b:s | c". */
#define assert_state(manager, expected)                \
    G_STMT_START                                       \
    {                                                  \
        g_autofree char *state_ = test_state(manager); \
        g_assert_cmpstr(state_, ==, expected);         \
    }                                                  \
    G_STMT_END

/* Waits until the state is as expected. */
void test_wait_for_state(WebLocksManager *manager, const char *expected);

/* Returns a monitor of all buckets, owned. */
WebLocksMonitor *test_monitor_new_all(WebLocksAgent *agent);

/* What a monitor shows, in the same form, and until it shows that; nothing is called for it. */
char *test_shown(WebLocksMonitor *monitor, TestList list);
void test_wait_for_shown(WebLocksMonitor *monitor, TestList list, const char *expected);

/* Whether a monitor shows that: a TestCondition. */
typedef struct {
    WebLocksMonitor *monitor;
    TestList list;
    const char *expected;
} Shown;
gboolean test_is_shown(gpointer shown);
