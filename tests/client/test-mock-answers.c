/* SPDX-FileCopyrightText: 2026 The WebLocks for D-Bus authors
 * SPDX-License-Identifier: LGPL-2.1-or-later */

/* What the library makes of answers: late, wrong, forged, and none. */

#include "tests/client/mock-scene.h"

/* ---- good ones */

static void
test_wire(Scene *s, gconstpointer data)
{
    g_autoptr(WebLocksOptions) options =
        g_object_new(WEB_LOCKS_TYPE_OPTIONS, "mode", WEB_LOCKS_MODE_SHARED, "timeout", 77, "why",
                     "to see", NULL);
    g_autoptr(GDBusMessage) plain = scene_ask(s), detailed = NULL;
    g_autoptr(GVariant) key_1 = mock_get_option(plain, "key"), key_2 = NULL;
    g_autoptr(GVariant) mode = NULL, timeout = NULL, why = NULL, no_steal = NULL;
    g_auto(Answer) answer = {0};

    g_assert_cmpstr(g_dbus_message_get_destination(plain), ==, MOCK_SERVICE);
    g_assert_cmpstr(g_dbus_message_get_path(plain), ==, "/org/w3/WebLocks/bucket/bucket");
    g_assert_cmpstr(g_dbus_message_get_interface(plain), ==, "org.w3.WebLocks");
    g_assert_nonnull(key_1);

    web_locks_manager_request_async(s->manager, "other", options, NULL, answer_take, &answer);
    detailed = mock_expect(s->mock, "Request");
    key_2 = mock_get_option(detailed, "key");
    g_assert_cmpuint(g_variant_get_uint64(key_1), !=, g_variant_get_uint64(key_2));
    mode = mock_get_option(detailed, "mode");
    g_assert_cmpstr(g_variant_get_string(mode, NULL), ==, "shared");
    timeout = mock_get_option(detailed, "timeout");
    g_assert_cmpuint(g_variant_get_uint32(timeout), ==, 77);
    why = mock_get_option(detailed, "why");
    g_assert_cmpstr(g_variant_get_string(why, NULL), ==, "to see");
    no_steal = mock_get_option(detailed, "steal");
    g_assert_null(no_steal);

    scene_close(s);
    answer_expect_error(&answer, WEB_LOCKS_ERROR, WEB_LOCKS_ERROR_ABORT);
    answer_expect_error(&s->answer, WEB_LOCKS_ERROR, WEB_LOCKS_ERROR_ABORT);
}

static void
test_late(Scene *s, gconstpointer data)
{
    g_autoptr(GDBusMessage) call = scene_ask(s);
    g_autoptr(WebLocksLock) lock = NULL;

    scene_barrier(s);
    g_assert_cmpuint(s->answer.n_results, ==, 0);
    mock_answer(s->mock, call, MOCK_SERVICE, "(uint64 5, uint64 0)");
    scene_barrier(s);
    g_assert_cmpuint(s->answer.n_results, ==, 0);
    mock_signal(s->mock, call, MOCK_SERVICE, "Granted",
                "(uint64 5, 'name', 'exclusive', '" MOCK_CLIENT "', uint64 9)");
    lock = answer_expect_lock(&s->answer);
    g_assert_cmpuint(web_locks_lock_get_token(lock), ==, 9);
}

/* ---- errors */

typedef struct {
    const char *name;
    int code; /* of WEB_LOCKS_ERROR, but -1 is G_IO_ERROR_INVALID_ARGUMENT */
} WireError;

static const WireError wire_errors[] = {
    {"org.w3.WebLocks.Error.NotSupported", WEB_LOCKS_ERROR_NOT_SUPPORTED},
    {"org.w3.WebLocks.Error.Security", WEB_LOCKS_ERROR_SECURITY},
    {"org.freedesktop.DBus.Error.AccessDenied", WEB_LOCKS_ERROR_SECURITY},
    {"org.freedesktop.DBus.Error.LimitsExceeded", WEB_LOCKS_ERROR_LIMITS},
    {"org.freedesktop.DBus.Error.InvalidArgs", -1},
    {"org.freedesktop.DBus.Error.ServiceUnknown", WEB_LOCKS_ERROR_UNAVAILABLE},
    {"org.freedesktop.DBus.Error.NoReply", WEB_LOCKS_ERROR_UNAVAILABLE},
    {"org.freedesktop.DBus.Error.UnknownObject", WEB_LOCKS_ERROR_UNAVAILABLE},
    {"org.freedesktop.DBus.Error.UnknownMethod", WEB_LOCKS_ERROR_UNAVAILABLE},
    {"org.freedesktop.DBus.Error.Spawn.ExecFailed", WEB_LOCKS_ERROR_UNAVAILABLE},
    {"com.example.NobodyKnowsThis", WEB_LOCKS_ERROR_UNAVAILABLE},
};

static void
test_request_errors(Scene *s, gconstpointer data)
{
    for (guint i = 0; i < G_N_ELEMENTS(wire_errors); i++) {
        g_autoptr(GDBusMessage) call = scene_ask(s);
        const WireError *row = &wire_errors[i];

        mock_answer_error(s->mock, call, MOCK_SERVICE, row->name);
        if (row->code >= 0)
            answer_expect_error(&s->answer, WEB_LOCKS_ERROR, row->code);
        else
            answer_expect_error(&s->answer, G_IO_ERROR, G_IO_ERROR_INVALID_ARGUMENT);
        answer_clear(&s->answer);
    }
    scene_barrier(s);
}

/* A lock that the service did not release is given up all the same. */
static void
test_release_error(Scene *s, gconstpointer data)
{
    g_autoptr(WebLocksLock) lock = scene_lock(s);
    g_auto(Answer) released = {0};
    g_autoptr(GDBusMessage) call = NULL;
    g_autoptr(GError) error = NULL;

    web_locks_lock_release_async(lock, NULL, answer_take, &released);
    call = mock_expect(s->mock, "Release");
    mock_answer_error(s->mock, call, MOCK_SERVICE, "org.w3.WebLocks.Error.NotHeld");
    g_assert_false(web_locks_lock_release_finish(lock, answer_wait(&released), &error));
    g_assert_error(error, WEB_LOCKS_ERROR, WEB_LOCKS_ERROR_NOT_HELD);
    g_assert_false(web_locks_lock_get_held(lock));
}

static void
test_query_errors(Scene *s, gconstpointer data)
{
    g_auto(Answer) answer = {0};
    g_autoptr(GDBusMessage) call = NULL;
    g_autoptr(GError) error = NULL;

    web_locks_manager_query_async(s->manager, NULL, answer_take, &answer);
    call = mock_expect(s->mock, "Query");
    mock_answer_error(s->mock, call, MOCK_SERVICE, "org.w3.WebLocks.Error.Security");
    g_assert_null(web_locks_manager_query_finish(s->manager, answer_wait(&answer), &error));
    g_assert_error(error, WEB_LOCKS_ERROR, WEB_LOCKS_ERROR_SECURITY);
}

/* ---- answers that are not of the contract */

static void
test_request_garbage(Scene *s, gconstpointer data)
{
    static const char *const bodies[] = {
        "()",
        "(uint64 5,)",
        "('granted', uint64 5)",
        "(uint32 5, uint32 6)",
        "((uint64 5, uint64 6),)",
        "(<uint64 5>, <uint64 6>)",
        "(@at [], @at [])",
    };

    for (guint i = 0; i < G_N_ELEMENTS(bodies); i++) {
        g_autoptr(GDBusMessage) call = scene_ask(s);

        mock_answer(s->mock, call, MOCK_SERVICE, bodies[i]);
        answer_expect_error(&s->answer, WEB_LOCKS_ERROR, WEB_LOCKS_ERROR_UNAVAILABLE);
        answer_clear(&s->answer);
    }
    scene_barrier(s);
}

static void
test_query_garbage(Scene *s, gconstpointer data)
{
    static const char *const bodies[] = {
        "()",
        "('', '')",
        "(@a(sss) [],)",
        "(@a(ss) [], @a(ss) [])",
        "([('name', 'exclusive', uint32 1)], @a(sss) [])",
        "(@a(sss) [], uint32 1)",
    };

    for (guint i = 0; i < G_N_ELEMENTS(bodies); i++) {
        g_auto(Answer) answer = {0};
        g_autoptr(GDBusMessage) call = NULL;
        g_autoptr(GError) error = NULL;

        web_locks_manager_query_async(s->manager, NULL, answer_take, &answer);
        call = mock_expect(s->mock, "Query");
        mock_answer(s->mock, call, MOCK_SERVICE, bodies[i]);
        g_assert_null(web_locks_manager_query_finish(s->manager, answer_wait(&answer), &error));
        g_assert_error(error, WEB_LOCKS_ERROR, WEB_LOCKS_ERROR_UNAVAILABLE);
    }
}

static void
test_inspect_garbage(Scene *s, gconstpointer data)
{
    static const char *const bodies[] = {
        "()",
        "(@aa{sv} [],)",
        "(@aa{ss} [], false)",
        "(@aa{sv} [], true)", /* more, but no cursor: for ever */
        "([{'name': <uint32 7>, 'state': <'held'>}], false)",
        "([{'name': <'a'>, 'blockedBy': <uint32 7>, 'state': <'held'>}], false)",
        "(@aa{sv} [], 'more')",
    };

    for (guint i = 0; i < G_N_ELEMENTS(bodies); i++) {
        g_auto(Answer) answer = {0};
        g_autoptr(GDBusMessage) call = NULL;
        g_autoptr(GError) error = NULL;

        web_locks_manager_inspect_async(s->manager, NULL, NULL, answer_take, &answer);
        call = mock_expect(s->mock, "Inspect");
        mock_answer(s->mock, call, MOCK_SERVICE, bodies[i]);
        g_assert_null(web_locks_manager_inspect_finish(s->manager, answer_wait(&answer), &error));
        g_assert_error(error, WEB_LOCKS_ERROR, WEB_LOCKS_ERROR_UNAVAILABLE);
    }
}

/* What a later service may add is no reason to refuse what is known. */
static void
test_inspect_unknown_key(Scene *s, gconstpointer data)
{
    g_auto(Answer) answer = {0};
    g_autoptr(GDBusMessage) call = NULL;
    g_autoptr(GError) error = NULL;
    g_autoptr(WebLocksSnapshot) snapshot = NULL;
    g_autofree char *held = NULL;

    web_locks_manager_inspect_async(s->manager, NULL, NULL, answer_take, &answer);
    call = mock_expect(s->mock, "Inspect");
    mock_answer(s->mock, call, MOCK_SERVICE,
                "([{'name': <'a'>, 'colour': <('red', [1, 2])>, 'state': <'held'>, "
                "'mode': <'shared'>, 'cursor': <uint64 1>}], false)");
    snapshot = web_locks_manager_inspect_finish(s->manager, answer_wait(&answer), &error);
    g_assert_no_error(error);
    held = test_list(web_locks_snapshot_get_held(snapshot));
    g_assert_cmpstr(held, ==, "a:s");
}

static void
test_buckets_garbage(Scene *s, gconstpointer data)
{
    static const char *const bodies[] = {"()", "('a',)", "(@au [],)", "(@as [], 1)"};

    for (guint i = 0; i < 3; i++) {
        g_auto(Answer) answer = {0};
        g_autoptr(GDBusMessage) call = NULL;
        g_autoptr(GError) error = NULL;

        web_locks_agent_list_buckets_async(s->agent, NULL, answer_take, &answer);
        call = mock_expect(s->mock, "Buckets");
        mock_answer(s->mock, call, MOCK_SERVICE, bodies[i]);
        g_assert_null(web_locks_agent_list_buckets_finish(s->agent, answer_wait(&answer), &error));
        g_assert_error(error, WEB_LOCKS_ERROR, WEB_LOCKS_ERROR_UNAVAILABLE);
    }
}

/* ---- answers of somebody else */

/* The request is said again, with the same key: so the service gives what it gave before. */
static void
test_forged_grant(Scene *s, gconstpointer data)
{
    g_autoptr(GDBusMessage) first = scene_ask(s), second = NULL;
    g_autoptr(GVariant) key_1 = mock_get_option(first, "key"), key_2 = NULL;
    g_autoptr(WebLocksLock) lock = NULL;

    mock_answer(s->mock, first, MOCK_FORGER, "(uint64 99, uint64 99)");
    second = mock_expect(s->mock, "Request");
    key_2 = mock_get_option(second, "key");
    g_assert_cmpuint(g_variant_get_uint64(key_1), ==, g_variant_get_uint64(key_2));
    g_assert_cmpuint(s->answer.n_results, ==, 0);

    mock_answer(s->mock, first, MOCK_SERVICE, "(uint64 5, uint64 6)"); /* too late, and no harm */
    mock_answer(s->mock, second, MOCK_SERVICE, "(uint64 5, uint64 6)");
    lock = answer_expect_lock(&s->answer);
    g_assert_cmpuint(web_locks_lock_get_token(lock), ==, 6);
}

static void
test_forged_error(Scene *s, gconstpointer data)
{
    g_autoptr(GDBusMessage) first = scene_ask(s), second = NULL;
    g_autoptr(WebLocksLock) lock = NULL;

    mock_answer_error(s->mock, first, MOCK_FORGER, "org.w3.WebLocks.Error.Security");
    second = mock_expect(s->mock, "Request");
    mock_answer(s->mock, second, MOCK_SERVICE, "(uint64 5, uint64 6)");
    lock = answer_expect_lock(&s->answer);
}

/* However often: what the service has granted must not be forgotten. */
static void
test_forged_again_and_again(Scene *s, gconstpointer data)
{
    GDBusMessage *call = scene_ask(s);
    g_autoptr(WebLocksLock) lock = NULL;

    for (guint i = 0; i < 40; i++) {
        mock_answer(s->mock, call, MOCK_FORGER, "(uint64 99, uint64 99)");
        g_object_unref(call);
        call = mock_expect(s->mock, "Request");
        g_assert_cmpuint(s->answer.n_results, ==, 0);
    }
    mock_answer(s->mock, call, MOCK_SERVICE, "(uint64 5, uint64 6)");
    g_object_unref(call);
    lock = answer_expect_lock(&s->answer);
    g_assert_cmpuint(web_locks_lock_get_token(lock), ==, 6);
}

static void
test_forged_release(Scene *s, gconstpointer data)
{
    g_autoptr(WebLocksLock) lock = scene_lock(s);
    g_auto(Answer) released = {0};
    g_autoptr(GDBusMessage) first = NULL, second = NULL;
    g_autoptr(GError) error = NULL;

    web_locks_lock_release_async(lock, NULL, answer_take, &released);
    first = mock_expect(s->mock, "Release");
    mock_answer(s->mock, first, MOCK_FORGER, "()");
    second = mock_expect(s->mock, "Release");
    g_assert_cmpuint(mock_get_id(first), ==, mock_get_id(second));
    g_assert_cmpuint(released.n_results, ==, 0);
    /* The first has released it. */
    mock_answer_error(s->mock, second, MOCK_SERVICE, "org.w3.WebLocks.Error.NotHeld");
    g_assert_true(web_locks_lock_release_finish(lock, answer_wait(&released), &error));
    g_assert_no_error(error);
}

static void
test_forged_query(Scene *s, gconstpointer data)
{
    g_auto(Answer) answer = {0};
    g_autoptr(GError) error = NULL;

    /* It is asked again, but not for ever: there is nothing to lose. */
    web_locks_manager_query_async(s->manager, NULL, answer_take, &answer);
    for (guint i = 0; i < 16; i++) {
        g_autoptr(GDBusMessage) call = mock_expect(s->mock, "Query");

        g_assert_cmpuint(answer.n_results, ==, 0);
        mock_answer(s->mock, call, MOCK_FORGER, "([('forged', 'shared', ':1.1')], @a(sss) [])");
    }
    g_assert_null(web_locks_manager_query_finish(s->manager, answer_wait(&answer), &error));
    g_assert_error(error, WEB_LOCKS_ERROR, WEB_LOCKS_ERROR_UNAVAILABLE);
}

#define ADD(name, func) g_test_add("/mock-answers/" name, Scene, NULL, scene_start, func, scene_end)

int
main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    ADD("what-a-request-says", test_wire);
    ADD("a-grant-that-is-late", test_late);
    ADD("errors-of-request", test_request_errors);
    ADD("errors-of-release", test_release_error);
    ADD("errors-of-query", test_query_errors);
    ADD("garbage-for-request", test_request_garbage);
    ADD("garbage-for-query", test_query_garbage);
    ADD("garbage-for-inspect", test_inspect_garbage);
    ADD("inspect-with-more-than-we-know", test_inspect_unknown_key);
    ADD("garbage-for-buckets", test_buckets_garbage);
    ADD("a-forged-grant", test_forged_grant);
    ADD("a-forged-error", test_forged_error);
    ADD("forgeries-again-and-again", test_forged_again_and_again);
    ADD("a-forged-release", test_forged_release);
    ADD("a-forged-query", test_forged_query);
    return g_test_run();
}
