/* SPDX-FileCopyrightText: 2026 The WebLocks for D-Bus authors
 * SPDX-License-Identifier: LGPL-2.1-or-later */

/* touches: what it takes for granted of the leader, beside a leader and a learner of a model, with
 * messages and pings at random times. The model is what cluster/engine/touches.h says of ZooKeeper:
 * the learner notes each message when it gets it, and its reply to a ping has what it has noted.
 * cluster-lease tests the same with real servers. */

#include "cluster/engine/touches.h"

#define S             G_USEC_PER_SEC
#define MS            (S / 1000)
#define N_SCHEDULES   2000
#define N_MESSAGES    60
#define TICK_HALF_MAX (S + S / 2) /* half a tick, and the leader's delay */

typedef struct {
    gint64 sent_us;
    gint64 arrived_us; /* at the learner */
    gint64 answered_us;
} Message;

/* Of one connection: messages and their answers are in order. */
typedef struct {
    GRand *rand;
    guint32 seed;
    gint64 begun_us;
    gint64 ping_us; /* when the learner replies to the next ping */
    Message messages[N_MESSAGES];
} Schedule;

static gint64
range(Schedule *schedule, gint64 min, gint64 max)
{
    return g_rand_int_range(schedule->rand, (gint32)min, (gint32)max + 1);
}

/* Some schedules are idle, some busy; some have a slow server, and pauses of this process. */
static void
make_messages(Schedule *schedule)
{
    gint64 gap_max = g_rand_boolean(schedule->rand) ? S : 50 * MS;
    gint64 latency_max = g_rand_boolean(schedule->rand) ? 4 * S : 5 * MS;
    gint64 now_us = schedule->begun_us, arrived_us = 0, answered_us = 0;

    for (guint i = 0; i < N_MESSAGES; i++) {
        now_us += g_rand_int_range(schedule->rand, 0, 30) == 0 ? range(schedule, 0, 8 * S)
                                                               : range(schedule, 1, gap_max);
        arrived_us = MAX(arrived_us, now_us + range(schedule, 1, latency_max));
        answered_us = MAX(answered_us, arrived_us + range(schedule, 1, latency_max));
        schedule->messages[i] = (Message){now_us, arrived_us, answered_us};
    }
}

/* When the leader touched the session last, of what it got before the learner forwarded this
 * message. The pings are the same for all messages of a schedule. */
static gint64
get_last_touch(const Schedule *schedule, guint write)
{
    g_autoptr(GRand) rand = g_rand_new_with_seed(schedule->seed + 1);
    gint64 ping_us = schedule->ping_us, touched_us = schedule->begun_us;
    guint i = 0;

    for (; ping_us < schedule->messages[write].arrived_us;
         ping_us += g_rand_int_range(rand, 20 * MS, TICK_HALF_MAX)) {
        guint n_before = i;

        while (i < N_MESSAGES && schedule->messages[i].arrived_us <= ping_us)
            i++;
        if (i > n_before)
            touched_us = ping_us;
    }
    return touched_us;
}

static void
check_schedule(guint32 seed)
{
    g_autoptr(GRand) rand = g_rand_new_with_seed(seed);
    Schedule schedule = {.rand = rand, .seed = seed, .begun_us = 1000 * S};
    Touches touches;
    guint n_answered = 0;

    schedule.ping_us = schedule.begun_us + range(&schedule, 0, TICK_HALF_MAX);
    make_messages(&schedule);
    touches_connected(&touches, schedule.begun_us);
    for (guint i = 0; i < N_MESSAGES; i++) {
        const Message *message = &schedule.messages[i];
        gint64 known_us, last_us = get_last_touch(&schedule, i);

        for (; schedule.messages[n_answered].answered_us <= message->sent_us; n_answered++)
            touches_answered(&touches, schedule.messages[n_answered].sent_us,
                             schedule.messages[n_answered].answered_us);
        known_us = touches_get_us(&touches, message->sent_us);
        if (known_us > last_us)
            g_error(
                "seed %u, message %u, sent at %.3f s: the last touch was at %.3f s, not at %.3f "
                "s or later",
                seed, i, (double)message->sent_us / S, (double)last_us / S, (double)known_us / S);
    }
}

/* Never later than the last touch. */
static void
test_model(void)
{
    for (guint32 seed = 1; seed <= N_SCHEDULES; seed++)
        check_schedule(seed);
}

/* Not much earlier either: messages of every second or more often, answered after 5 ms. */
static void
test_age(void)
{
    const gint64 gaps_us[] = {10 * MS, 130 * MS, 260 * MS, 700 * MS, S};

    for (guint i = 0; i < G_N_ELEMENTS(gaps_us); i++) {
        Touches touches;
        gint64 now_us = 1000 * S;

        touches_connected(&touches, now_us);
        for (guint k = 0; k < 1000; k++) {
            gint64 touched_us = touches_get_us(&touches, now_us);

            g_assert_cmpint(touched_us, <=, now_us);
            g_assert_cmpint(now_us - touched_us, <=, TOUCHES_DELAY_US + S + 5 * MS);
            touches_answered(&touches, now_us, now_us + 5 * MS);
            now_us += gaps_us[i];
        }
    }
}

/* What was answered before, through another server, proves nothing. */
static void
test_connection(void)
{
    Touches touches = {0};

    g_assert_cmpint(touches_get_us(&touches, 5 * S), ==, 0);
    touches_connected(&touches, 10 * S);
    touches_answered(&touches, 11 * S, 11 * S);
    g_assert_cmpint(touches_get_us(&touches, 12 * S), ==, 10 * S);
    g_assert_cmpint(touches_get_us(&touches, 13 * S), ==, 11 * S);
    touches_disconnected(&touches);
    g_assert_cmpint(touches_get_us(&touches, 14 * S), ==, 0);
    touches_connected(&touches, 13 * S);
    g_assert_cmpint(touches_get_us(&touches, 20 * S), ==, 13 * S);
}

int
main(int argc, char *argv[])
{
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/touches/model", test_model);
    g_test_add_func("/touches/age", test_age);
    g_test_add_func("/touches/connection", test_connection);
    return g_test_run();
}
