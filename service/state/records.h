/* SPDX-FileCopyrightText: 2026 The WebLocks for D-Bus authors
 * SPDX-License-Identifier: LGPL-2.1-or-later */

/* The encoding of stored records. The last record of an agent or a request counts; numbers are in
 * native byte order, since state is only valid for one boot. Reading validates all lengths, numbers
 * and strings. restore.c checks whether records are consistent with each other. */

#pragma once

#include <glib.h>

#include "lock-queue.h"
#include "principal.h"
#include "user-agent.h"

typedef enum {
    RECORD_AGENT = 'a',
    RECORD_AGENT_GONE = 'g',
    RECORD_REQUEST = 'r',
    RECORD_REQUEST_ENDED = 'e',
    RECORD_LEASE = 'l',
    RECORD_TOKENS = 't',
    RECORD_DOCUMENT_KEY = 'k', /* in the two numbers of a Record */
} RecordKind;

/* What all records begin with; that is all there is of one that ends something or has only a
 * number. */
typedef struct {
    guint32 size; /* of the record, a multiple of eight */
    guint32 kind;
    guint64 agent;  /* AgentMark.number of the agent, or of that of the request */
    guint64 number; /* a request's id; the highest id that an agent may have used; of LEASE the
                     * deadline (CLOCK_BOOTTIME); of TOKENS the highest that may have been issued */
} Record;

/* Append a record to `frame`. */
void record_put(GByteArray *frame, RecordKind kind, guint64 agent, guint64 number);
void record_put_agent(GByteArray *frame, const Agent *agent);
void record_put_request(GByteArray *frame, const LockRequest *request);

/* The size of the record of an agent, and the most that a request's has besides its strings. */
gsize record_agent_size(const Agent *agent);
#define RECORD_REQUEST_BYTES 96

/* As a GCompareFunc for pointers to records of requests: in the order in which they were made in a
 * bucket. */
int record_compare_sequences(gconstpointer a, gconstpointer b);

/* Returns the record at the beginning of `*bytes` and goes to the next one; NULL if there is none.
 */
const Record *record_next(const guint8 **bytes, gsize *size);

/* Return FALSE if the record is invalid. Strings point into the record. */
gboolean record_read_agent(const Record *record,
                           PrincipalIdentity *out_identity,
                           const char **out_client_id,
                           guint32 *out_pid);

/* `out_request` gets what lock_manager_restore() uses of it. */
gboolean record_read_request(const Record *record,
                             const char **out_bucket,
                             const char **out_name,
                             LockRequest *out_request);
