/* SPDX-FileCopyrightText: 2026 The WebLocks for D-Bus authors
 * SPDX-License-Identifier: LGPL-2.1-or-later */

/* Checks of a cluster: guarantees of its hosts together. Exclusion, also after the loss of a lock,
 * is checked as on one host (checks-lock.c): a client is inside until it is notified. */

#include "tests/storm/checker.h"

#define SECOND G_GUINT64_CONSTANT(1000000000)
/* How long after a fault a host may notice that its session has ended meanwhile. */
#define AFTER_LOSS (30 * SECOND)
/* The time limit for recovery after a fault: sessions end, servers elect a leader. */
#define AFTER_FAULT (20 * SECOND)

static gboolean
may_lose(const HistoryRecord *record, guint32 bus)
{
    return (record->flags & HISTORY_FLAG_KILL) != 0 &&
           (record->subject == 0 || record->subject == bus);
}

static gboolean
has_reason(const Story *story, const StoryRequest *request)
{
    for (guint i = 0; i < story->n_supervisor; i++) {
        const HistoryRecord *record = &story->supervisor[i];

        if (record->kind == HISTORY_FAULT && record->time <= request->lost &&
            may_lose(record, request->client->header.bus) &&
            story_find_fault_end(story, i) + AFTER_LOSS >= request->lost)
            return TRUE;
    }
    return FALSE;
}

static GArray *
find_faults(const Story *story)
{
    GArray *spans = g_array_new(FALSE, FALSE, sizeof(Span));

    for (guint i = 0; i < story->n_supervisor; i++) {
        const HistoryRecord *record = &story->supervisor[i];
        const Span span = {record->time, story_find_fault_end(story, i) + AFTER_FAULT};

        if (record->kind == HISTORY_FAULT)
            g_array_append_val(spans, span);
    }
    return spans;
}

/* `excuses`: times of faults, and times in which a client is inside. */
static void
check_waiting(Checker *self, const SpanSet *excuses, const StoryRequest *request)
{
    const guint64 end = MIN(MIN(self->story->end, request->client->killed),
                            MIN(MIN(request->enter, request->end), request->abort));
    Span gap;

    if (request->call >= end)
        return;
    gap = span_set_longest_gap(excuses, request->call, end);
    if (gap.to - gap.from > self->story->patience)
        checker_report(self, CHECK_PROGRESS, gap.from, gap.to, request, NULL,
                       "it waits for lock %u, nobody is inside, and there is no fault",
                       request->name);
}

static void
check_progress_of_cluster(Checker *self, const GArray *faults, const StoryLock *lock)
{
    GArray *spans = g_array_copy((GArray *)faults);
    g_autoptr(SpanSet) excuses = NULL;

    for (guint i = 0; i < lock->requests->len; i++) {
        const StoryRequest *request = lock->requests->pdata[i];
        const Span span = {request->enter, request->inside_end};

        if (request->enter != HISTORY_NEVER && span.from < span.to)
            g_array_append_val(spans, span);
    }
    excuses = span_set_new(spans);
    for (guint i = 0; i < lock->requests->len; i++)
        check_waiting(self, excuses, lock->requests->pdata[i]);
}

static void
check_outcomes(Checker *self, const StoryRequest *request)
{
    if (request->n_ends > 1)
        checker_report(self, CHECK_ONCE, request->call, MAX(request->call, request->end), request,
                       NULL, "it ended %u times", request->n_ends);
    if (request->end != HISTORY_NEVER && request->end_outcome == HISTORY_FAILED)
        checker_report(self, CHECK_ANSWERED, request->call, request->end, request, NULL,
                       "a request failed");
    if (request->release != HISTORY_NEVER && request->release_outcome == HISTORY_FAILED)
        checker_report(self, CHECK_ANSWERED, request->leave, request->release, request, NULL,
                       "a release failed");
    if (request->lost == HISTORY_NEVER)
        return;
    if (request->lost_outcome == HISTORY_GONE)
        self->power.losses++;
    /* A host that has been killed since the steal finds that its permit has ended, but not why. */
    if (request->stolen > request->lost &&
        (request->lost_outcome != HISTORY_GONE || !has_reason(self->story, request)))
        checker_report(self, CHECK_NOT_LOST, request->enter, request->lost, request, NULL,
                       "its client was notified that it is lost, without a reason");
}

static void
check_client_of_cluster(Checker *self, const StoryClient *client)
{
    for (guint i = 0; i < client->n_records; i++)
        check_record(self, client, &client->records[i]);
    for (guint i = 0; i < client->requests->len; i++) {
        const StoryRequest *request = client->requests->pdata[i];

        if (request != NULL)
            check_outcomes(self, request);
    }
}

void
check_cluster(Checker *self)
{
    const Story *story = self->story;
    g_autoptr(GArray) faults = find_faults(story);

    for (guint i = 0; i < story->locks->len; i++) {
        check_lock_of_cluster(self, story->locks->pdata[i]);
        check_progress_of_cluster(self, faults, story->locks->pdata[i]);
    }
    for (guint i = 0; i < story->clients->len; i++)
        check_client_of_cluster(self, story->clients->pdata[i]);
    for (guint i = 0; i < story->n_supervisor; i++) {
        const HistoryRecord *record = &story->supervisor[i];

        if (record->kind != HISTORY_FAULT || record->name == HISTORY_FAULT_STALL)
            continue;
        self->power.faults++;
        self->power.partitions += record->name == HISTORY_FAULT_PARTITION;
        self->power.kills += record->name == HISTORY_FAULT_KILL;
    }
}
