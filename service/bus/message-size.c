/* SPDX-FileCopyrightText: 2026 The WebLocks for D-Bus authors
 * SPDX-License-Identifier: LGPL-2.1-or-later */

#include "service/bus/message-size.h"

#include <string.h>

/* What sd-bus has for any message. */
#define MESSAGE_BYTES 512
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

/* What can't be read adds nothing. */
static void
add_values(sd_bus_message *message, gsize *n_bytes, gsize max)
{
    const char *contents;
    guint depth = 0;
    char type;
    int r;

    while (*n_bytes <= max && (r = sd_bus_message_peek_type(message, &type, &contents)) >= 0) {
        if (r == 0) { /* the end of a container, or of all */
            if (depth-- == 0 || sd_bus_message_exit_container(message) < 0)
                return;
            continue;
        }
        *n_bytes += VALUE_BYTES;
        if (!is_container(type) || (type == 'a' && strcmp(contents, "y") == 0))
            r = skip_value(message, type, n_bytes);
        else if ((r = sd_bus_message_enter_container(message, type, contents)) > 0)
            depth++;
        if (r <= 0)
            return;
    }
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
