/* SPDX-FileCopyrightText: 2026 The WebLocks for D-Bus authors
 * SPDX-License-Identifier: LGPL-2.1-or-later */

#include "tests/fuzz/decoder-input.h"

#include <string.h>

#define ENTRIES_MAX   64
#define NESTING_MAX   8
#define N_BASIC_TYPES 12  /* of `types` */
#define OWN_FROM      96  /* bytes that choose a type: from here on the correct one */
#define OF_CLIENT     5   /* in `inspect_keys` from here on: of Break, too */
#define OF_CLIENT_MIN 224 /* bytes that choose a key: from here on one of these two */
#define OF_SLOTS      223 /* likewise, the option with this name */

static const KeyType lock_keys[] = {
    {"mode", "s"}, {"ifAvailable", "b"}, {"steal", "b"}, {"signal", "b"}, {"timeout", "u"},
    {"why", "s"},  {"key", "t"},         {"for", "s"},   {"slots", "u"},
};
/* The keys before "for" and "slots", which have numbers of their own: so the inputs mean what they
 * did. */
#define N_FIRST_KEYS 7
#define OF_FOR       15

static const KeyType inspect_keys[] = {
    {"name", "s"},  {"prefix", "s"},   {"state", "s"}, {"after", "t"},
    {"limit", "u"}, {"clientId", "s"}, {"id", "t"},
};

static const KeyType open_socket_keys[] = {{"version", "u"}};

/* A descriptor, for `file`, can't be in a message here. */
static const KeyType open_document_keys[] = {{"portal", "s"}, {"name", "s"}};

/* The basic types first. */
static const char *const types[] = {"s", "b", "u", "t", "y",  "n",  "q",     "i",   "x",
                                    "d", "o", "g", "v", "as", "ay", "a{sv}", "(s)", "ab"};

static const char *const words[] = {"exclusive", "shared", "held", "pending", "", "exclusive "};

uint8_t
input_take_byte(Input *input)
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

    for (guint n = input_take_byte(input) % 9u; n > 0; n--)
        number = number << 8 | input_take_byte(input);
    return number;
}

char *
input_take_text(Input *input)
{
    size_t n = input_take_byte(input);
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
    guint choice = input_take_byte(input);

    if (choice >= OF_CLIENT_MIN)
        return g_strdup(inspect_keys[OF_CLIENT + choice % 2].key);
    if (choice == OF_SLOTS)
        return g_strdup(lock_keys[N_FIRST_KEYS + 1].key);
    choice %= 16;
    if (choice == OF_FOR)
        return g_strdup(lock_keys[N_FIRST_KEYS].key);
    if (choice < N_FIRST_KEYS)
        return g_strdup(lock_keys[choice].key);
    choice -= N_FIRST_KEYS;
    if (choice < OF_CLIENT)
        return g_strdup(inspect_keys[choice].key);
    choice -= OF_CLIENT;
    if (choice == 1)
        return g_strdup(open_socket_keys[0].key);
    if (choice == 0)
        return g_strnfill(KEY_SHOWN_MAX + input_take_byte(input) % 4u, 'k');
    return input_take_text(input);
}

const KeyType *
input_find_key_type(Member member, const char *key)
{
    static const struct {
        const KeyType *key_type;
        guint n;
    } tables[] = {
        {lock_keys, G_N_ELEMENTS(lock_keys)},
        {lock_keys, G_N_ELEMENTS(lock_keys)},
        {inspect_keys, G_N_ELEMENTS(inspect_keys)},
        {open_socket_keys, G_N_ELEMENTS(open_socket_keys)},
        {inspect_keys + OF_CLIENT, G_N_ELEMENTS(inspect_keys) - OF_CLIENT},
        {open_document_keys, G_N_ELEMENTS(open_document_keys)},
    };

    for (guint i = 0; i < tables[member].n; i++)
        if (g_str_equal(tables[member].key_type[i].key, key))
            return &tables[member].key_type[i];
    return NULL;
}

static const char *
take_type(Input *input, Member member, const char *key)
{
    const KeyType *key_type = input_find_key_type(member, key);
    guint choice = input_take_byte(input);

    return key_type != NULL && choice >= OWN_FROM ? key_type->type
                                                  : types[choice % G_N_ELEMENTS(types)];
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

/* Appends a value of a basic type; stores it in `out`. */
static int
append_basic(sd_bus_message *message, Input *input, char type, Entry *out)
{
    guint choice;

    switch (type) {
    case 's':
        choice = input_take_byte(input) % (2 * G_N_ELEMENTS(words));
        g_free(out->text);
        out->text = choice < G_N_ELEMENTS(words) ? g_strdup(words[choice]) : input_take_text(input);
        return sd_bus_message_append_basic(message, 's', out->text);
    case 'o':
        return sd_bus_message_append_basic(message, 'o', "/shared");
    case 'g':
        return sd_bus_message_append_basic(message, 'g', "s");
    case 'b':
        out->number = input_take_byte(input) % 2u;
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

/* Nested variants, which are always invalid. */
static int
append_variants(sd_bus_message *message, Input *input)
{
    guint depth = input_take_byte(input) % (NESTING_MAX + 1u);
    const char *type = types[input_take_byte(input) % N_BASIC_TYPES];
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

/* An array or a struct, which is invalid too; an array may be empty. */
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
    if (r >= 0 && (is_struct || (contents[0] != '{' && input_take_byte(input) % 2u == 0)))
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

int
input_append_dictionary(sd_bus_message *message, Input *input, Member member, GArray *entries)
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
