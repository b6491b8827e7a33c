/* SPDX-FileCopyrightText: 2026 The WebLocks for D-Bus authors
 * SPDX-License-Identifier: LGPL-2.1-or-later */

#include "expiry-model.h"

void
expiry_init(Expiry *expiry, gint64 tick_us, gint64 phase_us)
{
    *expiry = (Expiry){tick_us, phase_us, NULL};
    expiry->sessions = g_hash_table_new_full(g_int64_hash, g_int64_equal, g_free, g_free);
}

void
expiry_clear(Expiry *expiry)
{
    g_clear_pointer(&expiry->sessions, g_hash_table_unref);
}

static gint64
round_to_next(const Expiry *expiry, gint64 time_us)
{
    gint64 own_us = time_us + expiry->phase_us;

    return (own_us / expiry->tick_us + 1) * expiry->tick_us - expiry->phase_us;
}

void
expiry_touch(Expiry *expiry, guint64 session, gint64 timeout_us, gint64 now_us)
{
    gint64 until_us = now_us + timeout_us;

    g_hash_table_insert(expiry->sessions, g_memdup2(&session, sizeof session),
                        g_memdup2(&until_us, sizeof until_us));
}

void
expiry_remove(Expiry *expiry, guint64 session)
{
    g_hash_table_remove(expiry->sessions, &session);
}

gint64
expiry_get_us(const Expiry *expiry, guint64 session)
{
    const gint64 *until_us = g_hash_table_lookup(expiry->sessions, &session);

    return until_us != NULL ? *until_us : -1;
}

gint64
expiry_get_wait_us(const Expiry *expiry, gint64 now_us)
{
    return round_to_next(expiry, now_us) - now_us;
}

/* Of several in a bucket, the one that was made first. */
guint64
expiry_take(Expiry *expiry, gint64 now_us)
{
    GHashTableIter iter;
    gpointer key, value;
    guint64 first = 0;

    g_hash_table_iter_init(&iter, expiry->sessions);
    while (g_hash_table_iter_next(&iter, &key, &value)) {
        guint64 session = *(guint64 *)key;

        if (round_to_next(expiry, *(gint64 *)value) <= now_us && (first == 0 || session < first))
            first = session;
    }
    if (first != 0)
        expiry_remove(expiry, first);
    return first;
}
