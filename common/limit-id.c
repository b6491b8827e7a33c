/* SPDX-FileCopyrightText: 2026 The WebLocks for D-Bus authors
 * SPDX-License-Identifier: LGPL-2.1-or-later */

#include "limit-id.h"

static const char *const names[N_LIMITS] = {
    [LIMIT_NAME_BYTES] = "nameBytes",
    [LIMIT_WHY_BYTES] = "whyBytes",
    [LIMIT_REQUESTS_PER_CLIENT] = "requestsPerClient",
    [LIMIT_REQUESTS_PER_APP] = "requestsPerApp",
    [LIMIT_REQUESTS_PER_UID] = "requestsPerUid",
    [LIMIT_REQUESTS_TOTAL] = "requestsTotal",
    [LIMIT_TEXT_BYTES_PER_APP] = "textBytesPerApp",
    [LIMIT_TEXT_BYTES_PER_UID] = "textBytesPerUid",
    [LIMIT_TEXT_BYTES_TOTAL] = "textBytesTotal",
    [LIMIT_CLIENTS_PER_APP] = "clientsPerApp",
    [LIMIT_CLIENTS_PER_UID] = "clientsPerUid",
    [LIMIT_CLIENTS_TOTAL] = "clientsTotal",
    [LIMIT_BYTES_WAITING] = "bytesWaiting",
    [LIMIT_BYTES_WAITING_TOTAL] = "bytesWaitingTotal",
    [LIMIT_WATCHES_PER_CLIENT] = "watchesPerClient",
    [LIMIT_WATCHES_PER_APP] = "watchesPerApp",
    [LIMIT_WATCHES_PER_UID] = "watchesPerUid",
    [LIMIT_WATCHES_TOTAL] = "watchesTotal",
    [LIMIT_DOCUMENTS_PER_CLIENT] = "documentsPerClient",
};

const char *
limit_id_get_name(guint id)
{
    return id < N_LIMITS ? names[id] : NULL;
}
