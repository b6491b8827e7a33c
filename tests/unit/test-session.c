/* SPDX-FileCopyrightText: 2026 The WebLocks for D-Bus authors
 * SPDX-License-Identifier: LGPL-2.1-or-later */

/* session: which client has the most deferred calls, and the order of a turn. Copies of calls are
 * in
 * ../fuzz/fuzz-decoder.c. */

#include "service/core/principal.h"
#include "service/session/client.h"

typedef struct {
    Server server;
    GString *log; /* of the steps of a turn */
} Fixture;

static void
free_client(Client *client)
{
}

static void
commit(gpointer data)
{
    g_string_append(((Fixture *)data)->log, "commit ");
}

static void
set_up(Fixture *f, gconstpointer data)
{
    Limits limits;

    limits_init(&limits);
    server_init(&f->server, &limits);
    f->server.client_free = free_client;
    f->log = g_string_new(NULL);
    turn_init(&f->server.turn, commit, f);
}

static void
tear_down(Fixture *f, gconstpointer data)
{
    server_fini(&f->server);
    g_assert_cmpuint(f->server.n_bytes_deferred, ==, 0);
    g_string_free(f->log, TRUE);
}

static Client *
add_client(Fixture *f, const char *unique_name, guint n_deferred)
{
    Client *client = server_add_client(&f->server, unique_name, NULL);
    const LockCall call = {.kind = LOCK_CALL_QUERY, .bucket = "bucket"};

    for (guint i = 0; i < n_deferred; i++)
        client_defer(client, &call);
    return client;
}

static void
identify(Fixture *f, Client *client, guint32 uid)
{
    const PrincipalIdentity identity = {.uid = uid, .app_id = ""};
    Principal *principal = principal_get(&f->server.user_agent, &identity);
    Agent *agent = NULL;

    g_assert_cmpint(agent_new(principal, client->unique_name, &agent), ==, LOCK_RESULT_OK);
    principal_unref(principal);
    client_set_agent(client, agent);
}

/* It is a client of the user whose clients have the most together; those that are not identified
 * count as those of one user. */
static void
test_greatest(Fixture *f, gconstpointer data)
{
    Client *one, *two, *other, *unknown;

    g_assert_null(server_find_greatest(&f->server));
    one = add_client(f, ":1.1", 3);
    two = add_client(f, ":1.2", 4);
    other = add_client(f, ":1.3", 5);
    identify(f, one, 1000);
    identify(f, two, 1000);
    identify(f, other, 1001);
    g_assert_true(server_find_greatest(&f->server) == two);
    unknown = add_client(f, ":1.4", 5);
    add_client(f, ":1.5", 3);
    g_assert_true(server_find_greatest(&f->server) == unknown);
    client_drop_deferred(unknown);
    client_drop_deferred(two);
    g_assert_true(server_find_greatest(&f->server) == other);
}

/* ---- turns */

typedef struct {
    TurnOutput output; /* must be first */
    Fixture *fixture;
    const char *name;
} Output;

static void
flush(TurnOutput *output)
{
    const Output *self = (const Output *)output;

    g_string_append_printf(self->fixture->log, "%s ", self->name);
}

/* The commit is done before anything is sent, and each output is flushed once. */
static void
test_turn(Fixture *f, gconstpointer data)
{
    Turn *turn = &f->server.turn;
    Output a = {{.turn = turn, .flush = flush}, f, "a"},
           b = {{.turn = turn, .flush = flush}, f, "b"};

    turn_add_output(&a.output, 10);
    turn_add_output(&b.output, 1 << 20);
    turn_add_output(&a.output, 10);
    g_assert_true(turn_is_full(turn));
    turn_flush(turn);
    g_assert_cmpstr(f->log->str, ==, "commit a b ");
    g_assert_false(turn_is_full(turn));
    g_string_truncate(f->log, 0);
    turn_add_output(&a.output, 10);
    turn_remove_output(&a.output);
    turn_flush(turn);
    g_assert_cmpstr(f->log->str, ==, "commit ");
}

/* A turn ends after a number of calls; a long one counts as several. */
static void
test_calls(Fixture *f, gconstpointer data)
{
    Turn *turn = &f->server.turn;
    guint n_short = 0, n_long = 0;

    for (; !turn_is_full(turn); n_short++)
        turn_count_call(turn, 100);
    g_assert_cmpuint(n_short, ==, 256);
    turn_flush(turn); /* within a turn */
    g_assert_true(turn_is_full(turn));
    turn_end(turn);
    for (; !turn_is_full(turn); n_long++)
        turn_count_call(turn, 65536);
    g_assert_cmpuint(n_long, ==, 4);
}

static void
test_runnable(Fixture *f, gconstpointer data)
{
    Turn *turn = &f->server.turn;
    Client *one = server_add_client(&f->server, ":1.1", NULL);
    Client *two = server_add_client(&f->server, ":1.2", NULL);

    turn_make_runnable(turn, one);
    turn_make_runnable(turn, two);
    turn_make_runnable(turn, one);
    g_assert_cmpuint(turn->runnable.length, ==, 2);
    server_remove_client(one);
    g_assert_true(turn_take_runnable(turn) == two);
    g_assert_null(turn_take_runnable(turn));
}

#define TEST(path, function) g_test_add(path, Fixture, NULL, set_up, function, tear_down)

int
main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    TEST("/session/greatest", test_greatest);
    TEST("/session/turn", test_turn);
    TEST("/session/calls", test_calls);
    TEST("/session/runnable", test_runnable);
    return g_test_run();
}
