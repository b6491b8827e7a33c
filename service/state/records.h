/* SPDX-FileCopyrightText: 2026 The WebLocks for D-Bus authors
 * SPDX-License-Identifier: LGPL-2.1-or-later */

/* What is in the store, as bytes: one header, a record per agent, a record per live request.
 *
 * Keys sort as header, agents, then requests by agent and id. Values are in the machine's own byte
 * order: state never leaves the boot that it is of. Decoding believes nothing: lengths, numbers and
 * strings are checked, and what is wrong in any way is no record. Whether records go together is
 * for restore.c. */

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
    RECORD_REQUEST = 'r',
} RecordKind;

typedef struct {
    guint8 bytes[RECORD_KEY_BYTES_MAX];
    gsize size;
} RecordKey;

RecordKey record_key_of_header(void);
RecordKey record_key_of_agent(guint64 agent);
RecordKey record_key_of_request(guint64 agent, guint64 id);

/* FALSE if it is none. `*out_agent` and `*out_id` are 0 where the kind has none. */
gboolean record_key_read(
    const void *key, gsize size, RecordKind *out_kind, guint64 *out_agent, guint64 *out_id);

/* A number that tells a record's bytes apart from all others that a fault could make of them. The
 * header has the sum of those of all records: so none can change, come or go unnoticed. */
guint64 record_digest(const void *key, gsize key_size, const void *value, gsize value_size);

typedef struct {
    guint8 bus_id[STATE_ID_BYTES];
    guint8 boot_id[STATE_ID_BYTES];
    guint64 token_ceiling; /* no token above it was ever given */
    guint64 last_agent;    /* nor a number above it to an agent */
    guint64 n_commits;     /* until now, this one with it */
    guint64 n_records;     /* besides this one */
    guint64 digest;        /* the sum of theirs, modulo 2^64 */
} HeaderRecord;

typedef struct {
    guint64 id_ceiling; /* the agent was given no id above it */
    guint32 pid;        /* 0 is unknown */
    PrincipalIdentity identity;
    const char *client_id;
} AgentRecord;

typedef struct {
    const char *bucket;
    const char *name;
    LockRequestParts parts;
} RequestRecord;

/* Appends the value to `bytes`. */
void header_record_write(const HeaderRecord *record, GByteArray *bytes);
void agent_record_write(const AgentRecord *record, GByteArray *bytes);
void request_record_write(const RequestRecord *record, GByteArray *bytes);

/* FALSE if the bytes are not what is written above. Strings point into `bytes`. */
gboolean header_record_read(const void *bytes, gsize size, HeaderRecord *out_record);
gboolean agent_record_read(const void *bytes, gsize size, AgentRecord *out_record);
gboolean request_record_read(const void *bytes, gsize size, RequestRecord *out_record);
