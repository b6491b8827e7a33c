/* SPDX-FileCopyrightText: 2026 The WebLocks for D-Bus authors
 * SPDX-License-Identifier: LGPL-2.1-or-later */

/* The GTypes of the public enumerations. */

#include <weblocks/weblocks.h>

GType
web_locks_mode_get_type(void)
{
    static gsize type;
    static const GEnumValue values[] = {
        {WEB_LOCKS_MODE_EXCLUSIVE, "WEB_LOCKS_MODE_EXCLUSIVE", "exclusive"},
        {WEB_LOCKS_MODE_SHARED, "WEB_LOCKS_MODE_SHARED", "shared"},
        {0, NULL, NULL},
    };

    if (g_once_init_enter(&type))
        g_once_init_leave(&type, g_enum_register_static("WebLocksMode", values));
    return type;
}

GType
web_locks_claim_state_get_type(void)
{
    static gsize type;
    static const GEnumValue values[] = {
        {WEB_LOCKS_CLAIM_STATE_IDLE, "WEB_LOCKS_CLAIM_STATE_IDLE", "idle"},
        {WEB_LOCKS_CLAIM_STATE_WAITING, "WEB_LOCKS_CLAIM_STATE_WAITING", "waiting"},
        {WEB_LOCKS_CLAIM_STATE_HELD, "WEB_LOCKS_CLAIM_STATE_HELD", "held"},
        {WEB_LOCKS_CLAIM_STATE_LOST, "WEB_LOCKS_CLAIM_STATE_LOST", "lost"},
        {WEB_LOCKS_CLAIM_STATE_FAILED, "WEB_LOCKS_CLAIM_STATE_FAILED", "failed"},
        {0, NULL, NULL},
    };

    if (g_once_init_enter(&type))
        g_once_init_leave(&type, g_enum_register_static("WebLocksClaimState", values));
    return type;
}

GType
web_locks_evidence_get_type(void)
{
    static gsize type;
    static const GFlagsValue values[] = {
        {WEB_LOCKS_EVIDENCE_STOPPED, "WEB_LOCKS_EVIDENCE_STOPPED", "stopped"},
        {WEB_LOCKS_EVIDENCE_NOT_SCHEDULED, "WEB_LOCKS_EVIDENCE_NOT_SCHEDULED", "not-scheduled"},
        {WEB_LOCKS_EVIDENCE_HELD_LONG, "WEB_LOCKS_EVIDENCE_HELD_LONG", "held-long"},
        {WEB_LOCKS_EVIDENCE_CYCLE, "WEB_LOCKS_EVIDENCE_CYCLE", "cycle"},
        {0, NULL, NULL},
    };

    if (g_once_init_enter(&type))
        g_once_init_leave(&type, g_flags_register_static("WebLocksEvidence", values));
    return type;
}

GType
web_locks_error_get_type(void)
{
    static gsize type;
    static const GEnumValue values[] = {
        {WEB_LOCKS_ERROR_NOT_SUPPORTED, "WEB_LOCKS_ERROR_NOT_SUPPORTED", "not-supported"},
        {WEB_LOCKS_ERROR_SECURITY, "WEB_LOCKS_ERROR_SECURITY", "security"},
        {WEB_LOCKS_ERROR_INVALID_STATE, "WEB_LOCKS_ERROR_INVALID_STATE", "invalid-state"},
        {WEB_LOCKS_ERROR_CLOSED, "WEB_LOCKS_ERROR_CLOSED", "closed"},
        {WEB_LOCKS_ERROR_STOLEN, "WEB_LOCKS_ERROR_STOLEN", "stolen"},
        {WEB_LOCKS_ERROR_LOST, "WEB_LOCKS_ERROR_LOST", "lost"},
        {WEB_LOCKS_ERROR_TIMEOUT, "WEB_LOCKS_ERROR_TIMEOUT", "timeout"},
        {WEB_LOCKS_ERROR_NOT_HELD, "WEB_LOCKS_ERROR_NOT_HELD", "not-held"},
        {WEB_LOCKS_ERROR_LIMITS, "WEB_LOCKS_ERROR_LIMITS", "limits"},
        {WEB_LOCKS_ERROR_UNAVAILABLE, "WEB_LOCKS_ERROR_UNAVAILABLE", "unavailable"},
        {0, NULL, NULL},
    };

    if (g_once_init_enter(&type))
        g_once_init_leave(&type, g_enum_register_static("WebLocksError", values));
    return type;
}
