/* SPDX-FileCopyrightText: 2026 The WebLocks for D-Bus authors
 * SPDX-License-Identifier: LGPL-2.1-or-later */

#include "cluster-packet.h"

#include <string.h>

#include "bus-string.h"

G_STATIC_ASSERT(sizeof(ClusterHead) == 8);
G_STATIC_ASSERT(sizeof(ClusterHello) == 16);
G_STATIC_ASSERT(sizeof(ClusterDemand) == 48);
G_STATIC_ASSERT(sizeof(ClusterAck) == 16);
G_STATIC_ASSERT(sizeof(ClusterList) == 24);
G_STATIC_ASSERT(sizeof(ClusterBreak) == 32);
G_STATIC_ASSERT(sizeof(ClusterLease) == 32);
G_STATIC_ASSERT(sizeof(ClusterPermit) == 40);
G_STATIC_ASSERT(sizeof(ClusterYield) == 24);
G_STATIC_ASSERT(sizeof(ClusterRevoked) == 24);
G_STATIC_ASSERT(sizeof(ClusterReply) == 24);
G_STATIC_ASSERT(sizeof(ClusterRow) == 16);
G_STATIC_ASSERT(sizeof(ClusterRows) == 24);
G_STATIC_ASSERT(sizeof(ClusterStatus) == 16);
G_STATIC_ASSERT(sizeof(ClusterBroken) == 24);
G_STATIC_ASSERT(CLUSTER_PACKET_BYTES_MAX <= G_MAXUINT16 + 1);

static gsize
align(gsize size)
{
    return (size + CLUSTER_PACKET_ALIGNMENT - 1) & ~(gsize)(CLUSTER_PACKET_ALIGNMENT - 1);
}

/* ---- reading */

/* Reads the texts at the end of a message, one after the other. */
typedef struct {
    const char *at;
    const char *end;
    gboolean is_valid;
} Texts;

static Texts
begin_texts(const void *text, const void *end)
{
    return (Texts){.at = text, .end = end, .is_valid = TRUE};
}

static void
check_text(Texts *texts, gsize length, gsize min, gsize max)
{
    if (!texts->is_valid)
        return;
    texts->is_valid = length >= min && length <= max && length < (gsize)(texts->end - texts->at) &&
                      memchr(texts->at, '\0', length + 1) == texts->at + length &&
                      bus_string_is_valid(texts->at);
    if (texts->is_valid)
        texts->at += length + 1;
}

static void
check_bucket(Texts *texts, gsize length)
{
    check_text(texts, length, 1, CLUSTER_BUCKET_BYTES_MAX);
}

static void
check_name(Texts *texts, gsize length)
{
    check_text(texts, length, 0, CLUSTER_NAME_BYTES_MAX);
}

/* Skips the zeros after the last text of `message`. */
static gboolean
end_texts(Texts *texts, const void *message)
{
    const char *end;

    if (!texts->is_valid)
        return FALSE;
    end = (const char *)message + align((gsize)(texts->at - (const char *)message));
    if (end > texts->end)
        return FALSE;
    for (; texts->at < end; texts->at++)
        if (*texts->at != '\0')
            return FALSE;
    return TRUE;
}

/* Whether `texts` ends where the message does. */
static gboolean
end_message(Texts *texts, const ClusterHead *head)
{
    return end_texts(texts, head) && texts->at == texts->end;
}

static const void *
get_end(const ClusterHead *head)
{
    return (const char *)head + head->size;
}

static gboolean
check_hello(const ClusterHead *head)
{
    const ClusterHello *self = (const ClusterHello *)head;

    return head->size == sizeof *self && self->reserved == 0;
}

static gboolean
check_demand(const ClusterHead *head)
{
    const ClusterDemand *self = (const ClusterDemand *)head;
    Texts texts;

    if (head->size < sizeof *self || self->handle == 0 || self->block > CLUSTER_BLOCK_MAX ||
        self->number == 0 || self->want > PERMIT_EXCLUSIVE || self->held > PERMIT_EXCLUSIVE ||
        self->undecided > UNDECIDED_STEAL || self->reserved != 0 ||
        (self->flags & ~CLUSTER_DEMAND_TURN_OVER) != 0)
        return FALSE;
    if (self->undecided != UNDECIDED_NONE && self->want == PERMIT_NONE)
        return FALSE;
    if ((self->flags & CLUSTER_DEMAND_TURN_OVER) != 0 &&
        (self->held != PERMIT_NONE || self->block == 0))
        return FALSE;
    texts = begin_texts(self->text, get_end(head));
    check_bucket(&texts, self->bucket_length);
    check_name(&texts, self->name_length);
    return end_message(&texts, head);
}

static gboolean
check_list(const ClusterHead *head)
{
    const ClusterList *self = (const ClusterList *)head;
    Texts texts;

    if (head->size < sizeof *self || self->reserved != 0)
        return FALSE;
    texts = begin_texts(self->text, get_end(head));
    check_bucket(&texts, self->bucket_length);
    return end_message(&texts, head);
}

static gboolean
check_break(const ClusterHead *head)
{
    const ClusterBreak *self = (const ClusterBreak *)head;
    Texts texts;

    if (head->size < sizeof *self || self->reserved[0] != 0 || self->reserved[1] != 0 ||
        self->reserved[2] != 0)
        return FALSE;
    texts = begin_texts(self->text, get_end(head));
    check_bucket(&texts, self->bucket_length);
    check_name(&texts, self->name_length);
    check_text(&texts, self->host_length, 0, CLUSTER_HOST_BYTES_MAX);
    return end_message(&texts, head);
}

static gboolean
check_from_service(const ClusterHead *head)
{
    switch (head->kind) {
    case CLUSTER_PACKET_HELLO:
        return check_hello(head);
    case CLUSTER_PACKET_DEMAND:
        return check_demand(head);
    case CLUSTER_PACKET_READY:
        return head->size == sizeof *head;
    case CLUSTER_PACKET_ACK:
        return head->size == sizeof(ClusterAck);
    case CLUSTER_PACKET_LIST:
        return check_list(head);
    case CLUSTER_PACKET_BREAK:
        return check_break(head);
    default:
        return FALSE;
    }
}

static gboolean
is_state(guint32 state)
{
    return state >= CLUSTER_STATE_CONNECTING && state <= CLUSTER_STATE_LOST;
}

static gboolean
check_lease(const ClusterHead *head)
{
    const ClusterLease *self = (const ClusterLease *)head;

    return head->size == sizeof *self && is_state(self->state) && self->deadline_us >= 0 &&
           self->reason <= CLUSTER_REASON_UNEXPECTED &&
           (self->reason == CLUSTER_REASON_NONE || self->state != CLUSTER_STATE_ACTIVE);
}

static gboolean
check_permit(const ClusterHead *head)
{
    const ClusterPermit *self = (const ClusterPermit *)head;

    return head->size == sizeof *self && self->handle != 0 && self->mode >= PERMIT_SHARED &&
           self->mode <= PERMIT_EXCLUSIVE && self->reserved == 0 && self->deadline_us > 0 &&
           self->block > 0 && self->block <= CLUSTER_BLOCK_MAX;
}

static gboolean
check_yield(const ClusterHead *head)
{
    const ClusterYield *self = (const ClusterYield *)head;

    return head->size == sizeof *self && self->handle != 0 && self->now <= 1 && self->reserved == 0;
}

static gboolean
check_revoked(const ClusterHead *head)
{
    const ClusterRevoked *self = (const ClusterRevoked *)head;

    return head->size == sizeof *self && self->handle != 0 && self->reserved == 0 &&
           (self->reason == CLUSTER_REVOKED_STOLEN || self->reason == CLUSTER_REVOKED_LOST);
}

static gboolean
check_row(Texts *texts)
{
    const ClusterRow *row = (const ClusterRow *)texts->at;

    if ((gsize)(texts->end - texts->at) < sizeof *row || row->mode < PERMIT_SHARED ||
        row->mode > PERMIT_EXCLUSIVE ||
        (row->state != CLUSTER_ROW_HOLDS && row->state != CLUSTER_ROW_WAITS) ||
        row->reserved != 0 || row->since_us < 0)
        return FALSE;
    texts->at = row->text;
    check_text(texts, row->host_length, 1, CLUSTER_HOST_BYTES_MAX);
    check_name(texts, row->name_length);
    return end_texts(texts, row);
}

static gboolean
check_rows(const ClusterHead *head)
{
    const ClusterRows *self = (const ClusterRows *)head;
    Texts texts;

    if (head->size < sizeof *self || self->more > 1)
        return FALSE;
    texts = begin_texts(self->rows, get_end(head));
    for (guint32 i = 0; i < self->n_rows; i++)
        if (!check_row(&texts))
            return FALSE;
    return texts.at == texts.end;
}

static gboolean
check_status(const ClusterHead *head)
{
    const ClusterStatus *self = (const ClusterStatus *)head;
    Texts texts;

    if (head->size < sizeof *self || !is_state(self->state))
        return FALSE;
    texts = begin_texts(self->text, get_end(head));
    check_text(&texts, self->engine_length, 0, CLUSTER_PACKET_BYTES_MAX);
    check_text(&texts, self->hosts_length, 0, CLUSTER_PACKET_BYTES_MAX);
    return end_message(&texts, head);
}

static gboolean
check_reply(const ClusterHead *head)
{
    const ClusterReply *self = (const ClusterReply *)head;

    return head->size == sizeof *self && self->handle != 0 && self->number != 0 &&
           self->reserved == 0;
}

static gboolean
check_from_gateway(const ClusterHead *head)
{
    switch (head->kind) {
    case CLUSTER_PACKET_LEASE:
        return check_lease(head);
    case CLUSTER_PACKET_PERMIT:
        return check_permit(head);
    case CLUSTER_PACKET_YIELD:
        return check_yield(head);
    case CLUSTER_PACKET_REVOKED:
        return check_revoked(head);
    case CLUSTER_PACKET_BUSY:
    case CLUSTER_PACKET_GONE:
        return check_reply(head);
    case CLUSTER_PACKET_SYNCED:
        return head->size == sizeof *head;
    case CLUSTER_PACKET_ROWS:
        return check_rows(head);
    case CLUSTER_PACKET_STATE:
        return check_status(head);
    case CLUSTER_PACKET_BROKEN:
        return head->size == sizeof(ClusterBroken) && ((const ClusterBroken *)head)->failed <= 1;
    default:
        return FALSE;
    }
}

static const ClusterHead *
read_message(const void *packet, gsize size, gboolean (*check)(const ClusterHead *head))
{
    const ClusterHead *head = packet;

    if (size < sizeof *head || size > CLUSTER_PACKET_BYTES_MAX || head->size != size ||
        size % CLUSTER_PACKET_ALIGNMENT != 0 || head->flags != 0 || !check(head))
        return NULL;
    return head;
}

const ClusterHead *
cluster_packet_read_from_service(const void *packet, gsize size)
{
    return read_message(packet, size, check_from_service);
}

const ClusterHead *
cluster_packet_read_from_gateway(const void *packet, gsize size)
{
    return read_message(packet, size, check_from_gateway);
}

static gsize
get_row_size(gsize host_length, gsize name_length)
{
    return align(sizeof(ClusterRow) + host_length + name_length + 2);
}

const ClusterRow *
cluster_rows_next(const ClusterRows *rows, const ClusterRow *row)
{
    if (row == NULL)
        return (const ClusterRow *)rows->rows;
    return (const ClusterRow *)((const char *)row +
                                get_row_size(row->host_length, row->name_length));
}

/* ---- writing */

static ClusterHead
make_head(ClusterPacketKind kind, gsize size)
{
    return (ClusterHead){.kind = (guint16)kind, .size = (guint32)align(size)};
}

static void
append(GByteArray *bytes, const void *data, gsize size)
{
    g_byte_array_append(bytes, data, (guint)size);
}

/* Appends the texts that a NULL-terminated list contains, and the zeros after the last. */
static void
append_texts(GByteArray *bytes, const char *const *texts)
{
    static const guint8 zeros[CLUSTER_PACKET_ALIGNMENT];

    for (; *texts != NULL; texts++)
        append(bytes, *texts, strlen(*texts) + 1);
    append(bytes, zeros, align(bytes->len) - bytes->len);
}

/* Appends a message of `size` bytes and texts. Sets the head. */
static void
append_with_texts(GByteArray *bytes,
                  ClusterPacketKind kind,
                  const void *message,
                  gsize size,
                  const char *const *texts)
{
    const guint offset = bytes->len;

    append(bytes, message, size);
    append_texts(bytes, texts);
    *(ClusterHead *)(bytes->data + offset) = make_head(kind, bytes->len - offset);
}

void
cluster_packet_write_hello(GByteArray *bytes)
{
    const ClusterHello message = {
        .head = make_head(CLUSTER_PACKET_HELLO, sizeof message),
        .version = CLUSTER_PACKET_VERSION,
    };

    append(bytes, &message, sizeof message);
}

void
cluster_packet_write_demand(GByteArray *bytes,
                            const ClusterDemand *demand,
                            const char *bucket,
                            const char *name)
{
    const char *const texts[] = {bucket, name, NULL};
    ClusterDemand message = *demand;

    message.bucket_length = (guint16)strlen(bucket);
    message.name_length = (guint16)strlen(name);
    append_with_texts(bytes, CLUSTER_PACKET_DEMAND, &message, sizeof message, texts);
}

void
cluster_packet_write_head(GByteArray *bytes, ClusterPacketKind kind)
{
    const ClusterHead head = make_head(kind, sizeof head);

    append(bytes, &head, sizeof head);
}

void
cluster_packet_write_ack(GByteArray *bytes, guint64 serial)
{
    const ClusterAck message = {
        .head = make_head(CLUSTER_PACKET_ACK, sizeof message),
        .serial = serial,
    };

    append(bytes, &message, sizeof message);
}

void
cluster_packet_write_list(GByteArray *bytes, guint64 serial, guint32 uid, const char *bucket)
{
    const char *const texts[] = {bucket, NULL};
    const ClusterList message = {
        .serial = serial, .uid = uid, .bucket_length = (guint16)strlen(bucket)};

    append_with_texts(bytes, CLUSTER_PACKET_LIST, &message, sizeof message, texts);
}

void
cluster_packet_write_break(GByteArray *bytes,
                           guint64 serial,
                           guint32 uid,
                           const char *bucket,
                           const char *name,
                           const char *host)
{
    const char *const texts[] = {bucket, name, host != NULL ? host : "", NULL};
    const ClusterBreak message = {
        .serial = serial,
        .uid = uid,
        .bucket_length = (guint16)strlen(bucket),
        .name_length = (guint16)strlen(name),
        .host_length = (guint16)strlen(texts[2]),
    };

    append_with_texts(bytes, CLUSTER_PACKET_BREAK, &message, sizeof message, texts);
}

void
cluster_packet_write_lease(
    GByteArray *bytes, guint64 serial, gint64 deadline_us, ClusterState state, ClusterReason reason)
{
    const ClusterLease message = {
        .head = make_head(CLUSTER_PACKET_LEASE, sizeof message),
        .serial = serial,
        .deadline_us = deadline_us,
        .state = state,
        .reason = reason,
    };

    append(bytes, &message, sizeof message);
}

void
cluster_packet_write_permit(
    GByteArray *bytes, guint64 handle, PermitMode mode, gint64 deadline_us, guint64 block)
{
    const ClusterPermit message = {
        .head = make_head(CLUSTER_PACKET_PERMIT, sizeof message),
        .handle = handle,
        .mode = mode,
        .deadline_us = deadline_us,
        .block = block,
    };

    append(bytes, &message, sizeof message);
}

void
cluster_packet_write_yield(GByteArray *bytes, guint64 handle, gboolean now)
{
    const ClusterYield message = {
        .head = make_head(CLUSTER_PACKET_YIELD, sizeof message),
        .handle = handle,
        .now = now ? 1 : 0,
    };

    append(bytes, &message, sizeof message);
}

void
cluster_packet_write_revoked(GByteArray *bytes, guint64 handle, ClusterRevokedReason reason)
{
    const ClusterRevoked message = {
        .head = make_head(CLUSTER_PACKET_REVOKED, sizeof message),
        .handle = handle,
        .reason = reason,
    };

    append(bytes, &message, sizeof message);
}

void
cluster_packet_write_reply(GByteArray *bytes,
                           ClusterPacketKind kind,
                           guint64 handle,
                           guint32 number)
{
    const ClusterReply message = {
        .head = make_head(kind, sizeof message),
        .handle = handle,
        .number = number,
    };

    append(bytes, &message, sizeof message);
}

guint
cluster_packet_begin_rows(GByteArray *bytes, guint64 serial)
{
    const ClusterRows message = {
        .head = make_head(CLUSTER_PACKET_ROWS, sizeof message),
        .serial = serial,
    };

    append(bytes, &message, sizeof message);
    return bytes->len - (guint)sizeof message;
}

void
cluster_packet_add_row(GByteArray *bytes,
                       guint *offset,
                       PermitMode mode,
                       ClusterRowState state,
                       gint64 since_us,
                       const char *host,
                       const char *name)
{
    const ClusterRow row = {
        .mode = (guint8)mode,
        .state = (guint8)state,
        .host_length = (guint16)strlen(host),
        .name_length = (guint16)strlen(name),
        .since_us = since_us,
    };
    const char *const texts[] = {host, name, NULL};
    const gsize size = get_row_size(row.host_length, row.name_length);
    ClusterRows *rows = (ClusterRows *)(bytes->data + *offset);

    if (rows->head.size + size > CLUSTER_PACKET_BYTES_MAX) {
        const guint64 serial = rows->serial;

        rows->more = 1;
        *offset = cluster_packet_begin_rows(bytes, serial);
        rows = (ClusterRows *)(bytes->data + *offset);
    }
    rows->n_rows++;
    rows->head.size += (guint32)size;
    append(bytes, &row, sizeof row);
    append_texts(bytes, texts);
}

void
cluster_packet_write_status(GByteArray *bytes,
                            ClusterState state,
                            const char *engine,
                            const char *hosts)
{
    const char *const texts[] = {engine, hosts, NULL};
    const ClusterStatus message = {
        .state = state,
        .engine_length = (guint16)strlen(engine),
        .hosts_length = (guint16)strlen(hosts),
    };

    append_with_texts(bytes, CLUSTER_PACKET_STATE, &message, sizeof message, texts);
}

void
cluster_packet_write_broken(GByteArray *bytes, guint64 serial, guint32 count, gboolean failed)
{
    const ClusterBroken message = {
        .head = make_head(CLUSTER_PACKET_BROKEN, sizeof message),
        .serial = serial,
        .count = count,
        .failed = failed ? 1 : 0,
    };

    append(bytes, &message, sizeof message);
}
