/* SPDX-FileCopyrightText: 2026 The WebLocks for D-Bus authors
 * SPDX-License-Identifier: LGPL-2.1-or-later */

/* core/effects: an ordered list that references its requests. */

#include "tests/unit/core-fixture.h"

static void
test_order(CoreFixture *f, gconstpointer data)
{
    Effects *effects = &f->user_agent.effects;

    g_assert_cmpuint(effects_get_length(effects), ==, 0);
    fixture_request(f, 'A', "n", "");
    fixture_request(f, 'B', "n", "shared");
    fixture_request(f, 'C', "n", "shared");
    fixture_release(f, 'A', 1);
    g_assert_cmpuint(effects_get_length(effects), ==, 6);
    g_assert_cmpint(effects_get(effects, 0)->kind, ==, EFFECT_GRANTED);
    g_assert_cmpint(effects_get(effects, 1)->kind, ==, EFFECT_WAITING);
    g_assert_cmpint(effects_get(effects, 3)->kind, ==, EFFECT_RELEASED);
    assert_effects(f, "granted A1, waits B1, waits C1, released A1, granted B1, granted C1");
    g_assert_cmpuint(effects_get_length(effects), ==, 0);
}

/* An effect's request stays valid after the request, its queue, bucket and agent have ended. */
static void
test_references_request(CoreFixture *f, gconstpointer data)
{
    const Effect *effect;

    fixture_request(f, 'F', "n", "bucket=b why=for-a-test");
    effects_clear(&f->user_agent.effects);
    fixture_terminate(f, 'F');

    g_assert_cmpuint(effects_get_length(&f->user_agent.effects), ==, 1);
    effect = effects_get(&f->user_agent.effects, 0);
    g_assert_cmpint(effect->kind, ==, EFFECT_TERMINATED);
    g_assert_cmpint(effect->request->state, ==, LOCK_REQUEST_ENDED);
    g_assert_cmpstr(effect->request->queue->name, ==, "n");
    g_assert_cmpstr(effect->request->queue->manager->bucket, ==, "b");
    g_assert_cmpstr(effect->request->agent->client_id, ==, "F");
    g_assert_cmpstr(effect->request->why, ==, "for-a-test");
    g_assert_cmpuint(effect->request->token, !=, 0);
    g_assert_cmpuint(effect->request->agent->principal->identity.uid, ==, FIXTURE_OTHER_UID);
    effects_clear(&f->user_agent.effects);
}

/* If a name ends and is used again before the effects are taken, it is the same queue. */
static void
test_name_reused(CoreFixture *f, gconstpointer data)
{
    LockQueue *queue;

    fixture_request(f, 'A', "n", "");
    queue = fixture_find_queue(f, 'A', "n");
    fixture_release(f, 'A', 1);
    g_assert_true(fixture_find_queue(f, 'A', "n") == queue);
    fixture_request(f, 'B', "n", "");
    g_assert_true(fixture_find_queue(f, 'A', "n") == queue);
    fixture_release(f, 'B', 1);
    assert_effects(f, "granted A1, released A1, granted B1, released B1");
    g_assert_null(fixture_find_queue(f, 'A', "n"));
}

/* The memory of a burst is freed. */
static void
test_burst(CoreFixture *f, gconstpointer data)
{
    Effects *effects = &f->user_agent.effects;

    for (guint i = 0; i < 50000; i++)
        fixture_release(f, 'A', fixture_request(f, 'A', "n", ""));
    g_assert_cmpuint(effects_get_length(effects), ==, 100000);
    effects_clear(effects);
    g_assert_cmpuint(effects_get_length(effects), ==, 0);
    assert_state(f, "- | -");
    fixture_request(f, 'A', "n", "");
    assert_effects(f, "granted A50001");
}

int
main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    FIXTURE_TEST("/effects/order", test_order);
    FIXTURE_TEST("/effects/references-request", test_references_request);
    FIXTURE_TEST("/effects/name-reused", test_name_reused);
    FIXTURE_TEST("/effects/burst", test_burst);
    return g_test_run();
}
