/* SPDX-FileCopyrightText: 2026 The WebLocks for D-Bus authors
 * SPDX-License-Identifier: LGPL-2.1-or-later */

#include "options.h"

#include <errno.h>

#include "bus-names.h"

#define INSPECT_LIMIT_DEFAULT 100

/* Keys in error texts are truncated to this length, and escaped. */
#define KEY_BYTES_SHOWN 64

typedef union {
    const char *s;
    int b;
    uint32_t u;
    uint64_t t;
} OptionValue;

typedef struct {
    const char *key;
    char type; /* the D-Bus type of the value: s, b, u or t */
} OptionSpec;

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

/* Reads one {sv}. Returns the index of its spec, or a negative errno and sets `error`. */
static int
read_entry(sd_bus_message *message,
           const OptionSpec *specs,
           guint n_specs,
           OptionValue *value,
           sd_bus_error *error)
{
    const char *key, *contents;
    guint i;
    int r = sd_bus_message_read_basic(message, 's', &key);

    if (r <= 0)
        return refuse_body(error, r);
    for (i = 0; i < n_specs; i++)
        if (g_str_equal(key, specs[i].key))
            break;
    if (i == n_specs)
        return refuse_key(error, key, "is unknown");

    r = sd_bus_message_peek_type(message, NULL, &contents);
    if (r <= 0)
        return refuse_body(error, r);
    if (contents[0] != specs[i].type || contents[1] != '\0')
        return refuse_key(error, key, "has the wrong type");
    if ((r = sd_bus_message_enter_container(message, 'v', contents)) <= 0 ||
        (r = sd_bus_message_read_basic(message, contents[0], value)) <= 0 ||
        (r = sd_bus_message_exit_container(message)) < 0)
        return refuse_body(error, r);
    return (int)i;
}

/* Reads an a{sv} into `values`, indexed like `specs`. Bit n of `*out_given` is set if key n is
 * present. */
static int
read_dictionary(sd_bus_message *message,
                const OptionSpec *specs,
                guint n_specs,
                OptionValue *values,
                guint *out_given,
                sd_bus_error *error)
{
    guint given = 0;
    int r = sd_bus_message_enter_container(message, 'a', "{sv}");

    if (r < 0)
        return refuse_body(error, r);

    while ((r = sd_bus_message_enter_container(message, 'e', "sv")) > 0) {
        OptionValue value = {0};
        int i = read_entry(message, specs, n_specs, &value, error);

        if (i < 0)
            return i;
        if (given & 1u << i)
            return refuse_key(error, specs[i].key, "is a duplicate");
        given |= 1u << i;
        values[i] = value;
        r = sd_bus_message_exit_container(message);
        if (r < 0)
            return refuse_body(error, r);
    }
    if (r < 0 || (r = sd_bus_message_exit_container(message)) < 0)
        return refuse_body(error, r);

    *out_given = given;
    return 0;
}

enum {
    LOCK_MODE_KEY,
    LOCK_IF_AVAILABLE_KEY,
    LOCK_STEAL_KEY,
    LOCK_SIGNAL_KEY,
    LOCK_TIMEOUT_KEY,
    LOCK_WHY_KEY,
    LOCK_KEY_KEY,
    N_LOCK_KEYS,
};

static const OptionSpec lock_specs[N_LOCK_KEYS] = {
    [LOCK_MODE_KEY] = {BUS_OPTION_MODE, 's'},
    [LOCK_IF_AVAILABLE_KEY] = {BUS_OPTION_IF_AVAILABLE, 'b'},
    [LOCK_STEAL_KEY] = {BUS_OPTION_STEAL, 'b'},
    [LOCK_SIGNAL_KEY] = {BUS_OPTION_SIGNAL, 'b'},
    [LOCK_TIMEOUT_KEY] = {BUS_OPTION_TIMEOUT, 'u'},
    [LOCK_WHY_KEY] = {BUS_OPTION_WHY, 's'},
    [LOCK_KEY_KEY] = {BUS_OPTION_KEY, 't'},
};

int
options_read_lock(sd_bus_message *message,
                  gboolean steal,
                  LockOptions *out_options,
                  sd_bus_error *error)
{
    OptionValue values[N_LOCK_KEYS] = {0};
    LockMode mode = LOCK_MODE_EXCLUSIVE;
    guint given = 0;
    int r = read_dictionary(message, lock_specs, N_LOCK_KEYS, values, &given, error);

    if (r < 0)
        return r;
    if (given & 1u << LOCK_MODE_KEY && !lock_mode_from_string(values[LOCK_MODE_KEY].s, &mode))
        return refuse_key(error, BUS_OPTION_MODE, "must be 'exclusive' or 'shared'");
    if (steal && given & 1u << LOCK_STEAL_KEY && !values[LOCK_STEAL_KEY].b)
        return refuse_key(error, BUS_OPTION_STEAL, "cannot be false");

    *out_options = (LockOptions){
        .mode = mode,
        .if_available = values[LOCK_IF_AVAILABLE_KEY].b,
        .steal = steal || values[LOCK_STEAL_KEY].b,
        .signal = values[LOCK_SIGNAL_KEY].b,
        .timeout_ms = values[LOCK_TIMEOUT_KEY].u,
        .key = values[LOCK_KEY_KEY].t,
        .why = given & 1u << LOCK_WHY_KEY ? values[LOCK_WHY_KEY].s : "",
    };
    return 0;
}

enum {
    INSPECT_NAME_KEY,
    INSPECT_PREFIX_KEY,
    INSPECT_STATE_KEY,
    INSPECT_CLIENT_ID_KEY,
    INSPECT_ID_KEY,
    INSPECT_AFTER_KEY,
    INSPECT_LIMIT_KEY,
    N_INSPECT_KEYS,
};

static const OptionSpec inspect_specs[N_INSPECT_KEYS] = {
    [INSPECT_NAME_KEY] = {BUS_FILTER_NAME, 's'},
    [INSPECT_PREFIX_KEY] = {BUS_FILTER_PREFIX, 's'},
    [INSPECT_STATE_KEY] = {BUS_FILTER_STATE, 's'},
    [INSPECT_CLIENT_ID_KEY] = {BUS_FILTER_CLIENT_ID, 's'},
    [INSPECT_ID_KEY] = {BUS_FILTER_ID, 't'},
    [INSPECT_AFTER_KEY] = {BUS_FILTER_AFTER, 't'},
    [INSPECT_LIMIT_KEY] = {BUS_FILTER_LIMIT, 'u'},
};

int
options_read_inspect(sd_bus_message *message, InspectFilter *out_filter, sd_bus_error *error)
{
    OptionValue values[N_INSPECT_KEYS] = {0};
    const char *state;
    guint32 limit = INSPECT_LIMIT_DEFAULT;
    guint given = 0;
    int r = read_dictionary(message, inspect_specs, N_INSPECT_KEYS, values, &given, error);

    if (r < 0)
        return r;
    state = values[INSPECT_STATE_KEY].s;
    if (state != NULL && !g_str_equal(state, BUS_STATE_HELD) &&
        !g_str_equal(state, BUS_STATE_PENDING))
        return refuse_key(error, BUS_FILTER_STATE, "must be 'held' or 'pending'");
    if (values[INSPECT_LIMIT_KEY].u > 0)
        limit = MIN(values[INSPECT_LIMIT_KEY].u, BUS_INSPECT_LIMIT_MAX);

    *out_filter = (InspectFilter){
        .name = values[INSPECT_NAME_KEY].s,
        .prefix = values[INSPECT_PREFIX_KEY].s,
        .client_id = values[INSPECT_CLIENT_ID_KEY].s,
        .by_id = (given & 1u << INSPECT_ID_KEY) != 0,
        .id = values[INSPECT_ID_KEY].t,
        .by_state = state != NULL,
        .state = state != NULL && g_str_equal(state, BUS_STATE_HELD) ? LOCK_REQUEST_HELD
                                                                     : LOCK_REQUEST_PENDING,
        .after = values[INSPECT_AFTER_KEY].t,
        .limit = limit,
    };
    return 0;
}

enum {
    BREAK_CLIENT_ID_KEY,
    BREAK_ID_KEY,
    N_BREAK_KEYS,
};

static const OptionSpec break_specs[N_BREAK_KEYS] = {
    [BREAK_CLIENT_ID_KEY] = {BUS_OPTION_CLIENT_ID, 's'},
    [BREAK_ID_KEY] = {BUS_OPTION_ID, 't'},
};

int
options_read_break(sd_bus_message *message, InspectFilter *out_filter, sd_bus_error *error)
{
    OptionValue values[N_BREAK_KEYS] = {0};
    guint given = 0;
    int r = read_dictionary(message, break_specs, N_BREAK_KEYS, values, &given, error);

    if (r < 0)
        return r;
    /* Ids are a client's own: without the client it would be a lock of anybody. */
    if (given == 1u << BREAK_ID_KEY)
        return refuse_key(error, BUS_OPTION_ID, "goes with 'clientId' only");

    *out_filter = (InspectFilter){
        .client_id = values[BREAK_CLIENT_ID_KEY].s,
        .by_id = (given & 1u << BREAK_ID_KEY) != 0,
        .id = values[BREAK_ID_KEY].t,
        .by_state = TRUE,
        .state = LOCK_REQUEST_HELD,
    };
    return 0;
}

static const OptionSpec open_socket_specs[] = {
    {BUS_OPTION_VERSION, 'u'},
};

int
options_read_open_socket(sd_bus_message *message, guint32 *out_version, sd_bus_error *error)
{
    OptionValue value = {.u = 1};
    guint given = 0;
    int r = read_dictionary(message, open_socket_specs, 1, &value, &given, error);

    *out_version = value.u;
    return r;
}
