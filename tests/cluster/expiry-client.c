/* SPDX-FileCopyrightText: 2026 The WebLocks for D-Bus authors
 * SPDX-License-Identifier: LGPL-2.1-or-later */

/* Prints what expiry-model.h predicts, for test_expiry.py: the earliest and the latest time. All
 * times are in milliseconds.
 *
 *     expiry-client TICK delay LATE
 *     expiry-client TICK predict TIMEOUT TOLD LAST DELAY
 *     expiry-client TICK new-leader TIMEOUT ELECTION */

#include <stdlib.h>

#include "expiry-model.h"

#define ARGUMENTS_MAX 4

static void
print(ExpiryRange range)
{
    g_print("%" G_GINT64_FORMAT " %" G_GINT64_FORMAT "\n", range.earliest_us / 1000,
            range.latest_us / 1000);
}

int
main(int argc, char **argv)
{
    gint64 us[ARGUMENTS_MAX] = {0};
    Expiry expiry;

    g_assert(argc >= 4 && argc <= 3 + ARGUMENTS_MAX);
    expiry_init(&expiry, strtoll(argv[1], NULL, 10) * 1000, 0);
    for (int i = 3; i < argc; i++)
        us[i - 3] = strtoll(argv[i], NULL, 10) * 1000;
    if (g_str_equal(argv[2], "delay"))
        g_print("%" G_GINT64_FORMAT "\n", expiry_get_delay_us(&expiry, us[0]) / 1000);
    else if (g_str_equal(argv[2], "predict"))
        print(expiry_predict(&expiry, us[0], us[1], us[2], us[3]));
    else
        print(expiry_predict_new_leader(&expiry, us[0], us[1]));
    expiry_clear(&expiry);
    return 0;
}
