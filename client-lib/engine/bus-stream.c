/* SPDX-FileCopyrightText: 2026 The WebLocks for D-Bus authors
 * SPDX-License-Identifier: LGPL-2.1-or-later */

#include "config.h"

#include "client-lib/engine/bus-stream.h"

#include <errno.h>
#include <gio/gunixfdlist.h>
#include <glib/gi18n-lib.h>
#include <poll.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "client-lib/engine/bus-address.h"
#include "client-lib/engine/process.h"

/* The kernel does not notify of space in the queue of a bus that accepts connections slowly. */
#define RETRY_FIRST_US (1 * G_TIME_SPAN_MILLISECOND)
#define RETRY_LAST_US  (100 * G_TIME_SPAN_MILLISECOND)

#define CHUNK_BYTES        65536
#define AUTHENTICATION_MAX 4096
#define MESSAGE_HEAD_BYTES 16
#define FDS_MAX            253 /* per message: Linux's SCM_MAX_FD */

struct BusStream {
    guint n_refs; /* one of the owner, and one while messages are dispatched */
    Session *session;
    const BusStreamFuncs *funcs;
    gpointer data;

    gboolean is_open;
    char *address;
    SessionTimer retry; /* until it is connected */
    gint64 delay_us;
    SessionDescriptor descriptor; /* of the connected socket; -1 before */
    gboolean is_accepted;         /* the bus has sent OK */
    gboolean is_begun;            /* BEGIN has been sent; messages follow */

    GByteArray *held_back; /* messages until BEGIN is sent */
    GByteArray *out;
    gsize n_sent;
    GQueue out_fds; /* of OutFds, in their order */
    GByteArray *in;
    gsize n_wanted; /* size of the message at the beginning of `in`; 0: unknown */
    GArray *fds;    /* descriptors received with it */
};

/* The descriptors of a queued message, which are sent with its first byte. */
typedef struct {
    gsize position; /* in `out` */
    GUnixFDList *list;
} OutFds;

/* ---- life */

static void
out_fds_free(gpointer data)
{
    g_object_unref(((OutFds *)data)->list);
    g_free(data);
}

static void
close_fds(GArray *fds)
{
    for (guint i = 0; i < fds->len; i++)
        close(g_array_index(fds, int, i));
    g_array_set_size(fds, 0);
}

static void
bus_stream_close(BusStream *self)
{
    if (!self->is_open)
        return;
    self->is_open = FALSE;
    session_stop_timer(self->session, &self->retry);
    if (self->descriptor.fd < 0)
        return;
    session_remove_descriptor(self->session, &self->descriptor);
    process_unguard_fd(self->descriptor.fd);
    close(self->descriptor.fd);
}

static void
bus_stream_unref(BusStream *self)
{
    if (--self->n_refs > 0)
        return;
    g_byte_array_unref(self->held_back);
    g_byte_array_unref(self->out);
    g_queue_clear_full(&self->out_fds, out_fds_free);
    g_byte_array_unref(self->in);
    close_fds(self->fds);
    g_array_unref(self->fds);
    g_free(self->address);
    g_free(self);
}

void
bus_stream_free(BusStream *self)
{
    bus_stream_close(self);
    bus_stream_unref(self);
}

static void
end_with_error(BusStream *self, const GError *error)
{
    bus_stream_close(self);
    self->funcs->ended(error, self->data);
}

static void
end(BusStream *self, const char *why)
{
    g_autoptr(GError) error = g_error_new_literal(G_IO_ERROR, G_IO_ERROR_CLOSED, why);

    end_with_error(self, error);
}

/* ---- sending */

typedef union {
    struct cmsghdr head;
    char bytes[CMSG_SPACE(FDS_MAX * sizeof(int))];
} FdsControl;

static void
put_fds(struct msghdr *message, FdsControl *control, GUnixFDList *list)
{
    int n_fds;
    const int *fds = g_unix_fd_list_peek_fds(list, &n_fds);
    const gsize size = (gsize)n_fds * sizeof *fds;

    control->head = (struct cmsghdr){
        .cmsg_len = CMSG_LEN(size), .cmsg_level = SOL_SOCKET, .cmsg_type = SCM_RIGHTS};
    memcpy(CMSG_DATA(&control->head), fds, size);
    message->msg_control = control;
    message->msg_controllen = CMSG_SPACE(size);
}

/* Sends up to the next message with descriptors, or from that one on. Returns what sendmsg() does.
 */
static ssize_t
send_part(BusStream *self)
{
    OutFds *fds = g_queue_peek_head(&self->out_fds), *next = fds;
    FdsControl control;
    struct iovec iov = {.iov_base = self->out->data + self->n_sent};
    struct msghdr message = {.msg_iov = &iov, .msg_iovlen = 1};
    gsize end = self->out->len;
    ssize_t n;

    if (fds != NULL && fds->position == self->n_sent) {
        put_fds(&message, &control, fds->list);
        next = g_queue_peek_nth(&self->out_fds, 1);
    }
    if (next != NULL)
        end = next->position;
    iov.iov_len = end - self->n_sent;
    n = sendmsg(self->descriptor.fd, &message, MSG_DONTWAIT | MSG_NOSIGNAL);
    if (n > 0 && message.msg_control != NULL)
        out_fds_free(g_queue_pop_head(&self->out_fds));
    return n;
}

static void
flush(BusStream *self)
{
    while (self->n_sent < self->out->len) {
        ssize_t n = send_part(self);

        if (n >= 0)
            self->n_sent += (gsize)n;
        else if (errno != EINTR)
            break;
    }
    /* After other errors the queue is discarded; reading will detect that the connection ended. */
    if (self->n_sent == self->out->len || errno != EAGAIN) {
        g_byte_array_set_size(self->out, 0);
        g_queue_clear_full(&self->out_fds, out_fds_free);
        self->n_sent = 0;
    }
    session_set_descriptor_events(self->session, &self->descriptor,
                                  self->out->len > 0 ? (short)(POLLIN | POLLOUT) : (short)POLLIN);
}

gsize
bus_stream_get_queue_bytes(const BusStream *self)
{
    return self->out->len;
}

void
bus_stream_send(BusStream *self, GDBusMessage *message)
{
    GUnixFDList *list = g_dbus_message_get_unix_fd_list(message);
    g_autofree guint8 *blob = NULL;
    g_autoptr(GError) error = NULL;
    gsize size;

    if (!self->is_open)
        return;
    blob = g_dbus_message_to_blob(message, &size, G_DBUS_CAPABILITY_FLAGS_UNIX_FD_PASSING, &error);
    g_assert_no_error(error); /* the caller has checked all strings */
    if (list != NULL) {
        OutFds *fds = g_new(OutFds, 1);

        g_assert(self->is_begun);
        *fds = (OutFds){self->out->len, g_object_ref(list)};
        g_queue_push_tail(&self->out_fds, fds);
    }
    g_byte_array_append(self->is_begun ? self->out : self->held_back, blob, (guint)size);
    if (self->is_begun)
        flush(self);
}

/* ---- authentication */

/* EXTERNAL without an identity: the bus uses the socket's peer credentials. */
static void
authenticate(BusStream *self)
{
    static const char text[] = "\0AUTH EXTERNAL\r\nDATA\r\nNEGOTIATE_UNIX_FD\r\n";

    g_byte_array_append(self->out, (const guint8 *)text, sizeof text - 1);
    flush(self);
}

/* Only after the last reply of the bus: once xdg-dbus-proxy has received BEGIN, it takes all that
 * the bus sends for messages. */
static void
begin(BusStream *self)
{
    static const char text[] = "BEGIN\r\n";

    self->is_begun = TRUE;
    g_byte_array_append(self->out, (const guint8 *)text, sizeof text - 1);
    g_byte_array_append(self->out, self->held_back->data, self->held_back->len);
    g_byte_array_set_size(self->held_back, 0);
    flush(self);
}

static void
take_line(BusStream *self, const char *line)
{
    if (g_str_has_prefix(line, "OK ")) {
        self->is_accepted = TRUE;
    } else if (self->is_accepted && g_str_equal(line, "AGREE_UNIX_FD")) {
        begin(self);
    } else if (self->is_accepted && g_str_has_prefix(line, "ERROR")) {
        end(self, _("the bus does not pass file descriptors"));
    } else if (!g_str_has_prefix(line, "DATA")) {
        end(self, _("the bus has rejected the authentication"));
    }
}

/* Returns FALSE if the line is incomplete. */
static gboolean
take_next_line(BusStream *self)
{
    const guint8 *end_of_line = memmem(self->in->data, self->in->len, "\r\n", 2);
    g_autofree char *line = NULL;
    gsize length;

    if (end_of_line == NULL) {
        if (self->in->len > AUTHENTICATION_MAX)
            end(self, _("the bus has sent an invalid message"));
        return FALSE;
    }
    length = (gsize)(end_of_line - self->in->data);
    line = g_strndup((const char *)self->in->data, length);
    g_byte_array_remove_range(self->in, 0, (guint)length + 2);
    take_line(self, line);
    return self->is_open;
}

/* ---- receiving */

static void
attach_fds(BusStream *self, GDBusMessage *message)
{
    const guint n_fds = MIN(g_dbus_message_get_num_unix_fds(message), self->fds->len);
    g_autoptr(GUnixFDList) list = NULL;

    if (n_fds == 0)
        return;
    list = g_unix_fd_list_new_from_array((const int *)(const void *)self->fds->data, (int)n_fds);
    g_array_remove_range(self->fds, 0, n_fds);
    g_dbus_message_set_unix_fd_list(message, list);
}

/* Returns FALSE if the message is not a reply, or was not accepted. */
static gboolean
take_reply(BusStream *self, const guint8 *data, gsize size)
{
    BusReply reply;

    return bus_reply_read(&reply, data, size) && self->funcs->reply(&reply, self->data);
}

/* Returns FALSE if the message is incomplete. */
static gboolean
take_next_message(BusStream *self, gsize *offset)
{
    guint8 *data = self->in->data + *offset;
    const gsize available = self->in->len - *offset;
    g_autoptr(GDBusMessage) message = NULL;
    g_autoptr(GError) error = NULL;
    gssize size;

    self->n_wanted = 0;
    if (available < MESSAGE_HEAD_BYTES)
        return FALSE;
    size = g_dbus_message_bytes_needed(data, available, &error);
    if (size >= 0 && (gsize)size > available) {
        self->n_wanted = (gsize)size;
        return FALSE;
    }
    if (size >= 0 && take_reply(self, data, (gsize)size)) {
        *offset += (gsize)size;
        return self->is_open;
    }
    if (size >= 0)
        message = g_dbus_message_new_from_blob(data, (gsize)size,
                                               G_DBUS_CAPABILITY_FLAGS_UNIX_FD_PASSING, &error);
    if (message == NULL) {
        end(self, error->message);
        return FALSE;
    }
    *offset += (gsize)size;
    attach_fds(self, message);
    self->funcs->message(message, self->data);
    return self->is_open;
}

static void
take_in(BusStream *self)
{
    gsize offset = 0;

    self->n_refs++;
    while (!self->is_begun && self->is_open && take_next_line(self))
        ;
    while (self->is_begun && self->is_open && take_next_message(self, &offset))
        ;
    if (offset > 0)
        g_byte_array_remove_range(self->in, 0, (guint)offset);
    /* Descriptors arrive together with a byte of their message: those that are left belong to the
     * incomplete message, if there is one. */
    if (self->in->len == 0)
        close_fds(self->fds);
    else if (self->is_open && self->fds->len > FDS_MAX)
        end(self, _("the bus has sent an invalid message"));
    bus_stream_unref(self);
}

static void
take_fds(BusStream *self, struct msghdr *message)
{
    for (struct cmsghdr *c = CMSG_FIRSTHDR(message); c != NULL; c = CMSG_NXTHDR(message, c)) {
        if (c->cmsg_level == SOL_SOCKET && c->cmsg_type == SCM_RIGHTS)
            g_array_append_vals(self->fds, CMSG_DATA(c),
                                (guint)((c->cmsg_len - CMSG_LEN(0)) / sizeof(int)));
    }
}

static void
read_chunk(BusStream *self)
{
    const guint length = self->in->len;
    const gsize chunk = MAX(CHUNK_BYTES, self->n_wanted > length ? self->n_wanted - length : 0);
    FdsControl control;
    struct iovec iov = {.iov_len = chunk};
    struct msghdr message = {
        .msg_iov = &iov,
        .msg_iovlen = 1,
        .msg_control = &control,
        .msg_controllen = sizeof control,
    };
    ssize_t n;

    g_byte_array_set_size(self->in, length + (guint)chunk);
    iov.iov_base = self->in->data + length;
    n = recvmsg(self->descriptor.fd, &message, MSG_DONTWAIT | MSG_CMSG_CLOEXEC);
    g_byte_array_set_size(self->in, length + (guint)MAX(n, 0));
    if (n > 0) {
        take_fds(self, &message);
        take_in(self);
    } else if (n == 0 || (errno != EAGAIN && errno != EINTR)) {
        end(self, n == 0 ? _("the bus closed the connection") : g_strerror(errno));
    }
}

static void
on_ready(gpointer data, short revents)
{
    BusStream *self = data;

    if (revents & POLLOUT)
        flush(self);
    if (revents & ~POLLOUT)
        read_chunk(self);
}

/* ---- connecting */

/* If it fails, `error` is set. */
static void
try_to_connect(BusStream *self, GError **error)
{
    self->descriptor.fd = bus_address_connect(self->address, error);
    if (self->descriptor.fd >= 0) {
        session_add_descriptor(self->session, &self->descriptor);
        authenticate(self);
    } else if (*error == NULL) {
        self->delay_us = CLAMP(self->delay_us * 2, RETRY_FIRST_US, RETRY_LAST_US);
        session_start_timer(self->session, &self->retry, g_get_monotonic_time() + self->delay_us);
    }
}

static void
on_retry(gpointer data)
{
    g_autoptr(GError) error = NULL;

    try_to_connect(data, &error);
    if (error != NULL)
        end_with_error(data, error);
}

BusStream *
bus_stream_new(Session *session,
               GBusType bus_type,
               const char *address,
               const BusStreamFuncs *funcs,
               gpointer data,
               GError **error)
{
    BusStream *self = g_new0(BusStream, 1);
    GError *failure = NULL;

    self->n_refs = 1;
    self->session = session;
    self->funcs = funcs;
    self->data = data;
    self->held_back = g_byte_array_new();
    self->out = g_byte_array_new();
    self->in = g_byte_array_new();
    self->fds = g_array_new(FALSE, FALSE, sizeof(int));
    self->descriptor.events = POLLIN;
    self->descriptor.ready = on_ready;
    self->descriptor.data = self;
    self->is_open = TRUE;
    self->descriptor.fd = -1;
    self->retry.expired = on_retry;
    self->retry.data = self;
    self->address = address != NULL ? g_strdup(address) : bus_address_find(bus_type, &failure);
    if (self->address != NULL)
        try_to_connect(self, &failure);
    if (failure == NULL)
        return self;
    g_propagate_error(error, failure);
    bus_stream_free(self);
    return NULL;
}
