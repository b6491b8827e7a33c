/* SPDX-FileCopyrightText: 2026 The WebLocks for D-Bus authors
 * SPDX-License-Identifier: LGPL-2.1-or-later */

/* The limits of the service: their numbers and names. A packet contains 1 + the number, so the
 * order is part of the protocol: new limits are added at the end. The meaning and the default of
 * each limit are in service/core/core-limits.c. */

#pragma once

#include <glib.h>

typedef enum {
    LIMIT_NAME_BYTES,
    LIMIT_WHY_BYTES,
    LIMIT_REQUESTS_PER_CLIENT,
    LIMIT_REQUESTS_PER_APP,
    LIMIT_REQUESTS_PER_UID,
    LIMIT_REQUESTS_TOTAL,
    LIMIT_TEXT_BYTES_PER_APP,
    LIMIT_TEXT_BYTES_PER_UID,
    LIMIT_TEXT_BYTES_TOTAL,
    LIMIT_CLIENTS_PER_APP,
    LIMIT_CLIENTS_PER_UID,
    LIMIT_CLIENTS_TOTAL,
    LIMIT_BYTES_WAITING,
    LIMIT_BYTES_WAITING_TOTAL,
    LIMIT_WATCHES_PER_CLIENT,
    LIMIT_WATCHES_PER_APP,
    LIMIT_WATCHES_PER_UID,
    LIMIT_WATCHES_TOTAL,
    LIMIT_DOCUMENTS_PER_CLIENT,
    N_LIMITS,
} LimitId;

/* Returns the limit's name in the D-Bus property `Limits`, a static string, or NULL if `id` is not
 * a LimitId. */
const char *limit_id_get_name(guint id);
