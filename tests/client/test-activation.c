/* SPDX-FileCopyrightText: 2026 The WebLocks for D-Bus authors
 * SPDX-License-Identifier: LGPL-2.1-or-later */

/* The bus starts the service: an agent with locks, requests or calls has it started again. */

#include <signal.h>

#include "common/bus-names.h"
#include "tests/client/fixture.h"
#include "tests/lib/case.h"

#define SERVICE_OPTIONS "--idle-exit=0.02"

static WebLocksManager *
manager_new(const PrivateBus *bus)
{
    g_autoptr(WebLocksAgent) agent = web_locks_agent_new(G_BUS_TYPE_NONE, bus->address);

    no_error(g_initable_init(G_INITABLE(agent), NULL, &test_error));
    return test_manager_of(agent);
}

/* The service's pid; 0: it isn't running. */
static pid_t
get_pid(const PrivateBus *bus)
{
    g_autoptr(GVariant) reply = g_dbus_connection_call_sync(
        bus->observer, BUS_DRIVER_NAME, BUS_DRIVER_PATH, BUS_DRIVER_INTERFACE,
        "GetConnectionUnixProcessID", g_variant_new("(s)", BUS_SERVICE_NAME), G_VARIANT_TYPE("(u)"),
        G_DBUS_CALL_FLAGS_NONE, -1, NULL, NULL);
    guint32 pid = 0;

    if (reply != NULL)
        g_variant_get(reply, "(u)", &pid);
    return (pid_t)pid;
}

typedef struct {
    const PrivateBus *bus;
    pid_t old_pid; /* 0: none */
    pid_t pid;
} Return;

static gboolean
is_back(gpointer data)
{
    Return *self = data;

    self->pid = get_pid(self->bus);
    /* So that the main context runs although there is no other event. */
    g_main_context_wakeup(NULL);
    return self->pid != 0 && self->pid != self->old_pid;
}

/* Returns when an agent has had the service started again. It may also have been leaving, as idle,
 * when the last request came, and the next one not be there yet. */
static void
kill_service(const PrivateBus *bus)
{
    Return back = {.bus = bus};

    test_wait_for(is_back, &back, "the service");
    back.old_pid = back.pid;
    g_assert_cmpint(kill(back.old_pid, SIGKILL), ==, 0);
    test_wait_for(is_back, &back, "the service's return");
}

/* Without any message after the kill, the service is started again, with its state. */
TEST("/activation/restarted-for-held-locks", test_restarted_for_held_locks)
{
    PrivateBus *bus;
    g_autoptr(WebLocksManager) holder = NULL, waiter = NULL;
    g_autoptr(WebLocksLock) lock = NULL, next = NULL;
    g_auto(Answer) waiting = {0};
    g_auto(Losses) losses = {0};

    bus = private_bus_new_activating(SERVICE_OPTIONS);
    holder = manager_new(bus);
    lock = test_lock(holder, "a");
    losses_watch(&losses, lock);
    kill_service(bus);

    waiter = manager_new(bus);
    answer_ask(&waiting, waiter, "a");
    test_wait_for_state(waiter, "a | a");
    for (guint i = 0; i < 5; i++)
        kill_service(bus);
    test_settle(waiter);
    g_assert_cmpuint(waiting.n_results, ==, 0);
    g_assert_true(web_locks_lock_get_held(lock));
    test_release(lock);
    next = answer_expect_lock(&waiting);
    g_assert_cmpuint(losses.n_lost, ==, 0);
    g_clear_object(&next);
    answer_clear(&waiting);
    g_clear_object(&waiter);
    g_clear_object(&holder);
    test_iterate();
    private_bus_free(bus);
}

TEST_MAIN(test_run(NULL))
