/* SPDX-FileCopyrightText: 2026 The WebLocks for D-Bus authors
 * SPDX-License-Identifier: LGPL-2.1-or-later */

/* Runs a case on a driver, and reports the line with the first difference. */

#include "tests/spec/spec-driver.h"

/* A request of the case, by its label. */
typedef struct {
    char agent;
    guint64 id;
    guint64 token; /* 0: waiting */
    gint64 begun_us;
    const SpecRequest *request;
    gboolean has_ended; /* no longer waits according to the case, so a time-out doesn't matter */
} Labelled;

typedef struct {
    const SpecDriver *driver;
    gpointer self;
    const SpecCase *spec;
    const SpecStep *step;
    gboolean connected[SPEC_AGENTS];
    gboolean watches[SPEC_AGENTS]; /* watches, and so is notified of other agents' events */
    GHashTable *labelled;          /* label -> Labelled */
    gboolean may_be_uncertain;
    gboolean is_uncertain; /* failed, but only because the machine was too slow */
} Run;

/* How often a case is tried if the machine is too slow for its time-outs. */
#define TRIES_MAX 10

void
spec_answer_clear(SpecAnswer *answer)
{
    g_clear_pointer(&answer->error, g_free);
    g_clear_pointer(&answer->message, g_free);
}

SpecEvent *
spec_event_new(SpecVerb kind, guint64 id, char client)
{
    SpecEvent *event = g_new0(SpecEvent, 1);

    event->kind = kind;
    event->id = id;
    event->client = client;
    return event;
}

void
spec_event_free(SpecEvent *event)
{
    g_free(event->bucket);
    g_free(event->name);
    g_free(event->mode);
    g_free(event->reason);
    g_free(event);
}

static gint64
get_time_us(const Run *run)
{
    return run->driver->get_time_us != NULL ? run->driver->get_time_us(run->self)
                                            : g_get_monotonic_time();
}

/* Whether a request that should still wait according to the case may have timed out by now. */
static gboolean
is_late(const Run *run)
{
    gint64 now_us = get_time_us(run);
    GHashTableIter iter;
    gpointer value;

    g_hash_table_iter_init(&iter, run->labelled);
    while (g_hash_table_iter_next(&iter, NULL, &value)) {
        const Labelled *labelled = value;

        if (labelled->request->timeout_ms > 0 && labelled->token == 0 && !labelled->has_ended &&
            now_us - labelled->begun_us >= (gint64)labelled->request->timeout_ms * 1000)
            return TRUE;
    }
    return FALSE;
}

/* Marks this request, and all of an agent, as ended. */
static void
end_requests(Run *run, guint64 id, char agent)
{
    GHashTableIter iter;
    gpointer value;

    g_hash_table_iter_init(&iter, run->labelled);
    while (g_hash_table_iter_next(&iter, NULL, &value)) {
        Labelled *labelled = value;

        if (labelled->id == id || labelled->agent == agent)
            labelled->has_ended = TRUE;
    }
}

static gboolean differ(Run *run, const char *format, ...) G_GNUC_PRINTF(2, 3);

static gboolean
differ(Run *run, const char *format, ...)
{
    g_autofree char *what = NULL;
    va_list arguments;

    va_start(arguments, format);
    what = g_strdup_vprintf(format, arguments);
    va_end(arguments);
    run->is_uncertain = run->may_be_uncertain && !run->step->await && is_late(run);
    if (run->is_uncertain)
        g_test_message("line %u: %s: %s; too late, so the case is repeated", run->step->line,
                       run->step->text, what);
    else
        g_test_fail_printf("line %u: %s: %s", run->step->line, run->step->text, what);
    return FALSE;
}

static const char *
name_kind(SpecVerb kind)
{
    if (kind == SPEC_WAITING)
        return "waiting";
    return kind == SPEC_GRANTED ? "granted" : "released";
}

static char *
describe_event(const SpecEvent *event)
{
    return g_strdup_printf("%s id %" G_GUINT64_FORMAT " '%s' %s of %c in %s%s%s",
                           name_kind(event->kind), event->id, event->name, event->mode,
                           event->client, event->bucket, event->reason != NULL ? ": " : "",
                           event->reason != NULL ? event->reason : "");
}

/* An agent connects when it is first mentioned. */
static void
ensure_connected(Run *run, char agent)
{
    if (run->connected[agent - 'A'])
        return;
    run->driver->join(run->self, agent);
    run->connected[agent - 'A'] = TRUE;
}

/* Before each call, every event that has arrived must have been expected. */
static gboolean
check_no_events(Run *run)
{
    run->driver->settle(run->self);
    for (guint i = 0; i < SPEC_AGENTS; i++) {
        char agent = (char)('A' + i);
        g_autoptr(SpecEvent) event = NULL;
        g_autofree char *text = NULL;

        if (!run->connected[i])
            continue;
        event = run->driver->take_event(run->self, agent);
        if (event == NULL)
            continue;
        text = describe_event(event);
        return differ(run, "before this line, %c was notified: %s", agent, text);
    }
    return TRUE;
}

/* ---- calls */

static gboolean
check_error(Run *run, const SpecAnswer *answer, const char *const *expected)
{
    if (!g_str_equal(expected[0], "error"))
        return answer->error == NULL || differ(run, "error %s: %s", answer->error, answer->message);

    if (answer->error == NULL)
        return differ(run, "no error, but id %" G_GUINT64_FORMAT, answer->id);
    if (!g_str_equal(answer->error, expected[1]))
        return differ(run, "error %s: %s", answer->error, answer->message);
    if (expected[2] != NULL && strstr(answer->message, expected[2]) == NULL)
        return differ(run, "the error has the message: %s", answer->message);
    return TRUE;
}

static gboolean
check_same(Run *run, const SpecAnswer *answer, const char *label)
{
    const Labelled *other = g_hash_table_lookup(run->labelled, label);

    if (other == NULL)
        return differ(run, "unknown label %s", label);
    return (answer->id == other->id && answer->token == other->token) ||
           differ(run,
                  "id %" G_GUINT64_FORMAT " token %" G_GUINT64_FORMAT
                  " instead of %" G_GUINT64_FORMAT " and %" G_GUINT64_FORMAT,
                  answer->id, answer->token, other->id, other->token);
}

static gboolean
run_request(Run *run)
{
    const SpecStep *step = run->step;
    const char *const *outcome = (const char *const *)step->outcome;
    gint64 begun_us = get_time_us(run);
    g_auto(SpecAnswer) answer = {0};
    Labelled *labelled;

    if (outcome[0] == NULL)
        return differ(run, "with what outcome?");
    run->driver->request(run->self, step->agent, &step->request, &answer);
    if (!check_error(run, &answer, outcome))
        return FALSE;
    if (g_str_equal(outcome[0], "error"))
        return TRUE;
    if (g_str_equal(outcome[0], "same"))
        return check_same(run, &answer, outcome[1]);
    if (g_str_equal(outcome[0], "unavailable"))
        return (answer.id == 0 && answer.token == 0) ||
               differ(run, "id %" G_GUINT64_FORMAT ", token %" G_GUINT64_FORMAT, answer.id,
                      answer.token);

    if (answer.id == 0 || (answer.token != 0) != g_str_equal(outcome[0], "held"))
        return differ(run, "id %" G_GUINT64_FORMAT ", token %" G_GUINT64_FORMAT, answer.id,
                      answer.token);
    if (step->label == NULL)
        return differ(run, "it needs a label");
    labelled = g_new0(Labelled, 1);
    labelled->agent = step->agent;
    labelled->id = answer.id;
    labelled->token = answer.token;
    labelled->begun_us = begun_us;
    labelled->request = &step->request;
    g_hash_table_replace(run->labelled, step->label, labelled);
    return TRUE;
}

/* Gets the id and bucket of a label; the bucket of a plain number is the default one. */
static gboolean
find_id(Run *run, guint64 *out_id, const char **out_bucket)
{
    const char *label = run->step->label;
    const Labelled *labelled = g_hash_table_lookup(run->labelled, label);

    if (labelled == NULL && !g_ascii_isdigit(label[0]))
        return differ(run, "unknown label %s", label);
    *out_id = labelled != NULL ? labelled->id : g_ascii_strtoull(label, NULL, 10);
    *out_bucket = labelled != NULL ? labelled->request->bucket : "default";
    if (run->step->bucket != NULL)
        *out_bucket = run->step->bucket;
    return TRUE;
}

static gboolean
run_release(Run *run)
{
    static const char *const fine[] = {"ok", NULL};
    const char *const *outcome = (const char *const *)run->step->outcome;
    g_auto(SpecAnswer) answer = {0};
    const char *bucket = NULL;
    guint64 id = 0;

    if (!find_id(run, &id, &bucket))
        return FALSE;
    run->driver->release(run->self, run->step->agent, bucket, id, &answer);
    return check_error(run, &answer, outcome[0] != NULL ? outcome : fine);
}

static gboolean
run_abort(Run *run)
{
    const char *const *outcome = (const char *const *)run->step->outcome;
    g_auto(SpecAnswer) answer = {0};
    const char *bucket = NULL;
    guint64 id = 0;

    if (!find_id(run, &id, &bucket))
        return FALSE;
    if (outcome[0] == NULL)
        return differ(run, "true or false?");
    run->driver->abort(run->self, run->step->agent, bucket, id, &answer);
    if (answer.aborted)
        end_requests(run, id, 0);
    return check_error(run, &answer, outcome) &&
           (answer.aborted == g_str_equal(outcome[0], "true") ||
            differ(run, "%s", answer.aborted ? "true" : "false"));
}

static gboolean
run_break(Run *run)
{
    const char *const *outcome = (const char *const *)run->step->outcome;
    const char *bucket = run->step->bucket != NULL ? run->step->bucket : "default";
    g_autofree char *count = NULL;
    g_auto(SpecAnswer) answer = {0};

    if (outcome[0] == NULL)
        return differ(run, "how many?");
    run->driver->break_locks(run->self, run->step->agent, bucket, run->step->label, &answer);
    count = g_strdup_printf("%" G_GUINT64_FORMAT, answer.id);
    return check_error(run, &answer, outcome) &&
           (answer.error != NULL || g_str_equal(count, outcome[0]) || differ(run, "%s", count));
}

/* ---- query */

static int
compare_text(gconstpointer a, gconstpointer b)
{
    return g_strcmp0(*(const char *const *)a, *(const char *const *)b);
}

/* Sorts by name only: requests of one name are in order, the order of names is not specified. */
static void
sort_by_name(GPtrArray *entries)
{
    for (guint i = 1; i < entries->len; i++) {
        char *entry = entries->pdata[i];
        gsize length = strcspn(entry, " ") + 1;
        guint k = i;

        for (; k > 0 && strncmp(entries->pdata[k - 1], entry, length) > 0; k--)
            entries->pdata[k] = entries->pdata[k - 1];
        entries->pdata[k] = entry;
    }
}

static char *
join(GPtrArray *entries)
{
    GString *text = g_string_new(NULL);

    for (guint i = 0; i < entries->len; i++)
        g_string_append_printf(text, "%s%s", i > 0 ? ", " : "", (char *)entries->pdata[i]);
    return g_string_free(text, FALSE);
}

/* Parses "held n shared A, n shared B; pending -" in the line. */
static gboolean
parse_expected(Run *run, GPtrArray *held, GPtrArray *pending)
{
    const char *text = strstr(run->step->text, "-> held ");
    g_auto(GStrv) halves = NULL;

    if (text == NULL)
        return differ(run, "-> held ...; pending ...");
    halves = g_strsplit(text + strlen("-> held "), "; pending ", 2);
    if (g_strv_length(halves) != 2)
        return differ(run, "-> held ...; pending ...");
    for (guint i = 0; i < 2; i++) {
        g_auto(GStrv) entries = g_strsplit(halves[i], ", ", -1);

        for (guint k = 0; entries[k] != NULL; k++)
            if (!g_str_equal(entries[k], "-"))
                g_ptr_array_add(i == 0 ? held : pending, g_strdup(entries[k]));
    }
    return TRUE;
}

static gboolean
check_list(Run *run, const char *what, GPtrArray *expected, GPtrArray *actual, gboolean order)
{
    g_autofree char *expected_text = NULL;
    g_autofree char *actual_text = NULL;

    if (order) {
        sort_by_name(expected);
        sort_by_name(actual);
    } else {
        g_ptr_array_sort(expected, compare_text);
        g_ptr_array_sort(actual, compare_text);
    }
    expected_text = join(expected);
    actual_text = join(actual);
    return g_str_equal(expected_text, actual_text) || differ(run, "%s are: %s", what, actual_text);
}

static gboolean
run_query(Run *run)
{
    g_autoptr(GPtrArray) expected_held = g_ptr_array_new_with_free_func(g_free);
    g_autoptr(GPtrArray) expected_pending = g_ptr_array_new_with_free_func(g_free);
    g_autoptr(GPtrArray) held = g_ptr_array_new_with_free_func(g_free);
    g_autoptr(GPtrArray) pending = g_ptr_array_new_with_free_func(g_free);
    const char *bucket = run->step->bucket != NULL ? run->step->bucket : "default";

    run->driver->query(run->self, run->step->agent, bucket, held, pending);
    return parse_expected(run, expected_held, expected_pending) &&
           check_list(run, "held", expected_held, held, FALSE) &&
           check_list(run, "pending", expected_pending, pending, TRUE);
}

/* ---- events */

static gboolean
check_event(Run *run, const SpecEvent *event, Labelled *labelled)
{
    const SpecRequest *request = labelled->request;
    const char *mode = request->mode != NULL ? request->mode : "exclusive";
    g_autofree char *text = describe_event(event);
    gint64 waited_us = get_time_us(run) - labelled->begun_us;

    if (event->kind != run->step->verb || event->id != labelled->id ||
        event->client != labelled->agent || g_strcmp0(event->bucket, request->bucket) != 0 ||
        g_strcmp0(event->name, request->name) != 0 || g_strcmp0(event->mode, mode) != 0)
        return differ(run, "%s", text);

    if (event->kind == SPEC_WAITING)
        return TRUE;
    labelled->has_ended = TRUE;
    if (event->kind == SPEC_GRANTED) {
        if (event->token == 0 || (labelled->token != 0 && labelled->token != event->token))
            return differ(run, "token %" G_GUINT64_FORMAT, event->token);
        labelled->token = event->token;
        return TRUE;
    }
    if (g_strcmp0(event->reason, run->step->outcome[0]) != 0)
        return differ(run, "%s", text);
    return !g_str_equal(event->reason, "timeout") ||
           waited_us >= (gint64)request->timeout_ms * 1000 ||
           differ(run, "after %" G_GINT64_FORMAT " us already", waited_us);
}

static gboolean
run_event(Run *run)
{
    const SpecStep *step = run->step;
    Labelled *labelled = g_hash_table_lookup(run->labelled, step->label);
    g_autoptr(SpecEvent) event = NULL;

    if (labelled == NULL || (labelled->agent != step->agent && !run->watches[step->agent - 'A']))
        return differ(run, "%s is not a request of %c", step->label, step->agent);
    if (step->verb == SPEC_RELEASED && step->outcome[0] == NULL)
        return differ(run, "for what reason?");
    run->driver->settle(run->self);
    if (step->await)
        run->driver->await(run->self, step->agent);
    event = run->driver->take_event(run->self, step->agent);
    return event != NULL ? check_event(run, event, labelled) : differ(run, "no event");
}

/* "S1 < S2 < S3" */
static gboolean
run_tokens(Run *run)
{
    char **words = run->step->outcome;
    guint64 last = 0;

    for (guint i = 0; words[i] != NULL; i++) {
        const Labelled *labelled;

        if (g_str_equal(words[i], "<"))
            continue;
        labelled = g_hash_table_lookup(run->labelled, words[i]);
        if (labelled == NULL || labelled->token <= last)
            return differ(run, "not so at %s", words[i]);
        last = labelled->token;
    }
    return TRUE;
}

/* ---- a case */

static gboolean
run_step(Run *run)
{
    const SpecStep *step = run->step;
    SpecVerb verb = step->verb;

    if (verb == SPEC_TOKENS)
        return run_tokens(run);
    if (verb == SPEC_BACK && run->connected[step->agent - 'A'])
        return differ(run, "it is still connected");
    ensure_connected(run, step->agent);
    if (verb == SPEC_GRANTED || verb == SPEC_RELEASED || verb == SPEC_WAITING)
        return run_event(run);
    if (!check_no_events(run))
        return FALSE;

    if (verb == SPEC_REQUEST)
        return run_request(run);
    if (verb == SPEC_RELEASE)
        return run_release(run);
    if (verb == SPEC_ABORT)
        return run_abort(run);
    if (verb == SPEC_BREAK)
        return run_break(run);
    if (verb == SPEC_QUERY)
        return run_query(run);
    if (verb == SPEC_WATCH) {
        run->driver->watch(run->self, step->agent, step->bucket != NULL ? step->bucket : "default");
        run->watches[step->agent - 'A'] = TRUE;
    }
    if (verb == SPEC_DIE) {
        run->driver->die(run->self, step->agent);
        run->watches[step->agent - 'A'] = FALSE;
        end_requests(run, 0, step->agent);
        run->connected[step->agent - 'A'] = FALSE;
    }
    return TRUE;
}

/* Returns FALSE if the result is uncertain and the case has to be repeated. */
static gboolean
try_case(const SpecDriver *driver,
         const SpecCase *spec,
         gboolean may_be_uncertain,
         gboolean *out_good)
{
    g_autoptr(GHashTable) labelled = g_hash_table_new_full(g_str_hash, g_str_equal, NULL, g_free);
    SpecStep end = {.line = spec->line, .text = (char *)"the end"};
    Run run = {
        .driver = driver, .spec = spec, .labelled = labelled, .may_be_uncertain = may_be_uncertain};
    gboolean good = TRUE;

    run.self = driver->start((const char *const *)spec->limits->pdata);
    for (guint i = 0; good && i < spec->steps->len; i++) {
        run.step = spec->steps->pdata[i];
        good = run_step(&run);
    }
    run.step = &end;
    good = good && check_no_events(&run);
    for (guint i = 0; i < SPEC_AGENTS; i++)
        if (run.connected[i])
            driver->die(run.self, (char)('A' + i));
    driver->stop(run.self);
    *out_good = good;
    return !run.is_uncertain;
}

gboolean
spec_run_case(const SpecDriver *driver, const SpecCase *spec)
{
    gboolean good;

    for (guint i = 1; !try_case(driver, spec, i < TRIES_MAX, &good); i++)
        ;
    return good;
}
