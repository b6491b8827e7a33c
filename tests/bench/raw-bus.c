/* SPDX-FileCopyrightText: 2026 The WebLocks for D-Bus authors
 * SPDX-License-Identifier: LGPL-2.1-or-later */

#include "raw-bus.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "bench.h"

#define ADDRESS_PREFIX "unix:path="
#define DRIVER         "org.freedesktop.DBus"
#define DRIVER_PATH    "/org/freedesktop/DBus"

/* Offsets in the header of a message. */
#define HEADER_BYTES  16
#define TYPE_AT       1
#define BODY_SIZE_AT  4
#define SERIAL_AT     8
#define FIELD_SIZE_AT 12
#define TYPE_REPLY    2
#define TYPE_SIGNAL   4

struct RawBus {
    int fd;
    guint32 serial;
    gsize begin; /* of the data that have been read and not parsed yet */
    gsize end;   /* likewise */
    guint8 in[65536];
};

static guint32
read_u32(const guint8 *at)
{
    guint32 value;

    memcpy(&value, at, sizeof value);
    return value;
}

/* ---- calls */

static RawCall *
call_new(const char *member, GVariant *body)
{
    g_autoptr(GDBusMessage) message =
        g_dbus_message_new_method_call(DRIVER, DRIVER_PATH, DRIVER, member);
    g_autoptr(GError) error = NULL;
    RawCall *call = g_new0(RawCall, 1);

    if (body != NULL)
        g_dbus_message_set_body(message, body);
    g_dbus_message_set_serial(message, 1); /* replaced for each call */
    g_dbus_message_set_byte_order(message, G_BYTE_ORDER == G_LITTLE_ENDIAN
                                               ? G_DBUS_MESSAGE_BYTE_ORDER_LITTLE_ENDIAN
                                               : G_DBUS_MESSAGE_BYTE_ORDER_BIG_ENDIAN);
    call->bytes =
        g_dbus_message_to_blob(message, &call->length, G_DBUS_CAPABILITY_FLAGS_NONE, &error);
    bench_check_error(error, member);
    return call;
}

RawCall *
raw_call_new_request_name(const char *name)
{
    return call_new("RequestName", g_variant_new("(su)", name, 0));
}

RawCall *
raw_call_new_release_name(const char *name)
{
    return call_new("ReleaseName", g_variant_new("(s)", name));
}

void
raw_call_free(RawCall *call)
{
    g_free(call->bytes);
    g_free(call);
}

static void
write_all(RawBus *bus, const guint8 *bytes, gsize length)
{
    while (length > 0) {
        ssize_t n = write(bus->fd, bytes, length);

        bench_check_errno(n > 0, "writing to the bus");
        bytes += n;
        length -= (gsize)n;
    }
}

void
raw_bus_send(RawBus *bus, const RawCall *call)
{
    bus->serial++;
    memcpy(call->bytes + SERIAL_AT, &bus->serial, sizeof bus->serial);
    write_all(bus, call->bytes, call->length);
}

void
raw_bus_send_all(RawBus *bus, RawCall *const *calls, guint n)
{
    guint8 out[65536];
    gsize length = 0;

    for (guint i = 0; i < n; i++) {
        if (length + calls[i]->length > sizeof out) {
            write_all(bus, out, length);
            length = 0;
        }
        bus->serial++;
        memcpy(out + length, calls[i]->bytes, calls[i]->length);
        memcpy(out + length + SERIAL_AT, &bus->serial, sizeof bus->serial);
        length += calls[i]->length;
    }
    write_all(bus, out, length);
}

/* ---- replies */

static void
read_more(RawBus *bus)
{
    ssize_t n;

    if (bus->begin > 0) {
        memmove(bus->in, bus->in + bus->begin, bus->end - bus->begin);
        bus->end -= bus->begin;
        bus->begin = 0;
    }
    n = read(bus->fd, bus->in + bus->end, sizeof bus->in - bus->end);
    if (n <= 0)
        bench_die("reading from the bus", n < 0 ? g_strerror(errno) : "it has closed");
    bus->end += (gsize)n;
}

/* Returns the next message, which is valid until the next call of this function. */
static const guint8 *
next_message(RawBus *bus, gsize *header_size, gsize *size)
{
    const guint8 *message;

    for (;;) {
        gsize have = bus->end - bus->begin;

        message = bus->in + bus->begin;
        if (have >= HEADER_BYTES) {
            *header_size = (HEADER_BYTES + read_u32(message + FIELD_SIZE_AT) + 7) & ~(gsize)7;
            *size = *header_size + read_u32(message + BODY_SIZE_AT);
            if (*size > sizeof bus->in)
                bench_die("reading from the bus", "a message too long");
            if (have >= *size)
                break;
        }
        read_more(bus);
    }
    bus->begin += *size;
    return message;
}

guint32
raw_bus_await_reply(RawBus *bus)
{
    gsize header_size, size;
    const guint8 *message;

    do
        message = next_message(bus, &header_size, &size);
    while (message[TYPE_AT] == TYPE_SIGNAL);
    if (message[TYPE_AT] != TYPE_REPLY)
        bench_die("call of the bus", "it answers with an error");
    return size >= header_size + sizeof(guint32) ? read_u32(message + header_size) : 0;
}

void
raw_bus_await_name(RawBus *bus, const char *name)
{
    static const char member[] = "NameAcquired";
    gsize header_size, size;
    const guint8 *message;

    do
        message = next_message(bus, &header_size, &size);
    while (message[TYPE_AT] != TYPE_SIGNAL ||
           memmem(message, header_size, member, sizeof member) == NULL ||
           memmem(message + header_size, size - header_size, name, strlen(name) + 1) == NULL);
}

/* ---- connecting */

static int
connect_to(const char *address)
{
    struct sockaddr_un un = {.sun_family = AF_UNIX};
    const char *path = address + strlen(ADDRESS_PREFIX);
    gsize length;
    int fd;

    if (!g_str_has_prefix(address, ADDRESS_PREFIX))
        bench_die(address, "not " ADDRESS_PREFIX "...");
    length = strcspn(path, ",;");
    if (length >= sizeof un.sun_path)
        bench_die(address, "too long");
    memcpy(un.sun_path, path, length);
    fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    bench_check_errno(fd >= 0, "socket");
    bench_check_errno(connect(fd, (struct sockaddr *)&un, sizeof un) == 0, address);
    return fd;
}

static void
authenticate(RawBus *bus)
{
    g_autofree char *uid = g_strdup_printf("%u", (guint)getuid());
    g_autoptr(GString) line = g_string_new("AUTH EXTERNAL ");

    for (const char *digit = uid; *digit != '\0'; digit++)
        g_string_append_printf(line, "%02x", (guint)*digit);
    g_string_append(line, "\r\n");
    write_all(bus, (const guint8 *)"", 1);
    write_all(bus, (const guint8 *)line->str, line->len);
    while (memchr(bus->in, '\n', bus->end) == NULL)
        read_more(bus);
    if (bus->end < 2 || memcmp(bus->in, "OK", 2) != 0)
        bench_die("authenticating", "the bus refuses");
    bus->end = 0;
    write_all(bus, (const guint8 *)"BEGIN\r\n", strlen("BEGIN\r\n"));
}

RawBus *
raw_bus_new(const char *address)
{
    g_autoptr(RawCall) hello = call_new("Hello", NULL);
    RawBus *bus = g_new0(RawBus, 1);

    bus->fd = connect_to(address);
    authenticate(bus);
    raw_bus_send(bus, hello);
    raw_bus_await_reply(bus);
    return bus;
}
