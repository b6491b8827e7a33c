/* SPDX-FileCopyrightText: 2026 The WebLocks for D-Bus authors
 * SPDX-License-Identifier: LGPL-2.1-or-later */

#include "options.h"

#include <errno.h>
#include <limits.h>
#include <string.h>

#include "bus-names.h"
#include "portal.h"
#include "proof.h"

#define INSPECT_LIMIT_DEFAULT 100

/* Keys in error texts are truncated to this length, and escaped. */
#define KEY_BYTES_SHOWN 64

typedef struct {
    const char *key;
    char type;          /* the D-Bus type of the value: s, b, u, t or h */
    void *value;        /* a const char *, gboolean, guint32, guint64 or int, set if it is given */
    gboolean *is_given; /* NULL, or set to TRUE then */
} Option;

static int
refuse_key(sd_bus_error *error, const char *key, const char *why)
{
    g_autofree char *escaped = NULL;

    if (strlen(key) > KEY_BYTES_SHOWN)
        return sd_bus_error_setf(error, BUS_ERROR_INVALID_ARGS, "an option %s", why);
    escaped = g_strescape(key, NULL);
    return sd_bus_error_setf(error, BUS_ERROR_INVALID_ARGS, "option '%s' %s", escaped, why);
}

/* Sets the error for a body that can't be read; `r` is the negative errno of reading it. */
static int
refuse_body(sd_bus_error *error, int r)
{
    if (r == -ENOMEM)
        return sd_bus_error_set_errno(error, r);
    return sd_bus_error_set(
        error, BUS_ERROR_INVALID_ARGS,
        "the message body is invalid, or has a string that is not valid in D-Bus");
}

/* Reads one {sv}. Returns the index of its option, or a negative errno and sets `error`. Bit n of
 * `given` is set if option n was read before. */
static int
read_entry(sd_bus_message *message,
           const Option *options,
           guint n_options,
           guint given,
           sd_bus_error *error)
{
    const char *key, *contents;
    guint i;
    int r = sd_bus_message_read_basic(message, 's', &key);

    if (r <= 0)
        return refuse_body(error, r);
    for (i = 0; i < n_options; i++)
        if (g_str_equal(key, options[i].key))
            break;
    if (i == n_options)
        return refuse_key(error, key, "is unknown");

    r = sd_bus_message_peek_type(message, NULL, &contents);
    if (r <= 0)
        return refuse_body(error, r);
    if (contents[0] != options[i].type || contents[1] != '\0')
        return refuse_key(error, key, "has the wrong type");
    if (given & 1u << i)
        return refuse_key(error, key, "is a duplicate");
    if ((r = sd_bus_message_enter_container(message, 'v', contents)) <= 0 ||
        (r = sd_bus_message_read_basic(message, contents[0], options[i].value)) <= 0 ||
        (r = sd_bus_message_exit_container(message)) < 0)
        return refuse_body(error, r);
    return (int)i;
}

/* Reads an a{sv}. */
static int
read_dictionary(sd_bus_message *message,
                const Option *options,
                guint n_options,
                sd_bus_error *error)
{
    guint given = 0;
    int r = sd_bus_message_enter_container(message, 'a', "{sv}");

    if (r < 0)
        return refuse_body(error, r);

    while ((r = sd_bus_message_enter_container(message, 'e', "sv")) > 0) {
        int i = read_entry(message, options, n_options, given, error);

        if (i < 0)
            return i;
        given |= 1u << i;
        if (options[i].is_given != NULL)
            *options[i].is_given = TRUE;
        r = sd_bus_message_exit_container(message);
        if (r < 0)
            return refuse_body(error, r);
    }
    if (r < 0 || (r = sd_bus_message_exit_container(message)) < 0)
        return refuse_body(error, r);
    return 0;
}

int
options_read_lock(sd_bus_message *message,
                  gboolean steal,
                  LockOptions *out_options,
                  sd_bus_error *error)
{
    const char *mode = NULL;
    gboolean is_steal_given = FALSE, are_slots_given = FALSE;
    const Option options[] = {
        {BUS_OPTION_MODE, 's', &mode, NULL},
        {BUS_OPTION_IF_AVAILABLE, 'b', &out_options->if_available, NULL},
        {BUS_OPTION_STEAL, 'b', &out_options->steal, &is_steal_given},
        {BUS_OPTION_SIGNAL, 'b', &out_options->signal, NULL},
        {BUS_OPTION_TIMEOUT, 'u', &out_options->timeout_ms, NULL},
        {BUS_OPTION_WHY, 's', &out_options->why, NULL},
        {BUS_OPTION_FOR, 's', &out_options->command, NULL},
        {BUS_OPTION_KEY, 't', &out_options->key, NULL},
        {BUS_OPTION_SLOTS, 'u', &out_options->slots, &are_slots_given},
    };
    int r;

    *out_options = (LockOptions){.mode = LOCK_MODE_EXCLUSIVE, .why = ""};
    r = read_dictionary(message, options, G_N_ELEMENTS(options), error);
    if (r < 0)
        return r;
    if (mode != NULL && !lock_mode_from_string(mode, &out_options->mode))
        return refuse_key(error, BUS_OPTION_MODE, "must be 'exclusive' or 'shared'");
    if (are_slots_given && out_options->slots == 0)
        return refuse_key(error, BUS_OPTION_SLOTS, "must not be 0");
    if (steal && is_steal_given && !out_options->steal)
        return refuse_key(error, BUS_OPTION_STEAL, "cannot be false");
    out_options->steal = out_options->steal || steal;
    return 0;
}

int
options_read_inspect(sd_bus_message *message, LockCall *call, sd_bus_error *error)
{
    InspectFilter *out_filter = &call->filter;
    const char *state = NULL;
    guint32 limit = 0;
    const Option options[] = {
        {BUS_FILTER_NAME, 's', &out_filter->name, NULL},
        {BUS_FILTER_PREFIX, 's', &out_filter->prefix, NULL},
        {BUS_FILTER_STATE, 's', &state, &out_filter->by_state},
        {BUS_FILTER_CLIENT_ID, 's', &out_filter->client_id, NULL},
        {BUS_FILTER_ID, 't', &out_filter->id, &out_filter->by_id},
        {BUS_FILTER_AFTER, 't', &out_filter->after, NULL},
        {BUS_FILTER_LIMIT, 'u', &limit, NULL},
    };
    int r;

    *out_filter = (InspectFilter){.state = LOCK_REQUEST_PENDING};
    r = read_dictionary(message, options, G_N_ELEMENTS(options), error);
    if (r < 0)
        return r;
    if (g_strcmp0(state, BUS_STATE_HELD) == 0)
        out_filter->state = LOCK_REQUEST_HELD;
    else if (state != NULL && !g_str_equal(state, BUS_STATE_PENDING))
        return refuse_key(error, BUS_FILTER_STATE, "must be 'held' or 'pending'");
    out_filter->limit = limit > 0 ? MIN(limit, BUS_INSPECT_LIMIT_MAX) : INSPECT_LIMIT_DEFAULT;
    return 0;
}

int
options_read_break(sd_bus_message *message, LockCall *call, sd_bus_error *error)
{
    InspectFilter *out_filter = &call->filter;
    const Option options[] = {
        {BUS_OPTION_CLIENT_ID, 's', &out_filter->client_id, NULL},
        {BUS_OPTION_ID, 't', &out_filter->id, &out_filter->by_id},
    };
    int r;

    *out_filter = (InspectFilter){.by_state = TRUE, .state = LOCK_REQUEST_HELD, .name = call->name};
    r = read_dictionary(message, options, G_N_ELEMENTS(options), error);
    if (r < 0)
        return r;
    /* Ids are a client's own: without the client it would be a lock of anybody. */
    if (out_filter->by_id && out_filter->client_id == NULL)
        return refuse_key(error, BUS_OPTION_ID, "goes with 'clientId' only");
    return 0;
}

static gboolean
is_name_of_file(const char *name)
{
    return name[0] != '\0' && strchr(name, '/') == NULL && strlen(name) <= NAME_MAX &&
           !g_str_equal(name, ".") && !g_str_equal(name, "..");
}

int
options_read_open_document(sd_bus_message *message,
                           int *out_fd,
                           const char **out_name,
                           const char **out_portal,
                           sd_bus_error *error)
{
    gboolean is_file = FALSE;
    const Option options[] = {
        {BUS_OPTION_FILE, 'h', out_fd, &is_file},
        {BUS_OPTION_NAME, 's', out_name, NULL},
        {BUS_OPTION_PORTAL, 's', out_portal, NULL},
    };
    int r;

    *out_name = *out_portal = NULL;
    r = read_dictionary(message, options, G_N_ELEMENTS(options), error);
    if (r < 0)
        return r;
    if (is_file == (*out_portal != NULL))
        return refuse_key(error, BUS_OPTION_FILE, "or 'portal' must be given, and not both");
    if (is_file && !proof_is_path(*out_fd))
        return refuse_key(error, BUS_OPTION_FILE, "must be opened with O_PATH");
    if (*out_name != NULL && (!is_file || !is_name_of_file(*out_name)))
        return refuse_key(error, BUS_OPTION_NAME, "must be one of a directory in 'file'");
    if (*out_portal != NULL && !portal_can_have(*out_portal))
        return refuse_key(error, BUS_OPTION_PORTAL, "must be 'ID/NAME' or 'ID/NAME/REST'");
    return 0;
}

int
options_read_open_socket(sd_bus_message *message, LockCall *call, sd_bus_error *error)
{
    const Option options[] = {{BUS_OPTION_VERSION, 'u', &call->version, NULL}};

    call->version = 1;
    return read_dictionary(message, options, 1, error);
}
