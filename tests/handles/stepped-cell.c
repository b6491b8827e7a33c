/* SPDX-FileCopyrightText: 2026 The WebLocks for D-Bus authors
 * SPDX-License-Identifier: LGPL-2.1-or-later */

/* common/lock-cell with a yield before each atomic instruction. A macro does not expand within
 * itself, so the names in these stand for the compiler's functions.
 *
 * With CLOSE_NOT_ATOMIC or EXCHANGE_NOT_ATOMIC an instruction becomes two, which is a fault. */

#include "tests/handles/stepped-cell.h"

#include <time.h>

#define __atomic_load_n(address, order) \
    (cell_step(address, FALSE), cell_note(__atomic_load_n(address, order)))
#define __atomic_store_n(address, value, order) \
    (cell_step(address, TRUE), __atomic_store_n(address, value, order))

static guint64
fetch_and(guint64 *address, guint64 value)
{
#ifdef CLOSE_NOT_ATOMIC
    const guint64 before = __atomic_load_n(address, __ATOMIC_SEQ_CST);

    __atomic_store_n(address, before & value, __ATOMIC_SEQ_CST);
    return before;
#else
    cell_step(address, TRUE);
    return cell_note(__atomic_fetch_and(address, value, __ATOMIC_SEQ_CST));
#endif
}

static gboolean
compare_and_exchange(guint64 *address, guint64 expected, guint64 value)
{
#ifdef EXCHANGE_NOT_ATOMIC
    if (__atomic_load_n(address, __ATOMIC_SEQ_CST) != expected)
        return FALSE;
    __atomic_store_n(address, value, __ATOMIC_SEQ_CST);
#else
    gboolean is_done;

    cell_step(address, TRUE);
    is_done = __atomic_compare_exchange_n(address, &expected, value, FALSE, __ATOMIC_SEQ_CST,
                                          __ATOMIC_SEQ_CST);
    cell_note((guint64)is_done);
    if (!is_done)
        return FALSE;
#endif
    cell_exchanged(address, value);
    return TRUE;
}

/* Time stands still. */
static int
get_time(struct timespec *out_now)
{
    *out_now = (struct timespec){.tv_sec = 5};
    return 0;
}

#define __atomic_fetch_and(address, value, order) fetch_and(address, value)
#define __atomic_compare_exchange_n(address, expected, value, weak, order, order_of_failure) \
    compare_and_exchange(address, *(expected), value)
#define clock_gettime(clock, out_now) get_time(out_now)

#include "common/lock-cell.c" /* NOLINT(bugprone-suspicious-include) */
