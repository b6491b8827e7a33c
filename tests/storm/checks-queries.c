/* SPDX-FileCopyrightText: 2026 The WebLocks for D-Bus authors
 * SPDX-License-Identifier: LGPL-2.1-or-later */

/* Checks of the replies to Query: everything that is certainly live, nothing that can't be, each
 * once and in order.
 */

#include "tests/storm/checker.h"

/* A row, with the request that it shows. */
typedef struct {
    const StoryRow *row;
    StoryClient *client;   /* NULL: unknown */
    StoryRequest *request; /* if it can be only one */
    guint n_candidates;
} Shown;

/* ---- rows of requests that can't be live */

static const StoryRequest *
find_token(const StoryClient *client, const StoryRow *row)
{
    const GPtrArray *requests = client->by_name[row->name];

    for (guint i = requests->len; row->token != 0 && i > 0; i--) {
        const StoryRequest *request = requests->pdata[i - 1];

        if (request->token == row->token)
            return request;
    }
    return NULL;
}

/* No request of the client matches this row. */
static void
report_impossible(Checker *self, const StoryQuery *query, const Shown *shown)
{
    const StoryRow *row = shown->row;
    const StoryClient *client = shown->client;
    const char *state = row->is_held ? "held" : "pending";
    const GPtrArray *requests = client->by_name[row->name];
    const StoryRequest *last = find_token(client, row);

    if (query->call > client->gone) {
        checker_report(self, CHECK_NO_GHOST, client->killed, query->end, last, NULL,
                       "lock %u is %s for :1.%u, which was dead and the bus had reported it",
                       row->name, state, row->unique);
        return;
    }
    for (guint i = requests->len; last == NULL && i > 0; i--)
        if (((StoryRequest *)requests->pdata[i - 1])->call < query->end)
            last = requests->pdata[i - 1];
    if (last == NULL)
        checker_report(self, CHECK_ISOLATION, query->call, query->end, NULL, NULL,
                       "lock %u is %s for :1.%u (client %u), which has not asked for it", row->name,
                       state, row->unique, client->header.client);
    else
        checker_report(self, CHECK_NOT_RISEN, query->call, query->end, last, NULL,
                       "lock %u is %s for :1.%u (token %" G_GUINT64_FORMAT
                       "), as nothing can be that it has asked for",
                       row->name, state, row->unique, row->token);
}

static void
check_row(Checker *self, const StoryLock *lock, const StoryQuery *query, const Shown *shown)
{
    const StoryRequest *request = shown->request;
    guint64 deadline;

    if (shown->client == NULL || shown->client->header.principal != lock->principal) {
        checker_report(self, CHECK_ISOLATION, query->call, query->end, NULL, NULL,
                       "lock %u is shown for :1.%u, which is nobody of principal %u", lock->name,
                       shown->row->unique, lock->principal);
        return;
    }
    if (shown->n_candidates == 0) {
        report_impossible(self, query, shown);
        return;
    }
    if (!shown->row->is_held || request == NULL || request->enter != HISTORY_NEVER)
        return;
    /* If it was granted, its client is notified, unless that has been killed or stopped. */
    deadline = story_after(shown->client, query->end, self->story->patience);
    if (deadline <
        MIN(MIN(request->end, request->abort), MIN(shown->client->killed, self->story->end)))
        checker_report(self, CHECK_PROGRESS, query->end, deadline, request, NULL,
                       "it is shown as held, and its client is not notified");
}

/* ---- the same more than once */

static guint
count_possible(const StoryQuery *query, const Shown *shown, guint n, const StoryClient *client)
{
    const GPtrArray *requests = client->by_name[shown->row->name];
    guint count = 0;

    for (guint i = 0; i < requests->len; i++)
        for (guint j = 0; j < n; j++)
            if (shown[j].client == client &&
                story_may_show(query, shown[j].row, requests->pdata[i])) {
                count++;
                break;
            }
    return count;
}

static void
check_once(Checker *self, const StoryQuery *query, const Shown *shown, guint n)
{
    for (guint i = 0; i < n; i++) {
        guint n_rows = 1;

        if (shown[i].client == NULL || shown[i].n_candidates == 0)
            continue;
        for (guint j = 0; j < i; j++)
            n_rows += shown[j].client == shown[i].client;
        if (n_rows > 1 && n_rows > count_possible(query, shown, n, shown[i].client))
            checker_report(self, CHECK_ONCE, query->call, query->end, shown[i].request, NULL,
                           "lock %u is shown %u times for :1.%u, which can have asked less often",
                           shown[i].row->name, n_rows, shown[i].row->unique);
    }
}

/* ---- contradictory rows, and the order */

static void
check_order(Checker *self, const StoryQuery *query, const Shown *shown, guint n)
{
    for (guint i = 0; i < n; i++) {
        const StoryRequest *second = shown[i].request;

        if (second == NULL || shown[i].row->is_held)
            continue;
        for (guint j = 0; j < n; j++) {
            const StoryRequest *first = shown[j].request;

            if (first != NULL && !shown[j].row->is_held && first->seen < second->call &&
                shown[j].row->position > shown[i].row->position)
                checker_report(self, CHECK_FIFO, query->call, query->end, first, second,
                               "the first was there when the second asked, and is shown behind it");
        }
    }
}

static void
check_consistency(Checker *self, const StoryQuery *query, const Shown *shown, guint n)
{
    const Shown *head = NULL;
    const Shown *holder = NULL;
    guint n_held = 0;
    gboolean is_exclusive = FALSE;

    for (guint i = 0; i < n; i++) {
        if (shown[i].row->is_held) {
            n_held++;
            holder = &shown[i];
            is_exclusive |= shown[i].row->mode == 0;
        } else if (head == NULL || shown[i].row->position < head->row->position) {
            head = &shown[i];
        }
    }
    if (is_exclusive && n_held > 1)
        checker_report(self, CHECK_EXCLUSION, query->call, query->end, holder->request, NULL,
                       "lock %u is shown as held %u times, once exclusively", holder->row->name,
                       n_held);
    if (head != NULL && (n_held == 0 || (!is_exclusive && head->row->mode == 1)))
        checker_report(self, CHECK_PROGRESS, query->call, query->end, head->request, NULL,
                       "lock %u is shown as free for its first in the queue, :1.%u",
                       head->row->name, head->row->unique);
}

/* ---- missing rows */

static gboolean
is_shown(const StoryRequest *request, const Shown *shown, guint n, gboolean inside)
{
    for (guint i = 0; i < n; i++)
        if (shown[i].client == request->client && shown[i].row->mode == request->mode &&
            (!inside || (shown[i].row->is_held &&
                         (shown[i].row->token == 0 || shown[i].row->token == request->token))))
            return TRUE;
    return FALSE;
}

static void
check_missing(
    Checker *self, const StoryQuery *query, const GPtrArray *live, const Shown *shown, guint n)
{
    for (guint i = 0; i < live->len; i++) {
        const StoryRequest *request = live->pdata[i];
        const gboolean inside = request->enter < query->call && request->inside_end > query->end;

        if (request->live_end <= query->end || request->client->header.bus != query->bus)
            continue;
        if (!is_shown(request, shown, n, inside))
            checker_report(self, CHECK_NOT_LOST, query->call, query->end, request, NULL,
                           "it is %s, and an answer does not show it",
                           inside ? "inside" : "waiting or held");
    }
}

/* ---- all queries of a name */

static guint
find_shown(const Checker *self, const StoryLock *lock, const StoryQuery *query, GArray *shown)
{
    g_array_set_size(shown, 0);
    for (guint i = 0; i < query->rows->len; i++) {
        const StoryRow *row = &g_array_index(query->rows, StoryRow, i);
        Shown one = {row, story_find_client(self->story, query->bus, row->unique), NULL, 0};

        if (row->name != lock->name)
            continue;
        if (one.client != NULL && one.client->header.principal == lock->principal)
            one.n_candidates = story_count_candidates(query, row, one.client, &one.request);
        if (one.n_candidates != 1)
            one.request = NULL;
        g_array_append_val(shown, one);
    }
    return shown->len;
}

static gint
compare_by_seen(gconstpointer a, gconstpointer b)
{
    const StoryRequest *one = *(const StoryRequest *const *)a;
    const StoryRequest *other = *(const StoryRequest *const *)b;

    return one->seen < other->seen ? -1 : one->seen > other->seen;
}

/* Goes through time with the live requests, which are few at any moment. */
static void
update_live(GPtrArray *live, const GPtrArray *seen, guint *n_seen, guint64 now)
{
    for (guint i = live->len; i > 0; i--)
        if (((StoryRequest *)live->pdata[i - 1])->live_end <= now)
            g_ptr_array_remove_index_fast(live, i - 1);
    for (; *n_seen < seen->len && ((StoryRequest *)seen->pdata[*n_seen])->seen < now; (*n_seen)++)
        if (((StoryRequest *)seen->pdata[*n_seen])->live_end > now)
            g_ptr_array_add(live, seen->pdata[*n_seen]);
}

/* ---- messages of clients that were killed */

static const StoryQuery *
first_query_after(const StoryLock *lock, guint64 time)
{
    guint low = 0;
    guint high = lock->queries->len;

    while (low < high) {
        const guint middle = low + (high - low) / 2;

        if (((StoryQuery *)lock->queries->pdata[middle])->call <= time)
            low = middle + 1;
        else
            high = middle;
    }
    return low < lock->queries->len ? lock->queries->pdata[low] : NULL;
}

/* Returns when the client was last answered on its lock socket before this time; 0: never. */
static guint64
last_answer_before(const StoryClient *client, guint64 time)
{
    guint64 last = 0;

    for (guint i = 0; i < client->requests->len; i++) {
        const StoryRequest *request = client->requests->pdata[i];

        if (request == NULL)
            continue;
        if (request->enter < time)
            last = MAX(last, request->enter);
        if (request->end < time && request->end_outcome == HISTORY_UNAVAILABLE)
            last = MAX(last, request->end);
        if (request->release < time && request->release_outcome == HISTORY_OK)
            last = MAX(last, request->release);
    }
    return last;
}

/* When the service has noticed the end of the stealing client, the previous holder has lost the
 * lock. A message to a service that was killed meanwhile is lost, and is not repeated. If it was
 * killed since it last answered the client, the library may not have a socket again, and has kept
 * the message. */
static void
check_final_steal(Checker *self, const StoryLock *lock, const StoryRequest *steal, GArray *array)
{
    const StoryQuery *query = first_query_after(lock, steal->client->gone);
    guint n;

    if (query == NULL || query->bus != steal->client->header.bus ||
        story_has_kill(self->story, last_answer_before(steal->client, steal->call),
                       steal->client->gone))
        return;
    n = find_shown(self, lock, query, array);
    for (guint i = 0; i < n; i++) {
        const Shown *shown = &g_array_index(array, Shown, i);

        if (shown->row->is_held && shown->request != NULL && shown->request->enter < steal->call)
            checker_report(self, CHECK_FINAL_STEAL, steal->call, query->end, shown->request, steal,
                           "the second had stolen it before it died");
    }
}

void
check_queries(Checker *self, const StoryLock *lock)
{
    g_autoptr(GPtrArray) seen = g_ptr_array_new();
    g_autoptr(GPtrArray) live = g_ptr_array_new();
    g_autoptr(GArray) array = g_array_new(FALSE, FALSE, sizeof(Shown));
    guint n_seen = 0;

    for (guint i = 0; i < lock->requests->len; i++)
        if (((StoryRequest *)lock->requests->pdata[i])->seen != HISTORY_NEVER)
            g_ptr_array_add(seen, lock->requests->pdata[i]);
    g_ptr_array_sort(seen, compare_by_seen);
    for (guint i = 0; i < lock->queries->len; i++) {
        const StoryQuery *query = lock->queries->pdata[i];
        const guint n = find_shown(self, lock, query, array);
        const Shown *shown = (const Shown *)(gpointer)array->data;

        update_live(live, seen, &n_seen, query->call);
        for (guint j = 0; j < n; j++)
            check_row(self, lock, query, &shown[j]);
        check_once(self, query, shown, n);
        check_order(self, query, shown, n);
        check_consistency(self, query, shown, n);
        check_missing(self, query, live, shown, n);
    }
    for (guint i = 0; i < lock->requests->len; i++)
        if (((StoryRequest *)lock->requests->pdata[i])->is_sent)
            check_final_steal(self, lock, lock->requests->pdata[i], array);
}

/* Rows of names that were never requested. */
void
check_strangers(Checker *self)
{
    const Story *story = self->story;

    for (guint i = 0; i < story->queries->len; i++) {
        const StoryQuery *query = story->queries->pdata[i];

        for (guint j = 0; j < query->rows->len; j++) {
            const StoryRow *row = &g_array_index(query->rows, StoryRow, j);
            gboolean is_known = FALSE;

            for (guint k = 0; !is_known && k < story->locks->len; k++) {
                const StoryLock *lock = story->locks->pdata[k];

                is_known = lock->principal == query->principal && lock->name == row->name;
            }
            if (!is_known)
                checker_report(self, CHECK_ISOLATION, query->call, query->end, NULL, NULL,
                               "lock %u is shown to principal %u, and nobody of it has asked for "
                               "it",
                               row->name, query->principal);
        }
    }
}
