/* SPDX-FileCopyrightText: 2026 The WebLocks for D-Bus authors
 * SPDX-License-Identifier: LGPL-2.1-or-later */

/* service/identity/descriptors: the limit that the service sets for itself. The system calls are
 * replaced, since not every system permits each limit. */

#include <glib.h>
#include <sys/resource.h>

#include "service/identity/descriptors.h"
#include "tests/lib/case.h"

static struct rlimit limit;

int
getrlimit(__rlimit_resource_t resource, struct rlimit *out_limit)
{
    if (resource == RLIMIT_NOFILE)
        *out_limit = limit;
    return resource == RLIMIT_NOFILE ? 0 : -1;
}

int
setrlimit(__rlimit_resource_t resource, const struct rlimit *new_limit)
{
    g_assert_cmpint(resource, ==, RLIMIT_NOFILE);
    g_assert_cmpuint(new_limit->rlim_cur, <=, new_limit->rlim_max);
    limit = *new_limit;
    return 0;
}

typedef struct {
    rlim_t soft, hard, expected;
} LimitRow;

static const LimitRow rows[] = {
    {1024, 4096, 4096},
    {4096, 4096, 4096},
    {1024, 524288, 65536},
    {65536, 65536, 65536},
    /* As in some containers: a fixed share of such a limit would be too much. */
    {1000000000, 1000000000, 65536},
    {1024, RLIM_INFINITY, 65536},
    {RLIM_INFINITY, RLIM_INFINITY, 65536},
};

TEST("/descriptors/set-limit", test_set_limit)
{
    for (guint i = 0; i < G_N_ELEMENTS(rows); i++) {
        g_test_message("row %u", i);
        limit = (struct rlimit){.rlim_cur = rows[i].soft, .rlim_max = rows[i].hard};
        descriptors_set_limit();
        g_assert_cmpuint(limit.rlim_cur, ==, rows[i].expected);
        g_assert_cmpuint(limit.rlim_max, ==, rows[i].hard);
    }
}

TEST_MAIN(g_test_run())
