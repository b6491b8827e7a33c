/* SPDX-FileCopyrightText: 2026 The WebLocks for D-Bus authors
 * SPDX-License-Identifier: LGPL-2.1-or-later */

/* The dictionaries of calls: the options of Request, Steal, OpenSocket and, without descriptors,
 * OpenDocument, the filters of Inspect and Break.
 *
 * An input's first byte selects the format, see `Manner`. Most formats are a name and then typed
 * keys and values, with a known result: the rules of the contract's third section are
 * implemented a second time here. A raw input is the body of a message, as no bus would transmit
 * it. Either there is a typed error, or everything is decoded; and the copy of a deferred call is
 * equal, with a bounded size. */

#include <limits.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "common/bus-names.h"
#include "service/dbus/decode.h"
#include "tests/fuzz/decoder-input.h"
#include "tests/fuzz/fuzz-bus.h"
#include "tests/fuzz/fuzz.h"

/* The two lowest bits are the Member. */
typedef enum {
    IS_RAW = 1 << 2,
    IS_BIG_ENDIAN = 1 << 3, /* if raw */
    IS_BREAK = 1 << 4,      /* these: instead of the Member */
    IS_OPEN_DOCUMENT = 1 << 5,
} Manner;

static const struct {
    const char *path;
    const char *interface;
    const char *member;
    const char *signature;
    LockCallKind kind;
} members[] = {
    {BUS_BUCKET_PREFIX "/b", BUS_LOCKS_INTERFACE, "Request", "sa{sv}", LOCK_CALL_REQUEST},
    {BUS_BUCKET_PREFIX "/b", BUS_LOCKS_INTERFACE, "Steal", "sa{sv}", LOCK_CALL_REQUEST},
    {BUS_BUCKET_PREFIX "/b", BUS_LOCKS_INTERFACE, "Inspect", "a{sv}", LOCK_CALL_INSPECT},
    {BUS_SERVICE_PATH, BUS_SERVICE_INTERFACE, "OpenSocket", "a{sv}", LOCK_CALL_OPEN_SOCKET},
    {BUS_BUCKET_PREFIX "/b", BUS_LOCKS_INTERFACE, "Break", "sa{sv}", LOCK_CALL_BREAK},
    {BUS_SERVICE_PATH, BUS_SERVICE_INTERFACE, "OpenDocument", "a{sv}", LOCK_CALL_OPEN_DOCUMENT},
};

#define MESSAGE_MAX   (4 * KEY_SHOWN_MAX + 100) /* escaped, a byte may be four */
#define RAW_BYTES_MAX (1 << 16)

/* ---- the contract's rules */

/* libsystemd refuses more than D-Bus does. */
static gboolean
is_carriable(const char *text)
{
    if (!g_utf8_validate(text, -1, NULL))
        return FALSE;
    for (const char *p = text; *p != '\0'; p = g_utf8_next_char(p)) {
        gunichar c = g_utf8_get_char(p);

        if ((c >= 0xfdd0 && c <= 0xfdef) || c % 0x10000 >= 0xfffe)
            return FALSE;
    }
    return TRUE;
}

typedef struct {
    gboolean is_refused;
    const char *names;    /* words that the error's message must contain, or NULL */
    LockOptions options;  /* otherwise */
    InspectFilter filter; /* likewise */
    guint32 version;      /* likewise */
    const char *portal;   /* likewise */
} Expected;

static gboolean
has_name(Member member)
{
    return member == REQUEST || member == STEAL || member == BREAK;
}

static const Entry *
find_entry(const GArray *entries, const char *key)
{
    for (guint i = 0; i < entries->len; i++)
        if (g_str_equal(g_array_index(entries, Entry, i).key, key))
            return &g_array_index(entries, Entry, i);
    return NULL;
}

static Expected
refused(const char *key)
{
    Expected expected = {.is_refused = TRUE, .names = key};

    if (key != NULL && strlen(key) > KEY_SHOWN_MAX)
        expected.names = NULL;
    return expected;
}

static guint64
get_number(const GArray *entries, const char *key)
{
    const Entry *entry = find_entry(entries, key);

    return entry != NULL ? entry->number : 0;
}

static const char *
get_text(const GArray *entries, const char *key, const char *otherwise)
{
    const Entry *entry = find_entry(entries, key);

    return entry != NULL ? entry->text : otherwise;
}

static Expected
expect_lock(const GArray *entries, Member member)
{
    const char *mode = get_text(entries, "mode", "exclusive");
    Expected expected = {0};

    if (!g_str_equal(mode, "exclusive") && !g_str_equal(mode, "shared"))
        return refused("mode");
    if (find_entry(entries, "slots") != NULL && get_number(entries, "slots") == 0)
        return refused("slots");
    if (member == STEAL && find_entry(entries, "steal") != NULL &&
        get_number(entries, "steal") == 0)
        return refused("steal");
    expected.options.slots = (guint32)get_number(entries, "slots");
    expected.options.mode = g_str_equal(mode, "shared") ? LOCK_MODE_SHARED : LOCK_MODE_EXCLUSIVE;
    expected.options.if_available = get_number(entries, "ifAvailable") != 0;
    expected.options.steal = member == STEAL || get_number(entries, "steal") != 0;
    expected.options.signal = get_number(entries, "signal") != 0;
    expected.options.timeout_ms = (guint32)get_number(entries, "timeout");
    expected.options.key = get_number(entries, "key");
    expected.options.why = get_text(entries, "why", "");
    expected.options.command = get_text(entries, "for", NULL);
    return expected;
}

static void
expect_client(const GArray *entries, InspectFilter *filter)
{
    filter->client_id = get_text(entries, "clientId", NULL);
    filter->by_id = find_entry(entries, "id") != NULL;
    filter->id = get_number(entries, "id");
}

static Expected
expect_break(const GArray *entries, const char *name)
{
    Expected expected = {.filter = {.name = name, .by_state = TRUE, .state = LOCK_REQUEST_HELD}};

    if (find_entry(entries, "id") != NULL && find_entry(entries, "clientId") == NULL)
        return refused("id");
    expect_client(entries, &expected.filter);
    return expected;
}

static Expected
expect_inspect(const GArray *entries)
{
    const char *state = get_text(entries, "state", NULL);
    guint64 limit = get_number(entries, "limit");
    Expected expected = {0};

    if (state != NULL && !g_str_equal(state, "held") && !g_str_equal(state, "pending"))
        return refused("state");
    expected.filter.name = get_text(entries, "name", NULL);
    expected.filter.prefix = get_text(entries, "prefix", NULL);
    expected.filter.by_state = state != NULL;
    if (state != NULL)
        expected.filter.state =
            g_str_equal(state, "held") ? LOCK_REQUEST_HELD : LOCK_REQUEST_PENDING;
    expected.filter.after = get_number(entries, "after");
    expected.filter.limit = limit == 0 ? 100 : (guint32)MIN(limit, 1000);
    expect_client(entries, &expected.filter);
    return expected;
}

static Expected
expect_open_socket(const GArray *entries)
{
    const gboolean is_given = find_entry(entries, "version") != NULL;

    return (Expected){.version = is_given ? (guint32)get_number(entries, "version") : 1};
}

/* An id, a name and more names, none of which goes up. */
static gboolean
is_of_portal(const char *text)
{
    return strlen(text) < PATH_MAX &&
           g_regex_match_simple("^(?!.*(^|/)\\.?\\.?(/|$))[^/]+(/[^/]+)+\\z", text,
                                G_REGEX_DOTALL | G_REGEX_DOLLAR_ENDONLY, 0);
}

static Expected
expect_open_document(const GArray *entries)
{
    const char *portal = get_text(entries, "portal", NULL);

    if (portal == NULL)
        return refused("file");
    if (find_entry(entries, "name") != NULL)
        return refused("name");
    if (!is_of_portal(portal))
        return refused("portal");
    return (Expected){.portal = portal};
}

static Expected
expect(const GArray *entries, Member member, const char *name)
{
    for (guint i = 0; i < entries->len; i++) {
        const Entry *entry = &g_array_index(entries, Entry, i);
        const KeyType *key_type = input_find_key_type(member, entry->key);

        if (!is_carriable(entry->key))
            return refused(NULL);
        if (key_type == NULL || !g_str_equal(key_type->type, entry->type))
            return refused(entry->key);
        if (entry->text != NULL && !is_carriable(entry->text))
            return refused(NULL);
        if (find_entry(entries, entry->key) != entry)
            return refused(entry->key);
    }
    if (member == INSPECT)
        return expect_inspect(entries);
    if (member == OPEN_SOCKET)
        return expect_open_socket(entries);
    if (member == BREAK)
        return expect_break(entries, name);
    if (member == OPEN_DOCUMENT)
        return expect_open_document(entries);
    return expect_lock(entries, member);
}

/* ---- results */

/* Decoding uses only the bucket of the last call of this one. */
static Bus bus_of_calls;

static LockCall
decode(sd_bus_message *message, Member member)
{
    LockCall call;

    decode_call(&bus_of_calls, message, &call);
    g_assert_cmpint(call.kind, ==, members[member].kind);
    g_assert_true(call.wants_reply);
    g_assert_cmpuint(call.serial, ==, 1);
    g_assert_cmpstr(call.bucket, ==, member == OPEN_SOCKET || member == OPEN_DOCUMENT ? NULL : "b");
    return call;
}

static void
check_refusal(const LockCall *call, const char *names)
{
    g_assert_cmpstr(call->refusal_name, ==, "org.freedesktop.DBus.Error.InvalidArgs");
    g_assert_nonnull(call->refusal_text);
    g_assert_cmpuint(strlen(call->refusal_text), <, MESSAGE_MAX);
    g_assert_true(is_carriable(call->refusal_text));
    /* The caller's own text, but without control characters. */
    if (names != NULL) {
        g_autofree char *escaped = g_strescape(names, NULL);

        g_assert_nonnull(strstr(call->refusal_text, escaped));
    }
}

static void
check_options(const LockOptions *options, const LockOptions *expected)
{
    g_assert_cmpint(options->mode, ==, expected->mode);
    g_assert_cmpuint(options->slots, ==, expected->slots);
    g_assert_cmpint(options->if_available, ==, expected->if_available);
    g_assert_cmpint(options->steal, ==, expected->steal);
    g_assert_cmpint(options->signal, ==, expected->signal);
    g_assert_cmpuint(options->timeout_ms, ==, expected->timeout_ms);
    g_assert_cmpuint(options->key, ==, expected->key);
    g_assert_cmpstr(options->why, ==, expected->why);
    g_assert_cmpstr(options->command, ==, expected->command);
}

static void
check_filter(const InspectFilter *filter, const InspectFilter *expected)
{
    g_assert_cmpstr(filter->name, ==, expected->name);
    g_assert_cmpstr(filter->prefix, ==, expected->prefix);
    g_assert_cmpint(filter->by_state, ==, expected->by_state);
    if (expected->by_state)
        g_assert_cmpint(filter->state, ==, expected->state);
    g_assert_cmpstr(filter->client_id, ==, expected->client_id);
    g_assert_cmpint(filter->by_id, ==, expected->by_id);
    g_assert_cmpuint(filter->id, ==, expected->id);
    g_assert_cmpuint(filter->after, ==, expected->after);
    g_assert_cmpuint(filter->limit, ==, expected->limit);
}

/* For messages with unknown contents. */
static void
check_possible(const LockCall *call, Member member)
{
    const LockOptions *options = &call->options;
    const InspectFilter *filter = &call->filter;

    if (call->refusal_name != NULL) {
        check_refusal(call, NULL);
    } else if (member == INSPECT) {
        g_assert(filter->limit >= 1 && filter->limit <= 1000);
        g_assert(filter->name == NULL || is_carriable(filter->name));
        g_assert(filter->prefix == NULL || is_carriable(filter->prefix));
    } else if (member == BREAK) {
        g_assert(is_carriable(call->name) && filter->name == call->name);
        g_assert(filter->client_id != NULL ? is_carriable(filter->client_id) : !filter->by_id);
    } else if (member == OPEN_DOCUMENT) {
        g_assert(call->is_of_portal && is_of_portal(call->document));
    } else if (member != OPEN_SOCKET) {
        g_assert(is_carriable(call->name));
        g_assert(options->mode == LOCK_MODE_EXCLUSIVE || options->mode == LOCK_MODE_SHARED);
        g_assert(options->why != NULL && is_carriable(options->why));
        g_assert(options->command == NULL || is_carriable(options->command));
        g_assert(options->steal || member == REQUEST);
        g_assert((options->if_available | options->steal | options->signal) <= 1);
    }
}

/* ---- a copy */

/* Equal, or truncated to one byte more than the limit. */
static void
check_text(const char *of_copy, const char *text, gsize max)
{
    g_assert_cmpint(of_copy != NULL, ==, text != NULL);
    if (text == NULL)
        return;
    g_assert_true(of_copy != text);
    g_assert_cmpuint(strlen(of_copy), ==, MIN(strlen(text), max + 1));
    g_assert_true(g_str_has_prefix(text, of_copy));
}

static void
check_copy(const LockCall *call)
{
    LockOptions options = call->options;
    InspectFilter filter = call->filter;
    Limits limits;
    LockCall *copy;

    limits_init(&limits);
    limits.max[LIMIT_NAME_BYTES] = 32;
    limits.max[LIMIT_WHY_BYTES] = 16;
    copy = lock_call_copy(call, &limits);
    g_assert_cmpuint(copy->n_bytes, >=, sizeof *copy);
    g_assert_cmpuint(copy->n_bytes, <=,
                     sizeof *copy + MESSAGE_MAX + 256 + 3 * 34 + 2 * 18 + BUS_CLIENT_ID_BYTES_MAX +
                         2 + (call->document != NULL ? PATH_MAX : 0));
    g_assert_cmpstr(copy->document, ==, call->document);
    g_assert_cmpint(copy->kind, ==, call->kind);
    g_assert_cmpint(copy->wants_reply, ==, call->wants_reply);
    g_assert_cmpuint(copy->serial, ==, call->serial);
    g_assert_cmpuint(copy->version, ==, call->version);
    g_assert_cmpstr(copy->refusal_name, ==, call->refusal_name);
    g_assert_cmpstr(copy->refusal_text, ==, call->refusal_text);
    check_text(copy->bucket, call->bucket, 255);
    if (call->refusal_name == NULL) {
        check_text(copy->name, call->name, 32);
        check_text(copy->options.why, options.why, 16);
        check_text(copy->options.command, options.command, 16);
        check_text(copy->filter.name, filter.name, 32);
        check_text(copy->filter.prefix, filter.prefix, 32);
        check_text(copy->filter.client_id, filter.client_id, BUS_CLIENT_ID_BYTES_MAX);
        options.why = copy->options.why;
        options.command = copy->options.command;
        filter.client_id = copy->filter.client_id;
        filter.name = copy->filter.name;
        filter.prefix = copy->filter.prefix;
        check_options(&copy->options, &options);
        check_filter(&copy->filter, &filter);
    }
    lock_call_free(copy);
}

/* ---- the connection that messages are created for and received by; not used otherwise */

static sd_bus *bus;
static int bus_fd = -1;

static void
open_bus(void)
{
    if (bus != NULL)
        return;
    bus = fuzz_bus_new(&bus_fd);
}

static void
close_bus(void)
{
    bus = sd_bus_close_unref(bus);
    close(bus_fd);
}

static void
clear_entry(gpointer data)
{
    Entry *entry = data;

    g_free(entry->key);
    g_free(entry->text);
}

static void
try_typed(Input *input, Member member)
{
    g_autoptr(GArray) entries = g_array_new(FALSE, FALSE, sizeof(Entry));
    g_autoptr(SdBusMessage) message = NULL;
    g_autofree char *name = input_take_text(input);
    g_auto(LockCall) call = {LOCK_CALL_UNKNOWN};
    Expected expected;
    int r;

    g_array_set_clear_func(entries, clear_entry);
    r = sd_bus_message_new_method_call(bus, &message, ":1.0", members[member].path,
                                       members[member].interface, members[member].member);
    g_assert(r >= 0);
    if (has_name(member))
        r = sd_bus_message_append_basic(message, 's', name);
    if (r >= 0)
        r = input_append_dictionary(message, input, member, entries);
    if (r < 0 || sd_bus_message_seal(message, 1, 0) < 0)
        return;
    r = sd_bus_message_rewind(message, TRUE);
    g_assert(r >= 0);

    expected = expect(entries, member, name);
    if (has_name(member) && !is_carriable(name))
        expected = refused(NULL);
    call = decode(message, member);
    if (expected.is_refused) {
        check_refusal(&call, expected.names);
    } else {
        g_assert_cmpstr(call.refusal_name, ==, NULL);
        g_assert_cmpuint(call.version, ==, expected.version);
        g_assert_cmpstr(call.document, ==, expected.portal);
        if (has_name(member))
            g_assert_cmpstr(call.name, ==, name);
        if (member == INSPECT || member == BREAK)
            check_filter(&call.filter, &expected.filter);
        else if (has_name(member))
            check_options(&call.options, &expected.options);
    }
    check_copy(&call);
}

/* ---- raw */

static void
append_u32(GByteArray *bytes, guint32 number, gboolean is_big)
{
    guint32 ordered = is_big ? GUINT32_TO_BE(number) : GUINT32_TO_LE(number);

    g_byte_array_append(bytes, (const guint8 *)&ordered, sizeof ordered);
}

static void
pad(GByteArray *bytes, guint alignment)
{
    static const guint8 zeros[8];

    g_byte_array_append(bytes, zeros, (alignment - bytes->len % alignment) % alignment);
}

/* `code` as in D-Bus's message header. */
static void
append_field(GByteArray *bytes, guint8 code, char type, const char *text, gboolean is_big)
{
    const guint8 begin[] = {code, 1, (guint8)type, 0};
    const guint8 length = (guint8)strlen(text);

    pad(bytes, 8);
    g_byte_array_append(bytes, begin, sizeof begin);
    if (type == 'g')
        g_byte_array_append(bytes, &length, 1);
    else
        append_u32(bytes, length, is_big);
    g_byte_array_append(bytes, (const guint8 *)text, (guint)length + 1);
}

/* Without padding at the end, which is not included in the length. */
static GByteArray *
make_fields(Member member, gboolean is_big)
{
    GByteArray *fields = g_byte_array_new();

    append_field(fields, 1, 'o', members[member].path, is_big);
    append_field(fields, 2, 's', members[member].interface, is_big);
    append_field(fields, 3, 's', members[member].member, is_big);
    append_field(fields, 8, 'g', members[member].signature, is_big);
    return fields;
}

static void
send_raw(const Input *input, Member member, gboolean is_big)
{
    const guint8 begin[] = {is_big ? 'B' : 'l', 1, 0, 1};
    g_autoptr(GByteArray) fields = make_fields(member, is_big);
    g_autoptr(GByteArray) bytes = g_byte_array_new();
    size_t n = MIN(input->n_left, RAW_BYTES_MAX);
    ssize_t n_sent;

    g_byte_array_append(bytes, begin, sizeof begin);
    append_u32(bytes, (guint32)n, is_big);
    append_u32(bytes, 1, is_big);
    append_u32(bytes, fields->len, is_big);
    g_byte_array_append(bytes, fields->data, fields->len);
    pad(bytes, 8);
    g_byte_array_append(bytes, input->at, (guint)n);
    n_sent = send(bus_fd, bytes->data, bytes->len, MSG_DONTWAIT | MSG_NOSIGNAL);
    g_assert(n_sent == (ssize_t)bytes->len);
}

static void
try_raw(const Input *input, Member member, gboolean is_big)
{
    g_autoptr(SdBusMessage) message = NULL;
    g_auto(LockCall) call = {LOCK_CALL_UNKNOWN};

    send_raw(input, member, is_big);
    while (sd_bus_process(bus, &message) > 0 && message == NULL)
        ;
    if (message == NULL) {
        /* It was not a message. */
        close_bus();
        return;
    }
    call = decode(message, member);
    check_possible(&call, member);
    check_copy(&call);
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    Input input = {data, size};
    unsigned manner = input_take_byte(&input);
    Member member = manner & IS_OPEN_DOCUMENT ? OPEN_DOCUMENT
                    : manner & IS_BREAK       ? BREAK
                                              : (Member)(manner & 3u);

    open_bus();
    if (manner & IS_RAW)
        try_raw(&input, member, (manner & IS_BIG_ENDIAN) != 0);
    else
        try_typed(&input, member);
    return 0;
}
