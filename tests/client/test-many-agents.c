/* SPDX-FileCopyrightText: 2026 The WebLocks for D-Bus authors
 * SPDX-License-Identifier: LGPL-2.1-or-later */

/* Many agents in one process, and another client of the same bus that forges messages. */

#include <sys/resource.h>

#include "common/bus-names.h"
#include "tests/client/fixture.h"
#include "tests/lib/case.h"

/* The dbus-daemon of the tests has the default limit of 256 connections. */
#define N_AGENTS (test_bus_is_broker() ? 1000u : 200u)

/* They wait in a row, and each lets the next one in. */
static gboolean
raise_file_limit(void)
{
    struct rlimit limit;

    g_assert_cmpint(getrlimit(RLIMIT_NOFILE, &limit), ==, 0);
    limit.rlim_cur = limit.rlim_max;
    g_assert_cmpint(setrlimit(RLIMIT_NOFILE, &limit), ==, 0);
    return limit.rlim_cur > 3000;
}

static void
on_turn(GObject *source, GAsyncResult *result, gpointer n_turns)
{
    g_autoptr(WebLocksLock) lock =
        no_error(web_locks_manager_request_finish(WEB_LOCKS_MANAGER(source), result, &test_error));

    g_assert_true(web_locks_lock_get_held(lock));
    ++*(guint *)n_turns;
}

static gboolean
is_all(gpointer n_turns)
{
    return *(guint *)n_turns == N_AGENTS;
}

TEST("/many-agents/agents", test_agents)
{
    g_autoptr(GPtrArray) managers = g_ptr_array_new_with_free_func(g_object_unref);
    g_autoptr(GHashTable) ids = g_hash_table_new(g_str_hash, g_str_equal);
    g_autoptr(WebLocksManager) first = test_manager_new();
    WebLocksLock *lock = test_lock(first, "a");
    guint n_turns = 0;

    for (guint i = 0; i < N_AGENTS; i++) {
        WebLocksManager *manager = test_manager_new();

        g_ptr_array_add(managers, manager);
        g_assert_true(g_hash_table_add(ids, (gpointer)test_client_id(manager)));
        web_locks_manager_request_async(manager, "a", NULL, NULL, on_turn, &n_turns);
    }
    test_settle(first);
    g_assert_cmpuint(n_turns, ==, 0);
    g_object_unref(lock);
    test_wait(is_all, &n_turns);
    test_wait_for_state(first, " | ");
}

/* ---- forged messages of another client */

#define N_FORGERIES 10000
/* The bus queues what the agent has not read yet: the agent runs after this number of forgeries. */
#define FORGERIES_PER_TURN 200

static void
forge(GDBusConnection *forger,
      const char *client_id,
      const char *path,
      const char *member,
      GVariant *body)
{
    const gboolean is_bus_signal = g_str_equal(member, "NameOwnerChanged");

    no_error(g_dbus_connection_emit_signal(
        forger, client_id, path, is_bus_signal ? BUS_DRIVER_INTERFACE : BUS_LOCKS_INTERFACE, member,
        body, &test_error));
}

static void
forge_signals(GDBusConnection *forger, const char *client_id, guint64 id)
{
    const char *path = BUS_BUCKET_PREFIX "/b";

    forge(forger, client_id, path, "Granted",
          g_variant_new("(tssst)", id, "a", "exclusive", client_id, G_GUINT64_CONSTANT(99)));
    forge(forger, client_id, path, "Released",
          g_variant_new("(tssss)", id, "a", "exclusive", client_id, "stolen"));
    forge(forger, client_id, path, "Released",
          g_variant_new("(tssss)", id, "own", "exclusive", client_id, "lost"));
}

/* A reply to the agent's call with that serial number, if there is one; the bus may drop it. */
static void
forge_answer(GDBusConnection *forger, const char *client_id, guint32 serial, gboolean is_error)
{
    g_autoptr(GDBusMessage) message = g_dbus_message_new();

    g_dbus_message_set_message_type(message, is_error ? G_DBUS_MESSAGE_TYPE_ERROR
                                                      : G_DBUS_MESSAGE_TYPE_METHOD_RETURN);
    g_dbus_message_set_flags(message, G_DBUS_MESSAGE_FLAGS_NO_REPLY_EXPECTED);
    g_dbus_message_set_destination(message, client_id);
    g_dbus_message_set_reply_serial(message, serial);
    if (is_error)
        g_dbus_message_set_error_name(message, BUS_ERROR_SECURITY);
    else
        g_dbus_message_set_body(message, g_variant_new("(tt)", (guint64)1, G_GUINT64_CONSTANT(99)));
    no_error(g_dbus_connection_send_message(forger, message, G_DBUS_SEND_MESSAGE_FLAGS_NONE, NULL,
                                            &test_error));
}

/* The agent makes calls meanwhile, whose replies can be forged. */
static void
forge_during_calls(GDBusConnection *forger, WebLocksManager *waiter, const char *client_id)
{
    for (guint i = 0; i < N_FORGERIES / 5; i += FORGERIES_PER_TURN / 5) {
        g_autoptr(WebLocksLock) lock = NULL;
        g_auto(Answer) call = {0};

        answer_ask(&call, waiter, "busy");
        for (guint j = i; j < i + FORGERIES_PER_TURN / 5; j++) {
            forge_signals(forger, client_id, j % 50);
            forge_answer(forger, client_id, j % 400 + 1, FALSE);
            forge_answer(forger, client_id, j % 400 + 1, TRUE);
        }
        g_assert_true(g_dbus_connection_flush_sync(forger, NULL, NULL));
        lock = answer_expect_lock(&call);
        test_release(lock);
    }
    g_assert_false(g_dbus_connection_is_closed(forger));
}

TEST("/many-agents/forged-messages", test_forger)
{
    g_autoptr(GDBusConnection) forger = private_bus_connect(test_bus());
    g_autoptr(WebLocksManager) holder = test_manager_new();
    g_autoptr(WebLocksAgent) agent = test_agent_new();
    g_autoptr(WebLocksManager) waiter = web_locks_manager_new(agent, "b");
    g_autoptr(WebLocksManager) other =
        web_locks_manager_new(web_locks_manager_get_agent(holder), "b");
    g_autoptr(WebLocksLock) held = test_lock(other, "a"), own = test_lock(waiter, "own");
    g_autoptr(WebLocksLock) lock = NULL;
    const char *client_id = web_locks_agent_get_client_id(agent);
    g_auto(Answer) waiting = {0};
    g_auto(Losses) losses = {0};

    losses_watch(&losses, own);
    answer_ask(&waiting, waiter, "a");
    test_settle(waiter);
    forge_during_calls(forger, waiter, client_id);
    forge(forger, client_id, BUS_DRIVER_PATH, "NameOwnerChanged",
          g_variant_new("(sss)", BUS_SERVICE_NAME, test_bus()->service_owner, ""));
    forge(forger, client_id, BUS_DRIVER_PATH, "NameOwnerChanged",
          g_variant_new("(sss)", BUS_SERVICE_NAME, "", g_dbus_connection_get_unique_name(forger)));
    test_settle(waiter);
    g_assert_cmpuint(waiting.n_results, ==, 0);
    g_assert_cmpuint(losses.n_lost, ==, 0);
    g_assert_true(web_locks_lock_get_held(own));
    test_release(held);
    lock = answer_expect_lock(&waiting);
    g_assert_cmpuint(web_locks_lock_get_token(lock), !=, 99);
    g_dbus_connection_close_sync(forger, NULL, NULL);
}

int
main(int argc, char **argv)
{
    static const char *const limits[] = {"clientsPerUid=5000", NULL};

    g_test_init(&argc, &argv, NULL);
    test_cases_add();
    if (raise_file_limit())
        return test_run(limits);
}
