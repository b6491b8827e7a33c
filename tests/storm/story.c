/* SPDX-FileCopyrightText: 2026 The WebLocks for D-Bus authors
 * SPDX-License-Identifier: LGPL-2.1-or-later */

#include "tests/storm/story.h"

#include <string.h>

#define MS G_GUINT64_CONSTANT(1000000)
/* When the library repeats a request, it sends the remaining time-out. */
#define TIMEOUT_SLACK (5 * MS)

/* How long after its time-out the library ends a request if the service has not. */
#define OWN_TIMEOUT_GRACE (250 * MS)

/* ---- creation and destruction */

static void
query_free(gpointer data)
{
    StoryQuery *query = data;

    g_array_unref(query->rows);
    g_free(query);
}

static void
client_free(gpointer data)
{
    StoryClient *client = data;

    g_clear_pointer(&client->away, span_set_free);
    g_clear_pointer(&client->stops, span_set_free);
    g_ptr_array_unref(client->requests);
    for (guint i = 0; i < HISTORY_N_NAMES; i++) {
        g_ptr_array_unref(client->by_name[i]);
        g_clear_pointer(&client->by_name_latest[i], g_array_unref);
    }
    g_free(client);
}

static void
lock_free(gpointer data)
{
    StoryLock *lock = data;

    g_ptr_array_unref(lock->requests);
    g_ptr_array_unref(lock->queries);
    g_free(lock);
}

Story *
story_new(guint64 patience)
{
    Story *self = g_new0(Story, 1);

    self->patience = patience;
    self->clients = g_ptr_array_new_with_free_func(client_free);
    self->queries = g_ptr_array_new_with_free_func(query_free);
    self->failed_queries = g_ptr_array_new_with_free_func(query_free);
    self->locks = g_ptr_array_new_with_free_func(lock_free);
    self->kills = g_array_new(FALSE, FALSE, sizeof(guint64));
    self->uniques = g_hash_table_new_full(g_int64_hash, g_int64_equal, g_free, NULL);
    self->numbers = g_hash_table_new(NULL, NULL);
    self->files = g_ptr_array_new_with_free_func((GDestroyNotify)history_file_free);
    return self;
}

void
story_free(Story *self)
{
    g_ptr_array_unref(self->locks);
    g_ptr_array_unref(self->queries);
    g_ptr_array_unref(self->failed_queries);
    g_ptr_array_unref(self->clients);
    g_ptr_array_unref(self->files);
    g_array_unref(self->kills);
    g_hash_table_unref(self->uniques);
    g_hash_table_unref(self->numbers);
    g_clear_pointer(&self->down, span_set_free);
    g_free(self->own_supervisor);
    g_free(self);
}

static gint
compare_records(gconstpointer a, gconstpointer b, gpointer data)
{
    const HistoryRecord *one = a;
    const HistoryRecord *other = b;

    return one->time < other->time ? -1 : one->time > other->time;
}

/* The supervisor records some events later, with the time at which they happened. */
static void
add_supervisor(Story *self, const HistoryRecord *records, guint n)
{
    g_assert(self->own_supervisor == NULL);
    self->own_supervisor = g_memdup2(records, n * sizeof(HistoryRecord));
    /* The sort is stable: records of the same time keep their order. */
    g_qsort_with_data(self->own_supervisor, (gint)n, sizeof(HistoryRecord), compare_records, NULL);
    self->supervisor = self->own_supervisor;
    self->n_supervisor = n;
}

void
story_add(Story *self, const HistoryHeader *header, const HistoryRecord *records, guint n)
{
    StoryClient *client;

    if (header->client == 0) {
        add_supervisor(self, records, n);
        return;
    }
    client = g_new0(StoryClient, 1);
    client->header = *header;
    client->records = records;
    client->n_records = n;
    client->killed = client->reaped = client->gone = HISTORY_NEVER;
    client->requests = g_ptr_array_new_with_free_func(g_free);
    for (guint i = 0; i < HISTORY_N_NAMES; i++)
        client->by_name[i] = g_ptr_array_new();
    g_ptr_array_add(self->clients, client);
    g_hash_table_insert(self->numbers, GUINT_TO_POINTER(header->client), client);
    if (header->has_unique) {
        gint64 *key = g_new(gint64, 1);

        *key = (gint64)((guint64)header->bus << 32 | header->unique);
        g_hash_table_insert(self->uniques, key, client);
    }
}

gboolean
story_add_directory(Story *self, const char *directory, GError **error)
{
    g_autoptr(GDir) dir = g_dir_open(directory, 0, error);
    const char *name;

    if (dir == NULL)
        return FALSE;
    while ((name = g_dir_read_name(dir)) != NULL) {
        g_autofree char *path = g_build_filename(directory, name, NULL);
        HistoryFile *file;

        if (!g_str_has_suffix(name, ".log"))
            continue;
        file = history_file_open(path, error);
        if (file == NULL)
            return FALSE;
        g_ptr_array_add(self->files, file);
        if (file->header.magic != 0)
            story_add(self, &file->header, file->records, file->n_records);
    }
    if (self->supervisor == NULL) {
        g_set_error(error, G_FILE_ERROR, G_FILE_ERROR_INVAL, "%s has no file of the supervisor",
                    directory);
        return FALSE;
    }
    return TRUE;
}

StoryClient *
story_find_client(const Story *self, guint32 bus, guint32 unique)
{
    const gint64 key = (gint64)((guint64)bus << 32 | unique);

    return g_hash_table_lookup(self->uniques, &key);
}

/* ---- records of the supervisor */

static void
see_bus(Story *self, const HistoryRecord *record)
{
    for (guint i = 0; i < self->clients->len; i++) {
        StoryClient *client = self->clients->pdata[i];

        if (client->header.bus < record->detail)
            client->gone = MIN(client->gone, record->time);
    }
}

static void
see_barrier(Story *self, const HistoryRecord *record)
{
    for (guint i = 0; i < self->clients->len; i++) {
        StoryClient *client = self->clients->pdata[i];

        if (client->reaped <= record->detail)
            client->gone = MIN(client->gone, record->time);
    }
}

static void
see_client(Story *self, const HistoryRecord *record)
{
    StoryClient *client = g_hash_table_lookup(self->numbers, GUINT_TO_POINTER(record->subject));

    if (client == NULL)
        return;
    if (record->kind == HISTORY_KILL) {
        client->killed = MIN(client->killed, record->time);
        client->was_killed = TRUE;
    } else if (record->kind == HISTORY_REAPED) {
        client->reaped = MIN(client->reaped, record->time);
        client->killed = MIN(client->killed, record->time);
    }
}

static void
see_supervisor(Story *self)
{
    for (guint i = 0; i < self->n_supervisor; i++) {
        const HistoryRecord *record = &self->supervisor[i];

        if (record->kind == HISTORY_BUS)
            see_bus(self, record);
        else if (record->kind == HISTORY_STORM_END)
            self->end = MIN(self->end, record->time);
        else if (record->kind == HISTORY_SERVICE_KILL)
            g_array_append_val(self->kills, record->time);
        else
            see_client(self, record);
    }
    for (guint i = 0; i < self->n_supervisor; i++)
        if (self->supervisor[i].kind == HISTORY_BARRIER)
            see_barrier(self, &self->supervisor[i]);
}

/* The times from a record `off`, of any subject, until one of `on`. */
static GArray *
spans_between(const Story *self, guint off, guint also_off, guint on, guint32 subject)
{
    GArray *spans = g_array_new(FALSE, FALSE, sizeof(Span));
    Span span = {on == HISTORY_SERVICE_READY ? self->start : HISTORY_NEVER, self->end};

    for (guint i = 0; i < self->n_supervisor; i++) {
        const HistoryRecord *record = &self->supervisor[i];

        if (record->subject != subject)
            continue;
        if ((record->kind == off || record->kind == also_off) && span.from == HISTORY_NEVER) {
            span.from = record->time;
        } else if (record->kind == on && span.from != HISTORY_NEVER) {
            span.to = record->time;
            g_array_append_val(spans, span);
            span = (Span){HISTORY_NEVER, self->end};
        }
    }
    if (span.from < self->end)
        g_array_append_val(spans, span);
    return spans;
}

static void
find_stops(Story *self)
{
    g_autoptr(GHashTable) stopped = g_hash_table_new(NULL, NULL);

    self->down = span_set_new(
        spans_between(self, HISTORY_SERVICE_KILL, HISTORY_SERVICE_DEAD, HISTORY_SERVICE_READY, 0));
    for (guint i = 0; i < self->n_supervisor; i++)
        if (self->supervisor[i].kind == HISTORY_STOP)
            g_hash_table_add(stopped, GUINT_TO_POINTER(self->supervisor[i].subject));
    for (guint i = 0; i < self->clients->len; i++) {
        StoryClient *client = self->clients->pdata[i];
        const guint32 number = client->header.client;
        GArray *stops =
            g_hash_table_contains(stopped, GUINT_TO_POINTER(number))
                ? spans_between(self, HISTORY_STOP, HISTORY_STOP, HISTORY_CONTINUE, number)
                : g_array_new(FALSE, FALSE, sizeof(Span));
        GArray *away = g_array_copy(stops);

        g_array_append_vals(away, self->down->spans->data, self->down->spans->len);
        client->stops = span_set_new(stops);
        client->away = span_set_new(away);
    }
}

guint64
story_after(const StoryClient *client, guint64 from, guint64 amount)
{
    const GArray *spans = client->away->spans;
    guint64 at = from;

    for (guint i = 0; i < spans->len; i++) {
        const Span *span = &g_array_index(spans, Span, i);

        if (span->to <= at)
            continue;
        if (span->from >= at && span->from - at >= amount)
            break;
        if (span->from > at)
            amount -= span->from - at;
        at = span->to;
    }
    return at + amount;
}

/* ---- records of the clients */

static StoryRequest *
get_request(StoryClient *client, guint64 number)
{
    if (number >= client->requests->len)
        return NULL;
    return client->requests->pdata[number];
}

static StoryRequest *
add_request(StoryClient *client, const HistoryRecord *record)
{
    StoryRequest *request = g_new0(StoryRequest, 1);

    g_assert(record->request > 0 && record->name < HISTORY_N_NAMES && record->request < 1u << 24);
    request->client = client;
    request->number = record->request;
    request->name = record->name;
    request->mode = record->mode;
    request->flags = record->flags;
    request->timeout = record->detail * MS;
    request->call = record->time;
    request->enter = request->end = request->abort = HISTORY_NEVER;
    request->leave = request->release = request->lost = HISTORY_NEVER;
    request->seen = request->stolen = HISTORY_NEVER;
    if (record->request >= client->requests->len)
        g_ptr_array_set_size(client->requests, (gint)record->request + 1);
    client->requests->pdata[record->request] = request;
    g_ptr_array_add(client->by_name[request->name], request);
    return request;
}

static void
note_on_request(StoryRequest *request, const HistoryRecord *record)
{
    switch (record->kind) {
    case HISTORY_ENTER:
        request->n_ends++;
        request->enter = MIN(request->enter, record->time);
        request->token = record->token;
        break;
    case HISTORY_END:
        request->n_ends++;
        request->end = MIN(request->end, record->time);
        request->end_outcome = record->outcome;
        break;
    case HISTORY_ABORT:
        request->abort = record->time;
        break;
    case HISTORY_LEAVE:
        request->leave = record->time;
        break;
    case HISTORY_RELEASE:
        request->release = record->time;
        request->release_outcome = record->outcome;
        break;
    case HISTORY_SENT:
        request->is_sent = TRUE;
        break;
    case HISTORY_LOST:
        request->lost = MIN(request->lost, record->time);
        request->lost_outcome = record->outcome;
        break;
    default:
        break;
    }
}

static StoryQuery *
query_new(StoryClient *client, const HistoryRecord *record, guint32 principal, guint32 bus)
{
    StoryQuery *query = g_new0(StoryQuery, 1);

    query->client = client;
    query->principal = principal;
    query->bus = bus;
    query->call = record->time;
    query->end = HISTORY_NEVER;
    query->names = (guint32)record->detail;
    query->is_quiet = (record->flags & HISTORY_FLAG_QUIET) != 0;
    query->rows = g_array_new(FALSE, FALSE, sizeof(StoryRow));
    return query;
}

/* Queries overlap, so they are stored by number until they are answered; unanswered ones prove
 * nothing. */
static void
note_on_query(Story *self, GHashTable *open, StoryQuery *made, const HistoryRecord *record)
{
    gpointer key = GSIZE_TO_POINTER(record->request);
    StoryQuery *query = g_hash_table_lookup(open, key);

    if (made != NULL) {
        g_hash_table_insert(open, key, made);
    } else if (query != NULL && record->kind == HISTORY_ROW) {
        const StoryRow row = {record->subject, record->name,
                              record->mode,    (record->flags & HISTORY_FLAG_HELD) != 0,
                              record->token,   record->position};

        g_array_append_val(query->rows, row);
    } else if (query != NULL && record->kind == HISTORY_ROWS) {
        g_hash_table_steal(open, key);
        query->end = record->time;
        query->outcome = record->outcome;
        g_ptr_array_add(record->outcome == HISTORY_OK ? self->queries : self->failed_queries,
                        query);
    }
}

static void
read_client(Story *self, StoryClient *client)
{
    g_autoptr(GHashTable) open = g_hash_table_new_full(NULL, NULL, NULL, query_free);

    for (guint i = 0; i < client->n_records; i++) {
        const HistoryRecord *record = &client->records[i];
        StoryRequest *request;

        if (record->kind == HISTORY_REQUEST) {
            request = add_request(client, record);
            self->has_steals |= (request->flags & HISTORY_FLAG_STEAL) != 0;
        } else if (record->kind == HISTORY_QUERY) {
            note_on_query(self, open,
                          query_new(client, record, client->header.principal, client->header.bus),
                          record);
        } else if (record->kind == HISTORY_ROW || record->kind == HISTORY_ROWS) {
            note_on_query(self, open, NULL, record);
        } else if (record->kind == HISTORY_EXIT) {
            client->killed = MIN(client->killed, record->time);
            client->was_killed |= (record->flags & HISTORY_FLAG_KILL) != 0;
        } else if ((request = get_request(client, record->request)) != NULL) {
            note_on_request(request, record);
        }
    }
}

static void
read_supervisor(Story *self)
{
    g_autoptr(GHashTable) open = g_hash_table_new_full(NULL, NULL, NULL, query_free);
    guint32 bus = 0;

    for (guint i = 0; i < self->n_supervisor; i++) {
        const HistoryRecord *record = &self->supervisor[i];

        if (record->kind == HISTORY_BUS)
            bus = (guint32)record->detail;
        else if (record->kind == HISTORY_QUERY)
            note_on_query(self, open, query_new(NULL, record, record->subject, bus), record);
        else if (record->kind == HISTORY_ROW || record->kind == HISTORY_ROWS)
            note_on_query(self, open, NULL, record);
    }
}

gboolean
story_has_kill(const Story *self, guint64 from, guint64 to)
{
    for (guint i = 0; i < self->kills->len; i++) {
        const guint64 kill = g_array_index(self->kills, guint64, i);

        if (kill >= from && kill <= to)
            return TRUE;
    }
    return FALSE;
}

guint64
story_find_fault_end(const Story *self, guint begin)
{
    for (guint i = begin + 1; i < self->n_supervisor; i++)
        if (self->supervisor[i].kind == HISTORY_FAULT_END &&
            self->supervisor[i].request == self->supervisor[begin].request)
            return self->supervisor[i].time;
    return self->end;
}

/* ---- conclusions about each request */

/* Whether the library may have ended the request, without the service. */
static gboolean
may_have_timed_out_itself(const StoryRequest *request)
{
    return request->timeout != 0 && request->end_outcome == HISTORY_TIMEOUT &&
           request->end >= request->call + request->timeout + OWN_TIMEOUT_GRACE;
}

static guint64
find_possible_end(const Story *self, const StoryRequest *request)
{
    guint64 end = HISTORY_NEVER;

    if (request->release != HISTORY_NEVER && request->release_outcome != HISTORY_FAILED)
        end = request->release;
    if (request->lost != HISTORY_NEVER && request->lost_outcome == HISTORY_STOLEN)
        end = MIN(end, request->lost);
    if (request->end != HISTORY_NEVER &&
        (request->end_outcome == HISTORY_CANCELLED || request->end_outcome == HISTORY_UNREACHABLE ||
         may_have_timed_out_itself(request)))
        /* The application gets its result immediately, the service is notified later. */
        end = MIN(end, story_after(request->client, request->end, self->patience));
    else if (request->end != HISTORY_NEVER && request->end_outcome != HISTORY_FAILED)
        end = MIN(end, request->end);
    return MIN(end, request->client->gone);
}

gboolean
story_has_kill_while_waiting(const Story *self, const StoryRequest *request)
{
    return story_has_kill(self, request->call, MIN(request->enter, request->possible_end));
}

static void
find_ends(const Story *self, StoryRequest *request)
{
    const StoryClient *client = request->client;
    guint64 end = MIN(client->killed, request->lost);
    guint64 deadline;

    request->possible_end = find_possible_end(self, request);
    deadline = request->call + request->timeout - MIN(request->timeout, TIMEOUT_SLACK);
    request->is_anew = request->timeout != 0 && MIN(request->enter, request->end) > deadline &&
                       story_has_kill_while_waiting(self, request);
    if (request->enter != HISTORY_NEVER) {
        request->inside_end = MAX(request->enter, MIN(end, request->leave));
        request->live_end = request->inside_end;
        request->seen = request->enter;
        return;
    }
    end = MIN(end, MIN(request->abort, request->end));
    if (request->timeout != 0)
        end = MIN(end, deadline);
    request->live_end = end;
}

static void
finish_client(Story *self, StoryClient *client)
{
    for (guint i = 0; i < client->requests->len; i++)
        if (client->requests->pdata[i] != NULL)
            find_ends(self, client->requests->pdata[i]);
    for (guint i = 0; i < HISTORY_N_NAMES; i++) {
        const GPtrArray *requests = client->by_name[i];
        guint64 latest = 0;

        client->by_name_latest[i] = g_array_new(FALSE, FALSE, sizeof(guint64));
        for (guint j = 0; j < requests->len; j++) {
            const StoryRequest *request = requests->pdata[j];

            latest = MAX(latest, request->possible_end);
            g_array_append_val(client->by_name_latest[i], latest);
        }
    }
}

/* ---- rows and requests */

/* Granted without its client being notified. The lock was stolen before: the client is notified of
 * that, or has repeated the request, which then timed out. Or the client's own time-out expired
 * before it was notified; how late that may be is a question of progress. */
static gboolean
may_have_been_held_unnoticed(const StoryRequest *request)
{
    if (may_have_timed_out_itself(request))
        return TRUE;
    return request->stolen < request->end &&
           (request->end_outcome == HISTORY_STOLEN ||
            (request->is_anew && request->end_outcome == HISTORY_TIMEOUT));
}

gboolean
story_may_show(const StoryQuery *query, const StoryRow *row, const StoryRequest *request)
{
    if (request->call >= query->end || request->possible_end < query->call ||
        request->mode != row->mode)
        return FALSE;
    if (row->is_held)
        return (row->token == 0 || request->token == 0 || row->token == request->token ||
                (request->is_anew && query->call < request->enter)) &&
               (request->end == HISTORY_NEVER || request->end_outcome == HISTORY_CANCELLED ||
                request->end_outcome == HISTORY_UNREACHABLE ||
                request->end_outcome == HISTORY_FAILED || may_have_been_held_unnoticed(request));
    return (request->flags & (HISTORY_FLAG_IF_AVAILABLE | HISTORY_FLAG_STEAL)) == 0 &&
           request->enter >= query->call;
}

guint
story_count_candidates(const StoryQuery *query,
                       const StoryRow *row,
                       const StoryClient *client,
                       StoryRequest **one)
{
    const GPtrArray *requests = client->by_name[row->name];
    const GArray *latest = client->by_name_latest[row->name];
    guint n = 0;

    for (guint i = requests->len; i > 0; i--) {
        if (g_array_index(latest, guint64, i - 1) < query->call)
            break;
        if (story_may_show(query, row, requests->pdata[i - 1])) {
            *one = requests->pdata[i - 1];
            n++;
        }
    }
    return n;
}

/* The contents of a reply have been committed, so a restart doesn't undo them. */
static void
learn_from_queries(Story *self)
{
    for (guint i = 0; i < self->queries->len; i++) {
        const StoryQuery *query = self->queries->pdata[i];

        for (guint j = 0; j < query->rows->len; j++) {
            const StoryRow *row = &g_array_index(query->rows, StoryRow, j);
            const StoryClient *client = story_find_client(self, query->bus, row->unique);
            StoryRequest *request;

            if (client != NULL && story_count_candidates(query, row, client, &request) == 1 &&
                !request->is_anew)
                request->seen = MIN(request->seen, query->end);
        }
    }
}

/* ---- locks */

static StoryLock *
find_lock(Story *self, guint32 principal, guint name)
{
    StoryLock *lock;

    for (guint i = 0; i < self->locks->len; i++) {
        lock = self->locks->pdata[i];
        if (lock->principal == principal && lock->name == name)
            return lock;
    }
    lock = g_new0(StoryLock, 1);
    lock->principal = principal;
    lock->name = name;
    lock->requests = g_ptr_array_new();
    lock->queries = g_ptr_array_new();
    g_ptr_array_add(self->locks, lock);
    return lock;
}

static gint
compare_requests(gconstpointer a, gconstpointer b)
{
    const StoryRequest *one = *(const StoryRequest *const *)a;
    const StoryRequest *other = *(const StoryRequest *const *)b;

    return one->call < other->call ? -1 : one->call > other->call;
}

static gint
compare_queries(gconstpointer a, gconstpointer b)
{
    const StoryQuery *one = *(const StoryQuery *const *)a;
    const StoryQuery *other = *(const StoryQuery *const *)b;

    return one->call < other->call ? -1 : one->call > other->call;
}

static void
sort_into_locks(Story *self)
{
    for (guint i = 0; i < self->clients->len; i++) {
        const StoryClient *client = self->clients->pdata[i];

        for (guint j = 0; j < client->requests->len; j++) {
            StoryRequest *request = client->requests->pdata[j];

            if (request != NULL)
                g_ptr_array_add(find_lock(self, client->header.principal, request->name)->requests,
                                request);
        }
    }
    g_ptr_array_sort(self->queries, compare_queries);
    for (guint i = 0; i < self->locks->len; i++) {
        StoryLock *lock = self->locks->pdata[i];

        g_ptr_array_sort(lock->requests, compare_requests);
        for (guint j = 0; j < self->queries->len; j++) {
            StoryQuery *query = self->queries->pdata[j];

            if (query->principal == lock->principal && story_covers(query, lock->name))
                g_ptr_array_add(lock->queries, query);
        }
    }
}

/* ---- all together */

static void
find_start_and_end(Story *self)
{
    self->start = HISTORY_NEVER;
    self->end = 0;
    for (guint i = 0; i < self->clients->len; i++) {
        const StoryClient *client = self->clients->pdata[i];

        if (client->n_records == 0)
            continue;
        self->start = MIN(self->start, client->records[0].time);
        self->end = MAX(self->end, client->records[client->n_records - 1].time);
    }
    if (self->n_supervisor > 0) {
        self->start = MIN(self->start, self->supervisor[0].time);
        self->end = MAX(self->end, self->supervisor[self->n_supervisor - 1].time);
    }
}

void
story_finish(Story *self)
{
    find_start_and_end(self);
    for (guint i = 0; i < self->clients->len; i++)
        read_client(self, self->clients->pdata[i]);
    read_supervisor(self);
    see_supervisor(self);
    find_stops(self);
    for (guint i = 0; i < self->clients->len; i++)
        finish_client(self, self->clients->pdata[i]);
    sort_into_locks(self);
    story_reckon_with_losses(self);
    learn_from_queries(self);
}
