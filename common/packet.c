/* SPDX-FileCopyrightText: 2026 The WebLocks for D-Bus authors
 * SPDX-License-Identifier: LGPL-2.1-or-later */

#include "packet.h"

#include <string.h>

G_STATIC_ASSERT(sizeof(PacketHead) == 16);
G_STATIC_ASSERT(sizeof(PacketRequest) == 40);
G_STATIC_ASSERT(sizeof(PacketKey) == 24);
G_STATIC_ASSERT(sizeof(PacketAnswer) == 40);
G_STATIC_ASSERT(sizeof(PacketGranted) == 32);
G_STATIC_ASSERT(sizeof(PacketEnded) == 32);
G_STATIC_ASSERT(sizeof(PacketWanted) == 32);
G_STATIC_ASSERT(sizeof(PacketLive) == 24);
G_STATIC_ASSERT(sizeof(PacketLiveEntry) == 24);
G_STATIC_ASSERT(sizeof(PacketClosed) == 24);

static gsize
align(gsize size)
{
    return (size + PACKET_ALIGNMENT - 1) & ~(gsize)(PACKET_ALIGNMENT - 1);
}

/* ---- reading */

static gboolean
is_text(const char *text, gsize length)
{
    /* This fails if there is a NUL before `length`. */
    return g_utf8_validate_len(text, length, NULL);
}

/* `why`, and behind a NUL `for`, which then isn't empty. */
static gboolean
are_texts(const char *texts, gsize length)
{
    const char *end = memchr(texts, '\0', length);
    const gsize why_length = end != NULL ? (gsize)(end - texts) : length;

    return is_text(texts, why_length) &&
           (end == NULL || (length > why_length + 1 && is_text(end + 1, length - why_length - 1)));
}

/* Whether everything after the first `used` bytes of the message is zero. */
static gboolean
is_padding(const PacketHead *head, gsize used)
{
    const guint8 *bytes = (const guint8 *)head;

    if (head->size != align(used))
        return FALSE;
    for (gsize i = used; i < head->size; i++)
        if (bytes[i] != 0)
            return FALSE;
    return TRUE;
}

static gboolean
check_request(const PacketHead *head)
{
    const PacketRequest *self = (const PacketRequest *)head;
    const char *text = self->text;

    return head->size >= sizeof *self && head->flags == 0 && self->key != 0 &&
           self->mode <= LOCK_MODE_SHARED && (self->options & ~PACKET_OPTIONS_ALL) == 0 &&
           is_padding(head, sizeof *self + self->bucket_length + self->name_length +
                                self->texts_length) &&
           is_text(text, self->bucket_length) &&
           is_text(text + self->bucket_length, self->name_length) &&
           are_texts(text + self->bucket_length + self->name_length, self->texts_length);
}

static gboolean
check_key(const PacketHead *head)
{
    const PacketKey *self = (const PacketKey *)head;

    return head->size == sizeof *self && (head->flags & ~PACKET_FLAG_NO_ANSWER) == 0 &&
           self->key != 0;
}

static gboolean
check_from_client(const PacketHead *head)
{
    switch (head->kind) {
    case PACKET_REQUEST:
        return check_request(head);
    case PACKET_RELEASE:
    case PACKET_ABORT:
    case PACKET_DOWNGRADE:
        return check_key(head);
    case PACKET_SYNC:
    case PACKET_END:
        return head->size == sizeof *head && head->flags == 0;
    default:
        return FALSE;
    }
}

static gboolean
check_answer(const PacketHead *head)
{
    const PacketAnswer *self = (const PacketAnswer *)head;

    return head->size == sizeof *self && self->error < N_PACKET_ERRORS &&
           self->state <= PACKET_STATE_HELD &&
           (self->state == PACKET_STATE_HELD) == (self->token != 0);
}

static gboolean
check_live(const PacketHead *head)
{
    const PacketLive *self = (const PacketLive *)head;

    if (head->size < sizeof *self || self->more > 1 || self->n_entries > PACKET_LIVE_ENTRIES_MAX ||
        head->size != sizeof *self + self->n_entries * sizeof self->entries[0])
        return FALSE;
    for (guint i = 0; i < self->n_entries; i++) {
        const PacketLiveEntry *entry = &self->entries[i];

        if (entry->key == 0 || (entry->state == PACKET_STATE_HELD) != (entry->token != 0) ||
            (entry->state != PACKET_STATE_HELD && entry->state != PACKET_STATE_WAITS) ||
            entry->wanted > (entry->state == PACKET_STATE_HELD) || entry->reserved[0] != 0 ||
            entry->reserved[1] != 0)
            return FALSE;
    }
    return TRUE;
}

static gboolean
check_from_service(const PacketHead *head)
{
    switch (head->kind) {
    case PACKET_ANSWER:
        return check_answer(head);
    case PACKET_GRANTED:
        return head->size == sizeof(PacketGranted) && ((const PacketGranted *)head)->token != 0;
    case PACKET_ENDED:
        return head->size == sizeof(PacketEnded);
    case PACKET_WANTED:
        return head->size == sizeof(PacketWanted) && ((const PacketWanted *)head)->wanted <= 1;
    case PACKET_LIVE:
        return check_live(head);
    case PACKET_CLOSED:
        return head->size == sizeof(PacketClosed);
    default:
        return FALSE;
    }
}

static const PacketHead *
read_message(const void *packet,
             gsize size,
             gsize *offset,
             gboolean (*check)(const PacketHead *head))
{
    const PacketHead *head = (const PacketHead *)((const guint8 *)packet + *offset);

    if (size - *offset < sizeof *head || head->size < sizeof *head || head->size > size - *offset ||
        head->size % PACKET_ALIGNMENT != 0 || !check(head))
        return NULL;
    *offset += head->size;
    return head;
}

const PacketHead *
packet_read_from_client(const void *packet, gsize size, gsize *offset)
{
    return read_message(packet, size, offset, check_from_client);
}

const PacketHead *
packet_read_from_service(const void *packet, gsize size, gsize *offset)
{
    return read_message(packet, size, offset, check_from_service);
}

/* ---- writing */

static void
append(GByteArray *bytes, const void *data, gsize size)
{
    g_byte_array_append(bytes, data, (guint)size);
}

/* As packet_write(); `n_more` bytes of the message follow, which the caller appends. */
static void
append_message(GByteArray *bytes, PacketKind kind, PacketHead *head, gsize size, gsize n_more)
{
    head->kind = (guint16)kind;
    head->size = (guint32)align(size + n_more);
    append(bytes, head, size);
}

void
packet_write(GByteArray *bytes, PacketKind kind, PacketHead *head, gsize size)
{
    append_message(bytes, kind, head, size, 0);
}

static void
append_padding(GByteArray *bytes)
{
    static const guint8 zeros[PACKET_ALIGNMENT];

    append(bytes, zeros, align(bytes->len) - bytes->len);
}

void
packet_write_request(GByteArray *bytes,
                     guint64 serial,
                     guint64 key,
                     guint32 timeout_ms,
                     LockMode mode,
                     guint8 options,
                     guint32 slots,
                     const char *bucket,
                     const char *name,
                     const char *why,
                     const char *command)
{
    const gsize bucket_length = strlen(bucket), name_length = strlen(name);
    const gsize why_length = why != NULL ? strlen(why) : 0;
    const gsize texts_length =
        why_length + (command != NULL && *command != '\0' ? 1 + strlen(command) : 0);
    PacketRequest message = {
        .head.serial = serial,
        .key = key,
        .timeout_ms = timeout_ms,
        .mode = (guint8)mode,
        .options = options,
        .bucket_length = (guint16)bucket_length,
        .name_length = (guint16)name_length,
        .texts_length = (guint16)texts_length,
        .slots = slots,
    };

    append_message(bytes, PACKET_REQUEST, &message.head, sizeof message,
                   bucket_length + name_length + texts_length);
    append(bytes, bucket, bucket_length);
    append(bytes, name, name_length);
    append(bytes, why, why_length);
    if (texts_length > why_length) {
        append(bytes, "", 1);
        append(bytes, command, texts_length - why_length - 1);
    }
    append_padding(bytes);
}

void
packet_write_key(GByteArray *bytes, PacketKind kind, guint16 flags, guint64 serial, guint64 key)
{
    PacketKey message = {.head = {.flags = flags, .serial = serial}, .key = key};

    packet_write(bytes, kind, &message.head, sizeof message);
}

void
packet_write_wanted(GByteArray *bytes, guint64 key, gboolean wanted)
{
    PacketWanted message = {.key = key, .wanted = wanted ? 1 : 0};

    packet_write(bytes, PACKET_WANTED, &message.head, sizeof message);
}

void
packet_write_live(GByteArray *bytes, const PacketLiveEntry *entries, guint n_entries, gboolean more)
{
    const gsize n_more = n_entries * sizeof *entries;
    PacketLive message = {.n_entries = n_entries, .more = more ? 1 : 0};

    append_message(bytes, PACKET_LIVE, &message.head, sizeof message, n_more);
    append(bytes, entries, n_more);
}

gsize
packet_get_length(const GByteArray *bytes, gsize offset, gsize max)
{
    gsize length = 0;

    while (offset + length < bytes->len) {
        const PacketHead *head = (const PacketHead *)(bytes->data + offset + length);

        if (length > 0 && length + head->size > max)
            break;
        length += head->size;
    }
    return length;
}
