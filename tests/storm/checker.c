/* SPDX-FileCopyrightText: 2026 The WebLocks for D-Bus authors
 * SPDX-License-Identifier: LGPL-2.1-or-later */

#include "tests/storm/checker.h"

#include <stdarg.h>

/* The number of records around a violation that are printed. */
#define LINES_MAX 40
#define MS        G_GUINT64_CONSTANT(1000000)

const char *
check_id_to_string(CheckId id)
{
    static const char *const names[] = {
        [CHECK_EXCLUSION] = "exclusion",
        [CHECK_TOKENS] = "tokens",
        [CHECK_FIFO] = "fifo",
        [CHECK_ONCE] = "once",
        [CHECK_NOT_LOST] = "not-lost",
        [CHECK_NOT_RISEN] = "not-risen",
        [CHECK_NO_GHOST] = "no-ghost",
        [CHECK_PROGRESS] = "progress",
        [CHECK_ISOLATION] = "isolation",
        [CHECK_FENCE] = "fence",
        [CHECK_ORACLE] = "oracle",
        [CHECK_ANSWERED] = "answered",
        [CHECK_FINAL_STEAL] = "final-steal",
        [CHECK_ALIVE] = "alive",
    };

    return names[id];
}

#define FIELD(name, meaning)                              \
    {                                                     \
#name, meaning, G_STRUCT_OFFSET(CheckPower, name) \
    }
const CheckPowerField check_power_fields[] = {
    FIELD(n_clients, "clients"),
    FIELD(n_requests, "requests"),
    FIELD(n_grants, "grants"),
    FIELD(n_queries, "queries"),
    FIELD(n_steals, "steals"),
    FIELD(service_kills, "service kills"),
    FIELD(service_kills_at_call, "of these at a system call"),
    FIELD(service_kills_before_send, "of these before a message was sent"),
    FIELD(service_kills_with_held, "while a lock was held"),
    FIELD(service_kills_with_waiting, "while somebody waited"),
    FIELD(service_kills_unanswered, "while a call was not answered"),
    FIELD(held_over_kills, "locks held over a service kill"),
    FIELD(granted_after_kills, "locks waited for over a service kill"),
    FIELD(client_kills, "client kills"),
    FIELD(client_kills_inside, "of these inside a lock"),
    FIELD(client_kills_waiting, "while waiting"),
    FIELD(client_kills_unanswered, "while a release was not answered"),
    FIELD(stops, "stops"),
    FIELD(quiet_points, "quiet points"),
    FIELD(unreachable, "calls refused because there was no service"),
    FIELD(refused, "requests refused for lack of space"),
    FIELD(final_steals, "final steals"),
    FIELD(faults, "faults of a cluster"),
    FIELD(partitions, "of these partitions"),
    FIELD(kills, "of these kills"),
    FIELD(losses, "locks lost by them"),
    FIELD(hand_overs, "grants to another host than the last"),
};
const guint n_check_power_fields = G_N_ELEMENTS(check_power_fields);

static guint
power_get(const CheckPower *power, const CheckPowerField *field)
{
    return *(const guint *)(gconstpointer)((const char *)power + field->offset);
}

/* ---- reporting a violation */

static void
append_time(GString *text, const Story *story, guint64 time)
{
    if (time == HISTORY_NEVER)
        g_string_append(text, "never");
    else
        g_string_append_printf(text, "%.6f", (double)(gint64)(time - story->start) / 1e9);
}

static void
append_moment(GString *text, const Story *story, const char *what, guint64 time)
{
    if (time == HISTORY_NEVER)
        return;
    g_string_append_printf(text, ", %s ", what);
    append_time(text, story, time);
}

static void
append_span(GString *text, const Story *story, const char *what, guint64 from, guint64 to)
{
    if (from == HISTORY_NEVER || from >= to)
        return;
    g_string_append_printf(text, "\n      %s ", what);
    append_time(text, story, from);
    g_string_append(text, " .. ");
    append_time(text, story, to);
}

static void
append_request(GString *text, const Story *story, const char *which, const StoryRequest *request)
{
    const StoryClient *client = request->client;

    g_string_append_printf(
        text,
        "\n    %s: client %u (:1.%u, pid %u) request %" G_GUINT64_FORMAT " of lock %u, %s%s%s",
        which, client->header.client, client->header.unique, client->header.pid, request->number,
        request->name, request->mode == 0 ? "exclusive" : "shared",
        request->flags & HISTORY_FLAG_IF_AVAILABLE ? ", ifAvailable" : "",
        request->flags & HISTORY_FLAG_STEAL ? ", steal" : "");
    if (request->token != 0)
        g_string_append_printf(text, ", token %" G_GUINT64_FORMAT, request->token);
    g_string_append(text, "\n      noted: called ");
    append_time(text, story, request->call);
    append_moment(text, story, "entered", request->enter);
    append_moment(text, story, "ended", request->end);
    append_moment(text, story, "aborted", request->abort);
    append_moment(text, story, "left", request->leave);
    append_moment(text, story, "released", request->release);
    append_moment(text, story, "lost", request->lost);
    append_moment(text, story, "client killed", client->killed);
    append_moment(text, story, "reaped", client->reaped);
    append_span(text, story, "live for certain", request->seen, request->live_end);
    append_span(text, story, "inside for certain", request->enter, request->inside_end);
}

void
checker_report(Checker *self,
               CheckId id,
               guint64 from,
               guint64 to,
               const StoryRequest *a,
               const StoryRequest *b,
               const char *format,
               ...)
{
    CheckViolation *violation = &self->violations[id];
    const StoryRequest *any = a != NULL ? a : b;
    GString *text;
    va_list arguments;

    violation->n++;
    if (to < from)
        to = from;
    if (violation->text != NULL && violation->to - violation->from <= to - from)
        return;
    text = g_string_new("  ");
    va_start(arguments, format);
    g_string_append_vprintf(text, format, arguments);
    va_end(arguments);
    if (a != NULL)
        append_request(text, self->story, b == NULL ? "it" : "the first", a);
    if (b != NULL)
        append_request(text, self->story, "the second", b);
    g_free(violation->text);
    violation->text = g_string_free(text, FALSE);
    violation->from = from;
    violation->to = to;
    violation->name = any == NULL ? HISTORY_N_NAMES : any->name;
    violation->principal = any == NULL ? 0 : any->client->header.principal;
}

/* ---- the records around it */

static gboolean
matters(const HistoryRecord *record, guint name)
{
    if (record->kind == HISTORY_QUERY || record->kind == HISTORY_ROWS)
        return record->kind == HISTORY_QUERY && (record->detail >> name & 1) != 0;
    if (record->kind < HISTORY_QUIET)
        return name == HISTORY_N_NAMES || record->name == name;
    return record->kind > HISTORY_SPAWN;
}

static gint
compare_records(gconstpointer a, gconstpointer b)
{
    const HistoryRecord *one = *(const HistoryRecord *const *)a;
    const HistoryRecord *other = *(const HistoryRecord *const *)b;

    return one->time < other->time ? -1 : one->time > other->time;
}

static void
collect(
    GPtrArray *found, const HistoryRecord *records, guint n, guint name, guint64 from, guint64 to)
{
    for (guint i = 0; i < n; i++)
        if (records[i].time >= from && records[i].time <= to && matters(&records[i], name))
            g_ptr_array_add(found, (gpointer)&records[i]);
}

static void
append_records(GString *text, const Story *story, const CheckViolation *violation)
{
    g_autoptr(GPtrArray) found = g_ptr_array_new();
    const guint64 from = violation->from > 5 * MS ? violation->from - 5 * MS : 0;
    const guint64 to = violation->to < HISTORY_NEVER - MS ? violation->to + MS : violation->to;

    collect(found, story->supervisor, story->n_supervisor, violation->name, from, to);
    for (guint i = 0; i < story->clients->len; i++) {
        const StoryClient *client = story->clients->pdata[i];

        if (violation->name == HISTORY_N_NAMES || client->header.principal == violation->principal)
            collect(found, client->records, client->n_records, violation->name, from, to);
    }
    g_ptr_array_sort(found, compare_records);
    g_string_append(text, "\n    noted from 5 ms before:");
    for (guint i = 0; i < found->len; i++) {
        g_autofree char *line = NULL;

        /* The beginning and the end matter most. */
        if (found->len > LINES_MAX && i == LINES_MAX / 2) {
            g_string_append_printf(text, "\n      ... %u more ...", found->len - LINES_MAX);
            i = found->len - LINES_MAX / 2;
        }
        line = history_record_to_string(found->pdata[i], story->start);
        g_string_append_printf(text, "\n    %s", line);
    }
    g_string_append_c(text, '\n');
}

/* ---- the supervisor's part */

static void
check_left(Checker *self, const HistoryRecord *record)
{
    static const char *const names[] = {
        [HISTORY_LEFT_ROWS] = "locks and requests of nobody",
        [HISTORY_LEFT_STATE] = "locks and requests of nobody in the state file",
        [HISTORY_LEFT_DESCRIPTORS] = "open descriptors of the service",
        [HISTORY_LEFT_MEMORY] = "KiB of memory of the service",
    };

    if (record->detail > record->token && record->name < G_N_ELEMENTS(names))
        checker_report(self, CHECK_NO_GHOST, record->time, record->time, NULL, NULL,
                       "at the end there are %" G_GUINT64_FORMAT " %s, not %" G_GUINT64_FORMAT,
                       record->detail, names[record->name], record->token);
}

void
check_supervisor(Checker *self)
{
    const Story *story = self->story;
    gboolean is_killed = FALSE;
    guint64 ready = story->start;

    for (guint i = 0; i < story->n_supervisor; i++) {
        const HistoryRecord *record = &story->supervisor[i];

        if (record->kind == HISTORY_SERVICE_KILL) {
            is_killed = TRUE;
        } else if (record->kind == HISTORY_SERVICE_DEAD) {
            if (!is_killed)
                checker_report(self, CHECK_ALIVE, ready, record->time, NULL, NULL,
                               "the service ended by itself (status %" G_GUINT64_FORMAT ")",
                               record->detail);
            is_killed = FALSE;
        } else if (record->kind == HISTORY_SERVICE_READY) {
            ready = record->time;
        } else if (record->kind == HISTORY_UNSETTLED) {
            checker_report(self, CHECK_PROGRESS, record->detail, record->time, NULL, NULL,
                           "client %u has a request that is neither granted nor shown as waiting, "
                           "or a call that is not answered",
                           record->subject);
        } else if (record->kind == HISTORY_LEFT) {
            check_left(self, record);
        }
    }
}

/* ---- power */

static guint
count_before(const GArray *kills, guint64 time)
{
    guint low = 0;
    guint high = kills->len;

    while (low < high) {
        const guint middle = low + (high - low) / 2;

        if (g_array_index(kills, guint64, middle) < time)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

/* Marks the kills in between; returns their number. */
static guint
mark(const GArray *kills, GArray *marks, guint64 from, guint64 to)
{
    const guint first = count_before(kills, from);
    const guint end = count_before(kills, to);

    if (from >= to || from == HISTORY_NEVER || end <= first)
        return 0;
    g_array_index(marks, gint, first)++;
    g_array_index(marks, gint, end)--;
    return end - first;
}

static guint
count_marked(const GArray *marks)
{
    guint n = 0;
    gint depth = 0;

    for (guint i = 0; i + 1 < marks->len; i++) {
        depth += g_array_index(marks, gint, i);
        n += depth > 0;
    }
    return n;
}

typedef struct {
    GArray *held;
    GArray *waiting;
    GArray *unanswered;
} Marks;

static void
count_request(CheckPower *power, const StoryRequest *request)
{
    power->n_requests++;
    power->unreachable +=
        request->end != HISTORY_NEVER && request->end_outcome == HISTORY_UNREACHABLE;
    power->refused += request->end != HISTORY_NEVER && request->end_outcome == HISTORY_REFUSED;
    power->final_steals += request->is_sent;
    power->n_steals += (request->flags & HISTORY_FLAG_STEAL) != 0;
    power->n_grants += request->enter != HISTORY_NEVER;
}

static void
mark_request(CheckPower *power, const GArray *kills, Marks *marks, const StoryRequest *request)
{
    const guint64 stop = MIN(request->client->killed, request->abort);
    const guint64 answer = MIN(MIN(request->enter, request->end), stop);

    if (request->enter != HISTORY_NEVER)
        power->held_over_kills += mark(kills, marks->held, request->enter, request->inside_end) > 0;
    if (request->flags & (HISTORY_FLAG_IF_AVAILABLE | HISTORY_FLAG_STEAL))
        mark(kills, marks->unanswered, request->call, answer);
    else if (mark(kills, marks->waiting, request->call, answer) > 0 &&
             request->enter != HISTORY_NEVER)
        power->granted_after_kills++;
    mark(kills, marks->unanswered, request->leave, MIN(request->release, request->client->killed));
}

static void
count_client(CheckPower *power, const StoryClient *client)
{
    gboolean is_inside = FALSE;
    gboolean is_waiting = FALSE;
    gboolean is_leaving = FALSE;

    power->n_clients++;
    if (!client->was_killed)
        return;
    for (guint i = 0; i < client->requests->len; i++) {
        const StoryRequest *request = client->requests->pdata[i];

        if (request == NULL)
            continue;
        is_inside |= request->enter <= client->killed && request->leave > client->killed;
        is_waiting |= MIN(request->enter, request->end) > client->killed;
        is_leaving |= request->leave <= client->killed && request->release > client->killed;
    }
    power->client_kills++;
    power->client_kills_inside += is_inside;
    power->client_kills_waiting += is_waiting;
    power->client_kills_unanswered += is_leaving;
}

static void
count_supervisor(CheckPower *power, const HistoryRecord *record)
{
    power->stops += record->kind == HISTORY_STOP;
    power->quiet_points +=
        record->kind == HISTORY_QUERY && (record->flags & HISTORY_FLAG_QUIET) != 0;
    if (record->kind == HISTORY_SERVICE_KILL) {
        power->service_kills++;
        power->service_kills_at_call += (record->flags & HISTORY_FLAG_KILL) != 0;
        power->service_kills_before_send += record->position != 0;
    }
}

/* Those of one service: in a cluster each bus has one. */
static GArray *
find_kills(const Story *story, guint32 service)
{
    GArray *kills = g_array_new(FALSE, FALSE, sizeof(guint64));

    for (guint i = 0; i < story->n_supervisor; i++)
        if (story->supervisor[i].kind == HISTORY_SERVICE_KILL &&
            story->supervisor[i].subject == service)
            g_array_append_val(kills, story->supervisor[i].time);
    return kills;
}

static GArray *
marks_new(const GArray *kills)
{
    GArray *marks = g_array_new(FALSE, TRUE, sizeof(gint));

    return g_array_set_size(marks, kills->len + 1);
}

/* What was in progress when this service was killed. */
static void
mark_service(Checker *self, guint32 service)
{
    const Story *story = self->story;
    CheckPower *power = &self->power;
    g_autoptr(GArray) kills = find_kills(story, service);
    Marks marks = {marks_new(kills), marks_new(kills), marks_new(kills)};

    for (guint i = 0; i < story->locks->len; i++) {
        const StoryLock *lock = story->locks->pdata[i];

        for (guint j = 0; j < lock->requests->len; j++) {
            const StoryRequest *request = lock->requests->pdata[j];

            if (!story->is_cluster || request->client->header.bus == service)
                mark_request(power, kills, &marks, request);
        }
    }
    for (guint i = 0; i < story->queries->len; i++) {
        const StoryQuery *query = story->queries->pdata[i];

        mark(kills, marks.unanswered, query->call, query->end);
    }
    power->service_kills_with_held += count_marked(marks.held);
    power->service_kills_with_waiting += count_marked(marks.waiting);
    power->service_kills_unanswered += count_marked(marks.unanswered);
    g_array_unref(marks.held);
    g_array_unref(marks.waiting);
    g_array_unref(marks.unanswered);
}

void
check_power(Checker *self)
{
    const Story *story = self->story;
    CheckPower *power = &self->power;
    guint32 n_services = 1;

    for (guint i = 0; i < story->n_supervisor; i++)
        count_supervisor(power, &story->supervisor[i]);
    for (guint i = 0; i < story->clients->len; i++) {
        const StoryClient *client = story->clients->pdata[i];

        count_client(power, client);
        if (story->is_cluster)
            n_services = MAX(n_services, client->header.bus + 1);
    }
    for (guint i = 0; i < story->locks->len; i++) {
        const StoryLock *lock = story->locks->pdata[i];

        for (guint j = 0; j < lock->requests->len; j++)
            count_request(power, lock->requests->pdata[j]);
    }
    power->n_queries = story->queries->len;
    for (guint32 service = 0; service < n_services; service++)
        mark_service(self, service);
}

/* ---- all together */

Checker *
checker_new(const Story *story)
{
    Checker *self = g_new0(Checker, 1);

    self->story = story;
    if (story->is_cluster) {
        check_cluster(self);
        check_power(self);
        return self;
    }
    for (guint i = 0; i < story->locks->len; i++) {
        check_lock(self, story->locks->pdata[i]);
        check_queries(self, story->locks->pdata[i]);
        check_progress(self, story->locks->pdata[i]);
    }
    check_strangers(self);
    check_clients(self);
    check_supervisor(self);
    check_power(self);
    return self;
}

void
checker_free(Checker *self)
{
    for (guint i = 0; i < N_CHECKS; i++)
        g_free(self->violations[i].text);
    g_free(self);
}

CheckVerdict
checker_judge(const Checker *self, const CheckPower *least, GString *missing)
{
    CheckVerdict verdict = CHECK_PASS;

    for (guint i = 0; i < N_CHECKS; i++)
        if (self->violations[i].n > 0)
            return CHECK_VIOLATION;
    for (guint i = 0; i < n_check_power_fields; i++) {
        const CheckPowerField *field = &check_power_fields[i];

        if (power_get(&self->power, field) >= power_get(least, field))
            continue;
        verdict = CHECK_VOID;
        g_string_append_printf(missing, "%s: %u, and at least %u are needed\n", field->meaning,
                               power_get(&self->power, field), power_get(least, field));
    }
    return verdict;
}

char *
checker_to_string(const Checker *self)
{
    GString *text = g_string_new(NULL);

    for (guint i = 0; i < N_CHECKS; i++) {
        const CheckViolation *violation = &self->violations[i];

        if (violation->n == 0)
            continue;
        g_string_append_printf(text, "VIOLATION of %s, %u times; the shortest takes %.6f s:\n",
                               check_id_to_string(i), violation->n,
                               (double)(violation->to - violation->from) / 1e9);
        g_string_append(text, violation->text);
        append_records(text, self->story, violation);
    }
    for (guint i = 0; i < n_check_power_fields; i++)
        g_string_append_printf(text, "%s = %u (%s)\n", check_power_fields[i].name,
                               power_get(&self->power, &check_power_fields[i]),
                               check_power_fields[i].meaning);
    return g_string_free(text, FALSE);
}
