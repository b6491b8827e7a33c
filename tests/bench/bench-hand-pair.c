/* SPDX-FileCopyrightText: 2026 The WebLocks for D-Bus authors
 * SPDX-License-Identifier: LGPL-2.1-or-later */

/* An uncontended lock requested and released by packets on a lock socket (hand.h), every call
 * awaited.
 *
 *     bench-hand-pair ADDRESS COUNT
 */

#include "hand.h"

#define WARM_UP   200
#define LOCK_NAME "printer"

static void
run(const char *address, guint count, BenchSamples *samples)
{
    Hand *hand = hand_new(address);

    for (guint i = 0; i < WARM_UP + count; i++) {
        guint64 begin = bench_now();

        hand_release(hand, hand_request(hand, LOCK_NAME));
        if (i >= WARM_UP)
            bench_samples_add(samples, begin, bench_now());
    }
    hand_free(hand);
}

int
main(int argc, char **argv)
{
    return bench_main(argc, argv, run);
}
