/* SPDX-FileCopyrightText: 2026 The WebLocks for D-Bus authors
 * SPDX-License-Identifier: LGPL-2.1-or-later */

#include "client-lib/engine/bus-reply.h"

#include <gio/gio.h>
#include <string.h>

/* See the D-Bus specification, "Message Format". */
#define HEAD_BYTES   16
#define HEAD_TYPE    1
#define NATIVE_ORDER (G_BYTE_ORDER == G_LITTLE_ENDIAN ? 'l' : 'B')

static guint32
get_u32(const guint8 *data)
{
    guint32 number;

    memcpy(&number, data, sizeof number);
    return number;
}

gboolean
bus_reader_align(BusReader *self, gsize alignment)
{
    self->offset = (self->offset + alignment - 1) / alignment * alignment;
    return self->offset <= self->size;
}

gboolean
bus_reader_u32(BusReader *self, guint32 *out_number)
{
    if (!bus_reader_align(self, 4) || self->size - self->offset < 4)
        return FALSE;
    *out_number = get_u32(self->data + self->offset);
    self->offset += 4;
    return TRUE;
}

gboolean
bus_reader_string(BusReader *self, char type, const char **out_string)
{
    guint32 length;

    if (type == 'g') {
        if (self->offset >= self->size)
            return FALSE;
        length = self->data[self->offset++];
    } else if (!bus_reader_u32(self, &length)) {
        return FALSE;
    }
    if (length >= self->size - self->offset || self->data[self->offset + length] != '\0')
        return FALSE;
    *out_string = (const char *)self->data + self->offset;
    self->offset += length + 1;
    return TRUE;
}

/* Reads a header field: a struct of a byte and a variant. */
static gboolean
read_field(BusReader *reader, BusReply *reply)
{
    guint8 code;
    const char *type, *string = "";
    guint32 number = 0;

    if (!bus_reader_align(reader, 8) || reader->offset == reader->size)
        return FALSE;
    code = reader->data[reader->offset++];
    if (!bus_reader_string(reader, 'g', &type) || type[0] == '\0' || type[1] != '\0')
        return FALSE;
    if (type[0] == 'u' ? !bus_reader_u32(reader, &number)
                       : !bus_reader_string(reader, type[0], &string))
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
    BusReader reader = {.data = message, .offset = HEAD_BYTES};
    gsize body_offset;

    *self = (BusReply){.sender = "", .signature = ""};
    if (size < HEAD_BYTES || message[0] != NATIVE_ORDER ||
        message[HEAD_TYPE] != G_DBUS_MESSAGE_TYPE_METHOD_RETURN)
        return FALSE;
    self->body_size = get_u32(message + 4);
    reader.size = HEAD_BYTES + (gsize)get_u32(message + 12);
    body_offset = (reader.size + 7) / 8 * 8;
    if (body_offset > size || size - body_offset != self->body_size)
        return FALSE;
    self->body = message + body_offset;
    while (reader.offset < reader.size)
        if (!read_field(&reader, self))
            return FALSE;
    return TRUE;
}
