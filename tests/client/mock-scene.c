/* SPDX-FileCopyrightText: 2026 The WebLocks for D-Bus authors
 * SPDX-License-Identifier: LGPL-2.1-or-later */

#include "tests/client/mock-scene.h"

void
scene_start(Scene *s, gconstpointer data)
{
    g_auto(Answer) connected = {0};
    g_autoptr(GError) error = NULL;

    s->mock = mock_bus_new(MOCK_SERVICE);
    s->cancellable = g_cancellable_new();
    s->agent = g_object_new(WEB_LOCKS_TYPE_AGENT, "address", mock_bus_get_address(s->mock),
                            "private-socket", FALSE, NULL);
    web_locks_agent_connect_async(s->agent, NULL, answer_take, &connected);
    web_locks_agent_connect_finish(s->agent, answer_wait(&connected), &error);
    g_assert_no_error(error);
    g_assert_cmpstr(web_locks_agent_get_client_id(s->agent), ==, MOCK_CLIENT);
    s->manager = web_locks_agent_get_manager(s->agent, "bucket", &error);
    g_assert_no_error(error);
}

void
scene_end(Scene *s, gconstpointer data)
{
    g_clear_object(&s->manager);
    g_clear_object(&s->agent);
    g_clear_object(&s->cancellable);
    test_iterate();
    answer_clear(&s->answer);
    mock_bus_free(s->mock);
}

static GDBusMessage *
ask(Scene *s, GCancellable *cancellable)
{
    web_locks_manager_request_async(s->manager, "name", NULL, cancellable, answer_take, &s->answer);
    return mock_expect(s->mock, "Request");
}

GDBusMessage *
scene_ask(Scene *s)
{
    return ask(s, NULL);
}

GDBusMessage *
scene_ask_cancellably(Scene *s)
{
    return ask(s, s->cancellable);
}

static GDBusMessage *
let_wait(Scene *s, GDBusMessage *call)
{
    mock_answer(s->mock, call, MOCK_SERVICE, "(uint64 5, uint64 0)");
    scene_barrier(s);
    g_assert_cmpuint(s->answer.n_results, ==, 0);
    return call;
}

GDBusMessage *
scene_wait(Scene *s)
{
    return let_wait(s, scene_ask(s));
}

GDBusMessage *
scene_wait_cancellably(Scene *s)
{
    return let_wait(s, scene_ask_cancellably(s));
}

WebLocksLock *
scene_lock(Scene *s)
{
    g_autoptr(GDBusMessage) call = scene_ask(s);
    g_auto(Answer) answer = {0};

    mock_answer(s->mock, call, MOCK_SERVICE, "(uint64 5, uint64 6)");
    answer_wait(&s->answer);
    answer = s->answer;
    s->answer = (Answer){0};
    return answer_expect_lock(&answer);
}

void
scene_barrier(Scene *s)
{
    g_auto(Answer) answer = {0};
    g_autoptr(GDBusMessage) call = NULL;
    g_autoptr(GError) error = NULL;
    g_autoptr(WebLocksSnapshot) snapshot = NULL;

    web_locks_manager_query_async(s->manager, NULL, answer_take, &answer);
    call = mock_expect(s->mock, "Query");
    mock_answer(s->mock, call, MOCK_SERVICE, "(@a(sss) [], @a(sss) [])");
    snapshot = web_locks_manager_query_finish(s->manager, answer_wait(&answer), &error);
    g_assert_no_error(error);
    test_iterate();
}

void
scene_close(Scene *s)
{
    web_locks_agent_close(s->agent);
}
