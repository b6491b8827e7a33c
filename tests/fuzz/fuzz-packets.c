/* SPDX-FileCopyrightText: 2026 The WebLocks for D-Bus authors
 * SPDX-License-Identifier: LGPL-2.1-or-later */

/* A packet of any bytes, read as the service reads those of clients, and as a client reads those of
 * the service.
 *
 * A packet that is accepted and written again has the same bytes: so reserved fields, padding and
 * lengths that the specification excludes are not accepted. The packet is in an allocation of
 * exactly its size, so that sanitizers notice a read behind it. */

#include "common/packet.h"
#include "tests/fuzz/fuzz.h"

static void
copy_request(GByteArray *bytes, const PacketRequest *request)
{
    const char *text = request->text;
    g_autofree char *bucket = g_strndup(text, request->bucket_length);
    g_autofree char *name = g_strndup(text += request->bucket_length, request->name_length);
    g_autofree char *why = g_strndup(text += request->name_length, request->texts_length);
    const gsize why_length = strlen(why);
    g_autofree char *command =
        why_length < request->texts_length
            ? g_strndup(text + why_length + 1, request->texts_length - why_length - 1)
            : NULL;

    packet_write_request(bytes, request->head.serial, request->key, request->timeout_ms,
                         (LockMode)request->mode, request->options, request->slots, bucket, name,
                         why_length > 0 ? why : NULL, command);
}

/* Appends a message that packet_read_from_client() returned. */
static void
copy_from_client(GByteArray *bytes, const PacketHead *message)
{
    switch (message->kind) {
    case PACKET_REQUEST:
        copy_request(bytes, (const PacketRequest *)message);
        break;
    case PACKET_RELEASE:
    case PACKET_ABORT:
    case PACKET_DOWNGRADE:
        packet_write_key(bytes, message->kind, message->flags, message->serial,
                         ((const PacketKey *)message)->key);
        break;
    case PACKET_SYNC:
    case PACKET_END:
        PACKET_WRITE(bytes, message->kind, PacketHead, .serial = message->serial);
        break;
    default:
        g_assert_not_reached();
    }
}

static void
check_from_client(const void *packet, gsize size)
{
    g_autofree guint8 *exact = g_memdup2(packet, size);
    g_autoptr(GByteArray) copy = g_byte_array_new();
    gsize offset = 0;

    while (offset < size) {
        const gsize before = offset;
        const PacketHead *message = packet_read_from_client(exact, size, &offset);

        if (message == NULL) {
            g_assert_cmpuint(offset, ==, before);
            break;
        }
        g_assert_true((const guint8 *)message == exact + before);
        g_assert_cmpuint(offset, ==, before + message->size);
        copy_from_client(copy, message);
        g_assert_cmpmem(copy->data, copy->len, exact, offset);
    }
}

static void
check_entries(const PacketLive *live)
{
    for (guint i = 0; i < live->n_entries; i++) {
        const PacketLiveEntry *entry = &live->entries[i];

        g_assert_cmpuint(entry->key, !=, 0);
        if (entry->state == PACKET_STATE_HELD)
            g_assert_cmpuint(entry->token, !=, 0);
        else
            g_assert_cmpuint(entry->state, ==, PACKET_STATE_WAITS);
    }
}

static void
check_from_service(const void *packet, gsize size)
{
    g_autofree guint8 *exact = g_memdup2(packet, size);
    gsize offset = 0;

    while (offset < size) {
        const gsize before = offset;
        const PacketHead *message = packet_read_from_service(exact, size, &offset);

        if (message == NULL) {
            g_assert_cmpuint(offset, ==, before);
            break;
        }
        g_assert_true((const guint8 *)message == exact + before);
        g_assert_cmpuint(offset, ==, before + message->size);
        g_assert_cmpuint(message->kind, >=, PACKET_ANSWER);
        g_assert_cmpuint(message->kind, <=, PACKET_WANTED);
        if (message->kind == PACKET_LIVE)
            check_entries((const PacketLive *)message);
    }
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    check_from_client(data, size);
    check_from_service(data, size);
    return 0;
}
