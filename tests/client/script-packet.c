/* SPDX-FileCopyrightText: 2026 The WebLocks for D-Bus authors
 * SPDX-License-Identifier: LGPL-2.1-or-later */

/* Packets as text: packets of the service are created from it, packets of the client are compared
 * with it. */

#include <string.h>

#include "tests/client/script.h"

typedef struct {
    const char *word;
    guint number;
} Word;

static const Word error_words[] = {
    {"InvalidArgs", PACKET_ERROR_INVALID_ARGS},       {"NotSupported", PACKET_ERROR_NOT_SUPPORTED},
    {"InvalidState", PACKET_ERROR_INVALID_STATE},     {"NotHeld", PACKET_ERROR_NOT_HELD},
    {"LimitsExceeded", PACKET_ERROR_LIMITS_EXCEEDED}, {NULL, 0},
};

static const Word reason_words[] = {
    {"stolen", PACKET_REASON_STOLEN},           {"timeout", PACKET_REASON_TIMEOUT},
    {"terminated", PACKET_REASON_TERMINATED},   {"lost", PACKET_REASON_LOST},
    {"unavailable", PACKET_REASON_UNAVAILABLE}, {NULL, 0},
};

static const Word closed_words[] = {
    {"replaced", PACKET_CLOSED_REPLACED},
    {"malformed", PACKET_CLOSED_MALFORMED},
    {"shutdown", PACKET_CLOSED_SHUTDOWN},
    {NULL, 0},
};

static const Word kind_words[] = {
    {"REQUEST", PACKET_REQUEST}, {"RELEASE", PACKET_RELEASE},     {"ABORT", PACKET_ABORT},
    {"SYNC", PACKET_SYNC},       {"DOWNGRADE", PACKET_DOWNGRADE}, {NULL, 0},
};

static guint64
parse_number(Script *s, const char *word)
{
    char *end = NULL;
    const guint64 number = word != NULL ? g_ascii_strtoull(word, &end, 0) : 0;

    if (end == word || *end != '\0')
        script_fail(s, "'%s' is not a number", word);
    return number;
}

/* A number is also accepted in place of a word. */
static guint
parse_word(Script *s, const Word *table, const char *word)
{
    for (; word != NULL && table->word != NULL; table++)
        if (g_str_equal(table->word, word))
            return table->number;
    return (guint)parse_number(s, word);
}

static guint64
parse_key(Script *s, const char *word)
{
    return g_ascii_isdigit(word[0]) ? parse_number(s, word) : script_get_label(s, word)->key;
}

/* ---- messages of the service: each function returns the remaining words */

/* LABEL ok | none | waits | held TOKEN | aborted | error NAME [limit NUMBER] */
static char **
write_answer(Script *s, GByteArray *bytes, char **words)
{
    g_autofree ScriptCall *call = g_queue_pop_head(&s->unanswered);
    g_autofree char *of = call != NULL ? call->of : NULL;
    PacketAnswer answer = {0};

    if (g_strcmp0(of, words[0]) != 0)
        script_fail(s, "the oldest call without an answer is %s", of);
    answer.head.serial = call->serial;
    words++;
    if (g_str_equal(words[0], "held")) {
        answer.state = PACKET_STATE_HELD;
        answer.token = parse_number(s, *++words);
    } else if (g_str_equal(words[0], "waits")) {
        answer.state = PACKET_STATE_WAITS;
    } else if (g_str_equal(words[0], "aborted")) {
        answer.aborted = 1;
    } else if (g_str_equal(words[0], "error")) {
        answer.error = parse_word(s, error_words, *++words);
        if (g_strcmp0(words[1], "limit") == 0) {
            words += 2;
            answer.limit = (guint32)parse_number(s, words[0]);
        }
    } else if (!g_str_equal(words[0], "ok") && !g_str_equal(words[0], "none")) {
        script_fail(s, "unknown answer '%s'", words[0]);
    }
    packet_write(bytes, PACKET_ANSWER, &answer.head, sizeof answer);
    return words + 1;
}

static char **
write_granted(Script *s, GByteArray *bytes, char **words)
{
    PACKET_WRITE(bytes, PACKET_GRANTED, PacketGranted, .key = parse_key(s, words[0]),
                 .token = parse_number(s, words[1]));
    return words + 2;
}

static char **
write_ended(Script *s, GByteArray *bytes, char **words)
{
    PACKET_WRITE(bytes, PACKET_ENDED, PacketEnded, .key = parse_key(s, words[0]),
                 .reason = parse_word(s, reason_words, words[1]));
    return words + 2;
}

static char **
write_closed(Script *s, GByteArray *bytes, char **words)
{
    PACKET_WRITE(bytes, PACKET_CLOSED, PacketClosed,
                 .reason = parse_word(s, closed_words, words[0]));
    return words + 1;
}

/* (LABEL waits | LABEL held TOKEN)... [more] */
static char **
write_live(Script *s, GByteArray *bytes, char **words)
{
    g_autoptr(GArray) entries = g_array_new(FALSE, TRUE, sizeof(PacketLiveEntry));
    gboolean is_more = FALSE;

    while (words[0] != NULL && !g_str_equal(words[0], "+") && !g_str_equal(words[0], "poke") &&
           !is_more) {
        PacketLiveEntry entry = {0};

        if (g_str_equal(words[0], "more")) {
            is_more = TRUE;
            words++;
            continue;
        }
        entry.key = parse_key(s, words[0]);
        entry.state = PACKET_STATE_WAITS;
        if (g_str_equal(words[1], "held")) {
            entry.state = PACKET_STATE_HELD;
            entry.token = parse_number(s, words[2]);
            words++;
        }
        words += 2;
        g_array_append_val(entries, entry);
    }
    packet_write_live(bytes, (const PacketLiveEntry *)(void *)entries->data, entries->len, is_more);
    return words;
}

/* (poke OFFSET BYTES VALUE | cut LENGTH)...: makes the message at `offset` malformed. */
static char **
make_malformed(Script *s, GByteArray *bytes, guint offset, char **words)
{
    for (;;) {
        if (g_strcmp0(words[0], "poke") == 0) {
            const guint64 value = parse_number(s, words[3]);

            const guint64 size = parse_number(s, words[2]);
            const guint64 skip = G_BYTE_ORDER == G_BIG_ENDIAN ? sizeof value - size : 0;

            memcpy(bytes->data + offset + parse_number(s, words[1]), (const guint8 *)&value + skip,
                   size);
            words += 4;
        } else if (g_strcmp0(words[0], "cut") == 0) {
            g_byte_array_set_size(bytes, offset + (guint)parse_number(s, words[1]));
            words += 2;
        } else {
            return words;
        }
    }
}

static char **
write_one(Script *s, GByteArray *bytes, char **words)
{
    static const struct {
        const char *word;
        char **(*write)(Script *s, GByteArray *bytes, char **words);
    } messages[] = {
        {"ANSWER", write_answer}, {"GRANTED", write_granted}, {"ENDED", write_ended},
        {"LIVE", write_live},     {"CLOSED", write_closed},
    };
    const guint offset = bytes->len;

    for (guint i = 0; i < G_N_ELEMENTS(messages); i++)
        if (g_str_equal(messages[i].word, words[0]))
            return make_malformed(s, bytes, offset, messages[i].write(s, bytes, words + 1));
    script_fail(s, "unknown message '%s'", words[0]);
}

/* MESSAGE [+ MESSAGE]... */
void
script_write_message(Script *s, GByteArray *bytes, char **words)
{
    for (words = write_one(s, bytes, words); words[0] != NULL;
         words = write_one(s, bytes, words + 1))
        if (!g_str_equal(words[0], "+"))
            script_fail(s, "unexpected word '%s'", words[0]);
}

/* ---- messages of the client */

static void
describe_key(Script *s, guint64 key, GString *words)
{
    const Label *label = script_find_key(s, key);

    if (label != NULL)
        g_string_append_printf(words, " %s", label->name);
    else
        g_string_append_printf(words, " %" G_GUINT64_FORMAT, key);
}

static void
describe_request(Script *s, const PacketRequest *request, GString *words)
{
    g_autofree char *bucket = g_strndup(request->text, request->bucket_length), *texts = NULL;

    describe_key(s, request->key, words);
    if (!g_str_equal(bucket, "bucket"))
        g_string_append_printf(words, " bucket %s", bucket);
    if (request->mode == LOCK_MODE_SHARED)
        g_string_append(words, " shared");
    if (request->options & PACKET_OPTION_IF_AVAILABLE)
        g_string_append(words, " ifAvailable");
    if (request->options & PACKET_OPTION_STEAL)
        g_string_append(words, " steal");
    if (request->options & PACKET_OPTION_SIGNAL)
        g_string_append(words, " signal");
    if (request->slots != 0)
        g_string_append_printf(words, " slots %u", request->slots);
    if (request->timeout_ms != 0)
        g_string_append_printf(words, " timeout %u", request->timeout_ms);
    texts = g_strndup(request->text + request->bucket_length + request->name_length,
                      request->texts_length);
    if (*texts != '\0')
        g_string_append_printf(words, " why %s", texts);
    if (strlen(texts) < request->texts_length)
        g_string_append_printf(
            words, " command %.*s", (int)(request->texts_length - strlen(texts) - 1),
            request->text + request->bucket_length + request->name_length + strlen(texts) + 1);
}

/* Returns text such as "RELEASE a no-answer"; with one word for each word of the step. */
static char *
describe(Script *s, const PacketHead *head)
{
    const gboolean has_key = head->kind == PACKET_RELEASE || head->kind == PACKET_ABORT ||
                             head->kind == PACKET_DOWNGRADE;
    GString *words = g_string_new(NULL);

    for (const Word *kind = kind_words; kind->word != NULL; kind++)
        if (kind->number == head->kind)
            g_string_append(words, kind->word);
    if (head->kind == PACKET_REQUEST)
        describe_request(s, (const PacketRequest *)head, words);
    if (has_key)
        describe_key(s, ((const PacketKey *)head)->key, words);
    if (head->flags & PACKET_FLAG_NO_ANSWER)
        g_string_append(words, " no-answer");
    return g_string_free(words, FALSE);
}

/* Stores the key that the library has chosen for a request. */
static void
store_key(Script *s, const PacketRequest *request, Label *label)
{
    g_autofree char *resource =
        g_strndup(request->text + request->bucket_length, request->name_length);

    if (label->key == 0 && g_str_equal(label->resource, resource) &&
        script_find_key(s, request->key) == NULL)
        label->key = request->key;
}

/* "<N" matches a smaller number. */
static gboolean
is_word(const char *expected, const char *word)
{
    guint64 number;

    if (expected == NULL || word == NULL)
        return expected == word;
    if (expected[0] != '<')
        return g_str_equal(expected, word);
    return g_ascii_string_to_unsigned(word, 10, 1, G_MAXUINT32, &number, NULL) &&
           number < g_ascii_strtoull(expected + 1, NULL, 10);
}

void
script_check_message(Script *s, const PacketHead *head, char **words)
{
    g_autofree char *text = NULL;
    g_auto(GStrv) got = NULL;

    if (head->kind == PACKET_REQUEST && words[1] != NULL)
        store_key(s, (const PacketRequest *)head, script_get_label(s, words[1]));
    text = describe(s, head);
    got = g_strsplit(text, " ", -1);
    for (guint i = 0; words[i] != NULL || got[i] != NULL; i++)
        if (!is_word(words[i], got[i]))
            script_fail(s, "the client sent %s", text);
    if ((head->flags & PACKET_FLAG_NO_ANSWER) == 0) {
        ScriptCall *call = g_new0(ScriptCall, 1);

        call->serial = head->serial;
        call->of = g_strdup(words[1] != NULL ? words[1] : words[0]);
        g_queue_push_tail(&s->unanswered, call);
    }
}
