/* SPDX-FileCopyrightText: 2026 The WebLocks for D-Bus authors
 * SPDX-License-Identifier: LGPL-2.1-or-later */

/* In place of sd-bus, of the decoder of calls, of the identification of clients and of inotify: as
 * much as the service calls in test-interleavings. Of a message there is only what its receiver
 * needs. What is not defined here is sd-bus's own, and would refuse to work without a bus. */

#include <fcntl.h>
#include <stdarg.h>
#include <string.h>
#include <unistd.h>

#include "credentials.h"
#include "decode.h"
#include "packet.h"
#include "sd-bus.h"
#include "tests/handles/service-sim.h"
#include "tests/handles/steps.h"
#include "vanished.h"

struct sd_bus_message {
    guint n_refs;
    const char *sender;
    BusCallKind kind;
    gboolean is_reply;
    int fd, page_fd;
    /* Of a reply of the bus. */
    gboolean is_id;
    guint n_read;
};

struct CredentialsLookup {
    CredentialsDone done;
    gpointer data;
};

static const char *const names[SIM_CLIENTS] = {":1.A", ":1.B"};

/* Replies that are due. */
static CredentialsLookup *lookup;
static sd_bus_message_handler_t list_names;
static gpointer list_names_data;

static struct {
    gboolean (*is_in_place)(gpointer data);
    void (*write_again)(gpointer data);
    gpointer data;
} vanished;

/* ---- messages */

static sd_bus_message *
new_message(const char *sender)
{
    sd_bus_message *self = g_new0(sd_bus_message, 1);

    self->n_refs = 1;
    self->sender = sender;
    self->fd = self->page_fd = -1;
    return self;
}

sd_bus_message *
service_bus_new_call(guint client, BusCallKind kind)
{
    sd_bus_message *self = new_message(names[client]);

    self->kind = kind;
    return self;
}

sd_bus_message *
sd_bus_message_ref(sd_bus_message *self)
{
    self->n_refs++;
    return self;
}

sd_bus_message *
sd_bus_message_unref(sd_bus_message *self)
{
    if (self == NULL || --self->n_refs > 0)
        return NULL;
    if (self->fd >= 0)
        close(self->fd);
    if (self->page_fd >= 0)
        close(self->page_fd);
    g_free(self);
    return NULL;
}

const char *
sd_bus_message_get_sender(sd_bus_message *self)
{
    return self->sender;
}

/* That of a deferred call is not noted: the reply is made of a stand-in. */
int
sd_bus_message_get_cookie(sd_bus_message *self, uint64_t *cookie)
{
    *cookie = self->kind + 1;
    return 0;
}

int
sd_bus_message_seal(sd_bus_message *self, uint64_t cookie, uint64_t timeout_us)
{
    self->kind = (BusCallKind)(cookie - 1); /* of a stand-in */
    return 0;
}

int
sd_bus_message_set_sender(sd_bus_message *self, const char *sender)
{
    self->sender = names[service_sim_index_of(sender)];
    return 0;
}

int
sd_bus_message_is_signal(sd_bus_message *self, const char *interface, const char *member)
{
    return 0;
}

int
sd_bus_message_is_method_call(sd_bus_message *self, const char *interface, const char *member)
{
    return 1;
}

int
sd_bus_message_is_method_error(sd_bus_message *self, const char *name)
{
    return 0;
}

int
sd_bus_message_new_method_call(sd_bus *bus,
                               sd_bus_message **out,
                               const char *destination,
                               const char *path,
                               const char *interface,
                               const char *member)
{
    *out = new_message(NULL);
    return 0;
}

/* A Ping, which is not answered: the client has not read what the service has sent on the bus. */
int
sd_bus_call_async(sd_bus *bus,
                  sd_bus_slot **out_slot,
                  sd_bus_message *message,
                  sd_bus_message_handler_t callback,
                  void *data,
                  uint64_t timeout_us)
{
    *out_slot = (sd_bus_slot *)message;
    return 1;
}

sd_bus_slot *
sd_bus_slot_unref(sd_bus_slot *slot)
{
    return NULL;
}

int
sd_bus_message_new_method_return(sd_bus_message *call, sd_bus_message **out)
{
    *out = new_message(call->sender);
    (*out)->kind = call->kind;
    (*out)->is_reply = TRUE;
    return 0;
}

/* A refusal, which is not sent: the kernel takes the descriptors of each reply. */
int
sd_bus_message_new_method_error(sd_bus_message *call,
                                sd_bus_message **out,
                                const sd_bus_error *error)
{
    return sd_bus_message_new_method_return(call, out);
}

int
sd_bus_message_new_signal(
    sd_bus *bus, sd_bus_message **out, const char *path, const char *interface, const char *member)
{
    *out = new_message(NULL);
    return 0;
}

int
sd_bus_message_set_destination(sd_bus_message *self, const char *destination)
{
    return 0;
}

int
sd_bus_message_open_container(sd_bus_message *self, char type, const char *contents)
{
    return 0;
}

int
sd_bus_message_close_container(sd_bus_message *self)
{
    return 0;
}

int
sd_bus_message_append_basic(sd_bus_message *self, char type, const void *value)
{
    return 0;
}

int
sd_bus_message_append_string_space(sd_bus_message *self, size_t size, char **out_space)
{
    static char space[256];

    g_assert(size < sizeof space);
    *out_space = space;
    return 0;
}

/* Takes the descriptors of the reply to OpenSocket. */
int
sd_bus_message_append(sd_bus_message *self, const char *types, ...)
{
    const gboolean is_parameter = g_str_equal(types, "{sv}"); /* "cells", of type "h" */
    va_list arguments;
    int *fd = is_parameter ? &self->page_fd : &self->fd;

    if (!is_parameter && !g_str_equal(types, "h"))
        return 0;
    /* NOLINTBEGIN(clang-analyzer-valist.Uninitialized) ; it is initialized */
    va_start(arguments, types);
    for (guint i = 0; is_parameter && i < 2; i++)
        g_assert_cmpstr(va_arg(arguments, const char *), ==, i == 0 ? "cells" : "h");
    *fd = fcntl(va_arg(arguments, int), F_DUPFD_CLOEXEC, 3);
    /* NOLINTEND(clang-analyzer-valist.Uninitialized) */
    va_end(arguments);
    return 0;
}

/* ---- the replies of the bus to GetId and ListNames */

int
sd_bus_message_enter_container(sd_bus_message *self, char type, const char *contents)
{
    return 1;
}

int
sd_bus_message_read_basic(sd_bus_message *self, char type, void *value)
{
    if (self->is_id) {
        *(const char **)value = "b5b5b5b5b5b5b5b5b5b5b5b5b5b5b5b5";
        return 1;
    }
    while (self->n_read < SIM_CLIENTS)
        if (service_bus_has_client(self->n_read++)) {
            *(const char **)value = names[self->n_read - 1];
            return 1;
        }
    return 0;
}

int
sd_bus_call_method(sd_bus *bus,
                   const char *destination,
                   const char *path,
                   const char *interface,
                   const char *member,
                   sd_bus_error *error,
                   sd_bus_message **out_reply,
                   const char *types,
                   ...)
{
    g_assert_cmpstr(member, ==, "GetId");
    *out_reply = new_message(NULL);
    (*out_reply)->is_id = TRUE;
    return 1;
}

int
sd_bus_call_method_async(sd_bus *bus,
                         sd_bus_slot **out_slot,
                         const char *destination,
                         const char *path,
                         const char *interface,
                         const char *member,
                         sd_bus_message_handler_t callback,
                         void *data,
                         const char *types,
                         ...)
{
    g_assert_cmpstr(member, ==, "ListNames");
    list_names = callback;
    list_names_data = data;
    return 1;
}

void
service_bus_handle_replies(Server *server)
{
    const Credentials credentials = {
        .identity = {.uid = geteuid(), .kind = PRINCIPAL_UNSANDBOXED, .app_id = ""},
        .process_name = "",
    };
    sd_bus_message_handler_t callback = g_steal_pointer(&list_names);

    if (callback != NULL) {
        sd_bus_message *reply = new_message(NULL);

        callback(reply, list_names_data, NULL);
        sd_bus_message_unref(reply);
    }
    if (lookup != NULL)
        lookup->done(&credentials, FALSE, lookup->data);
}

/* ---- the connection */

int
sd_bus_request_name(sd_bus *bus, const char *name, uint64_t flags)
{
    lookup = NULL; /* of an instance before */
    return 1;
}

int
sd_bus_is_open(sd_bus *bus)
{
    return 1;
}

int
sd_bus_get_fd(sd_bus *bus)
{
    return -1; /* so that sockets are served by the main loop only */
}

int
sd_bus_get_n_queued_write(sd_bus *bus, uint64_t *out_n)
{
    *out_n = 0;
    return 0;
}

/* Signals are not delivered. */
int
sd_bus_send(sd_bus *bus, sd_bus_message *message, uint64_t *cookie)
{
    SimReply reply = {.kind = message->kind, .fd = message->fd, .page_fd = message->page_fd};

    if (!message->is_reply)
        return 1;
    step_before(0, OBJECT_BUS(service_sim_index_of(message->sender)), "replies on the bus");
    message->fd = message->page_fd = -1;
    sim_reply(service_sim_index_of(message->sender), &reply);
    return 1;
}

/* ---- what is called by the service, beside sd-bus */

void
decode_call(Bus *bus, sd_bus_message *message, LockCall *out_call)
{
    *out_call = (LockCall){
        .kind = message->kind == BUS_CALL_QUERY ? LOCK_CALL_QUERY : LOCK_CALL_OPEN_SOCKET,
        .wants_reply = TRUE,
        .serial = message->kind + 1,
        .version = message->kind == BUS_CALL_OPEN_SOCKET_WITHOUT_CELLS ? PACKET_VERSION_MIN
                                                                       : PACKET_VERSION,
        .bucket = message->kind == BUS_CALL_QUERY ? "default" : NULL,
    };
}

CredentialsLookup *
credentials_look_up(sd_bus *bus, const char *unique_name, CredentialsDone done, gpointer data)
{
    g_assert_null(lookup);
    lookup = g_new0(CredentialsLookup, 1);
    *lookup = (CredentialsLookup){done, data};
    return lookup;
}

void
credentials_lookup_free(CredentialsLookup *self)
{
    if (self == lookup)
        lookup = NULL;
    g_free(self);
}

/* To close an inotify descriptor takes some 20 milliseconds, so this is told. */
Vanished *
vanished_watch(const char *directory,
               gboolean (*is_in_place)(gpointer data),
               void (*write_again)(gpointer data),
               gpointer data)
{
    vanished = (typeof(vanished)){is_in_place, write_again, data};
    return (Vanished *)(gpointer)&vanished;
}

void
service_bus_notice_removal(void)
{
    if (!vanished.is_in_place(vanished.data))
        vanished.write_again(vanished.data);
}

void
vanished_free(Vanished *self)
{
}
