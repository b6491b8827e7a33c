/* SPDX-FileCopyrightText: 2026 The WebLocks for D-Bus authors
 * SPDX-License-Identifier: LGPL-2.1-or-later */

/* A private socket ends, or its service does, with calls under way on it: each is asked again by
 * the bus, and takes effect once. */

#include "tests/client/mock-scene.h"

#define NOT_HELD     "org.w3.WebLocks.Error.NotHeld"
#define NEXT_SERVICE ":1.3"
#define GRANTED      "(uint64 5, 'name', 'exclusive', '" MOCK_CLIENT "', uint64 6)"

/* The socket ended before; OpenPeer comes behind the first message by the bus that is for whoever
 * serves, and so may start a service. */
static void
refuse_next_socket(Scene *s)
{
    g_autoptr(GDBusMessage) call = mock_expect(s->mock, "OpenPeer");

    mock_answer_error(s->mock, call, MOCK_SERVICE, "org.freedesktop.DBus.Error.LimitsExceeded");
    mock_flush(s->mock);
    test_iterate();
}

static gboolean
expects_reply(GDBusMessage *call)
{
    return !(g_dbus_message_get_flags(call) & G_DBUS_MESSAGE_FLAGS_NO_REPLY_EXPECTED);
}

static void
assert_same_key(GDBusMessage *first, GDBusMessage *second)
{
    g_autoptr(GVariant) key_1 = mock_get_option(first, "key");
    g_autoptr(GVariant) key_2 = mock_get_option(second, "key");

    g_assert_cmpuint(g_variant_get_uint64(key_1), ==, g_variant_get_uint64(key_2));
}

/* ---- Request */

static void
test_request(Scene *s, gconstpointer data)
{
    g_autoptr(GDBusMessage) first = scene_ask(s), second = NULL;
    g_autoptr(WebLocksLock) lock = NULL;

    scene_close_socket(s);
    second = mock_expect(s->mock, "Request");
    assert_same_key(first, second);
    refuse_next_socket(s);
    g_assert_cmpuint(s->answer.n_results, ==, 0);
    mock_answer(s->mock, second, MOCK_SERVICE, "(uint64 5, uint64 6)");
    lock = answer_expect_lock(&s->answer);
    g_assert_cmpuint(web_locks_lock_get_token(lock), ==, 6);
    scene_close(s);
}

/* Its answer says that it waits. */
static void
test_request_then_grant(Scene *s, gconstpointer data)
{
    g_autoptr(GDBusMessage) first = scene_ask(s), second = NULL;
    g_autoptr(WebLocksLock) lock = NULL;

    scene_close_socket(s);
    second = mock_expect(s->mock, "Request");
    refuse_next_socket(s);
    mock_answer(s->mock, second, MOCK_SERVICE, "(uint64 5, uint64 0)");
    mock_signal(s->mock, second, MOCK_SERVICE, "Granted", GRANTED);
    lock = answer_expect_lock(&s->answer);
    g_assert_cmpuint(web_locks_lock_get_token(lock), ==, 6);
    scene_close(s);
}

/* The next socket is open before the call is answered by the bus. */
static void
test_request_then_socket(Scene *s, gconstpointer data)
{
    g_autoptr(GDBusMessage) first = scene_ask(s), second = NULL, release = NULL;
    g_autoptr(WebLocksLock) lock = NULL;

    scene_close_socket(s);
    second = mock_expect(s->mock, "Request");
    scene_open_socket(s, MOCK_SERVICE);
    scene_barrier(s);
    mock_answer(s->mock, second, MOCK_SERVICE, "(uint64 5, uint64 6)");
    lock = answer_expect_lock(&s->answer);
    g_clear_object(&lock);
    release = scene_expect(s, "Release");
}

/* The answer was sent, and the socket ends behind it. */
static void
test_request_answered(Scene *s, gconstpointer data)
{
    g_autoptr(GDBusMessage) call = scene_ask(s);
    g_autoptr(WebLocksLock) lock = NULL;

    scene_answer(s, call, "(uint64 5, uint64 6)");
    mock_socket_close(s->socket);
    lock = answer_expect_lock(&s->answer);
    g_assert_true(web_locks_lock_get_held(lock));
    scene_close(s);
}

static void
test_waiting(Scene *s, gconstpointer data)
{
    g_autoptr(GDBusMessage) call = scene_wait(s);
    g_autoptr(WebLocksLock) lock = NULL;

    scene_close_socket(s);
    mock_signal(s->mock, call, MOCK_SERVICE, "Granted", GRANTED);
    lock = answer_expect_lock(&s->answer);
    g_assert_cmpuint(web_locks_lock_get_token(lock), ==, 6);
    scene_close(s);
}

/* Cancelled without an answer; what the service gives goes back. */
static void
test_request_cancelled(Scene *s, gconstpointer data)
{
    g_autoptr(GDBusMessage) first = scene_ask_cancellably(s), second = NULL, release = NULL;

    g_cancellable_cancel(s->cancellable);
    answer_expect_error(&s->answer, G_IO_ERROR, G_IO_ERROR_CANCELLED);
    scene_close_socket(s);
    second = mock_expect(s->mock, "Request");
    assert_same_key(first, second);
    refuse_next_socket(s);
    mock_answer(s->mock, second, MOCK_SERVICE, "(uint64 5, uint64 6)");
    release = mock_expect(s->mock, "Release");
    g_assert_cmpuint(mock_get_id(release), ==, 5);
}

#define N_MANY 40

/* All that were under way come again, in order. */
static void
test_many_requests(Scene *s, gconstpointer data)
{
    Answer answers[N_MANY] = {0};
    GDBusMessage *calls[N_MANY];

    for (guint i = 0; i < N_MANY; i++) {
        g_autofree char *name = g_strdup_printf("name %u", i);

        answer_ask(&answers[i], s->manager, name);
    }
    for (guint i = 0; i < N_MANY; i++)
        calls[i] = scene_expect(s, "Request");
    scene_close_socket(s);
    for (guint i = 0; i < N_MANY; i++) {
        g_autoptr(GDBusMessage) again = mock_expect(s->mock, "Request");
        g_autofree char *body = g_strdup_printf("(uint64 %u, uint64 %u)", i + 10, i + 100);

        if (i == 0)
            refuse_next_socket(s);
        assert_same_key(calls[i], again);
        mock_answer(s->mock, again, MOCK_SERVICE, body);
        g_object_unref(calls[i]);
    }
    for (guint i = 0; i < N_MANY; i++) {
        g_autoptr(WebLocksLock) lock = answer_expect_lock(&answers[i]);

        g_assert_cmpuint(web_locks_lock_get_token(lock), ==, i + 100);
        answer_clear(&answers[i]);
        if (i == N_MANY - 1)
            scene_close(s);
        else
            g_clear_object(&lock);
        if (lock == NULL)
            g_object_unref(mock_expect(s->mock, "Release"));
    }
}

/* ---- Release */

/* `data`: how the second is answered; NULL: well. */
static void
test_released(Scene *s, gconstpointer data)
{
    g_autoptr(WebLocksLock) lock = scene_lock(s);
    g_auto(Answer) released = {0};
    g_autoptr(GDBusMessage) first = NULL, second = NULL;
    g_autoptr(GError) error = NULL;

    web_locks_lock_release_async(lock, NULL, answer_take, &released);
    first = scene_expect(s, "Release");
    scene_close_socket(s);
    second = mock_expect(s->mock, "Release");
    g_assert_cmpuint(mock_get_id(second), ==, 5);
    g_assert_true(expects_reply(second));
    g_assert_cmpuint(released.n_results, ==, 0);
    if (data != NULL)
        mock_answer_error(s->mock, second, MOCK_SERVICE, data);
    else
        mock_answer(s->mock, second, MOCK_SERVICE, "()");
    g_assert_true(web_locks_lock_release_finish(lock, answer_wait(&released), &error));
    g_assert_no_error(error);
}

/* Only then: the first time it is an error. */
static void
test_release_not_repeated(Scene *s, gconstpointer data)
{
    g_autoptr(WebLocksLock) lock = scene_lock(s);
    g_auto(Answer) released = {0};
    g_autoptr(GDBusMessage) call = NULL;
    g_autoptr(GError) error = NULL;

    web_locks_lock_release_async(lock, NULL, answer_take, &released);
    call = scene_expect(s, "Release");
    mock_socket_answer_error(s->socket, call, NULL, NOT_HELD);
    g_assert_false(web_locks_lock_release_finish(lock, answer_wait(&released), &error));
    g_assert_error(error, WEB_LOCKS_ERROR, WEB_LOCKS_ERROR_NOT_HELD);
}

/* It was stolen before. */
static void
test_release_stolen(Scene *s, gconstpointer data)
{
    g_autoptr(WebLocksLock) lock = scene_lock(s);
    g_auto(Answer) released = {0};
    g_autoptr(GDBusMessage) first = NULL, second = NULL;
    g_autoptr(GError) error = NULL;

    web_locks_lock_release_async(lock, NULL, answer_take, &released);
    first = scene_expect(s, "Release");
    scene_close_socket(s);
    second = mock_expect(s->mock, "Release");
    mock_signal(s->mock, second, MOCK_SERVICE, "Released",
                "(uint64 5, 'name', 'exclusive', '" MOCK_CLIENT "', 'stolen')");
    mock_answer_error(s->mock, second, MOCK_SERVICE, NOT_HELD);
    g_assert_false(web_locks_lock_release_finish(lock, answer_wait(&released), &error));
    g_assert_error(error, WEB_LOCKS_ERROR, WEB_LOCKS_ERROR_STOLEN);
}

/* ---- a lock that is dropped: nobody waits for an answer */

/* A drop whose Release may have been read, or not. */
static void
drop(Scene *s)
{
    g_autoptr(WebLocksLock) lock = scene_lock(s);
    g_autoptr(GDBusMessage) release = NULL;

    g_clear_object(&lock);
    release = scene_expect(s, "Release");
    g_assert_cmpuint(mock_get_id(release), ==, 5);
    g_assert_false(expects_reply(release));
}

static void
expect_drop_again(Scene *s)
{
    g_autoptr(GDBusMessage) release = mock_expect(s->mock, "Release");

    g_assert_cmpuint(mock_get_id(release), ==, 5);
    g_assert_false(expects_reply(release));
}

static void
test_drop(Scene *s, gconstpointer data)
{
    drop(s);
    scene_close_socket(s);
    expect_drop_again(s);
    scene_barrier(s); /* once */
    refuse_next_socket(s);
}

/* An answer to a later call says that it was read. */
static void
test_drop_confirmed(Scene *s, gconstpointer data)
{
    drop(s);
    scene_barrier(s);
    scene_close_socket(s);
    scene_barrier(s);
    refuse_next_socket(s);
    scene_barrier(s);
}

/* That to an earlier one says nothing. */
static void
test_drop_not_confirmed(Scene *s, gconstpointer data)
{
    g_autoptr(WebLocksLock) lock = scene_lock(s);
    g_auto(Answer) query = {0};
    g_autoptr(GDBusMessage) call = NULL, release = NULL;
    g_autoptr(WebLocksSnapshot) snapshot = NULL;
    g_autoptr(GError) error = NULL;

    web_locks_manager_query_async(s->manager, NULL, answer_take, &query);
    call = scene_expect(s, "Query");
    g_clear_object(&lock);
    release = scene_expect(s, "Release");
    scene_answer(s, call, "(@a(sss) [], @a(sss) [])");
    snapshot = web_locks_manager_query_finish(s->manager, answer_wait(&query), &error);
    g_assert_no_error(error);
    scene_close_socket(s);
    expect_drop_again(s);
}

/* That nobody answered in time is sd-bus's word, not the service's. */
static void
test_drop_and_timeout(Scene *s, gconstpointer data)
{
    g_auto(Answer) query = {0};
    g_autoptr(GDBusMessage) call = NULL;
    g_autoptr(WebLocksSnapshot) snapshot = NULL;
    g_autoptr(GError) error = NULL;

    drop(s);
    web_locks_manager_query_async(s->manager, NULL, answer_take, &query);
    call = scene_expect(s, "Query");
    snapshot = web_locks_manager_query_finish(s->manager, answer_wait(&query), &error);
    g_assert_error(error, WEB_LOCKS_ERROR, WEB_LOCKS_ERROR_UNAVAILABLE);
    scene_close_socket(s);
    expect_drop_again(s);
}

/* What was dropped is said again before what is asked again. */
static void
test_drop_and_request(Scene *s, gconstpointer data)
{
    g_autoptr(GDBusMessage) first = NULL, second = NULL;
    g_autoptr(WebLocksLock) lock = NULL;

    drop(s);
    answer_clear(&s->answer);
    first = scene_ask(s);
    scene_close_socket(s);
    expect_drop_again(s);
    second = mock_expect(s->mock, "Request");
    refuse_next_socket(s);
    assert_same_key(first, second);
    mock_answer(s->mock, second, MOCK_SERVICE, "(uint64 9, uint64 10)");
    lock = answer_expect_lock(&s->answer);
    scene_close(s);
}

/* The service was idle, and has left: whatever it has or hasn't read is over with it, and nothing
 * may start it again. `data`: the bus is quicker than the socket. */
static void
test_drop_and_leave(Scene *s, gconstpointer data)
{
    drop(s);
    if (data != NULL) {
        scene_change_owner(s, NULL);
        mock_socket_close(s->socket);
    } else {
        mock_socket_close(s->socket);
        test_iterate();
        scene_change_owner(s, NULL);
    }
    test_iterate();
    scene_close(s);
    test_wait(mock_is_left, s->mock);
    test_iterate();
    while (mock_count(s->mock) > 0) {
        g_autoptr(GDBusMessage) call = mock_expect_any(s->mock);

        /* Its unique name starts nobody. */
        g_assert_cmpstr(g_dbus_message_get_member(call), ==, "Release");
        g_assert_cmpstr(g_dbus_message_get_destination(call), ==, MOCK_SERVICE);
    }
}

/* ---- Abort */

/* A request that waits, `*out_call`, is cancelled; its Abort. */
static GDBusMessage *
cancel(Scene *s, GDBusMessage **out_call)
{
    GDBusMessage *abort;

    *out_call = scene_wait_cancellably(s);
    g_cancellable_cancel(s->cancellable);
    answer_expect_error(&s->answer, G_IO_ERROR, G_IO_ERROR_CANCELLED);
    abort = scene_expect(s, "Abort");
    g_assert_cmpuint(mock_get_id(abort), ==, 5);
    return abort;
}

/* `data`: how the second is answered; NULL: well. */
static void
test_abort(Scene *s, gconstpointer data)
{
    g_autoptr(GDBusMessage) call = NULL, first = cancel(s, &call), second = NULL;

    scene_close_socket(s);
    second = mock_expect(s->mock, "Abort");
    g_assert_cmpuint(mock_get_id(second), ==, 5);
    if (data != NULL)
        mock_answer_error(s->mock, second, MOCK_SERVICE, data);
    else
        mock_answer(s->mock, second, MOCK_SERVICE, "(true,)");
    scene_barrier(s);
    refuse_next_socket(s);
}

/* The grant was on its way. */
static void
test_abort_granted(Scene *s, gconstpointer data)
{
    g_autoptr(GDBusMessage) call = scene_wait_cancellably(s), first = NULL, second = NULL;
    g_autoptr(GDBusMessage) release = NULL;

    g_cancellable_cancel(s->cancellable);
    first = scene_expect(s, "Abort");
    scene_close_socket(s);
    second = mock_expect(s->mock, "Abort");
    mock_signal(s->mock, call, MOCK_SERVICE, "Granted", GRANTED);
    mock_answer(s->mock, second, MOCK_SERVICE, "(false,)");
    release = mock_expect(s->mock, "Release");
    g_assert_cmpuint(mock_get_id(release), ==, 5);
    scene_barrier(s);
    refuse_next_socket(s);
}

/* It is the last that comes: the Release finds the socket's end, and with it that of the Abort. */
static void
test_abort_granted_at_the_end(Scene *s, gconstpointer data)
{
    g_autoptr(GDBusMessage) call = NULL, abort = cancel(s, &call), release = NULL;

    scene_signal(s, call, "Granted", GRANTED);
    mock_socket_close(s->socket);
    g_clear_pointer(&s->socket, mock_socket_free);
    release = mock_expect(s->mock, "Release");
    g_assert_cmpuint(mock_get_id(release), ==, 5);
    scene_barrier(s);
    refuse_next_socket(s);
}

/* All of it on the socket. */
static void
test_cancel_on_socket(Scene *s, gconstpointer is_granted)
{
    g_autoptr(GDBusMessage) call = NULL, abort = cancel(s, &call);

    if (is_granted != NULL) {
        g_autoptr(GDBusMessage) release = NULL;

        scene_signal(s, call, "Granted", GRANTED);
        release = scene_expect(s, "Release");
        g_assert_cmpuint(mock_get_id(release), ==, 5);
    }
    scene_answer(s, abort, is_granted != NULL ? "(false,)" : "(true,)");
    scene_barrier(s);
}

/* ---- queries */

static void
test_query(Scene *s, gconstpointer data)
{
    g_auto(Answer) query = {0}, inspect = {0}, buckets = {0};
    g_autoptr(GDBusMessage) call = NULL;
    g_autoptr(WebLocksSnapshot) snapshot = NULL, inspection = NULL;
    g_auto(GStrv) names = NULL;
    g_autoptr(GError) error = NULL;

    web_locks_manager_query_async(s->manager, NULL, answer_take, &query);
    web_locks_manager_inspect_async(s->manager, NULL, NULL, answer_take, &inspect);
    web_locks_agent_list_buckets_async(s->agent, NULL, answer_take, &buckets);
    g_object_unref(scene_expect(s, "Query"));
    g_object_unref(scene_expect(s, "Inspect"));
    g_object_unref(scene_expect(s, "Buckets"));
    scene_close_socket(s);
    call = mock_expect(s->mock, "Query");
    refuse_next_socket(s);
    mock_answer(s->mock, call, MOCK_SERVICE, "([('a', 'shared', ':1.1')], @a(sss) [])");
    g_object_unref(call);
    call = mock_expect(s->mock, "Inspect");
    mock_answer(s->mock, call, MOCK_SERVICE, "(@aa{sv} [], false)");
    g_object_unref(call);
    call = mock_expect(s->mock, "Buckets");
    mock_answer(s->mock, call, MOCK_SERVICE, "(['bucket'],)");
    snapshot = web_locks_manager_query_finish(s->manager, answer_wait(&query), &error);
    g_assert_no_error(error);
    g_assert_cmpuint(g_list_model_get_n_items(web_locks_snapshot_get_held(snapshot)), ==, 1);
    inspection = web_locks_manager_inspect_finish(s->manager, answer_wait(&inspect), &error);
    g_assert_no_error(error);
    names = web_locks_agent_list_buckets_finish(s->agent, answer_wait(&buckets), &error);
    g_assert_no_error(error);
    g_assert_cmpstr(names[0], ==, "bucket");
}

/* A service that closes every socket, and answers nothing there: it is asked by the bus, and then
 * it answers. */
static void
test_query_again_and_again(Scene *s, gconstpointer data)
{
    g_auto(Answer) query = {0};
    g_autoptr(GDBusMessage) call = NULL;
    g_autoptr(WebLocksSnapshot) snapshot = NULL;
    g_autoptr(GError) error = NULL;

    for (guint i = 0; i < 5; i++) {
        g_clear_object(&call);
        answer_clear(&query);
        g_clear_object(&snapshot);
        web_locks_manager_query_async(s->manager, NULL, answer_take, &query);
        g_object_unref(scene_expect(s, "Query"));
        scene_close_socket(s);
        call = mock_expect(s->mock, "Query");
        scene_open_socket(s, MOCK_SERVICE);
        mock_answer(s->mock, call, MOCK_SERVICE, "(@a(sss) [], @a(sss) [])");
        snapshot = web_locks_manager_query_finish(s->manager, answer_wait(&query), &error);
        g_assert_no_error(error);
        scene_barrier(s);
    }
}

/* ---- nothing is under way */

static void
test_idle(Scene *s, gconstpointer data)
{
    scene_barrier(s);
    mock_socket_close(s->socket);
    test_iterate();
    if (data != NULL) /* it has left, as an idle service does */
        scene_change_owner(s, NULL);
    test_iterate();
    scene_close(s);
    mock_expect_end(s->mock);
}

static void
test_idle_then_call(Scene *s, gconstpointer data)
{
    g_autoptr(GDBusMessage) call = NULL;

    scene_close_socket(s);
    scene_barrier(s);
    scene_open_socket(s, MOCK_SERVICE);
    scene_barrier(s);
}

/* What is sent when nobody has noticed the end yet. */
static void
test_unnoticed(Scene *s, gconstpointer is_drop)
{
    g_autoptr(WebLocksLock) lock = NULL;

    if (is_drop != NULL)
        lock = scene_lock(s);
    answer_clear(&s->answer);
    mock_socket_close(s->socket);
    g_clear_pointer(&s->socket, mock_socket_free);
    if (is_drop != NULL) {
        g_clear_object(&lock);
        expect_drop_again(s);
    } else {
        g_autoptr(GDBusMessage) call = scene_ask(s);

        refuse_next_socket(s);
        mock_answer(s->mock, call, MOCK_SERVICE, "(uint64 5, uint64 6)");
        lock = answer_expect_lock(&s->answer);
        scene_close(s);
    }
}

static void
test_garbage(Scene *s, gconstpointer data)
{
    g_autoptr(GDBusMessage) first = scene_ask(s), second = NULL;
    g_autoptr(WebLocksLock) lock = NULL;

    mock_socket_write(s->socket, "This is no message at all, and longer than a header.");
    second = mock_expect(s->mock, "Request");
    assert_same_key(first, second);
    test_wait(mock_socket_is_left, s->socket);
    refuse_next_socket(s);
    mock_answer(s->mock, second, MOCK_SERVICE, "(uint64 5, uint64 6)");
    lock = answer_expect_lock(&s->answer);
    scene_close(s);
}

/* ---- the service goes, or the agent */

/* Nothing is lost by that. */
static void
test_owner_gone(Scene *s, gconstpointer data)
{
    g_autoptr(WebLocksLock) lock = scene_lock(s);
    g_autoptr(MockSocket) old = NULL;
    g_autoptr(GDBusMessage) waiting = NULL;
    g_auto(Losses) losses = {0};

    losses_watch(&losses, lock);
    waiting = scene_ask(s);
    scene_answer(s, waiting, "(uint64 8, uint64 0)");
    scene_barrier(s);
    old = g_steal_pointer(&s->socket);
    scene_restart(s, NEXT_SERVICE,
                  "[" SCENE_RECORD(5, 1, "name", 6) "," SCENE_RECORD(8, 2, "name", 0) "]");
    test_wait(mock_socket_is_left, old);
    scene_open_socket(s, NEXT_SERVICE);
    scene_barrier(s);
    g_assert_cmpuint(losses.n_lost, ==, 0);
    g_assert_cmpuint(s->answer.n_results, ==, 0);
    scene_close(s);
}

/* What had no answer goes to the next one. */
static void
test_owner_replaced(Scene *s, gconstpointer data)
{
    g_autoptr(GDBusMessage) first = scene_ask(s), second = NULL;
    g_autoptr(MockSocket) old = NULL;
    g_autoptr(WebLocksLock) lock = NULL;

    old = g_steal_pointer(&s->socket);
    scene_change_owner(s, NEXT_SERVICE);
    scene_resync(s, SCENE_NOTHING);
    second = mock_expect(s->mock, "Request");
    assert_same_key(first, second);
    scene_open_socket(s, NEXT_SERVICE);
    test_wait(mock_socket_is_left, old);
    mock_answer(s->mock, second, NEXT_SERVICE, "(uint64 5, uint64 7)");
    lock = answer_expect_lock(&s->answer);
    g_assert_cmpuint(web_locks_lock_get_token(lock), ==, 7);
    scene_close(s);
}

/* The next one is told only about what it says it has: it may have given the same id. */
static void
test_owner_replaced_and_released(Scene *s, gconstpointer is_dropped)
{
    g_autoptr(WebLocksLock) lock = scene_lock(s);
    g_autoptr(MockSocket) old = NULL;
    g_autoptr(GDBusMessage) resync = NULL, call = NULL;
    g_auto(Answer) released = {0};
    g_autoptr(GError) error = NULL;

    if (is_dropped != NULL)
        g_clear_object(&lock);
    else
        web_locks_lock_release_async(lock, NULL, answer_take, &released);
    g_object_unref(scene_expect(s, "Release"));
    old = g_steal_pointer(&s->socket);
    scene_change_owner(s, NEXT_SERVICE);
    resync = scene_expect_resync(s, NEXT_SERVICE);
    g_assert_cmpuint(mock_count(s->mock), ==, 0);
    scene_answer_resync(s, resync, SCENE_HELD);
    call = mock_expect(s->mock, "Release");
    g_assert_cmpuint(mock_get_id(call), ==, 5);
    g_assert_cmpstr(g_dbus_message_get_destination(call), ==, NEXT_SERVICE);
    if (lock != NULL) {
        mock_answer(s->mock, call, NEXT_SERVICE, "()");
        g_assert_true(web_locks_lock_release_finish(lock, answer_wait(&released), &error));
        g_assert_no_error(error);
    }
    g_object_unref(mock_expect(s->mock, "OpenPeer"));
    scene_close(s);
}

static void
test_owner_gone_while_aborting(Scene *s, gconstpointer data)
{
    g_autoptr(GDBusMessage) call = scene_wait_cancellably(s), abort = NULL;
    g_autoptr(MockSocket) old = NULL;

    g_cancellable_cancel(s->cancellable);
    g_object_unref(scene_expect(s, "Abort"));
    old = g_steal_pointer(&s->socket);
    scene_restart(s, NEXT_SERVICE, SCENE_WAITING);
    answer_expect_error(&s->answer, G_IO_ERROR, G_IO_ERROR_CANCELLED);
    abort = mock_expect(s->mock, "Abort");
    g_assert_cmpuint(mock_get_id(abort), ==, 5);
    mock_answer(s->mock, abort, NEXT_SERVICE, "(true,)");
    g_object_unref(mock_expect(s->mock, "OpenPeer"));
    scene_barrier(s);
}

static void
test_agent_closed(Scene *s, gconstpointer is_cut)
{
    g_autoptr(WebLocksLock) lock = scene_lock(s);
    g_autoptr(GDBusMessage) call = scene_ask(s);
    g_auto(Losses) losses = {0};

    losses_watch(&losses, lock);
    if (is_cut != NULL)
        mock_bus_cut(s->mock);
    else
        scene_close(s);
    answer_expect_error(&s->answer, WEB_LOCKS_ERROR,
                        is_cut != NULL ? WEB_LOCKS_ERROR_UNAVAILABLE : WEB_LOCKS_ERROR_ABORT);
    test_wait(test_is_set, &losses.n_lost);
    g_assert_cmpstr(losses.reason, ==, "terminated");
    test_wait(mock_socket_is_left, s->socket);
}

/* ---- main */

#define ADD(name, func, data)                                                      \
    g_test_add("/mock-socket-end/" name, Scene, data, scene_start_on_socket, func, \
               scene_end_strictly)

static void
add_calls(void)
{
    ADD("request", test_request, NULL);
    ADD("request-then-granted", test_request_then_grant, NULL);
    ADD("request-then-a-socket", test_request_then_socket, NULL);
    ADD("request-answered", test_request_answered, NULL);
    ADD("request-cancelled", test_request_cancelled, NULL);
    ADD("waiting", test_waiting, NULL);
    ADD("many-requests", test_many_requests, NULL);
    ADD("release", test_released, NULL);
    ADD("release-done-the-first-time", test_released, NOT_HELD);
    ADD("release-not-repeated", test_release_not_repeated, NULL);
    ADD("release-stolen", test_release_stolen, NULL);
    ADD("dropped", test_drop, NULL);
    ADD("dropped-and-confirmed", test_drop_confirmed, NULL);
    ADD("dropped-and-not-confirmed", test_drop_not_confirmed, NULL);
    ADD("dropped-and-a-timeout", test_drop_and_timeout, NULL);
    ADD("dropped-and-a-request", test_drop_and_request, NULL);
    ADD("abort", test_abort, NULL);
    ADD("abort-done-the-first-time", test_abort, NOT_HELD);
    ADD("abort-and-granted", test_abort_granted, NULL);
    ADD("abort-and-granted-at-the-end", test_abort_granted_at_the_end, NULL);
    ADD("cancelled-on-the-socket", test_cancel_on_socket, NULL);
    ADD("cancelled-on-the-socket-and-granted", test_cancel_on_socket, "granted");
    ADD("queries", test_query, NULL);
    ADD("queries-again-and-again", test_query_again_and_again, NULL);
}

int
main(int argc, char **argv)
{
    /* For calls with a timeout, of sd-bus. */
    g_setenv("SYSTEMD_BUS_TIMEOUT", "3s", TRUE);
    g_test_init(&argc, &argv, NULL);
    add_calls();
    ADD("idle", test_idle, NULL);
    ADD("idle-and-left", test_idle, "left");
    ADD("idle-then-a-call", test_idle_then_call, NULL);
    ADD("dropped-and-left", test_drop_and_leave, NULL);
    ADD("dropped-and-left-by-the-bus", test_drop_and_leave, "bus");
    ADD("unnoticed/request", test_unnoticed, NULL);
    ADD("unnoticed/drop", test_unnoticed, "drop");
    ADD("garbage", test_garbage, NULL);
    ADD("owner-gone", test_owner_gone, NULL);
    ADD("owner-replaced", test_owner_replaced, NULL);
    ADD("owner-replaced-and-released", test_owner_replaced_and_released, NULL);
    ADD("owner-replaced-and-dropped", test_owner_replaced_and_released, "dropped");
    ADD("owner-gone-while-aborting", test_owner_gone_while_aborting, NULL);
    ADD("agent-closed", test_agent_closed, NULL);
    ADD("bus-dies", test_agent_closed, "cut");
    return g_test_run();
}
