/* SPDX-FileCopyrightText: 2026 The WebLocks for D-Bus authors
 * SPDX-License-Identifier: LGPL-2.1-or-later */

/* core/deadlines: the timing wheel, alone and compared with a list. The wheel only uses a request's
 * link and deadline, so these requests have no agent and no queue. */

#include "service/core/deadlines.h"
#include "service/core/lock-request.h"
#include "tests/unit/core-fixture.h"

static void
init_requests(LockRequest *requests, guint n)
{
    memset(requests, 0, n * sizeof *requests);
    for (guint i = 0; i < n; i++) {
        requests[i].id = i;
        requests[i].in_deadlines.data = &requests[i];
    }
}

/* Advances the clock to `until_ms` in the steps that the wheel asks for. */
static void
take_due_stepwise(Deadlines *deadlines, gint64 until_ms, GPtrArray *due)
{
    gint64 next;

    while ((next = deadlines_get_next_ms(deadlines)) != -1 && next <= until_ms) {
        g_assert_cmpint(next, >, deadlines->now_ms);
        deadlines_take_due(deadlines, next, due);
    }
    deadlines_take_due(deadlines, until_ms, due);
}

static void
test_empty(void)
{
    g_autofree Deadlines *deadlines = g_new(Deadlines, 1);
    g_autoptr(GPtrArray) due = g_ptr_array_new();

    deadlines_init(deadlines);
    g_assert_cmpint(deadlines_get_next_ms(deadlines), ==, -1);
    deadlines_take_due(deadlines, 1000000, due);
    deadlines_take_due(deadlines, 0, due);
    g_assert_cmpint(deadlines->now_ms, ==, 1000000);
    g_assert_cmpuint(due->len, ==, 0);
}

/* The shortest and longest waits of each level, from several positions of the clock. */
static void
test_exact(void)
{
    static const gint64 starts[] = {0,
                                    1,
                                    62,
                                    63,
                                    64,
                                    4095,
                                    4096,
                                    0x3ffff,
                                    0x7fffffff,
                                    0xffffffff,
                                    G_GINT64_CONSTANT(0xfffffffffff)};
    static const gint64 waits[] = {
        1,      2,          63,         64,         65,         127,        128,        4095,
        4096,   4097,       262143,     262144,     262145,     86400000,   0x7fffffff, 0x80000000,
        604800, 0xfffffffe, 0xffffffff, 0xfffff000, 0x3f03f03f, 0x40000000, 0x3fffffff, 1000};
    g_autofree Deadlines *deadlines = g_new(Deadlines, 1);

    for (guint i = 0; i < G_N_ELEMENTS(starts); i++) {
        for (guint k = 0; k < G_N_ELEMENTS(waits); k++) {
            gint64 deadline = starts[i] + waits[k];
            g_autoptr(GPtrArray) due = g_ptr_array_new();
            LockRequest request;

            init_requests(&request, 1);
            deadlines_init(deadlines);
            deadlines_take_due(deadlines, starts[i], due);
            deadlines_add(deadlines, &request, deadline);
            g_assert_cmpint(deadlines_get_next_ms(deadlines), <=, deadline);
            g_assert_cmpint(deadlines_get_next_ms(deadlines), >, starts[i]);
            deadlines_take_due(deadlines, deadline - 1, due);
            g_assert_cmpuint(due->len, ==, 0);
            g_assert_cmpint(deadlines_get_next_ms(deadlines), ==, deadline);
            deadlines_take_due(deadlines, deadline, due);
            g_assert_cmpuint(due->len, ==, 1);
            g_assert_true(due->pdata[0] == &request);
            g_assert_cmpint(request.deadline_ms, ==, 0);
            g_assert_cmpint(deadlines_get_next_ms(deadlines), ==, -1);
        }
    }
}

/* It is enough to wake up when the wheel asks for it, at most once per level. */
static void
test_few_wakeups(void)
{
    g_autofree Deadlines *deadlines = g_new(Deadlines, 1);
    g_autoptr(GPtrArray) due = g_ptr_array_new();
    LockRequest request;
    guint n_wakeups = 0;

    init_requests(&request, 1);
    deadlines_init(deadlines);
    deadlines_take_due(deadlines, 12345, due);
    deadlines_add(deadlines, &request, 12345 + G_GINT64_CONSTANT(0xffffffff));
    while (due->len == 0) {
        deadlines_take_due(deadlines, deadlines_get_next_ms(deadlines), due);
        n_wakeups++;
    }
    g_assert_cmpint(deadlines->now_ms, ==, 12345 + G_GINT64_CONSTANT(0xffffffff));
    g_assert_cmpuint(n_wakeups, <=, DEADLINES_LEVELS);
}

static void
test_remove(void)
{
    g_autofree Deadlines *deadlines = g_new(Deadlines, 1);
    g_autoptr(GPtrArray) due = g_ptr_array_new();
    LockRequest requests[4];

    init_requests(requests, 4);
    deadlines_init(deadlines);
    deadlines_remove(deadlines, &requests[0]);
    for (guint i = 0; i < 4; i++)
        deadlines_add(deadlines, &requests[i], i < 2 ? 5000 : 70);

    /* After the clock has moved, requests with distant deadlines are still found. */
    deadlines_take_due(deadlines, 69, due);
    deadlines_remove(deadlines, &requests[0]);
    g_assert_cmpint(requests[0].deadline_ms, ==, 0);
    deadlines_remove(deadlines, &requests[0]);
    deadlines_remove(deadlines, &requests[2]);
    deadlines_remove(deadlines, &requests[3]);
    deadlines_take_due(deadlines, 4999, due);
    g_assert_cmpuint(due->len, ==, 0);
    deadlines_remove(deadlines, &requests[1]);
    g_assert_cmpint(deadlines_get_next_ms(deadlines), ==, -1);

    /* A removed request can be added again. */
    deadlines_add(deadlines, &requests[0], 5000);
    deadlines_take_due(deadlines, 9999, due);
    g_assert_cmpuint(due->len, ==, 1);
}

/* Requests with the same deadline expire in the order in which they were added, whatever levels
 * they were in. */
static void
test_order_of_equal_deadlines(void)
{
    g_autofree Deadlines *deadlines = g_new(Deadlines, 1);
    g_autoptr(GPtrArray) due = g_ptr_array_new();
    LockRequest requests[6];
    gint64 now = 0;

    init_requests(requests, 6);
    deadlines_init(deadlines);
    for (guint i = 0; i < 6; i++) {
        static const gint64 then[] = {0, 300000, 524000, 524287, 524288, 524350};

        now = then[i];
        deadlines_take_due(deadlines, now, due);
        deadlines_add(deadlines, &requests[i], 524351);
    }
    g_assert_cmpuint(due->len, ==, 0);
    deadlines_take_due(deadlines, 600000, due);
    g_assert_cmpuint(due->len, ==, 6);
    for (guint i = 0; i < 6; i++)
        g_assert_true(due->pdata[i] == &requests[i]);
}

static void
test_clock_back(void)
{
    g_autofree Deadlines *deadlines = g_new(Deadlines, 1);
    g_autoptr(GPtrArray) due = g_ptr_array_new();
    LockRequest request;

    init_requests(&request, 1);
    deadlines_init(deadlines);
    deadlines_take_due(deadlines, 1000, due);
    deadlines_add(deadlines, &request, 1100);
    deadlines_take_due(deadlines, 500, due);
    g_assert_cmpint(deadlines->now_ms, ==, 1000);
    deadlines_take_due(deadlines, 1000, due);
    g_assert_cmpuint(due->len, ==, 0);
    deadlines_take_due(deadlines, 1100, due);
    g_assert_cmpuint(due->len, ==, 1);
}

/* ---- compared with a plain list */

#define N_RANDOM 300

typedef struct {
    guint32 seed;
    GRand *rand;
    Deadlines *deadlines;
    LockRequest requests[N_RANDOM];
    gint64 expected[N_RANDOM]; /* the model: deadlines as they were set, 0 if none */
    guint64 added[N_RANDOM];
    guint64 n_added;
} Random;

static gint64
random_wait(GRand *rand)
{
    guint bits = (guint)g_rand_int_range(rand, 0, 33);
    gint64 wait = bits == 0 ? 0 : g_rand_int(rand) >> (32 - bits);

    return MAX(wait, 1);
}

/* The due request with the earliest deadline in the model; of several, the one added first;
 * N_RANDOM if none. */
static guint
find_model_due(const Random *r, gint64 now)
{
    guint best = N_RANDOM;

    for (guint i = 0; i < N_RANDOM; i++) {
        if (r->expected[i] == 0 || r->expected[i] > now)
            continue;
        if (best == N_RANDOM || r->expected[i] < r->expected[best] ||
            (r->expected[i] == r->expected[best] && r->added[i] < r->added[best]))
            best = i;
    }
    return best;
}

static void
check_due(Random *r, gint64 now, const GPtrArray *due)
{
    guint best;

    for (guint i = 0; i < due->len; i++) {
        const LockRequest *request = due->pdata[i];

        best = find_model_due(r, now);
        if (best != request->id)
            g_error("seed %u: at %" G_GINT64_FORMAT " got %" G_GUINT64_FORMAT ", expected %u",
                    r->seed, now, request->id, best);
        r->expected[best] = 0;
    }
    best = find_model_due(r, now);
    if (best != N_RANDOM)
        g_error("seed %u: at %" G_GINT64_FORMAT " %u was not taken", r->seed, now, best);
}

static void
check_next(const Random *r)
{
    gint64 next = deadlines_get_next_ms(r->deadlines);
    gint64 earliest = -1;

    for (guint i = 0; i < N_RANDOM; i++) {
        if (r->expected[i] != 0 && (earliest == -1 || r->expected[i] < earliest))
            earliest = r->expected[i];
        if (r->requests[i].deadline_ms != r->expected[i])
            g_error("seed %u: %u has another deadline", r->seed, i);
    }
    if ((next == -1) != (earliest == -1) || next > earliest ||
        (next != -1 && next <= r->deadlines->now_ms))
        g_error("seed %u: next is %" G_GINT64_FORMAT ", earliest %" G_GINT64_FORMAT, r->seed, next,
                earliest);
}

static void
random_step(Random *r)
{
    guint i = (guint)g_rand_int_range(r->rand, 0, N_RANDOM);
    gint64 now = r->deadlines->now_ms;
    g_autoptr(GPtrArray) due = g_ptr_array_new();

    switch (g_rand_int_range(r->rand, 0, 10)) {
    case 0:
        now += random_wait(r->rand);
        deadlines_take_due(r->deadlines, now, due);
        check_due(r, now, due);
        break;
    case 1:
        now += random_wait(r->rand);
        take_due_stepwise(r->deadlines, now, due);
        check_due(r, now, due);
        break;
    case 2:
        now += g_rand_int_range(r->rand, 0, 3);
        deadlines_take_due(r->deadlines, now, due);
        check_due(r, now, due);
        break;
    case 3:
    case 4:
        deadlines_remove(r->deadlines, &r->requests[i]);
        r->expected[i] = 0;
        break;
    default:
        if (r->expected[i] != 0)
            break;
        r->expected[i] = now + random_wait(r->rand);
        r->added[i] = r->n_added++;
        deadlines_add(r->deadlines, &r->requests[i], r->expected[i]);
        break;
    }
    check_next(r);
}

static void
test_random(void)
{
    Random r = {.seed = fixture_get_seed()};
    g_autoptr(GPtrArray) due = g_ptr_array_new();

    r.rand = g_rand_new_with_seed(r.seed);
    r.deadlines = g_new(Deadlines, 1);
    init_requests(r.requests, N_RANDOM);
    deadlines_init(r.deadlines);
    deadlines_take_due(r.deadlines, g_rand_int(r.rand), due);
    for (guint i = 0; i < fixture_get_size(300000); i++)
        random_step(&r);
    g_free(r.deadlines);
    g_rand_free(r.rand);
}

int
main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/deadlines/empty", test_empty);
    g_test_add_func("/deadlines/exact", test_exact);
    g_test_add_func("/deadlines/few-wakeups", test_few_wakeups);
    g_test_add_func("/deadlines/remove", test_remove);
    g_test_add_func("/deadlines/order-of-equal-deadlines", test_order_of_equal_deadlines);
    g_test_add_func("/deadlines/clock-back", test_clock_back);
    g_test_add_func("/deadlines/random", test_random);
    return g_test_run();
}
