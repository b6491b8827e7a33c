/* SPDX-FileCopyrightText: 2026 The WebLocks for D-Bus authors
 * SPDX-License-Identifier: LGPL-2.1-or-later */

#include "lease.h"

void
lease_set_timeout(Lease *lease, gint64 timeout_us)
{
    lease->duration_us = timeout_us - LEASE_MARGIN_US;
}

gboolean
lease_answered(Lease *lease, gint64 sent_us, gint64 touched_us, gboolean is_write)
{
    gint64 deadline_us = touched_us + lease->duration_us;

    if (!is_write)
        return FALSE;
    lease->is_renewing = FALSE;
    lease->renewal_us = sent_us + LEASE_RENEWAL_US;
    if (lease->deadline_us != 0 && deadline_us < lease->deadline_us + LEASE_STEP_US)
        return FALSE;
    lease->deadline_us = deadline_us;
    return TRUE;
}

guint64
lease_next_serial(Lease *lease)
{
    return ++lease->last_serial;
}

void
lease_acknowledge(Lease *lease, guint64 serial)
{
    if (serial <= lease->last_serial)
        lease->last_ack = MAX(lease->last_ack, serial);
}

static gboolean
may_renew(const Lease *lease)
{
    return lease->deadline_us != 0 && !lease->is_renewing && lease->last_ack == lease->last_serial;
}

gboolean
lease_begin_renewal(Lease *lease, gint64 now_us)
{
    if (!may_renew(lease) || now_us < lease->renewal_us)
        return FALSE;
    lease->is_renewing = TRUE;
    return TRUE;
}

void
lease_renewal_failed(Lease *lease)
{
    lease->is_renewing = FALSE;
}

gboolean
lease_is_over(const Lease *lease, gint64 now_us)
{
    return lease->deadline_us != 0 && now_us >= lease->deadline_us;
}

gint64
lease_get_next_us(const Lease *lease)
{
    if (lease->deadline_us == 0)
        return -1;
    return may_renew(lease) ? MIN(lease->renewal_us, lease->deadline_us) : lease->deadline_us;
}
