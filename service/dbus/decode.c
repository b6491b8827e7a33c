/* SPDX-FileCopyrightText: 2026 The WebLocks for D-Bus authors
 * SPDX-License-Identifier: LGPL-2.1-or-later */

#include "decode.h"

#include <string.h>

#include "bus-names.h"
#include "objects.h"
#include "options.h"
#include "proof.h"

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
    const gboolean steal = sd_bus_message_is_method_call(message, NULL, "Steal") > 0;

    if (sd_bus_message_read_basic(message, 's', &call->name) <= 0)
        return refuse_name(error);
    return options_read_lock(message, steal, &call->options, error);
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
read_break(sd_bus_message *message, LockCall *call, sd_bus_error *error)
{
    if (sd_bus_message_read_basic(message, 's', &call->name) <= 0)
        return refuse_name(error);
    return options_read_break(message, call, error);
}

static int
read_watch(sd_bus_message *message, LockCall *call, sd_bus_error *error)
{
    int enable = 0;
    int r = sd_bus_message_read_basic(message, 'b', &enable);

    call->enable = enable;
    return r;
}

/* The proof is here, so that no descriptor is stored with a deferred call. */
static int
read_open_document(sd_bus_message *message, LockCall *call, sd_bus_error *error)
{
    const char *name, *portal;
    int fd = -1;
    int r = options_read_open_document(message, &fd, &name, &portal, error);

    if (r < 0)
        return r;
    call->is_of_portal = portal != NULL;
    if (call->is_of_portal)
        call->document = g_strdup(portal);
    else
        call->proof = proof_of_file(fd, name, &call->document);
    return 0;
}

/* ---- the interfaces of D-Bus itself */

static int
set_refusal(LockCall *call, const char *name, const char *text)
{
    call->refusal_name = name;
    call->refusal_text = g_strdup(text);
    return 0;
}

/* Of Get and Set: all properties are read-only. */
static int
read_property(sd_bus_message *message, LockCall *call, sd_bus_error *error)
{
    const char *interface, *name;
    int r = sd_bus_message_read(message, "ss", &interface, &name);

    if (r < 0)
        return r;
    call->item = objects_find_property((ObjectKind)call->item, interface, name);
    if (call->item == N_PROPERTIES)
        return set_refusal(call, SD_BUS_ERROR_UNKNOWN_PROPERTY, "there is no such property");
    if (call->kind != LOCK_CALL_GET)
        return set_refusal(call, SD_BUS_ERROR_PROPERTY_READ_ONLY, "the property is read-only");
    return 0;
}

static int
read_get_all(sd_bus_message *message, LockCall *call, sd_bus_error *error)
{
    const ObjectKind object = (ObjectKind)call->item;
    const char *interface;
    int r = sd_bus_message_read_basic(message, 's', &interface);

    if (r < 0)
        return r;
    if (interface[0] != '\0' && !objects_have(object, interface))
        return set_refusal(call, SD_BUS_ERROR_UNKNOWN_INTERFACE, "there is no such interface");
    call->item =
        objects_find_property(object, interface, "Version") < N_PROPERTIES ? N_PROPERTIES : 0;
    return 0;
}

/* Of Introspect: which buckets are in use depends on the caller. */
static int
read_introspect(sd_bus_message *message, LockCall *call, sd_bus_error *error)
{
    if (call->item == OBJECT_BUCKETS)
        call->kind = LOCK_CALL_TREE;
    return 0;
}

/* ---- calls */

/* The most frequent first. */
static const DecodeTableRow decode_table[] = {
    {BUS_LOCKS_INTERFACE, "Request", "sa{sv}", LOCK_CALL_REQUEST, read_request},
    {BUS_LOCKS_INTERFACE, "Release", "t", LOCK_CALL_RELEASE, read_id},
    {BUS_LOCKS_INTERFACE, "Abort", "t", LOCK_CALL_ABORT, read_id},
    {BUS_LOCKS_INTERFACE, "Downgrade", "t", LOCK_CALL_DOWNGRADE, read_id},
    {BUS_LOCKS_INTERFACE, "Steal", "sa{sv}", LOCK_CALL_REQUEST, read_request},
    {BUS_LOCKS_INTERFACE, "Query", "", LOCK_CALL_QUERY, NULL},
    {BUS_LOCKS_INTERFACE, "Inspect", "a{sv}", LOCK_CALL_INSPECT, options_read_inspect},
    {BUS_LOCKS_INTERFACE, "Watch", "b", LOCK_CALL_WATCH, read_watch},
    {BUS_LOCKS_INTERFACE, "Break", "sa{sv}", LOCK_CALL_BREAK, read_break},
    {BUS_SERVICE_INTERFACE, "Buckets", "", LOCK_CALL_BUCKETS, NULL},
    {BUS_SERVICE_INTERFACE, "Observable", "", LOCK_CALL_OBSERVABLE, NULL},
    {BUS_SERVICE_INTERFACE, "Watch", "b", LOCK_CALL_WATCH, read_watch},
    {BUS_SERVICE_INTERFACE, "OpenSocket", "a{sv}", LOCK_CALL_OPEN_SOCKET, options_read_open_socket},
    {BUS_SERVICE_INTERFACE, "OpenDocument", "a{sv}", LOCK_CALL_OPEN_DOCUMENT, read_open_document},
    {BUS_SERVICE_INTERFACE, "Resync", "", LOCK_CALL_RESYNC, NULL},
    {BUS_PEER_INTERFACE, "Ping", "", LOCK_CALL_PING, NULL},
    {BUS_PEER_INTERFACE, "GetMachineId", "", LOCK_CALL_MACHINE_ID, NULL},
    {BUS_INTROSPECTABLE_INTERFACE, "Introspect", "", LOCK_CALL_INTROSPECT, read_introspect},
    {BUS_PROPERTIES_INTERFACE, "Get", "ss", LOCK_CALL_GET, read_property},
    {BUS_PROPERTIES_INTERFACE, "GetAll", "s", LOCK_CALL_GET_ALL, read_get_all},
    {BUS_PROPERTIES_INTERFACE, "Set", "ssv", LOCK_CALL_UNKNOWN, read_property},
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

/* Returns the row of the called method; otherwise NULL, and the call is refused. A call without an
 * interface is of none. The interface Peer is also at paths without an object. */
static const DecodeTableRow *
find_called(sd_bus_message *message, ObjectKind object, LockCall *call)
{
    const char *interface = sd_bus_message_get_interface(message);
    const DecodeTableRow *row = NULL;

    if (interface != NULL &&
        (objects_have(object, interface) || g_str_equal(interface, BUS_PEER_INTERFACE)))
        row = find_row(interface, sd_bus_message_get_member(message));
    if (row != NULL && sd_bus_message_has_signature(message, row->signature) > 0)
        return row;
    if (row != NULL)
        set_refusal(call, BUS_ERROR_INVALID_ARGS, "the arguments have the wrong types");
    else if (object == OBJECT_BUCKET || object == OBJECT_SERVICE)
        set_refusal(call, BUS_ERROR_UNKNOWN_METHOD, "there is no such method");
    else
        set_refusal(call, BUS_ERROR_UNKNOWN_OBJECT, "there is no such object");
    return NULL;
}

static void
begin_call(sd_bus_message *message, LockCall *call)
{
    uint64_t cookie = 0;
    int r = sd_bus_message_get_cookie(message, &cookie);

    g_assert(r >= 0);
    *call = (LockCall){
        .kind = LOCK_CALL_UNKNOWN,
        .wants_reply = sd_bus_message_get_expect_reply(message) > 0,
        .serial = cookie,
    };
}

static void
set_body_refusal(LockCall *call, const sd_bus_error *error)
{
    if (!sd_bus_error_is_set(error))
        set_refusal(call, BUS_ERROR_INVALID_ARGS, "the message body is invalid");
    else if (sd_bus_error_has_name(error, SD_BUS_ERROR_NO_MEMORY))
        set_refusal(call, SD_BUS_ERROR_NO_MEMORY, error->message);
    else
        set_refusal(call, BUS_ERROR_INVALID_ARGS, error->message);
}

void
decode_call(Bus *bus, sd_bus_message *message, LockCall *out_call)
{
    sd_bus_error error = SD_BUS_ERROR_NULL;
    const DecodeTableRow *row;
    ObjectKind object;

    bucket_path_clear(&bus->called);
    object = objects_find(sd_bus_message_get_path(message), &bus->called);
    begin_call(message, out_call);
    row = find_called(message, object, out_call);
    if (row == NULL)
        return;
    out_call->kind = row->kind;
    out_call->item = object;
    out_call->bucket = bus->called.name;
    out_call->owner = bus->called.owner;
    if (row->read_body != NULL && row->read_body(message, out_call, &error) < 0)
        set_body_refusal(out_call, &error);
    sd_bus_error_free(&error);
}
