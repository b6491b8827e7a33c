/* SPDX-FileCopyrightText: 2026 The WebLocks for D-Bus authors
 * SPDX-License-Identifier: LGPL-2.1-or-later */

#include "service/bus/kept-call.h"

#include <string.h>

/* What sd-bus has for any message, with its short strings. */
#define MESSAGE_BYTES 1024
/* About what a value takes beside the characters in it. */
#define VALUE_BYTES 8

static gboolean
is_container(char type)
{
    return type == 'a' || type == 'r' || type == 'e' || type == 'v';
}

/* Steps over what is next, which is no container but for an array of bytes. */
static int
skip_value(sd_bus_message *message, char type, gsize *n_bytes)
{
    union {
        const char *string;
        uint64_t number;
    } value = {.number = 0};
    const void *bytes;
    size_t length;
    int r;

    if (type == 'h')
        return -EINVAL;
    if (type == 'a') {
        r = sd_bus_message_read_array(message, 'y', &bytes, &length);
        *n_bytes += r > 0 ? length : 0;
        return r;
    }
    r = sd_bus_message_read_basic(message, type, &value);
    if (r > 0 && (type == 's' || type == 'o' || type == 'g'))
        *n_bytes += strlen(value.string);
    return r;
}

/* Until there are too many. FALSE if it comes to what can't be read. */
static gboolean
add_values(sd_bus_message *message, gsize *n_bytes, gsize max)
{
    const char *contents;
    guint depth = 0;
    char type;
    int r;

    while (*n_bytes <= max) {
        r = sd_bus_message_peek_type(message, &type, &contents);
        if (r < 0)
            return FALSE;
        if (r == 0) { /* the end of a container, or of all */
            if (depth-- == 0)
                return TRUE;
            if (sd_bus_message_exit_container(message) < 0)
                return FALSE;
            continue;
        }
        *n_bytes += VALUE_BYTES + (type == 'v' ? strlen(contents) : 0);
        if (!is_container(type) || (type == 'a' && strcmp(contents, "y") == 0))
            r = skip_value(message, type, n_bytes);
        else if ((r = sd_bus_message_enter_container(message, type, contents)) > 0)
            depth++;
        if (r <= 0)
            return FALSE;
    }
    return TRUE;
}

gsize
kept_call_measure(sd_bus_message *call, gsize max, gboolean *out_is_readable)
{
    const gsize n_bytes_bare = MESSAGE_BYTES + strlen(sd_bus_message_get_path(call));
    gsize n_bytes = n_bytes_bare;

    *out_is_readable = add_values(call, &n_bytes, max);
    sd_bus_message_rewind(call, TRUE);
    return *out_is_readable ? n_bytes : n_bytes_bare;
}

static int
make_copy(sd_bus_message *call, gboolean with_body, sd_bus_message **out_copy)
{
    const char *sender = sd_bus_message_get_sender(call);
    g_autoptr(SdBusMessage) copy = NULL;
    uint64_t cookie;
    int r;

    if ((r = sd_bus_message_new_method_call(
             sd_bus_message_get_bus(call), &copy, NULL, sd_bus_message_get_path(call),
             sd_bus_message_get_interface(call), sd_bus_message_get_member(call))) < 0 ||
        (sender != NULL && (r = sd_bus_message_set_sender(copy, sender)) < 0) ||
        (r = sd_bus_message_set_expect_reply(copy, sd_bus_message_get_expect_reply(call))) < 0 ||
        (with_body && (r = sd_bus_message_copy(copy, call, TRUE)) < 0) ||
        (r = sd_bus_message_get_cookie(call, &cookie)) < 0 ||
        (r = sd_bus_message_seal(copy, cookie, 0)) < 0 ||
        (r = sd_bus_message_rewind(copy, TRUE)) < 0)
        return r;
    *out_copy = g_steal_pointer(&copy);
    return 0;
}

sd_bus_message *
kept_call_copy(sd_bus_message *call, gboolean with_body)
{
    sd_bus_message *kept = NULL;

    /* sd-bus has read it to the end, so all that a copy can lack is memory. */
    return make_copy(call, with_body, &kept) < 0 ? NULL : kept;
}
