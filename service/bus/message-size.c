/* SPDX-FileCopyrightText: 2026 The WebLocks for D-Bus authors
 * SPDX-License-Identifier: LGPL-2.1-or-later */

#include "service/bus/message-size.h"

#include <string.h>

/* What sd-bus has for any message. */
#define MESSAGE_BYTES 512
/* About what a value takes beside the characters in it. */
#define VALUE_BYTES 8

static void add_values(sd_bus_message *message, gsize *n_bytes, gsize max);

static gboolean
is_array_of_bytes(char type, const char *contents)
{
    return type == 'a' && strcmp(contents, "y") == 0;
}

static int
add_value(sd_bus_message *message, char type, const char *contents, gsize *n_bytes, gsize max)
{
    union {
        const char *string;
        uint64_t number;
    } value = {.number = 0};
    const void *bytes;
    size_t length;
    int r;

    *n_bytes += VALUE_BYTES;
    if (is_array_of_bytes(type, contents)) {
        r = sd_bus_message_read_array(message, 'y', &bytes, &length);
        *n_bytes += r > 0 ? length : 0;
        return r;
    }
    if (type == 'a' || type == 'r' || type == 'e' || type == 'v') {
        r = sd_bus_message_enter_container(message, type, contents);
        if (r <= 0)
            return r;
        add_values(message, n_bytes, max);
        return *n_bytes > max ? 0 : sd_bus_message_exit_container(message);
    }
    r = sd_bus_message_read_basic(message, type, &value);
    if (r > 0 && (type == 's' || type == 'o' || type == 'g'))
        *n_bytes += strlen(value.string);
    return r;
}

/* Of the container that is open; what can't be read adds nothing. */
static void
add_values(sd_bus_message *message, gsize *n_bytes, gsize max)
{
    const char *contents;
    char type;

    while (*n_bytes <= max && sd_bus_message_peek_type(message, &type, &contents) > 0)
        if (add_value(message, type, contents, n_bytes, max) <= 0)
            break;
}

gsize
message_size_estimate(sd_bus_message *message, gsize max)
{
    const char *path = sd_bus_message_get_path(message);
    gsize n_bytes = MESSAGE_BYTES + (path != NULL ? strlen(path) : 0);

    add_values(message, &n_bytes, max);
    sd_bus_message_rewind(message, TRUE);
    return n_bytes;
}
