/* SPDX-FileCopyrightText: 2026 The WebLocks for D-Bus authors
 * SPDX-License-Identifier: LGPL-2.1-or-later */

#include "tests/storm/scene.h"

#include <string.h>

#define N_WRITERS 7 /* the supervisor, and A to F */
#define MS        G_GUINT64_CONSTANT(1000000)
#define PRINCIPAL 1000
/* So that no time is 0. */
#define START 1000

static const struct {
    const char *word;
    HistoryKind kind;
} kinds[] = {
    {"request", HISTORY_REQUEST},
    {"enter", HISTORY_ENTER},
    {"end", HISTORY_END},
    {"abort", HISTORY_ABORT},
    {"leave", HISTORY_LEAVE},
    {"release", HISTORY_RELEASE},
    {"lost", HISTORY_LOST},
    {"oracle", HISTORY_ORACLE},
    {"fence", HISTORY_FENCE},
    {"query", HISTORY_QUERY},
    {"row", HISTORY_ROW},
    {"rows", HISTORY_ROWS},
    {"sent", HISTORY_SENT},
    {"exit", HISTORY_EXIT},
    {"kill", HISTORY_KILL},
    {"reaped", HISTORY_REAPED},
    {"stop", HISTORY_STOP},
    {"continue", HISTORY_CONTINUE},
    {"unsettled", HISTORY_UNSETTLED},
    {"service-kill", HISTORY_SERVICE_KILL},
    {"service-dead", HISTORY_SERVICE_DEAD},
    {"service-ready", HISTORY_SERVICE_READY},
    {"barrier", HISTORY_BARRIER},
    {"bus", HISTORY_BUS},
    {"left", HISTORY_LEFT},
    {"fault", HISTORY_FAULT},
    {"fault-end", HISTORY_FAULT_END},
};

static const char *const outcomes[] = {"ok",   "unavailable", "cancelled", "timeout",    "stolen",
                                       "gone", "failed",      "refused",   "unreachable"};

static guint64
to_number(const char *word)
{
    guint64 value = 0;

    if (!g_ascii_string_to_unsigned(word, 10, 0, G_MAXUINT64, &value, NULL))
        g_error("%s is no number", word);
    return value;
}

static guint
to_writer(const char *word)
{
    g_assert(strlen(word) == 1);
    return word[0] == 'S' ? 0 : (guint)(word[0] - 'A') + 1;
}

static guint
to_kind(guint writer, const char *word)
{
    if (writer == 0 && strcmp(word, "end") == 0)
        return HISTORY_STORM_END;
    for (guint i = 0; i < G_N_ELEMENTS(kinds); i++)
        if (strcmp(kinds[i].word, word) == 0)
            return kinds[i].kind;
    g_error("%s is nothing that happens", word);
}

/* The words that may stand anywhere; how many of them were used. */
static guint
read_option(HistoryRecord *record, char **words)
{
    const char *word = words[0];

    for (guint i = 0; i < G_N_ELEMENTS(outcomes); i++)
        if (strcmp(word, outcomes[i]) == 0 &&
            (record->kind != HISTORY_REQUEST || strcmp(word, "timeout") != 0)) {
            record->outcome = (guint8)i;
            return 1;
        }
    if (strcmp(word, "shared") == 0)
        record->mode = 1;
    else if (strcmp(word, "if") == 0)
        record->flags |= HISTORY_FLAG_IF_AVAILABLE;
    else if (strcmp(word, "steal") == 0)
        record->flags |= HISTORY_FLAG_STEAL;
    else if (strcmp(word, "held") == 0)
        record->flags |= HISTORY_FLAG_HELD;
    else if (strcmp(word, "loses") == 0)
        record->flags |= HISTORY_FLAG_KILL;
    else if (strcmp(word, "partition") == 0)
        record->name = HISTORY_FAULT_PARTITION;
    else if (strcmp(word, "killed") == 0)
        record->name = HISTORY_FAULT_KILL;
    else if (strcmp(word, "stopped") == 0)
        record->name = HISTORY_FAULT_STOP_SERVICE;
    else if (strcmp(word, "pending") != 0)
        return 0;
    return 1;
}

static void
read_pair(HistoryRecord *record, const char *word, const char *value)
{
    if (strcmp(word, "timeout") == 0)
        record->detail = to_number(value);
    else if (strcmp(word, "token") == 0)
        record->token = to_number(value);
    else if (strcmp(word, "position") == 0)
        record->position = (guint16)to_number(value);
    else if (strcmp(word, "lock") == 0)
        record->name = (guint8)to_number(value);
    else if (strcmp(word, "host") == 0)
        record->subject = (guint32)to_number(value);
    else
        g_error("what is %s %s?", word, value);
}

/* What has to stand after the verb; how many words. */
static guint
read_arguments(HistoryRecord *record, char **words)
{
    guint n = 0;

    if (record->kind < HISTORY_QUIET || record->kind == HISTORY_SENT)
        record->request = to_number(words[n++]);
    switch (record->kind) {
    case HISTORY_ENTER:
        record->token = to_number(words[n++]);
        break;
    case HISTORY_FENCE:
        n += read_option(record, &words[n]);
        record->detail = to_number(words[n++]);
        break;
    case HISTORY_QUERY:
        record->detail = 1;
        record->subject = PRINCIPAL; /* the principal as which the supervisor queries */
        break;
    case HISTORY_ROW:
    case HISTORY_KILL:
    case HISTORY_REAPED:
    case HISTORY_STOP:
    case HISTORY_CONTINUE:
    case HISTORY_UNSETTLED:
        record->subject = to_writer(words[n++]);
        break;
    case HISTORY_FAULT:
        record->request = to_number(words[n++]);
        record->subject = (guint32)to_number(words[n++]);
        break;
    case HISTORY_FAULT_END:
        record->request = to_number(words[n++]);
        break;
    case HISTORY_BARRIER:
        record->detail = (to_number(words[n++]) + START) * MS;
        break;
    case HISTORY_BUS:
        record->detail = to_number(words[n++]);
        break;
    case HISTORY_LEFT:
        record->name = (guint8)to_number(words[n++]);
        record->detail = to_number(words[n++]);
        record->token = to_number(words[n++]);
        break;
    default:
        break;
    }
    return n;
}

static void
read_line(const char *line, GArray **logs)
{
    g_autofree char *copy = g_strdup(line);
    g_auto(GStrv) words = NULL;
    HistoryRecord record = {0};
    guint writer;
    guint n = 3;

    g_strstrip(copy);
    words = g_regex_split_simple(" +", copy, 0, 0);
    if (*copy == '\0')
        return;
    g_assert(g_strv_length(words) >= 3);
    writer = to_writer(words[1]);
    record.time = (to_number(words[0]) + START) * MS;
    record.client = writer;
    record.kind = (guint16)to_kind(writer, words[2]);
    n += read_arguments(&record, &words[n]);
    while (words[n] != NULL) {
        const guint used = read_option(&record, &words[n]);

        if (used == 0) {
            g_assert(words[n + 1] != NULL);
            read_pair(&record, words[n], words[n + 1]);
        }
        n += used == 0 ? 2 : used;
    }
    g_array_append_val(logs[writer], record);
}

char *
scene_judge(const char *text, CheckPower *power)
{
    g_autoptr(Story) story = story_new(1000 * MS);
    g_autoptr(Checker) checker = NULL;
    g_autofree char *report = NULL;
    g_auto(GStrv) lines = g_strsplit(text, "\n", -1);
    const guint first = g_str_equal(lines[0], "cluster") ? 1 : 0;
    GArray *logs[N_WRITERS];
    GString *found = g_string_new(NULL);

    story->is_cluster = first != 0;
    for (guint i = 0; i < N_WRITERS; i++)
        logs[i] = g_array_new(FALSE, FALSE, sizeof(HistoryRecord));
    for (guint i = first; lines[i] != NULL; i++)
        read_line(lines[i], logs);
    for (guint i = 0; i < N_WRITERS; i++) {
        const HistoryHeader header = {.magic = HISTORY_MAGIC,
                                      .client = i,
                                      .principal = i >= 5 ? PRINCIPAL + 1 : PRINCIPAL,
                                      .bus = story->is_cluster ? (i + 1) / 2 : 0,
                                      .unique = i,
                                      .has_unique = 1};

        story_add(story, &header, (const HistoryRecord *)(gpointer)logs[i]->data, logs[i]->len);
    }
    story_finish(story);
    checker = checker_new(story);
    report = checker_to_string(checker);
    for (guint i = 0; i < N_CHECKS; i++)
        if (checker->violations[i].n > 0)
            g_string_append_printf(found, "%s%s", found->len == 0 ? "" : " ",
                                   check_id_to_string(i));
    if (g_test_verbose())
        g_test_message("%s", report);
    if (power != NULL)
        *power = checker->power;
    for (guint i = 0; i < N_WRITERS; i++)
        g_array_unref(logs[i]);
    return g_string_free(found, FALSE);
}
