/* SPDX-FileCopyrightText: 2026 The WebLocks for D-Bus authors
 * SPDX-License-Identifier: LGPL-2.1-or-later */

/* The encoding of stored records: one header, one record for each agent, one for each live request,
 * and one for the lease of a cluster if there is one.
 *
 * Keys sort in this order: header, agents, lease, requests by agent and id. Values are in native
 * byte order, since state is only valid for one boot. Decoding validates all lengths, numbers and
 * strings. restore.c checks whether records are consistent with each other. */

#pragma once

#include <glib.h>

#include "lock-request.h"
#include "principal.h"

#define RECORD_KEY_BYTES_MAX 17

#define STATE_FORMAT_VERSION 1
#define STATE_ID_BYTES       16

typedef enum {
    RECORD_HEADER = 'H',
    RECORD_AGENT = 'a',
    RECORD_LEASE = 'l',
    RECORD_REQUEST = 'r',
} RecordKind;

typedef struct {
    guint8 bytes[RECORD_KEY_BYTES_MAX];
    gsize size;
} RecordKey;

RecordKey record_key_of_header(void);
RecordKey record_key_of_agent(guint64 agent);
RecordKey record_key_of_lease(void);
RecordKey record_key_of_request(guint64 agent, guint64 id);

/* Returns FALSE if the key is invalid. `*out_agent` and `*out_id` are 0 if the kind has none. */
gboolean record_key_read(
    const void *key, gsize size, RecordKind *out_kind, guint64 *out_agent, guint64 *out_id);

/* Returns a digest of a record. The header has the sum of the digests of all records, so a changed,
 * added or missing record is detected. */
guint64 record_digest(const void *key, gsize key_size, const void *value, gsize value_size);

typedef struct {
    guint8 bus_id[STATE_ID_BYTES];
    guint8 boot_id[STATE_ID_BYTES];
    guint64 token_ceiling; /* no higher token was ever issued */
    guint64 last_agent;    /* no agent has a higher number */
    guint64 n_commits;     /* including this one */
    guint64 n_records;     /* not including the header */
    guint64 digest;        /* the sum of the records' digests, modulo 2^64 */
} HeaderRecord;

typedef struct {
    guint64 id_ceiling; /* no request of the agent has a higher id */
    guint32 pid;        /* 0: unknown */
    PrincipalIdentity identity;
    const char *client_id;
} AgentRecord;

typedef struct {
    const char *bucket;
    const char *name;
    LockRequestParts parts;
} RequestRecord;

/* Append the value to `bytes`. `deadline_us` is of CLOCK_BOOTTIME. */
void header_record_write(const HeaderRecord *record, GByteArray *bytes);
void agent_record_write(const AgentRecord *record, GByteArray *bytes);
void lease_record_write(gint64 deadline_us, GByteArray *bytes);
void request_record_write(const RequestRecord *record, GByteArray *bytes);

/* Return FALSE if the value is invalid. Strings point into `bytes`. */
gboolean header_record_read(const void *bytes, gsize size, HeaderRecord *out_record);
gboolean agent_record_read(const void *bytes, gsize size, AgentRecord *out_record);
gboolean lease_record_read(const void *bytes, gsize size, gint64 *out_deadline_us);
gboolean request_record_read(const void *bytes, gsize size, RequestRecord *out_record);
