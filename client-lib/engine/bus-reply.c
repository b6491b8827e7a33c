/* SPDX-FileCopyrightText: 2026 The WebLocks for D-Bus authors
 * SPDX-License-Identifier: LGPL-2.1-or-later */

#include "client-lib/engine/bus-reply.h"

#include <gio/gio.h>
#include <string.h>

/* See the D-Bus specification, "Message Format". */
#define HEAD_BYTES   16
#define HEAD_TYPE    1
#define NATIVE_ORDER (G_BYTE_ORDER == G_LITTLE_ENDIAN ? 'l' : 'B')

typedef struct {
    const guint8 *data;
    gsize size; /* the end of the array of header fields, from the beginning of the message */
    gsize offset;
} Reader;

static gsize
align(gsize offset, gsize alignment)
{
    return (offset + alignment - 1) / alignment * alignment;
}

static guint32
get_u32(const guint8 *data)
{
    guint32 number;

    memcpy(&number, data, sizeof number);
    return number;
}

static gboolean
read_u32(Reader *reader, guint32 *out_number)
{
    const gsize offset = align(reader->offset, 4);

    if (offset + 4 > reader->size)
        return FALSE;
    *out_number = get_u32(reader->data + offset);
    reader->offset = offset + 4;
    return TRUE;
}

/* Reads a string or an object path (length of four bytes), or a signature (one byte). */
static gboolean
read_string(Reader *reader, char type, const char **out_string)
{
    guint32 length;

    if (type == 'g') {
        if (reader->offset >= reader->size)
            return FALSE;
        length = reader->data[reader->offset++];
    } else if (!read_u32(reader, &length)) {
        return FALSE;
    }
    if (length >= reader->size - reader->offset || reader->data[reader->offset + length] != '\0')
        return FALSE;
    *out_string = (const char *)reader->data + reader->offset;
    reader->offset += length + 1;
    return TRUE;
}

/* Reads a header field: a struct of a byte and a variant. */
static gboolean
read_field(Reader *reader, BusReply *reply)
{
    guint8 code;
    const char *type, *string = "";
    guint32 number = 0;

    reader->offset = align(reader->offset, 8);
    if (reader->offset >= reader->size)
        return FALSE;
    code = reader->data[reader->offset++];
    if (!read_string(reader, 'g', &type) || type[0] == '\0' || type[1] != '\0')
        return FALSE;
    if (type[0] == 'u' ? !read_u32(reader, &number) : !read_string(reader, type[0], &string))
        return FALSE;
    if (code == G_DBUS_MESSAGE_HEADER_FIELD_REPLY_SERIAL)
        reply->reply_serial = number;
    else if (code == G_DBUS_MESSAGE_HEADER_FIELD_SENDER)
        reply->sender = string;
    else if (code == G_DBUS_MESSAGE_HEADER_FIELD_SIGNATURE)
        reply->signature = string;
    return TRUE;
}

gboolean
bus_reply_read(BusReply *self, const guint8 *message, gsize size)
{
    Reader reader = {.data = message, .offset = HEAD_BYTES};
    gsize body_offset;

    *self = (BusReply){.sender = "", .signature = ""};
    if (size < HEAD_BYTES || message[0] != NATIVE_ORDER ||
        message[HEAD_TYPE] != G_DBUS_MESSAGE_TYPE_METHOD_RETURN)
        return FALSE;
    self->body_size = get_u32(message + 4);
    reader.size = HEAD_BYTES + (gsize)get_u32(message + 12);
    body_offset = align(reader.size, 8);
    if (body_offset > size || size - body_offset != self->body_size)
        return FALSE;
    self->body = message + body_offset;
    while (reader.offset < reader.size)
        if (!read_field(&reader, self))
            return FALSE;
    return TRUE;
}
