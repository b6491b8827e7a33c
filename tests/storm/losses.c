/* SPDX-FileCopyrightText: 2026 The WebLocks for D-Bus authors
 * SPDX-License-Identifier: LGPL-2.1-or-later */

/* Locks that their clients may have lost without knowing it: by a steal, or on a host whose
 * weblocksd was stopped, and could not notify them when the lease was over. */

#include "tests/storm/story.h"

/* The maximum time from a steal until another host is notified, ns. */
#define STEAL_NOTICE (20 * G_GUINT64_CONSTANT(1000000000))

/* ---- steals */

/* The last call of a request whose lock this steal may end. A host that is cut off goes
 * on granting until it is notified or its lease is over. */
static guint64
steal_end(const Story *self, const StoryRequest *steal)
{
    const guint64 end = MIN(steal->enter, steal->end);

    if (!self->is_cluster)
        return MIN(end, steal->client->gone);
    return MIN(end, MIN(steal->client->reaped, self->end)) + STEAL_NOTICE;
}

/* Since when the lock with that token may have been stolen; 0: with any token. */
static guint64
first_steal(const Story *self,
            const GPtrArray *steals,
            const GArray *latest,
            const StoryRequest *request,
            guint64 token)
{
    guint low = 0;
    guint high = steals->len;

    while (low < high) {
        const guint middle = low + (high - low) / 2;

        if (g_array_index(latest, guint64, middle) < request->call)
            low = middle + 1;
        else
            high = middle;
    }
    for (; low < steals->len; low++) {
        const StoryRequest *steal = steals->pdata[low];
        const gboolean came_before = steal->token != 0 && token != 0 && steal->token < token;

        if (steal->call >= request->possible_end)
            break;
        if (steal != request && !came_before && steal_end(self, steal) >= request->call)
            return steal->call;
    }
    return HISTORY_NEVER;
}

static void
reckon_with_steals(const Story *self, StoryLock *lock)
{
    g_autoptr(GPtrArray) steals = g_ptr_array_new();
    g_autoptr(GArray) latest = g_array_new(FALSE, FALSE, sizeof(guint64));
    guint64 end = 0;

    for (guint i = 0; i < lock->requests->len; i++) {
        StoryRequest *request = lock->requests->pdata[i];

        if (request->flags & HISTORY_FLAG_STEAL) {
            g_ptr_array_add(steals, request);
            end = MAX(end, steal_end(self, request));
            g_array_append_val(latest, end);
        }
    }
    for (guint i = 0; steals->len > 0 && i < lock->requests->len; i++) {
        StoryRequest *request = lock->requests->pdata[i];
        const guint64 stolen = first_steal(self, steals, latest, request, request->token);
        /* Its earlier token, if any, is unknown. */
        const guint64 stolen_before = first_steal(self, steals, latest, request, 0);

        request->stolen = stolen;
        request->is_anew |=
            stolen_before < request->enter && story_has_kill_while_waiting(self, request);
        request->live_end = MIN(request->live_end, stolen);
        if (request->enter != HISTORY_NEVER)
            request->inside_end = MAX(request->enter, MIN(request->inside_end, stolen));
    }
}

/* ---- stopped services */

/* If the release succeeds, the host has had the lock all the time. */
static void
reckon_with_stop(StoryClient *client, Span stop)
{
    for (guint i = 0; i < client->requests->len; i++) {
        StoryRequest *request = client->requests->pdata[i];

        if (request == NULL || request->enter >= stop.to || request->inside_end <= stop.from ||
            (request->release != HISTORY_NEVER && request->release_outcome == HISTORY_OK))
            continue;
        request->unnoticed = (Span){stop.from, request->inside_end};
        request->inside_end = MAX(request->enter, stop.from);
        request->live_end = MIN(request->live_end, request->inside_end);
    }
}

static void
reckon_with_stops(const Story *self)
{
    for (guint i = 0; i < self->n_supervisor; i++) {
        const HistoryRecord *record = &self->supervisor[i];

        if (record->kind != HISTORY_FAULT || record->name != HISTORY_FAULT_STOP_SERVICE)
            continue;
        for (guint j = 0; j < self->clients->len; j++) {
            StoryClient *client = self->clients->pdata[j];

            if (client->header.bus == record->subject)
                reckon_with_stop(client, (Span){record->time, story_find_fault_end(self, i)});
        }
    }
}

void
story_reckon_with_losses(Story *self)
{
    for (guint i = 0; i < self->locks->len; i++)
        reckon_with_steals(self, self->locks->pdata[i]);
    reckon_with_stops(self);
}
