/* SPDX-FileCopyrightText: 2026 The WebLocks for D-Bus authors
 * SPDX-License-Identifier: LGPL-2.1-or-later */

/* Checks that everything happens within the patience of the storm, not counting time in which there
 * is no service or the client is stopped. */

#include "tests/storm/checker.h"

#define MS G_GUINT64_CONSTANT(1000000)

/* ---- a lock that is requested and not held */

static void
add_span(GArray *spans, guint64 from, guint64 to)
{
    const Span span = {from, to};

    if (from < to)
        g_array_append_val(spans, span);
}

/* Adds the times in which a request need not be granted: a client is inside, or is dead and not
 * reaped yet, or can't record its exit because it is stopped. */
static void
add_excuses(const Story *story, const StoryRequest *request, GArray *spans)
{
    const StoryClient *client = request->client;
    const guint64 end = MIN(story->end, MIN(request->possible_end, client->reaped));

    if (request->enter != HISTORY_NEVER)
        add_span(spans, request->enter, end);
    if (client->killed < end)
        add_span(spans, MAX(client->killed, request->call), end);
    for (guint i = 0; i < client->stops->spans->len; i++) {
        const Span *stop = &g_array_index(client->stops->spans, Span, i);

        if (stop->to > request->call && stop->from < end)
            add_span(spans, MAX(stop->from, request->call), MIN(stop->to, end));
    }
}

void
check_progress(Checker *self, const StoryLock *lock)
{
    const Story *story = self->story;
    GArray *spans = g_array_copy(story->down->spans);
    g_autoptr(SpanSet) excuses = NULL;

    for (guint i = 0; i < lock->requests->len; i++)
        add_excuses(story, lock->requests->pdata[i], spans);
    excuses = span_set_new(spans);

    for (guint i = 0; i < lock->requests->len; i++) {
        const StoryRequest *request = lock->requests->pdata[i];
        const guint64 end = MIN(story->end, MIN(request->live_end, request->enter));
        Span gap;

        if (request->seen >= end)
            continue;
        gap = span_set_longest_gap(excuses, request->seen, end);
        if (gap.to - gap.from > story->patience)
            checker_report(self, CHECK_PROGRESS, gap.from, gap.to, request, NULL,
                           "it waits for lock %u, and nobody is inside", lock->name);
    }
}

/* ---- calls without a reply */

static void
check_due(
    Checker *self, const StoryRequest *request, guint64 call, guint64 answered, const char *what)
{
    const StoryClient *client = request->client;
    const guint64 end = MIN(MIN(answered, client->killed), self->story->end);
    guint64 deadline;

    if (call >= end)
        return;
    deadline = story_after(client, call, self->story->patience);
    if (deadline < end)
        checker_report(self, CHECK_ANSWERED, call, end, request, NULL, "%s is not answered", what);
}

static void
check_answers(Checker *self, const StoryRequest *request)
{
    const guint64 ended = MIN(request->enter, request->end);

    if (request->leave != HISTORY_NEVER)
        check_due(self, request, request->leave, MIN(request->release, request->lost), "a release");
    if (request->abort != HISTORY_NEVER)
        check_due(self, request, request->abort, ended, "an abort");
    if (request->flags & (HISTORY_FLAG_IF_AVAILABLE | HISTORY_FLAG_STEAL))
        check_due(self, request, request->call, ended, "a request that doesn't wait");
    else if (request->timeout != 0)
        check_due(self, request, request->call + request->timeout, ended, "a time-out");
}

/* ---- invalid replies */

/* Without a service, and without somebody to start it, new calls may fail; also until a client has
 * been notified of its return. */
static gboolean
may_be_unreachable(const Story *story, guint64 from, guint64 to)
{
    return !story->is_activatable &&
           span_set_covers(story->down, from - MIN(from, story->patience), to) > 0;
}

/* If only a killed service notified the holder, no other client may have got a message about it. */
static gboolean
is_loss(HistoryOutcome outcome)
{
    return outcome == HISTORY_STOLEN || outcome == HISTORY_UNREACHABLE;
}

static void
check_outcomes(Checker *self, const StoryRequest *request)
{
    if (request->n_ends > 1)
        checker_report(self, CHECK_ONCE, request->call, MAX(request->call, request->end), request,
                       NULL, "it ended %u times", request->n_ends);
    if (request->end != HISTORY_NEVER &&
        (request->end_outcome == HISTORY_FAILED ||
         (request->end_outcome == HISTORY_UNREACHABLE &&
          !may_be_unreachable(self->story, request->call, request->end))))
        checker_report(self, CHECK_ANSWERED, request->call, request->end, request, NULL,
                       "a request failed");
    if (request->end != HISTORY_NEVER && request->end_outcome == HISTORY_STOLEN &&
        request->stolen > request->end)
        checker_report(self, CHECK_ANSWERED, request->call, request->end, request, NULL,
                       "the client was notified of a steal, and there was none");
    if (request->end != HISTORY_NEVER && request->end_outcome == HISTORY_TIMEOUT &&
        (request->timeout == 0 || request->end + MS < request->call + request->timeout))
        checker_report(self, CHECK_ANSWERED, request->call, request->end, request, NULL,
                       "it timed out before its time");
    if (request->end != HISTORY_NEVER && request->end_outcome == HISTORY_UNAVAILABLE &&
        !(request->flags & HISTORY_FLAG_IF_AVAILABLE))
        checker_report(
            self, CHECK_ANSWERED, request->call, request->end, request, NULL,
            "the reply was that the lock is not available, and ifAvailable was not requested");
    if (request->release != HISTORY_NEVER && request->release_outcome != HISTORY_OK &&
        !(request->stolen <= request->release && is_loss(request->release_outcome)))
        checker_report(self, CHECK_ANSWERED, request->leave, request->release, request, NULL,
                       "a release failed");
    if (request->lost != HISTORY_NEVER && request->stolen > request->lost)
        checker_report(self, CHECK_NOT_LOST, request->enter, request->lost, request, NULL,
                       "its client was notified that it is lost");
}

/* ---- the resource and the kernel */

/* How often the kernel's lock is tried again. */
#define ORACLE_RETRY (10 * MS)

/* Whether a process that had the kernel's lock has not ended completely. */
static gboolean
is_dying(const StoryClient *client, guint name, guint64 time)
{
    if (!client->was_killed || client->killed > time ||
        (client->reaped < time && time - client->reaped > ORACLE_RETRY))
        return FALSE;
    for (guint i = 0; i < client->by_name[name]->len; i++) {
        const StoryRequest *request = client->by_name[name]->pdata[i];

        if (request->enter != HISTORY_NEVER && request->release == HISTORY_NEVER)
            return TRUE;
    }
    return FALSE;
}

static gboolean
somebody_is_dying(const Story *story, const StoryRequest *asker, guint64 time)
{
    for (guint i = 0; i < story->clients->len; i++) {
        const StoryClient *client = story->clients->pdata[i];

        if (client->header.principal == asker->client->header.principal &&
            is_dying(client, asker->name, time))
            return TRUE;
    }
    return FALSE;
}

/* Whether a client that can't be notified may still assume that it has the lock. */
static gboolean
somebody_is_unnotified(const Story *story, const StoryRequest *asker, guint64 time)
{
    for (guint i = 0; i < story->locks->len; i++) {
        const StoryLock *lock = story->locks->pdata[i];

        if (lock->principal != asker->client->header.principal || lock->name != asker->name)
            continue;
        for (guint j = 0; j < lock->requests->len; j++) {
            const StoryRequest *request = lock->requests->pdata[j];

            if (request->unnoticed.from < time && time < request->unnoticed.to + ORACLE_RETRY)
                return TRUE;
        }
    }
    return FALSE;
}

void
check_record(Checker *self, const StoryClient *client, const HistoryRecord *record)
{
    const StoryRequest *request;

    if (record->kind != HISTORY_ORACLE && record->kind != HISTORY_FENCE)
        return;
    if (record->outcome == HISTORY_OK || record->request >= client->requests->len ||
        client->requests->pdata[record->request] == NULL)
        return;
    request = client->requests->pdata[record->request];
    if (record->kind == HISTORY_FENCE && request->mode == 0 && request->inside_end > record->time)
        checker_report(self, CHECK_FENCE, request->enter, record->time, request, NULL,
                       "it is inside alone, and the resource has seen the higher token "
                       "%" G_GUINT64_FORMAT,
                       record->detail);
    if (record->kind == HISTORY_ORACLE && !somebody_is_dying(self->story, request, record->time) &&
        !somebody_is_unnotified(self->story, request, record->time))
        checker_report(self, CHECK_ORACLE, request->enter, record->time, request, NULL,
                       "the kernel has another holder of it");
}

/* The supervisor queries without the library; it expects that its own kills interrupt them. */
static void
check_failed_queries(Checker *self)
{
    for (guint i = 0; i < self->story->failed_queries->len; i++) {
        const StoryQuery *query = self->story->failed_queries->pdata[i];

        if (query->client != NULL && (query->outcome != HISTORY_UNREACHABLE ||
                                      !may_be_unreachable(self->story, query->call, query->end)))
            checker_report(self, CHECK_ANSWERED, query->call, query->end, NULL, NULL,
                           "a query of client %u failed", query->client->header.client);
    }
}

void
check_clients(Checker *self)
{
    check_failed_queries(self);
    for (guint i = 0; i < self->story->clients->len; i++) {
        const StoryClient *client = self->story->clients->pdata[i];

        for (guint j = 0; j < client->n_records; j++)
            check_record(self, client, &client->records[j]);
        for (guint j = 0; j < client->requests->len; j++) {
            const StoryRequest *request = client->requests->pdata[j];

            if (request == NULL)
                continue;
            check_answers(self, request);
            check_outcomes(self, request);
        }
    }
}
