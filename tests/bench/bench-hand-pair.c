/* SPDX-FileCopyrightText: 2026 The WebLocks for D-Bus authors
 * SPDX-License-Identifier: LGPL-2.1-or-later */

/* An uncontended lock requested and released by hand (hand.h), every call awaited. What the library
 * is compared with.
 *
 *     bench-hand-pair ADDRESS PATH COUNT
 */

#include "hand.h"

#include <stdio.h>
#include <stdlib.h>

#define WARM_UP   200
#define LOCK_NAME "printer"

int
main(int argc, char **argv)
{
    BenchSamples *samples;
    guint64 token;
    guint count;
    Hand *hand;

    if (argc != 4) {
        fprintf(stderr, "usage: bench-hand-pair ADDRESS bus|private COUNT\n");
        return 2;
    }
    count = bench_number(argv[3]);
    samples = bench_samples_new_shared(count);
    hand = hand_new(argv[1], argv[2]);
    for (guint i = 0; i < WARM_UP + count; i++) {
        guint64 begin = bench_now();

        hand_release(hand, hand_request(hand, LOCK_NAME, &token));
        if (i >= WARM_UP)
            bench_samples_add(samples, begin, bench_now());
    }
    bench_samples_print(samples, "");
    hand_free(hand);
    return EXIT_SUCCESS;
}
