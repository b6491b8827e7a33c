/* SPDX-FileCopyrightText: 2026 The WebLocks for D-Bus authors
 * SPDX-License-Identifier: LGPL-2.1-or-later */

#include "service/bus/handshake.h"

#include <fcntl.h>
#include <linux/sockios.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <unistd.h>

#define BYTES_MAX (16UL * 1024)

void
handshake_init(Handshake *self, guint32 uid, sd_id128_t server_id)
{
    *self = (Handshake){.uid = uid, .server_id = server_id};
    self->line = g_string_new(NULL);
    self->answers = g_string_new(NULL);
}

void
handshake_clear(Handshake *self)
{
    if (self->line != NULL) {
        g_string_free(self->line, TRUE);
        g_string_free(self->answers, TRUE);
    }
    self->line = self->answers = NULL;
}

/* ---- lines */

/* All that there is to be said, at once: if we die in between, a client that uses sd-bus must not
 * have heard a half of it, which would end it. One that doesn't hear it hears nothing: it may have
 * left, and what it said still counts. */
static void
send_answers(Handshake *self, int fd)
{
    if (self->answers->len > 0 &&
        send(fd, self->answers->str, self->answers->len, MSG_DONTWAIT | MSG_NOSIGNAL) < 0)
        g_debug("A handshake is not heard: %s", g_strerror(errno));
    g_string_truncate(self->answers, 0);
}

static void
say(Handshake *self, const char *line)
{
    g_string_append(self->answers, line);
}

/* In hexadecimal digits the decimal ones of its uid; or nothing, which says the same. */
static gboolean
is_identity(const Handshake *self, const char *text)
{
    g_autofree char *uid = g_strdup_printf("%u", self->uid);
    gsize length = strlen(uid);

    if (text[0] == '\0')
        return TRUE;
    if (strlen(text) != 2 * length)
        return FALSE;
    for (gsize i = 0; i < length; i++)
        if (g_ascii_xdigit_value(text[2 * i]) * 16 + g_ascii_xdigit_value(text[2 * i + 1]) !=
            uid[i])
            return FALSE;
    return TRUE;
}

static void
decide(Handshake *self, const char *identity)
{
    char id[33];
    g_autofree char *answer = NULL;

    self->awaits_data = FALSE;
    self->is_accepted = is_identity(self, identity);
    answer = self->is_accepted
                 ? g_strdup_printf("OK %s\r\n", sd_id128_to_string(self->server_id, id))
                 : g_strdup("REJECTED EXTERNAL\r\n");
    say(self, answer);
}

/* FALSE if there is no going on. */
static gboolean
take_line(Handshake *self, const char *line, gboolean *out_is_done)
{
    if (strcmp(line, "AUTH EXTERNAL") == 0) {
        self->awaits_data = TRUE;
        say(self, "DATA\r\n");
    } else if (g_str_has_prefix(line, "AUTH EXTERNAL ")) {
        decide(self, line + strlen("AUTH EXTERNAL "));
    } else if (self->awaits_data && strcmp(line, "DATA") == 0) {
        decide(self, "");
    } else if (self->awaits_data && g_str_has_prefix(line, "DATA ")) {
        decide(self, line + strlen("DATA "));
    } else if (strcmp(line, "AUTH") == 0 || g_str_has_prefix(line, "AUTH ") ||
               strcmp(line, "CANCEL") == 0 || g_str_has_prefix(line, "ERROR")) {
        self->awaits_data = self->is_accepted = FALSE;
        say(self, "REJECTED EXTERNAL\r\n");
    } else if (strcmp(line, "BEGIN") == 0) {
        *out_is_done = self->is_accepted;
        return self->is_accepted;
    } else {
        say(self, "ERROR\r\n"); /* descriptors, for one, we don't take */
    }
    return TRUE;
}

/* ---- bytes */

/* Takes no more than one line out of the socket, or what there is of it. FALSE if there is nothing;
 * `*out_is_over` if there will be nothing. */
static gboolean
read_some(Handshake *self, int fd, gboolean *out_is_over)
{
    char bytes[256];
    ssize_t n = recv(fd, bytes, sizeof bytes, MSG_PEEK | MSG_DONTWAIT);
    const char *end;

    if (n <= 0) {
        *out_is_over = n == 0 || errno != EAGAIN;
        return FALSE;
    }
    end = memchr(bytes, '\n', (gsize)n);
    if (end != NULL)
        n = end + 1 - bytes;
    n = recv(fd, bytes, (gsize)n, MSG_DONTWAIT);
    g_string_append_len(self->line, bytes, n);
    self->n_bytes += (gsize)n;
    return TRUE;
}

static gboolean
has_line(GString *line)
{
    return line->len >= 2 && line->str[line->len - 2] == '\r' && line->str[line->len - 1] == '\n';
}

static HandshakeResult
read_lines(Handshake *self, int fd)
{
    gboolean is_done = FALSE, is_over = FALSE;

    while (read_some(self, fd, &is_over)) {
        if (self->n_bytes > BYTES_MAX)
            return HANDSHAKE_FAILED;
        if (!self->has_begun) {
            if (self->line->str[0] != '\0')
                return HANDSHAKE_FAILED;
            g_string_erase(self->line, 0, 1);
            self->has_begun = TRUE;
        }
        if (!has_line(self->line))
            continue;
        g_string_truncate(self->line, self->line->len - 2);
        if (!take_line(self, self->line->str, &is_done))
            return HANDSHAKE_FAILED;
        if (is_done)
            return HANDSHAKE_DONE;
        g_string_truncate(self->line, 0);
    }
    return is_over ? HANDSHAKE_FAILED : HANDSHAKE_GOES_ON;
}

HandshakeResult
handshake_go_on(Handshake *self, int fd)
{
    HandshakeResult result = self->is_done ? HANDSHAKE_DONE : read_lines(self, fd);

    self->is_done = result == HANDSHAKE_DONE;
    send_answers(self, fd);
    return result;
}

gboolean
handshake_is_heard(int fd)
{
    int n_unread = 0;

    return ioctl(fd, SIOCOUTQ, &n_unread) < 0 || n_unread == 0;
}

/* ---- sd-bus's own */

/* The client's side, to a socket that nobody else has. */
static void
say_words(int fd)
{
    static const char words[] = "\0AUTH EXTERNAL\r\nDATA\r\nBEGIN\r\n";

    if (send(fd, words, sizeof words - 1, MSG_NOSIGNAL) < 0)
        g_debug("A handshake is not heard: %s", g_strerror(errno));
}

/* Takes the descriptor. */
static int
start_bus(sd_bus *bus, int fd, sd_id128_t server_id)
{
    int r;

    if ((r = sd_bus_set_fd(bus, fd, fd)) < 0) {
        close(fd);
        return r;
    }
    if ((r = sd_bus_set_server(bus, TRUE, server_id)) < 0 ||
        (r = sd_bus_negotiate_fds(bus, FALSE)) < 0 || (r = sd_bus_start(bus)) < 0)
        return r;
    while ((r = sd_bus_process(bus, NULL)) > 0)
        ;
    return r < 0 || sd_bus_is_ready(bus) <= 0 ? -EPROTO : 0;
}

sd_bus *
handshake_new_bus(sd_id128_t server_id, int *out_fd)
{
    sd_bus *bus = NULL;
    int fds[2];

    if (sd_bus_new(&bus) < 0 ||
        socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, fds) < 0) {
        sd_bus_unref(bus);
        return NULL;
    }
    say_words(fds[1]);
    if (start_bus(bus, fds[0], server_id) < 0) {
        close(fds[1]);
        sd_bus_unref(bus);
        return NULL;
    }
    *out_fd = fds[1];
    return bus;
}

gboolean
handshake_move_bus(sd_bus *bus, int fd)
{
    return dup3(fd, sd_bus_get_fd(bus), O_CLOEXEC) >= 0;
}
