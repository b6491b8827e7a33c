/* SPDX-FileCopyrightText: 2026 The WebLocks for D-Bus authors
 * SPDX-License-Identifier: LGPL-2.1-or-later */

#include "touches.h"

G_STATIC_ASSERT((TOUCHES_MAX - 1) * TOUCHES_STEP_US > TOUCHES_DELAY_US);

void
touches_connected(Touches *touches, gint64 begun_us)
{
    *touches = (Touches){.connected_us = begun_us};
}

void
touches_disconnected(Touches *touches)
{
    *touches = (Touches){0};
}

void
touches_answered(Touches *touches, gint64 sent_us, gint64 now_us)
{
    guint n = touches->n_answered;

    if (n > 0 && now_us < touches->answered[(n - 1) % TOUCHES_MAX].answered_us + TOUCHES_STEP_US)
        return;
    touches->answered[n % TOUCHES_MAX].sent_us = sent_us;
    touches->answered[n % TOUCHES_MAX].answered_us = now_us;
    touches->n_answered++;
}

gint64
touches_get_us(const Touches *touches, gint64 sent_us)
{
    guint n = touches->n_answered;

    for (guint i = 1; i <= MIN(n, TOUCHES_MAX); i++)
        if (touches->answered[(n - i) % TOUCHES_MAX].answered_us + TOUCHES_DELAY_US <= sent_us)
            return touches->answered[(n - i) % TOUCHES_MAX].sent_us;
    return touches->connected_us;
}
