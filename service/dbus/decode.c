/* SPDX-FileCopyrightText: 2026 The WebLocks for D-Bus authors
 * SPDX-License-Identifier: LGPL-2.1-or-later */

#include "decode.h"

#include <string.h>

#include "bus-names.h"
#include "options.h"

#define PEER_INTERFACE "org.freedesktop.DBus.Peer"

/* Reads the body. Returns negative errno if it cannot be read; `error` may then have the reason. */
typedef int (*BodyReader)(sd_bus_message *message, LockCall *call, sd_bus_error *error);

typedef struct {
    const char *interface;
    const char *member;
    const char *signature;
    LockCallKind kind;
    BodyReader read_body; /* NULL if the body is empty */
} DecodeTableRow;

static int
refuse_name(sd_bus_error *error)
{
    return sd_bus_error_set(error, BUS_ERROR_INVALID_ARGS,
                            "the name has a character that is not valid in D-Bus");
}

static int
read_request(sd_bus_message *message, LockCall *call, sd_bus_error *error)
{
    if (sd_bus_message_read_basic(message, 's', &call->name) <= 0)
        return refuse_name(error);
    return options_read_lock(message, FALSE, &call->options, error);
}

static int
read_steal(sd_bus_message *message, LockCall *call, sd_bus_error *error)
{
    if (sd_bus_message_read_basic(message, 's', &call->name) <= 0)
        return refuse_name(error);
    return options_read_lock(message, TRUE, &call->options, error);
}

static int
read_id(sd_bus_message *message, LockCall *call, sd_bus_error *error)
{
    uint64_t id;
    int r = sd_bus_message_read_basic(message, 't', &id);

    call->id = r > 0 ? id : 0;
    return r;
}

static int
read_inspect(sd_bus_message *message, LockCall *call, sd_bus_error *error)
{
    return options_read_inspect(message, &call->filter, error);
}

static int
read_break(sd_bus_message *message, LockCall *call, sd_bus_error *error)
{
    int r;

    if (sd_bus_message_read_basic(message, 's', &call->name) <= 0)
        return refuse_name(error);
    r = options_read_break(message, &call->filter, error);
    call->filter.name = call->name;
    return r;
}

static int
read_watch(sd_bus_message *message, LockCall *call, sd_bus_error *error)
{
    int enable = 0;
    int r = sd_bus_message_read_basic(message, 'b', &enable);

    call->enable = enable;
    return r;
}

static int
read_open_socket(sd_bus_message *message, LockCall *call, sd_bus_error *error)
{
    return options_read_open_socket(message, &call->version, error);
}

/* The most frequent first. */
static const DecodeTableRow decode_table[] = {
    {BUS_LOCKS_INTERFACE, "Request", "sa{sv}", LOCK_CALL_REQUEST, read_request},
    {BUS_LOCKS_INTERFACE, "Release", "t", LOCK_CALL_RELEASE, read_id},
    {BUS_LOCKS_INTERFACE, "Abort", "t", LOCK_CALL_ABORT, read_id},
    {BUS_LOCKS_INTERFACE, "Steal", "sa{sv}", LOCK_CALL_REQUEST, read_steal},
    {BUS_LOCKS_INTERFACE, "Query", "", LOCK_CALL_QUERY, NULL},
    {BUS_LOCKS_INTERFACE, "Inspect", "a{sv}", LOCK_CALL_INSPECT, read_inspect},
    {BUS_LOCKS_INTERFACE, "Watch", "b", LOCK_CALL_WATCH, read_watch},
    {BUS_LOCKS_INTERFACE, "Break", "sa{sv}", LOCK_CALL_BREAK, read_break},
    {BUS_SERVICE_INTERFACE, "Buckets", "", LOCK_CALL_BUCKETS, NULL},
    {BUS_SERVICE_INTERFACE, "Observable", "", LOCK_CALL_OBSERVABLE, NULL},
    {BUS_SERVICE_INTERFACE, "Watch", "b", LOCK_CALL_WATCH, read_watch},
    {BUS_SERVICE_INTERFACE, "OpenSocket", "a{sv}", LOCK_CALL_OPEN_SOCKET, read_open_socket},
    {BUS_SERVICE_INTERFACE, "Resync", "", LOCK_CALL_RESYNC, NULL},
    {PEER_INTERFACE, "Ping", "", LOCK_CALL_PING, NULL},
};

static const DecodeTableRow *
find_row(const char *interface, const char *member)
{
    for (guint i = 0; i < G_N_ELEMENTS(decode_table); i++) {
        const DecodeTableRow *row = &decode_table[i];

        if (strcmp(row->member, member) == 0 && strcmp(row->interface, interface) == 0)
            return row;
    }
    return NULL;
}

/* Returns the row of the called method; NULL if sd-bus, which has the objects, has to reply.
 * `*out_bucket` is NULL if the call is not about a bucket. */
static const DecodeTableRow *
find_called(Bus *bus, sd_bus_message *message, const BucketPath **out_bucket)
{
    const char *interface = sd_bus_message_get_interface(message);
    const char *path = sd_bus_message_get_path(message);
    const DecodeTableRow *row = NULL;

    *out_bucket = NULL;
    if (interface != NULL)
        row = find_row(interface, sd_bus_message_get_member(message));
    if (row == NULL || sd_bus_message_has_signature(message, row->signature) <= 0)
        return NULL;
    if (row->kind == LOCK_CALL_PING)
        return row;
    if (strcmp(interface, BUS_SERVICE_INTERFACE) == 0)
        return strcmp(path, BUS_SERVICE_PATH) == 0 ? row : NULL;
    *out_bucket = bus_get_bucket(bus, path);
    return *out_bucket != NULL ? row : NULL;
}

static void
begin_call(sd_bus_message *message, LockCallKind kind, LockCall *call)
{
    uint64_t cookie = 0;
    int r = sd_bus_message_get_cookie(message, &cookie);

    g_assert(r >= 0);
    *call = (LockCall){
        .kind = kind,
        .wants_reply = sd_bus_message_get_expect_reply(message) > 0,
        .serial = cookie,
    };
}

static void
set_refusal(LockCall *call, const sd_bus_error *error)
{
    if (!sd_bus_error_is_set(error)) {
        call->refusal_name = BUS_ERROR_INVALID_ARGS;
        call->refusal_text = g_strdup("the message body is invalid");
        return;
    }
    call->refusal_name = sd_bus_error_has_name(error, SD_BUS_ERROR_NO_MEMORY)
                             ? SD_BUS_ERROR_NO_MEMORY
                             : BUS_ERROR_INVALID_ARGS;
    call->refusal_text = g_strdup(error->message);
}

gboolean
decode_call(Bus *bus, sd_bus_message *message, LockCall *out_call)
{
    sd_bus_error error = SD_BUS_ERROR_NULL;
    const BucketPath *bucket;
    const DecodeTableRow *row = find_called(bus, message, &bucket);

    if (row == NULL)
        return FALSE;
    begin_call(message, row->kind, out_call);
    if (bucket != NULL) {
        out_call->bucket = bucket->name;
        out_call->owner = bucket->owner;
    }
    if (row->read_body != NULL && row->read_body(message, out_call, &error) < 0)
        set_refusal(out_call, &error);
    sd_bus_error_free(&error);
    return TRUE;
}

void
decode_other(sd_bus_message *message, LockCall *out_call)
{
    begin_call(message, LOCK_CALL_OTHER, out_call);
}
