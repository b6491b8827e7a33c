/* SPDX-FileCopyrightText: 2026 The WebLocks for D-Bus authors
 * SPDX-License-Identifier: LGPL-2.1-or-later */

#include "state.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "crash-guard.h"
#include "lock-manager.h"
#include "lock-queue.h"
#include "records.h"
#include "vanished.h"
#include "writer-lock.h"

/* How many ids of an agent, and tokens, are reserved at a time. Tokens start from a clock of
 * microseconds: so they are a millisecond ahead of it after a restart. */
#define ID_BLOCK    256
#define TOKEN_BLOCK 1000

/* An upper bound of the bytes that a request adds to a file besides those of its strings: its
 * record, and that of its agent. */
#define REQUEST_BYTES 1024UL

/* An upper bound of the bytes in a file besides those of agents and requests. */
#define FILE_BYTES 4096UL

#define LOCK_SUFFIX  ".lock"
#define CELLS_SUFFIX ".cells"

/* The room that is allocated in advance, at least. */
#define AHEAD_BYTES (64UL * 1024)

/* A file that is replaced and so many times as large as it need be is cut off: it is memory. */
#define SHRINK_FACTOR 4

/* A file is replaced if it has so many bytes more than twice what there is. */
#define HISTORY_BYTES (128UL * 1024)

struct State {
    StateOptions options;
    char *directory;
    char *base; /* of the paths of the files */
    char *lock_path;
    int lock_fd;
    char *cells_path;
    CellPages *pages; /* NULL: there are none */
    Log *log;
    Vanished *vanished;
    UserAgent *user_agent; /* NULL until state_begin() */
    StateNumbers numbers;  /* those in the file */
    gint64 deadline_us;    /* of the cluster's lease; 0: none */
    guint64 max_token;     /* that was given */
    gsize agent_bytes;     /* of the records of all agents that have one or get one in this turn */
    gsize grow_at;         /* what the file has room for, with enough for what is over */
    gsize compact_at;      /* the file is not replaced before it has this size */
    GPtrArray *requests;   /* of LockRequest: those that changed in this turn */
    GPtrArray *agents;     /* of Agent: those whose record is to be written or removed */
    GByteArray *frame;
    gboolean is_discarded;
};

/* ---- life */

static char *
id_to_string(const guint8 id[STATE_ID_BYTES])
{
    GString *string = g_string_new(NULL);

    for (guint i = 0; i < STATE_ID_BYTES; i++)
        g_string_append_printf(string, "%02x", id[i]);
    return g_string_free(string, FALSE);
}

State *
state_open(const StateOptions *options, GError **error)
{
    State *self = g_new0(State, 1);
    g_autofree char *bus = id_to_string(options->bus_id);
    g_autofree char *path = g_strdup_printf("%s/%s.state", options->directory, bus);

    self->options = *options;
    self->directory = g_strdup(options->directory);
    self->base = g_strdup_printf("%s/%s", self->directory, bus);
    self->lock_path = g_strconcat(self->base, LOCK_SUFFIX, NULL);
    self->cells_path = g_strconcat(self->base, CELLS_SUFFIX, NULL);
    self->requests = g_ptr_array_new_with_free_func((GDestroyNotify)lock_request_unref);
    self->agents = g_ptr_array_new_with_free_func((GDestroyNotify)agent_unref);
    self->frame = g_byte_array_new();
    self->lock_fd = writer_lock_take(self->directory, self->lock_path, error);
    if (self->lock_fd >= 0)
        self->log = log_open(path, options->bus_id, options->boot_id, error);
    if (self->log != NULL)
        return self;
    state_free(self);
    return NULL;
}

void
state_discard(State *self)
{
    self->is_discarded = TRUE;
}

void
state_free(State *self)
{
    if (self->user_agent != NULL && !self->is_discarded)
        state_commit(self);
    crash_guard_end(FALSE);
    g_clear_pointer(&self->pages, cell_pages_free);
    g_clear_pointer(&self->vanished, vanished_free);
    if (self->log != NULL && self->is_discarded) {
        unlink(self->log->path);
        unlink(self->log->spare_path);
        unlink(self->lock_path);
    }
    g_clear_pointer(&self->log, log_free);
    if (self->lock_fd >= 0)
        close(self->lock_fd);
    g_ptr_array_unref(self->requests);
    g_ptr_array_unref(self->agents);
    g_byte_array_unref(self->frame);
    g_free(self->base);
    g_free(self->lock_path);
    g_free(self->cells_path);
    g_free(self->directory);
    g_free(self);
}

/* ---- restoring */

/* Does nothing if a service has the lock beside them, or if that can't be one. */
static gboolean
close_cells_of_other(const char *path, gboolean may_read, GError **error)
{
    g_autofree char *base = g_strndup(path, strlen(path) - strlen(CELLS_SUFFIX));
    g_autofree char *lock_path = g_strconcat(base, LOCK_SUFFIX, NULL);
    g_autoptr(ClosedCells) cells = NULL;
    g_autoptr(GError) refusal = NULL;
    const int lock_fd = writer_lock_open_file(lock_path, &refusal);

    if (lock_fd < 0) {
        if (!writer_lock_is_scarcity(refusal))
            return TRUE;
        g_propagate_error(error, g_steal_pointer(&refusal));
        return FALSE;
    }
    cells = closed_cells_new(path, may_read, error);
    rmdir(path); /* if there were no pages in it */
    close(lock_fd);
    return cells != NULL;
}

/* Closes the cells of services on other buses that have ended: a client that has not noticed that
 * its bus is gone could enter a lock that is granted on this one. */
static gboolean
close_cells_of_others(const State *self, gboolean may_read, GError **error)
{
    g_autoptr(GDir) directory = g_dir_open(self->directory, 0, error);
    gboolean is_closed = directory != NULL;
    const char *name;

    while (is_closed && (name = g_dir_read_name(directory)) != NULL) {
        g_autofree char *path = g_build_filename(self->directory, name, NULL);

        if (g_str_has_suffix(path, CELLS_SUFFIX) && !g_str_equal(path, self->cells_path))
            is_closed = close_cells_of_other(path, may_read, error);
    }
    return is_closed;
}

gboolean
state_restore(State *self, UserAgent *user_agent, Restored *restored, GError **error)
{
    const char *path = self->log->path;
    g_autofree char *aside_path = g_strdup_printf("%s.aside", path);
    g_autofree char *guard_path = g_strdup_printf("%s.crash-guard", self->base);
    gboolean is_there =
        self->log->file.fd >= 0 || g_file_test(path, G_FILE_TEST_EXISTS | G_FILE_TEST_IS_SYMLINK);
    g_autoptr(ClosedCells) cells = NULL;
    const char *fault = NULL;
    guint8 *records = NULL;
    gsize size = 0;

    crash_guard_begin(guard_path, user_agent->now_us);
    if (crash_guard_skips(0, 0))
        fault = "restoring the state has crashed the service three times";
    /* Whatever the file says: from here on no client can enter a lock by itself. */
    cells = closed_cells_new(self->cells_path, fault == NULL, error);
    if (cells == NULL || !close_cells_of_others(self, fault == NULL, error))
        return FALSE;
    if (is_there && fault == NULL)
        records = log_read(self->log, &size, &fault, error);
    if (!restore_all(restored, user_agent, cells, records, records != NULL ? size : 0))
        fault = "the state is inconsistent";
    if (is_there && records == NULL && fault == NULL)
        return FALSE;
    /* Another instance may have run without this state since it was written. */
    user_agent_retire_unknown_tokens(user_agent);
    self->numbers = restored->numbers;
    self->deadline_us = self->numbers.deadline_us;
    if (fault != NULL && is_there) {
        g_warning("%s; starting without it; it is renamed to %s", fault, aside_path);
        log_put_aside(self->log, aside_path);
    } else if (fault != NULL) {
        g_warning("%s; there is no file of it", fault);
    } else if (restored->lost.agent != NULL) {
        g_warning("restoring a request has crashed the service three times; the request is lost, "
                  "and the state is kept as %s",
                  aside_path);
        log_keep(self->log, aside_path);
    }
    return TRUE;
}

void
state_end_recovery(void)
{
    crash_guard_end(TRUE);
}

/* ---- records */

/* The highest token that the request can have, if it is one that this service makes: those of a
 * clustered bucket come from the cluster. */
static guint64
get_token(const LockRequest *request)
{
    const Cell *cell = lock_request_get_cell(request);

    if (cell != NULL)
        return cell->last_token;
    return request->queue->manager->clustered ? 0 : request->token;
}

/* Tokens above the ceiling are reserved before any of them is sent. */
static void
put_numbers(State *self)
{
    if (self->max_token > self->numbers.token_ceiling)
        self->numbers.token_ceiling = self->max_token + TOKEN_BLOCK;
    self->numbers.deadline_us = self->deadline_us;
    record_put(self->frame, RECORD_TOKENS, 0, self->numbers.token_ceiling);
    record_put(self->frame, RECORD_LEASE, 0, (guint64)self->deadline_us);
}

static void
put_request(State *self, LockRequest *request)
{
    record_put_request(self->frame, request);
    request->is_stored = TRUE;
}

/* ---- writing everything */

/* A frame that has everything. */
static void
put_all(State *self)
{
    log_begin_frame(self->frame);
    self->agent_bytes = 0;
    for (const GList *link = self->user_agent->agents.head; link != NULL; link = link->next) {
        const Agent *agent = link->data;

        if (agent->mark.number == 0 || agent->terminated)
            continue;
        record_put_agent(self->frame, agent);
        self->agent_bytes += record_agent_size(agent);
        for (const GList *each = agent->requests.head; each != NULL; each = each->next) {
            LockRequest *request = each->data;

            self->max_token = MAX(self->max_token, get_token(request));
            if (request->undecided == UNDECIDED_NONE)
                put_request(self, request);
        }
    }
    put_numbers(self);
    record_put(self->frame, RECORD_DOCUMENT_KEY, self->user_agent->document_key[0],
               self->user_agent->document_key[1]);
}

static gboolean
write_all(State *self, GError **error)
{
    gboolean is_written;

    put_all(self);
    is_written = log_replace(self->log, self->frame, error);
    /* It may have taken megabytes. */
    g_byte_array_unref(self->frame);
    self->frame = g_byte_array_new();
    return is_written;
}

/* ---- room */

/* How many bytes of agents and requests the files have room for. A fifth is left for frames, so
 * that a full file is not replaced in each turn. */
static gsize
get_room(const Log *log)
{
    gsize size = MIN(log->file.size, log->spare.size);

    return size > FILE_BYTES ? (size - FILE_BYTES) / 5 * 4 : 0;
}

/* Of all agents and live requests, at most. */
static gsize
get_live_bytes(const State *self)
{
    const guint32 *n = self->user_agent->total.n;

    return self->agent_bytes + (gsize)n[CHARGE_REQUEST] * RECORD_REQUEST_BYTES +
           n[CHARGE_TEXT_BYTE];
}

/* More than twice as much, so that a file is replaced when half of it is over. If there is no
 * space, a file has what is indispensable. */
static gsize
get_good_size(gsize with_ahead)
{
    return 3 * with_ahead + HISTORY_BYTES;
}

void
state_reserve(State *self, gsize n_bytes)
{
    const guint32 *max = self->user_agent->limits.max;
    gsize needed = get_live_bytes(self) + REQUEST_BYTES;
    gsize with_ahead = needed + AHEAD_BYTES;
    gsize room;

    /* Not for a request that a limit will refuse. */
    if (n_bytes <= max[LIMIT_TEXT_BYTES_PER_UID] &&
        n_bytes <= (gsize)max[LIMIT_NAME_BYTES] + 2 * (gsize)max[LIMIT_WHY_BYTES] + AHEAD_BYTES)
        with_ahead += n_bytes;

    if (with_ahead > MIN(self->grow_at, get_room(self->log))) {
        if (log_reserve(self->log, get_good_size(with_ahead))) {
            self->grow_at = with_ahead / 2 * 3;
        } else {
            log_reserve(self->log, with_ahead / 4 * 5 + FILE_BYTES);
            self->grow_at = get_room(self->log);
        }
    }
    room = get_room(self->log);
    self->user_agent->room_bytes = room > needed ? room - needed : 0;
}

/* ---- begin */

static gboolean
is_in_place(gpointer data)
{
    const State *self = data;

    return log_is_in_place(self->log) && writer_lock_is_at(self->lock_fd, self->lock_path) &&
           (self->pages == NULL || cell_pages_are_in_place(self->pages));
}

/* In place of those of an earlier instance. There are none if it would not be noticed that they are
 * removed. */
static gboolean
begin_pages(State *self, GError **error)
{
    if (self->pages != NULL)
        return TRUE;
    if (!cell_pages_remove(self->cells_path, error))
        return FALSE;
    if (self->options.offers_cells && self->vanished != NULL)
        self->pages = cell_pages_new(self->cells_path);
    return TRUE;
}

/* The files were removed. Another service may have found no lock since, and begun without them. */
static void
write_again(gpointer data)
{
    State *self = data;
    gboolean has_lock = writer_lock_is_at(self->lock_fd, self->lock_path);
    g_autoptr(GError) error = NULL;

    if (self->pages != NULL && !cell_pages_are_in_place(self->pages)) {
        /* A successor would not find them. */
        self->options.end_pages(self->options.data);
        g_clear_pointer(&self->pages, cell_pages_free);
    }
    if (has_lock && writer_lock_is_at(self->log->file.fd, self->log->path)) {
        begin_pages(self, NULL);
        log_reserve(self->log, self->log->file.size); /* only the spare file is missing */
        return;
    }
    g_warning("files of the state in %s were removed; they are written again", self->directory);
    state_commit(self);
    if (!has_lock) {
        close(self->lock_fd);
        self->lock_fd = writer_lock_take(self->directory, self->lock_path, &error);
    }
    if (self->lock_fd < 0 || !write_all(self, &error)) {
        g_warning("%s", error != NULL ? error->message : "another service has the state now");
        _exit(EXIT_FAILURE);
    }
    begin_pages(self, NULL);
    state_reserve(self, 0);
}

gboolean
state_begin(State *self, UserAgent *user_agent, GError **error)
{
    gsize live_bytes;

    self->user_agent = user_agent;
    self->numbers.token_ceiling = user_agent->token_clock;
    if (write_all(self, error)) {
        state_reserve(self, 0);
        live_bytes = get_live_bytes(self);
        if (get_room(self->log) < (live_bytes > 0 ? live_bytes : AHEAD_BYTES)) {
            g_set_error(error, G_FILE_ERROR, G_FILE_ERROR_NOSPC, "no space for the state in %s",
                        self->directory);
        } else {
            self->vanished = vanished_watch(self->directory, is_in_place, write_again, self);
            if (begin_pages(self, error))
                return TRUE;
            g_clear_pointer(&self->vanished, vanished_free);
        }
    }
    self->user_agent = NULL;
    return FALSE;
}

/* ---- changes */

CellPage *
state_new_page(State *self, int *out_fd)
{
    return self->pages != NULL ? cell_page_new(self->pages, out_fd) : NULL;
}

static void
note_agent(State *self, Agent *agent)
{
    if (agent->mark.is_noted)
        return;
    agent->mark.is_noted = TRUE;
    if (agent->mark.number == 0)
        self->agent_bytes += record_agent_size(agent);
    g_ptr_array_add(self->agents, agent_ref(agent));
}

void
state_note_request(State *self, LockRequest *request)
{
    AgentMark *mark = &request->agent->mark;

    if (request->id > mark->id_ceiling) {
        mark->id_ceiling = request->id + ID_BLOCK;
        note_agent(self, request->agent);
    }
    self->max_token = MAX(self->max_token, get_token(request));
    if (request->is_noted)
        return;
    request->is_noted = TRUE;
    g_ptr_array_add(self->requests, lock_request_ref(request));
}

void
state_note_deadline(State *self, gint64 deadline_us)
{
    self->deadline_us = deadline_us;
}

void
state_note_agent_gone(State *self, Agent *agent)
{
    if (agent->mark.number != 0 || agent->mark.is_noted)
        note_agent(self, agent);
}

static void
put_end_of_request(State *self, LockRequest *request)
{
    if (request->state == LOCK_REQUEST_ENDED && request->is_stored) {
        record_put(self->frame, RECORD_REQUEST_ENDED, request->agent->mark.number, request->id);
        request->is_stored = FALSE;
    }
}

static void
put_end_of_agent(State *self, Agent *agent)
{
    self->agent_bytes -= record_agent_size(agent);
    if (agent->mark.number != 0)
        record_put(self->frame, RECORD_AGENT_GONE, agent->mark.number, 0);
    agent->mark.number = 0;
}

/* What is over, then what there is: so each request is within the time of its agent. */
static void
put_changes(State *self)
{
    if (self->max_token > self->numbers.token_ceiling ||
        self->deadline_us != self->numbers.deadline_us)
        put_numbers(self);
    for (guint i = 0; i < self->requests->len; i++)
        put_end_of_request(self, self->requests->pdata[i]);
    for (guint i = 0; i < self->agents->len; i++) {
        Agent *agent = self->agents->pdata[i];

        agent->mark.is_noted = FALSE;
        if (agent->terminated) {
            put_end_of_agent(self, agent);
            continue;
        }
        if (agent->mark.number == 0)
            agent->mark.number = ++self->numbers.last_agent;
        record_put_agent(self->frame, agent);
    }
    for (guint i = 0; i < self->requests->len; i++) {
        LockRequest *request = self->requests->pdata[i];

        request->is_noted = FALSE;
        /* Only the cluster can decide an undecided one, and only within its time. */
        if (request->state != LOCK_REQUEST_ENDED && request->undecided == UNDECIDED_NONE)
            put_request(self, request);
    }
    g_ptr_array_set_size(self->requests, 0);
    if (self->agents->len > 0)
        g_ptr_array_set_size(self->agents, 0);
}

static void
write_changes(State *self)
{
    g_autoptr(GError) error = NULL;
    gboolean is_written;
    guint begin;

    log_begin_frame(self->frame);
    begin = self->frame->len;
    put_changes(self);
    if (self->frame->len == begin)
        return;
    is_written = log_append(self->log, self->frame, &error);
    if (!is_written && error == NULL)
        is_written = write_all(self, &error);
    if (!is_written) {
        g_warning("the state cannot be written: %s", error->message);
        _exit(EXIT_FAILURE);
    }
}

void
state_commit(State *self)
{
    if (self->agents->len > 0 || self->requests->len > 0 ||
        self->deadline_us != self->numbers.deadline_us)
        write_changes(self);
    if (self->pages != NULL)
        cell_pages_remove_ended(self->pages);
}

void
state_compact(State *self)
{
    g_autoptr(GError) error = NULL;
    gsize size = self->log->file.size / 8 * 7, end = self->log->file.end, good;

    if (self->user_agent == NULL || self->requests->len > 0 || self->agents->len > 0 ||
        end <= MAX(MIN(2 * get_live_bytes(self) + HISTORY_BYTES, size), self->compact_at))
        return;
    good = get_good_size(get_live_bytes(self) + REQUEST_BYTES + AHEAD_BYTES);
    if (self->log->file.size > SHRINK_FACTOR * good)
        log_shrink_spare(self->log, good);
    else
        good = G_MAXSIZE;
    /* Where that can fail, it is tried again later. */
    self->compact_at = write_all(self, &error) ? 0 : end + HISTORY_BYTES;
    if (self->compact_at == 0)
        log_shrink_spare(self->log, good); /* which was the file */
}
