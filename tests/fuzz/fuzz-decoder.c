/* SPDX-FileCopyrightText: 2026 The WebLocks for D-Bus authors
 * SPDX-License-Identifier: LGPL-2.1-or-later */

/* Whatever a call's dictionary may have in it: the options of Request and Steal, the filter of
 * Inspect.
 *
 * An input's first byte says what it is, as in `Manner`. Most are a name and then typed keys and
 * values, of which is known what should come out: the rules of the contract's third section are
 * written down here once more. A raw one is the bytes of a message's body, as they may come over a
 * private socket, where no bus has looked at them: what comes out of it has to be possible. Either
 * way it is an answer with a typed error, or all of what was said; and a copy that was kept while
 * the call had to wait says the same. */

#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "common/wire-names.h"
#include "service/bus/handshake.h"
#include "service/bus/kept-call.h"
#include "service/bus/options.h"
#include "tests/fuzz/fuzz.h"

/* The two lowest bits are of Member. */
typedef enum {
    IS_RAW = 1 << 2,
    IS_BIG_ENDIAN = 1 << 3, /* if raw */
} Manner;

typedef enum {
    REQUEST,
    STEAL,
    INSPECT,
} Member;

#define ENTRIES_MAX   64
#define NESTING_MAX   8
#define N_BASIC_TYPES 12 /* of `types` */
#define KEY_SHOWN_MAX 64
#define MESSAGE_MAX   (4 * KEY_SHOWN_MAX + 100) /* escaped, a byte may be four */
#define RAW_BYTES_MAX (1 << 16)
#define OWN_FROM      96 /* of the bytes that choose a type: from here on the right one */

typedef struct {
    const uint8_t *at;
    size_t n_left;
} Input;

/* One of the dictionary, as it was put into the message. */
typedef struct {
    char *key;
    const char *type;
    char *text;     /* if it has one */
    guint64 number; /* otherwise */
} Entry;

typedef struct {
    const char *key;
    const char *type;
} Known;

static const Known lock_keys[] = {
    {"mode", "s"},    {"ifAvailable", "b"}, {"steal", "b"}, {"signal", "b"},
    {"timeout", "u"}, {"why", "s"},         {"key", "t"},
};

static const Known inspect_keys[] = {
    {"name", "s"}, {"prefix", "s"}, {"state", "s"}, {"after", "t"}, {"limit", "u"},
};

/* The basic ones first. */
static const char *const types[] = {"s", "b", "u", "t", "y",  "n",  "q",     "i",   "x",
                                    "d", "o", "g", "v", "as", "ay", "a{sv}", "(s)", "ab"};

static const char *const words[] = {"exclusive", "shared", "held", "pending", "", "exclusive "};

static const sd_id128_t server_id =
    SD_ID128_MAKE(57, 65, 62, 4c, 6f, 63, 6b, 73, 00, 00, 00, 00, 00, 00, 00, 02);

/* ---- from bytes */

static uint8_t
take_byte(Input *input)
{
    if (input->n_left == 0)
        return 0;
    input->n_left--;
    return *input->at++;
}

static guint64
take_number(Input *input)
{
    guint64 number = 0;

    for (guint n = take_byte(input) % 9u; n > 0; n--)
        number = number << 8 | take_byte(input);
    return number;
}

/* Its length, and it. A zero is the end, as it is in D-Bus. */
static char *
take_text(Input *input)
{
    size_t n = take_byte(input);
    char *text;

    n = MIN(n, input->n_left);
    text = g_strndup((const char *)input->at, n);
    input->at += n;
    input->n_left -= n;
    return text;
}

static char *
take_key(Input *input)
{
    guint choice = take_byte(input) % 16u;

    if (choice < G_N_ELEMENTS(lock_keys))
        return g_strdup(lock_keys[choice].key);
    choice -= G_N_ELEMENTS(lock_keys);
    if (choice < G_N_ELEMENTS(inspect_keys))
        return g_strdup(inspect_keys[choice].key);
    choice -= G_N_ELEMENTS(inspect_keys);
    if (choice == 0)
        return g_strnfill(KEY_SHOWN_MAX + take_byte(input) % 4u, 'k');
    return take_text(input);
}

static const Known *
find_known(Member member, const char *key)
{
    const Known *known = member == INSPECT ? inspect_keys : lock_keys;
    guint n = member == INSPECT ? G_N_ELEMENTS(inspect_keys) : G_N_ELEMENTS(lock_keys);

    for (guint i = 0; i < n; i++)
        if (g_str_equal(known[i].key, key))
            return &known[i];
    return NULL;
}

static const char *
take_type(Input *input, Member member, const char *key)
{
    const Known *known = find_known(member, key);
    guint choice = take_byte(input);

    return known != NULL && choice >= OWN_FROM ? known->type : types[choice % G_N_ELEMENTS(types)];
}

static int
append_number(sd_bus_message *message, char type, guint64 number)
{
    const union {
        uint8_t y;
        uint16_t q;
        uint32_t u;
        int b;
        uint64_t t;
        double d;
    } value = {.t = number};

    return sd_bus_message_append_basic(message, type, &value);
}

/* Of a type that is no container; `out` is given what it is. */
static int
append_basic(sd_bus_message *message, Input *input, char type, Entry *out)
{
    guint choice;

    switch (type) {
    case 's':
        choice = take_byte(input) % (2 * G_N_ELEMENTS(words));
        g_free(out->text);
        out->text = choice < G_N_ELEMENTS(words) ? g_strdup(words[choice]) : take_text(input);
        return sd_bus_message_append_basic(message, 's', out->text);
    case 'o':
        return sd_bus_message_append_basic(message, 'o', "/shared");
    case 'g':
        return sd_bus_message_append_basic(message, 'g', "s");
    case 'b':
        out->number = take_byte(input) % 2u;
        break;
    case 'u':
        out->number = take_number(input) & G_MAXUINT32;
        break;
    default:
        out->number = take_number(input);
        break;
    }
    return append_number(message, type, out->number);
}

/* Variants in one another, which is always wrong. */
static int
append_variants(sd_bus_message *message, Input *input)
{
    guint depth = take_byte(input) % (NESTING_MAX + 1u);
    const char *type = types[take_byte(input) % N_BASIC_TYPES];
    Entry inner = {0};
    int r = 0;

    for (guint i = 0; i < depth && r >= 0; i++)
        r = sd_bus_message_open_container(message, 'v', "v");
    if (r >= 0)
        r = sd_bus_message_open_container(message, 'v', type);
    if (r >= 0)
        r = append_basic(message, input, type[0], &inner);
    for (guint i = 0; i <= depth && r >= 0; i++)
        r = sd_bus_message_close_container(message);
    g_free(inner.text);
    return r;
}

/* An array or a struct, which is wrong too; an array may be empty. */
static int
append_container(sd_bus_message *message, Input *input, const char *type)
{
    gboolean is_struct = type[0] == '(';
    g_autofree char *contents = g_strdup(type + 1);
    Entry inner = {0};
    int r;

    if (is_struct)
        contents[strlen(contents) - 1] = '\0';
    r = sd_bus_message_open_container(message, is_struct ? 'r' : 'a', contents);
    if (r >= 0 && (is_struct || (contents[0] != '{' && take_byte(input) % 2u == 0)))
        r = append_basic(message, input, contents[0], &inner);
    g_free(inner.text);
    return r < 0 ? r : sd_bus_message_close_container(message);
}

static int
append_value(sd_bus_message *message, Input *input, Entry *entry)
{
    if (entry->type[1] != '\0')
        return append_container(message, input, entry->type);
    if (entry->type[0] == 'v')
        return append_variants(message, input);
    return append_basic(message, input, entry->type[0], entry);
}

static int
append_dictionary(sd_bus_message *message, Input *input, Member member, GArray *entries)
{
    int r = sd_bus_message_open_container(message, 'a', "{sv}");

    while (r >= 0 && input->n_left > 0 && entries->len < ENTRIES_MAX) {
        Entry entry = {.key = take_key(input)};

        entry.type = take_type(input, member, entry.key);
        if ((r = sd_bus_message_open_container(message, 'e', "sv")) >= 0 &&
            (r = sd_bus_message_append_basic(message, 's', entry.key)) >= 0 &&
            (r = sd_bus_message_open_container(message, 'v', entry.type)) >= 0 &&
            (r = append_value(message, input, &entry)) >= 0 &&
            (r = sd_bus_message_close_container(message)) >= 0)
            r = sd_bus_message_close_container(message);
        g_array_append_val(entries, entry);
    }
    return r < 0 ? r : sd_bus_message_close_container(message);
}

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
    const char *names;    /* what the error's message must have in it, or NULL */
    LockOptions options;  /* otherwise */
    InspectFilter filter; /* likewise */
} Expected;

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
    if (member == STEAL && find_entry(entries, "steal") != NULL &&
        get_number(entries, "steal") == 0)
        return refused("steal");
    expected.options.mode = g_str_equal(mode, "shared") ? LOCK_MODE_SHARED : LOCK_MODE_EXCLUSIVE;
    expected.options.if_available = get_number(entries, "ifAvailable") != 0;
    expected.options.steal = member == STEAL || get_number(entries, "steal") != 0;
    expected.options.signal = get_number(entries, "signal") != 0;
    expected.options.timeout_ms = (guint32)get_number(entries, "timeout");
    expected.options.key = get_number(entries, "key");
    expected.options.why = get_text(entries, "why", "");
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
    return expected;
}

static Expected
expect(const GArray *entries, Member member)
{
    for (guint i = 0; i < entries->len; i++) {
        const Entry *entry = &g_array_index(entries, Entry, i);
        const Known *known = find_known(member, entry->key);

        if (!is_carriable(entry->key))
            return refused(NULL);
        if (known == NULL || !g_str_equal(known->type, entry->type))
            return refused(entry->key);
        if (entry->text != NULL && !is_carriable(entry->text))
            return refused(NULL);
        if (find_entry(entries, entry->key) != entry)
            return refused(entry->key);
    }
    return member == INSPECT ? expect_inspect(entries) : expect_lock(entries, member);
}

/* ---- what comes out */

typedef struct {
    int r;
    sd_bus_error error;
    LockOptions options;
    InspectFilter filter;
} Decoded;

/* As methods.c does it. */
static Decoded
decode(sd_bus_message *message, Member member)
{
    Decoded decoded = {.error = SD_BUS_ERROR_NULL};
    const char *name;

    if (member != INSPECT && sd_bus_message_read_basic(message, 's', &name) <= 0)
        decoded.r =
            sd_bus_error_set(&decoded.error, WIRE_ERROR_INVALID_ARGS, "The name can't be read");
    else if (member == INSPECT)
        decoded.r = options_read_inspect(message, &decoded.filter, &decoded.error);
    else
        decoded.r = options_read_lock(message, member == STEAL, &decoded.options, &decoded.error);
    return decoded;
}

static void
check_refusal(const Decoded *decoded, const char *names)
{
    g_assert(decoded->r < 0);
    g_assert_cmpstr(decoded->error.name, ==, "org.freedesktop.DBus.Error.InvalidArgs");
    g_assert(decoded->error.message != NULL);
    g_assert_cmpuint(strlen(decoded->error.message), <, MESSAGE_MAX);
    g_assert(is_carriable(decoded->error.message));
    /* The caller's own word, but nothing that a terminal obeys. */
    if (names != NULL) {
        g_autofree char *escaped = g_strescape(names, NULL);

        g_assert_nonnull(strstr(decoded->error.message, escaped));
    }
}

static void
check_options(const LockOptions *options, const LockOptions *expected)
{
    g_assert_cmpint(options->mode, ==, expected->mode);
    g_assert_cmpint(options->if_available, ==, expected->if_available);
    g_assert_cmpint(options->steal, ==, expected->steal);
    g_assert_cmpint(options->signal, ==, expected->signal);
    g_assert_cmpuint(options->timeout_ms, ==, expected->timeout_ms);
    g_assert_cmpuint(options->key, ==, expected->key);
    g_assert_cmpstr(options->why, ==, expected->why);
}

static void
check_filter(const InspectFilter *filter, const InspectFilter *expected)
{
    g_assert_cmpstr(filter->name, ==, expected->name);
    g_assert_cmpstr(filter->prefix, ==, expected->prefix);
    g_assert_cmpint(filter->by_state, ==, expected->by_state);
    if (expected->by_state)
        g_assert_cmpint(filter->state, ==, expected->state);
    g_assert_cmpuint(filter->after, ==, expected->after);
    g_assert_cmpuint(filter->limit, ==, expected->limit);
}

/* Of bytes of which is not known what they say. */
static void
check_possible(const Decoded *decoded, Member member)
{
    const LockOptions *options = &decoded->options;
    const InspectFilter *filter = &decoded->filter;

    if (decoded->r < 0) {
        check_refusal(decoded, NULL);
    } else if (member == INSPECT) {
        g_assert(filter->limit >= 1 && filter->limit <= 1000);
        g_assert(filter->name == NULL || is_carriable(filter->name));
        g_assert(filter->prefix == NULL || is_carriable(filter->prefix));
    } else {
        g_assert(options->mode == LOCK_MODE_EXCLUSIVE || options->mode == LOCK_MODE_SHARED);
        g_assert(options->why != NULL && is_carriable(options->why));
        g_assert(options->steal || member == REQUEST);
        g_assert((options->if_available | options->steal | options->signal) <= 1);
    }
}

/* ---- a copy */

static void
check_same(const Decoded *decoded, const Decoded *of_copy, Member member)
{
    g_assert_cmpint(of_copy->r < 0, ==, decoded->r < 0);
    g_assert_cmpstr(of_copy->error.name, ==, decoded->error.name);
    g_assert_cmpstr(of_copy->error.message, ==, decoded->error.message);
    if (decoded->r >= 0 && member == INSPECT)
        check_filter(&of_copy->filter, &decoded->filter);
    else if (decoded->r >= 0)
        check_options(&of_copy->options, &decoded->options);
}

/* `n_body` is its length, if that is known. */
static void
check_kept(sd_bus_message *message, Member member, const Decoded *decoded, size_t n_body)
{
    g_autoptr(SdBusMessage) copy = NULL;
    gboolean is_readable;
    gsize n_bytes;
    uint64_t cookie;
    Decoded of_copy;

    sd_bus_message_rewind(message, TRUE);
    n_bytes = kept_call_measure(message, G_MAXUINT32, &is_readable);
    copy = kept_call_copy(message, is_readable);
    g_assert_nonnull(copy);
    g_assert_cmpstr(sd_bus_message_get_path(copy), ==, sd_bus_message_get_path(message));
    g_assert_cmpstr(sd_bus_message_get_member(copy), ==, sd_bus_message_get_member(message));
    g_assert_cmpint(sd_bus_message_get_expect_reply(copy), ==,
                    sd_bus_message_get_expect_reply(message));
    g_assert_cmpint(sd_bus_message_get_cookie(copy, &cookie), >=, 0);
    g_assert_cmpuint(cookie, ==, 1);
    if (!is_readable) {
        g_assert_cmpint(decoded->r, <, 0);
        return;
    }
    g_assert_cmpuint(2 * n_bytes, >=, n_body);
    g_assert_cmpstr(sd_bus_message_get_signature(copy, TRUE), ==,
                    sd_bus_message_get_signature(message, TRUE));
    of_copy = decode(copy, member);
    check_same(decoded, &of_copy, member);
    sd_bus_error_free(&of_copy.error);
}

/* ---- the connection that messages are made for, and come by; not used for anything else */

static sd_bus *bus;
static int bus_fd = -1;

static void
open_bus(void)
{
    if (bus != NULL)
        return;
    bus = handshake_new_bus(server_id, &bus_fd);
    g_assert(bus != NULL);
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
    g_autofree char *name = take_text(input);
    Expected expected;
    Decoded decoded;
    int r;

    g_array_set_clear_func(entries, clear_entry);
    r = sd_bus_message_new_method_call(bus, &message, ":1.0", WIRE_SERVICE_PATH,
                                       WIRE_LOCKS_INTERFACE, "Call");
    g_assert(r >= 0);
    if (member != INSPECT)
        r = sd_bus_message_append_basic(message, 's', name);
    if (r >= 0)
        r = append_dictionary(message, input, member, entries);
    if (r < 0 || sd_bus_message_seal(message, 1, 0) < 0)
        return;
    r = sd_bus_message_rewind(message, TRUE);
    g_assert(r >= 0);

    expected = expect(entries, member);
    if (member != INSPECT && !is_carriable(name))
        expected = refused(NULL);
    decoded = decode(message, member);
    if (expected.is_refused) {
        check_refusal(&decoded, expected.names);
    } else {
        g_assert_cmpint(decoded.r, ==, 0);
        if (member == INSPECT)
            check_filter(&decoded.filter, &expected.filter);
        else
            check_options(&decoded.options, &expected.options);
    }
    check_kept(message, member, &decoded, 0);
    sd_bus_error_free(&decoded.error);
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

/* Without padding at the end, which counts in no length. */
static GByteArray *
make_fields(Member member, gboolean is_big)
{
    GByteArray *fields = g_byte_array_new();

    append_field(fields, 1, 'o', WIRE_SERVICE_PATH, is_big);
    append_field(fields, 2, 's', WIRE_LOCKS_INTERFACE, is_big);
    append_field(fields, 3, 's', "Call", is_big);
    append_field(fields, 8, 'g', member == INSPECT ? "a{sv}" : "sa{sv}", is_big);
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
    Decoded decoded;

    send_raw(input, member, is_big);
    while (sd_bus_process(bus, &message) > 0 && message == NULL)
        ;
    if (message == NULL) {
        /* It was no message. */
        close_bus();
        return;
    }
    decoded = decode(message, member);
    check_possible(&decoded, member);
    check_kept(message, member, &decoded, MIN(input->n_left, RAW_BYTES_MAX));
    sd_bus_error_free(&decoded.error);
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    Input input = {data, size};
    unsigned manner = take_byte(&input);
    Member member = (Member)((manner & 3u) % 3u);

    open_bus();
    if (manner & IS_RAW)
        try_raw(&input, member, (manner & IS_BIG_ENDIAN) != 0);
    else
        try_typed(&input, member);
    return 0;
}
