/* SPDX-FileCopyrightText: 2026 The WebLocks for D-Bus authors
 * SPDX-License-Identifier: LGPL-2.1-or-later */

#include "core-limits.h"

/* The unit follows from the name: bytes, live requests, clients, calls. */
static const guint32 defaults[N_LIMITS] = {
    /* Bytes of UTF-8 in a resource name. */
    [LIMIT_NAME_BYTES] = 1024,
    /* Bytes of UTF-8 in each of the options `why` and `for`. */
    [LIMIT_WHY_BYTES] = 256,
    /* Held locks and pending requests of one connection. This bounds the number of events that can
     * be queued for a client that does not read. */
    [LIMIT_REQUESTS_PER_CLIENT] = 1024,
    /* The same, of all connections of one sandboxed application of a uid. */
    [LIMIT_REQUESTS_PER_APP] = 4096,
    /* The same, of all connections of one uid. */
    [LIMIT_REQUESTS_PER_UID] = 16384,
    /* The same, of all clients. */
    [LIMIT_REQUESTS_TOTAL] = 65536,
    /* Bytes of UTF-8 in the names, buckets, `why` and `for` of these: 256 on average, if the number
     * of requests is at its limit. The store needs a multiple of that. */
    [LIMIT_TEXT_BYTES_PER_APP] = 1024 * 1024,
    [LIMIT_TEXT_BYTES_PER_UID] = 4 * 1024 * 1024,
    [LIMIT_TEXT_BYTES_TOTAL] = 16 * 1024 * 1024,
    /* Connections that have an agent or are being identified. Each may have a lock socket. */
    [LIMIT_CLIENTS_PER_APP] = 256,
    [LIMIT_CLIENTS_PER_UID] = 1024,
    [LIMIT_CLIENTS_TOTAL] = 4096,
    /* Bytes of the deferred calls of one connection: until it is identified, and while it does not
     * read. */
    [LIMIT_BYTES_WAITING] = 4 * 1024 * 1024,
    /* The same, of all connections; beyond it, the uid with the most has to give way. */
    [LIMIT_BYTES_WAITING_TOTAL] = 64 * 1024 * 1024,
    /* Buckets that one connection watches. A watch keeps its bucket in memory. */
    [LIMIT_WATCHES_PER_CLIENT] = 64,
    [LIMIT_WATCHES_PER_APP] = 1024,
    [LIMIT_WATCHES_PER_UID] = 4096,
    [LIMIT_WATCHES_TOTAL] = 16384,
    /* Documents that one connection has opened and has requests for. */
    [LIMIT_DOCUMENTS_PER_CLIENT] = 64,
};

void
limits_init(Limits *limits)
{
    for (guint i = 0; i < N_LIMITS; i++)
        limits->max[i] = defaults[i];
}

gboolean
limits_set_from_string(Limits *limits, const char *assignment)
{
    const char *equals = strchr(assignment, '=');
    guint64 value;

    if (equals == NULL || !g_ascii_string_to_unsigned(equals + 1, 10, 1, G_MAXINT32, &value, NULL))
        return FALSE;

    for (guint i = 0; i < N_LIMITS; i++) {
        gsize length = strlen(limit_id_get_name(i));

        if ((gsize)(equals - assignment) == length &&
            strncmp(assignment, limit_id_get_name(i), length) == 0) {
            limits->max[i] = (guint32)value;
            return TRUE;
        }
    }
    return FALSE;
}
