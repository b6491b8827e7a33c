/* SPDX-FileCopyrightText: 2026 The WebLocks for D-Bus authors
 * SPDX-License-Identifier: LGPL-2.1-or-later */

/* Checks of the requests of one name: exclusion, tokens, first come first served. */

#include "tests/storm/checker.h"

static gint
compare_by_enter(gconstpointer a, gconstpointer b)
{
    const StoryRequest *one = *(const StoryRequest *const *)a;
    const StoryRequest *other = *(const StoryRequest *const *)b;

    return one->enter < other->enter ? -1 : one->enter > other->enter;
}

static gint
compare_by_token(gconstpointer a, gconstpointer b)
{
    const StoryRequest *one = *(const StoryRequest *const *)a;
    const StoryRequest *other = *(const StoryRequest *const *)b;

    return one->token < other->token ? -1 : one->token > other->token;
}

static gint
compare_by_seen(gconstpointer a, gconstpointer b)
{
    const StoryRequest *one = *(const StoryRequest *const *)a;
    const StoryRequest *other = *(const StoryRequest *const *)b;

    return one->seen < other->seen ? -1 : one->seen > other->seen;
}

/* The one of two holds that ends later. */
static const StoryRequest *
later(const StoryRequest *a, const StoryRequest *b)
{
    return a == NULL || b->inside_end > a->inside_end ? b : a;
}

static const StoryRequest *
higher(const StoryRequest *a, const StoryRequest *b)
{
    return a == NULL || b->token > a->token ? b : a;
}

static void
check_overlap(Checker *self, const StoryRequest *a, const StoryRequest *b)
{
    if (a != NULL && a->inside_end > b->enter && b->inside_end > b->enter)
        checker_report(self, CHECK_EXCLUSION, b->enter, MIN(a->inside_end, b->inside_end), a, b,
                       "both are inside");
}

static void
check_order(Checker *self, const StoryRequest *a, const StoryRequest *b)
{
    if (a != NULL && a->token > b->token && a->inside_end > a->enter)
        checker_report(self, CHECK_TOKENS, a->enter, b->enter, a, b,
                       "the second was inside later, and its token is smaller");
}

/* `holds` are in the order in which they entered. If two exclude each other, this is also the order
 * of their grants, if the first was inside for certain when the second entered or before. */
static void
check_holds(Checker *self, GPtrArray *holds)
{
    const StoryRequest *last = NULL;
    const StoryRequest *last_exclusive = NULL;
    const StoryRequest *highest = NULL;
    const StoryRequest *highest_exclusive = NULL;

    for (guint i = 0; i < holds->len; i++) {
        const StoryRequest *request = holds->pdata[i];

        check_overlap(self, request->mode == 0 ? last : last_exclusive, request);
        if (request->inside_end > request->enter)
            check_order(self, request->mode == 0 ? highest : highest_exclusive, request);
        last = later(last, request);
        if (request->inside_end > request->enter)
            highest = higher(highest, request);
        if (request->mode == 0) {
            last_exclusive = later(last_exclusive, request);
            if (request->inside_end > request->enter)
                highest_exclusive = higher(highest_exclusive, request);
        }
    }
}

static void
check_doubles(Checker *self, GPtrArray *holds)
{
    for (guint i = 1; i < holds->len; i++) {
        const StoryRequest *a = holds->pdata[i - 1];
        const StoryRequest *b = holds->pdata[i];

        if (a->token == b->token)
            checker_report(self, CHECK_TOKENS, MIN(a->enter, b->enter), MAX(a->enter, b->enter), a,
                           b, "both have the same token");
    }
}

/* The requests that were live before a time, as far as they matter for later ones. */
typedef struct {
    const StoryRequest *highest;   /* token */
    const StoryRequest *last;      /* live end, of all */
    const StoryRequest *exclusive; /* live end, of the exclusive ones */
} Earlier;

static void
earlier_add(Earlier *self, const StoryRequest *request)
{
    if (request->token != 0)
        self->highest = higher(self->highest, request);
    /* No request queues behind one that ends immediately. */
    if (self->last == NULL || request->live_end > self->last->live_end)
        self->last = request;
    if (request->mode == 0 &&
        (self->exclusive == NULL || request->live_end > self->exclusive->live_end))
        self->exclusive = request;
}

static void
check_turn(Checker *self, const Earlier *earlier, const StoryRequest *request)
{
    const StoryRequest *blocker = request->mode == 0 ? earlier->last : earlier->exclusive;

    if (request->flags & HISTORY_FLAG_STEAL)
        return;
    if (earlier->highest != NULL && earlier->highest->token > request->token)
        checker_report(self, CHECK_FIFO, request->call, request->enter, earlier->highest, request,
                       "the first was there when the second asked, and was granted later");
    if (blocker != NULL && blocker->live_end > request->enter)
        checker_report(self, CHECK_FIFO, request->call, request->enter, blocker, request,
                       "the first was there when the second asked, and still when it entered");
}

/* `holds` are in the order of their calls here. */
static void
check_turns(Checker *self, const StoryLock *lock, const GPtrArray *holds)
{
    g_autoptr(GPtrArray) seen = g_ptr_array_new();
    Earlier earlier = {NULL, NULL, NULL};
    guint n = 0;

    for (guint i = 0; i < lock->requests->len; i++)
        if (((StoryRequest *)lock->requests->pdata[i])->seen != HISTORY_NEVER)
            g_ptr_array_add(seen, lock->requests->pdata[i]);
    g_ptr_array_sort(seen, compare_by_seen);
    for (guint i = 0; i < holds->len; i++) {
        const StoryRequest *request = holds->pdata[i];

        for (; n < seen->len && ((StoryRequest *)seen->pdata[n])->seen < request->call; n++)
            earlier_add(&earlier, seen->pdata[n]);
        check_turn(self, &earlier, request);
    }
}

static void
check_grants(Checker *self, const StoryLock *lock, gboolean has_turns)
{
    g_autoptr(GPtrArray) holds = g_ptr_array_new();

    for (guint i = 0; i < lock->requests->len; i++)
        if (((StoryRequest *)lock->requests->pdata[i])->enter != HISTORY_NEVER)
            g_ptr_array_add(holds, lock->requests->pdata[i]);
    if (has_turns)
        check_turns(self, lock, holds);
    g_ptr_array_sort(holds, compare_by_enter);
    check_holds(self, holds);
    for (guint i = 1; i < holds->len; i++)
        self->power.hand_overs += ((StoryRequest *)holds->pdata[i])->client->header.bus !=
                                  ((StoryRequest *)holds->pdata[i - 1])->client->header.bus;
    g_ptr_array_sort(holds, compare_by_token);
    check_doubles(self, holds);
}

void
check_lock(Checker *self, const StoryLock *lock)
{
    check_grants(self, lock, TRUE);
}

void
check_lock_of_cluster(Checker *self, const StoryLock *lock)
{
    check_grants(self, lock, FALSE);
}
