/* SPDX-FileCopyrightText: 2026 The WebLocks for D-Bus authors
 * SPDX-License-Identifier: LGPL-2.1-or-later */

#include "state.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "crash-guard.h"
#include "limit-accounts.h"
#include "lock-manager.h"
#include "lock-queue.h"
#include "principal.h"
#include "reader.h"
#include "restore.h"
#include "store.h"
#include "writer-lock.h"

/* How many ids of an agent, and tokens, are reserved at a time. Tokens start from a clock of
 * microseconds: so they are a millisecond ahead of it after a restart, and never ahead of it if the
 * next start finds no state. */
#define ID_BLOCK    256
#define TOKEN_BLOCK 1000

/* An upper bound of the bytes that the records of a request take without its strings, including
 * that of its agent. */
#define RECORD_BYTES 512UL

/* The upper bound of a request's record besides its strings. */
#define REQUEST_BYTES 128UL

/* What the store notes about an agent. */
typedef struct {
    guint64 number;     /* in the keys of its records; of this file only */
    guint64 id_ceiling; /* it can be given ids up to this one without writing its record */
    guint64 saved_id;   /* live requests up to this id have a record, all others have none */
    gboolean is_dirty;  /* it is in State.dirty_agents */
} AgentNotes;

struct State {
    guint8 bus_id[STATE_ID_BYTES];
    guint8 boot_id[STATE_ID_BYTES];
    char *path;
    char *aside_path;
    char *new_path;
    char *guard_path;
    WriterLock *lock;
    Store *store;            /* NULL until state_begin() */
    StateContents *contents; /* until then: what the old file has; NULL: nothing */
    guint64 max_token;       /* that was given */
    gint64 deadline_us;      /* of the cluster's lease; 0: none */
    gboolean is_deadline_dirty;
    gsize n_bytes;           /* of the records that the turn adds, about */
    GHashTable *notes;       /* Agent -> AgentNotes, of each agent that has had a request */
    GPtrArray *requests;     /* of LockRequest: those that changed in this turn, some twice */
    GPtrArray *dirty_agents; /* of Agent: those whose record is to be written or removed */
    GByteArray *bytes;       /* a record's, while it is written */
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

static State *
state_new(const StateOptions *options)
{
    State *self = g_new0(State, 1);
    g_autofree char *bus = NULL;

    memcpy(self->bus_id, options->bus_id, STATE_ID_BYTES);
    memcpy(self->boot_id, options->boot_id, STATE_ID_BYTES);
    bus = id_to_string(self->bus_id);
    self->path = g_strdup_printf("%s/%s.state", options->directory, bus);
    self->aside_path = g_strdup_printf("%s.aside", self->path);
    self->new_path = g_strdup_printf("%s.new", self->path);
    self->guard_path = g_strdup_printf("%s/%s.crash-guard", options->directory, bus);
    self->requests = g_ptr_array_new_with_free_func((GDestroyNotify)lock_request_unref);
    self->dirty_agents = g_ptr_array_new_with_free_func((GDestroyNotify)agent_unref);
    self->notes = g_hash_table_new_full(NULL, NULL, (GDestroyNotify)agent_unref, g_free);
    self->bytes = g_byte_array_new();
    return self;
}

static void
set_errno(GError **error, const char *path)
{
    g_set_error(error, G_FILE_ERROR, (int)g_file_error_from_errno(errno), "%s: %s", path,
                g_strerror(errno));
}

State *
state_open(const StateOptions *options, GError **error)
{
    State *self = state_new(options);
    g_autofree char *bus = id_to_string(self->bus_id);

    self->lock = writer_lock_take(options->directory, bus, error);
    if (self->lock != NULL)
        return self;
    state_free(self);
    return NULL;
}

void
state_free(State *self)
{
    if (self->store != NULL) {
        state_commit(self);
        store_free(self->store);
    }
    g_clear_pointer(&self->contents, state_contents_free);
    g_clear_pointer(&self->lock, writer_lock_free);
    g_ptr_array_unref(self->requests);
    g_ptr_array_unref(self->dirty_agents);
    g_hash_table_unref(self->notes);
    g_byte_array_unref(self->bytes);
    g_free(self->path);
    g_free(self->aside_path);
    g_free(self->new_path);
    g_free(self->guard_path);
    g_free(self);
}

/* ---- read, check, restore */

static void
put_aside(State *self, const char *why)
{
    g_warning("%s; starting without it; it is renamed to %s", why, self->aside_path);
    remove(self->aside_path); /* a file of another type would prevent the renaming */
    if (rename(self->path, self->aside_path) < 0 && remove(self->path) < 0)
        g_warning("%s: %s", self->path, g_strerror(errno));
    g_clear_pointer(&self->contents, state_contents_free);
}

/* Each commit is also counted in the file of the lock, after it: so the file's own count is that
 * one or one more. Anything else is an older commit, brought back by damage to LMDB's own pages. */
static gboolean
is_latest(const State *self, const StateContents *contents)
{
    guint64 n_commits = contents->header.n_commits;

    return n_commits == *self->lock->n_commits || n_commits == *self->lock->n_commits + 1;
}

/* A kill within a commit can leave it incomplete; then the commit before it is the last one: see
 * store.h. */
static StateContents *
read_latest(State *self, GError **error)
{
    g_autoptr(GError) last_error = NULL;
    g_autoptr(GError) previous_error = NULL;
    g_autoptr(StateContents) last = reader_read(self->path, &last_error);
    g_autoptr(StateContents) previous = NULL;
    gboolean is_doubtful = last != NULL
                               ? !is_latest(self, last)
                               : g_error_matches(last_error, STORE_ERROR, STORE_ERROR_DAMAGED);

    gsize number;

    if (is_doubtful && store_step_back(self->path, &number)) {
        previous = reader_read(self->path, &previous_error);
        if (previous != NULL && is_latest(self, previous))
            return g_steal_pointer(&previous);
        store_undo_step_back(self->path, number);
        if (g_error_matches(previous_error, STORE_ERROR, STORE_ERROR_NO_RESOURCE)) {
            g_propagate_error(error, g_steal_pointer(&previous_error));
            return NULL;
        }
    }
    if (last == NULL)
        g_propagate_error(error, g_steal_pointer(&last_error));
    return g_steal_pointer(&last);
}

gboolean
state_read(State *self, GError **error)
{
    g_autoptr(GError) read_error = NULL;

    self->contents = read_latest(self, &read_error);
    if (self->contents == NULL) {
        if (g_error_matches(read_error, STORE_ERROR, STORE_ERROR_DAMAGED)) {
            put_aside(self, read_error->message);
        } else if (!g_error_matches(read_error, STORE_ERROR, STORE_ERROR_NO_FILE)) {
            g_propagate_error(error, g_steal_pointer(&read_error));
            return FALSE;
        }
    } else if (memcmp(self->contents->header.bus_id, self->bus_id, STATE_ID_BYTES) != 0) {
        put_aside(self, "the state is that of another bus");
    } else if (memcmp(self->contents->header.boot_id, self->boot_id, STATE_ID_BYTES) != 0) {
        put_aside(self, "the state is from before the last boot");
    } else if (!is_latest(self, self->contents)) {
        put_aside(self, "the state is older than the last commit");
    } else {
        *self->lock->n_commits = self->contents->header.n_commits;
    }
    return TRUE;
}

typedef struct {
    const State *state;
    StateLost lost;
    gpointer data;
} LostRecord;

/* Leaves the request out of the new file. */
static void
keep_and_tell(Agent *agent, guint64 id, const RequestRecord *record, gpointer data)
{
    const LostRecord *self = data;

    g_warning(
        "restoring a request has crashed the service three times; the request is lost, and the "
        "state is kept as %s",
        self->state->aside_path);
    remove(self->state->aside_path);
    if (link(self->state->path, self->state->aside_path) < 0)
        g_warning("%s: %s", self->state->aside_path, g_strerror(errno));
    self->lost(agent, id, record, self->data);
}

GPtrArray *
state_restore(State *self, UserAgent *user_agent, StateLost lost, gpointer data)
{
    LostRecord lost_record = {self, lost, data};
    GPtrArray *agents = NULL;
    gint64 deadline_us = 0;
    CrashGuard guard;

    if (self->contents != NULL) {
        crash_guard_begin(&guard, self->guard_path, user_agent->now_us);
        agents = restore_records(user_agent, self->contents, &guard, keep_and_tell, &lost_record,
                                 &deadline_us);
        crash_guard_end(&guard);
        if (agents != NULL)
            self->deadline_us = deadline_us;
        else
            put_aside(self, "the state is inconsistent");
    }
    return agents != NULL ? agents : g_ptr_array_new_with_free_func((GDestroyNotify)agent_unref);
}

gint64
state_get_deadline_us(const State *self)
{
    return self->deadline_us;
}

/* ---- writing records */

static AgentNotes *
get_notes(State *self, Agent *agent)
{
    AgentNotes *notes = g_hash_table_lookup(self->notes, agent);

    if (notes == NULL) {
        notes = g_new0(AgentNotes, 1);
        notes->number = ++store_get_header(self->store)->last_agent;
        g_hash_table_insert(self->notes, agent_ref(agent), notes);
    }
    return notes;
}

/* The token, if it is one that this service makes: those of a clustered bucket come from the
 * cluster. */
static guint64
get_token(const LockRequest *request)
{
    return request->queue->manager->clustered ? 0 : request->token;
}

static gboolean
put_agent(State *self, Agent *agent, GError **error)
{
    const AgentNotes *notes = get_notes(self, agent);
    const RecordKey key = record_key_of_agent(notes->number);
    const AgentRecord record = {
        .id_ceiling = notes->id_ceiling,
        .pid = agent->pid,
        .identity = agent->principal->identity,
        .client_id = agent->client_id,
    };

    g_byte_array_set_size(self->bytes, 0);
    agent_record_write(&record, self->bytes);
    return store_put(self->store, &key, self->bytes, error);
}

static gboolean
write_deadline(State *self, GError **error)
{
    const RecordKey key = record_key_of_lease();

    if (self->deadline_us == 0)
        return store_remove(self->store, &key, error);
    g_byte_array_set_size(self->bytes, 0);
    lease_record_write(self->deadline_us, self->bytes);
    return store_put(self->store, &key, self->bytes, error);
}

static gboolean
put_request(State *self, LockRequest *request, GError **error)
{
    const RecordKey key =
        record_key_of_request(get_notes(self, request->agent)->number, request->id);
    const RequestRecord record = {
        .bucket = request->queue->manager->bucket,
        .name = request->queue->name,
        .parts = lock_request_get_parts(request),
    };

    g_byte_array_set_size(self->bytes, 0);
    request_record_write(&record, self->bytes);
    return store_put(self->store, &key, self->bytes, error);
}

static gboolean
write_agent(State *self, Agent *agent, GError **error)
{
    const RecordKey key = record_key_of_agent(get_notes(self, agent)->number);

    return agent->terminated ? store_remove(self->store, &key, error)
                             : put_agent(self, agent, error);
}

static gboolean
is_saved(State *self, const LockRequest *request)
{
    return request->id <= get_notes(self, request->agent)->saved_id;
}

static gboolean
write_request(State *self, LockRequest *request, GError **error)
{
    const RecordKey key =
        record_key_of_request(get_notes(self, request->agent)->number, request->id);

    if (request->undecided != UNDECIDED_NONE)
        return TRUE; /* only the cluster can decide it, and only within its time */
    if (request->state != LOCK_REQUEST_ENDED)
        return put_request(self, request, error);
    return !is_saved(self, request) || store_remove(self->store, &key, error);
}

/* ---- begin */

static gboolean
commit(State *self, GError **error)
{
    g_assert(self->lock != NULL);
    if (!store_commit(self->store, error))
        return FALSE;
    *self->lock->n_commits = store_get_header(self->store)->n_commits;
    return TRUE;
}

static gboolean
put_all(State *self, const UserAgent *user_agent, GPtrArray *agents, GError **error)
{
    HeaderRecord *header = store_get_header(self->store);

    memcpy(header->bus_id, self->bus_id, STATE_ID_BYTES);
    memcpy(header->boot_id, self->boot_id, STATE_ID_BYTES);
    header->n_commits = *self->lock->n_commits;
    header->token_ceiling = user_agent->token_clock;
    header->last_agent = self->contents != NULL ? self->contents->header.last_agent : 0;
    g_hash_table_remove_all(self->notes);
    if (self->deadline_us != 0 && !write_deadline(self, error))
        return FALSE;
    for (guint i = 0; i < agents->len; i++) {
        Agent *agent = agents->pdata[i];
        AgentNotes *notes;

        if (agent->terminated)
            continue;
        notes = get_notes(self, agent);
        notes->id_ceiling = notes->saved_id = agent->last_id;
        if (!put_agent(self, agent, error))
            return FALSE;
        for (GList *link = agent->requests.head; link != NULL; link = link->next) {
            LockRequest *request = link->data;

            if (get_token(request) > header->token_ceiling)
                header->token_ceiling = request->token + TOKEN_BLOCK;
            if (!put_request(self, request, error))
                return FALSE;
        }
    }
    return TRUE;
}

static gboolean
write_new_file(State *self, const UserAgent *user_agent, GPtrArray *agents, GError **error)
{
    const guint32 *n = user_agent->total->n;

    remove(self->new_path);
    self->store = store_open(self->new_path, error);
    if (self->store == NULL)
        return FALSE;
    if (!store_has_room(self->store, agents->len * RECORD_BYTES +
                                         n[CHARGE_REQUEST] * REQUEST_BYTES + n[CHARGE_TEXT_BYTE])) {
        g_set_error(error, STORE_ERROR, STORE_ERROR_NO_ROOM, "%s: no space left", self->new_path);
        return FALSE;
    }
    if (!store_begin(self->store, error) || !put_all(self, user_agent, agents, error) ||
        !store_commit(self->store, error))
        return FALSE;
    if (rename(self->new_path, self->path) < 0) {
        set_errno(error, self->path);
        return FALSE;
    }
    *self->lock->n_commits = store_get_header(self->store)->n_commits;
    return TRUE;
}

static gboolean
remove_old_records(State *self, GError **error)
{
    HeaderRecord *header = store_get_header(self->store);

    *header = self->contents->header;
    for (guint i = 0; i < self->contents->records->len; i++) {
        const RawRecord *record = &g_array_index(self->contents->records, RawRecord, i);
        RecordKey key = {.size = record->key_size};

        memcpy(key.bytes, record->key, record->key_size);
        if (!store_remove(self->store, &key, error))
            return FALSE;
    }
    return TRUE;
}

/* Used if there is no room for a second file: continues with the old one. That is not the usual
 * way, since the old file's list of free pages has not been checked. */
static gboolean
write_old_file(State *self, const UserAgent *user_agent, GPtrArray *agents, GError **error)
{
    self->store = store_open(self->path, error);
    return self->store != NULL && store_begin(self->store, error) &&
           remove_old_records(self, error) && put_all(self, user_agent, agents, error) &&
           commit(self, error);
}

gboolean
state_begin(State *self, UserAgent *user_agent, GPtrArray *agents, GError **error)
{
    g_autoptr(GError) new_error = NULL;
    gboolean is_written = write_new_file(self, user_agent, agents, &new_error);

    if (!is_written) {
        g_clear_pointer(&self->store, store_free);
        remove(self->new_path);
        if (self->contents != NULL && g_error_matches(new_error, STORE_ERROR, STORE_ERROR_NO_ROOM))
            is_written = write_old_file(self, user_agent, agents, error);
        else
            g_propagate_error(error, g_steal_pointer(&new_error));
    }
    if (!is_written) {
        g_clear_pointer(&self->store, store_free);
        if (g_error_matches(*error, STORE_ERROR, STORE_ERROR_NO_ROOM))
            g_prefix_error(error, "no space for the state: ");
    }
    g_clear_pointer(&self->contents, state_contents_free);
    return is_written;
}

/* ---- changes */

static void
note_agent(State *self, Agent *agent, AgentNotes *notes)
{
    if (notes->is_dirty)
        return;
    notes->is_dirty = TRUE;
    self->n_bytes += RECORD_BYTES;
    g_ptr_array_add(self->dirty_agents, agent_ref(agent));
}

void
state_note_request(State *self, LockRequest *request)
{
    AgentNotes *notes = get_notes(self, request->agent);
    guint n = self->requests->len;

    if (request->id > notes->id_ceiling) {
        notes->id_ceiling = request->id + ID_BLOCK;
        note_agent(self, request->agent, notes);
    }
    self->max_token = MAX(self->max_token, get_token(request));
    /* A request that is granted immediately is recorded twice in a row. Others may be recorded
     * again later: to write them twice does no harm. */
    if (n > 0 && self->requests->pdata[n - 1] == request)
        return;
    if (request->id > notes->saved_id)
        self->n_bytes += RECORD_BYTES + lock_request_get_text_bytes(request);
    g_ptr_array_add(self->requests, lock_request_ref(request));
}

void
state_note_deadline(State *self, gint64 deadline_us)
{
    if (deadline_us == self->deadline_us)
        return;
    self->deadline_us = deadline_us;
    self->is_deadline_dirty = TRUE;
}

void
state_note_agent_gone(State *self, Agent *agent)
{
    AgentNotes *notes = g_hash_table_lookup(self->notes, agent);

    if (notes != NULL)
        note_agent(self, agent, notes);
}

gboolean
state_has_room(State *self, gsize n_bytes)
{
    return store_has_room(self->store, self->n_bytes + n_bytes + 2 * RECORD_BYTES);
}

/* Whether anything in the file is out of date. */
static gboolean
is_due(State *self)
{
    if (self->dirty_agents->len > 0 || self->is_deadline_dirty ||
        self->max_token > store_get_header(self->store)->token_ceiling)
        return TRUE;
    for (guint i = 0; i < self->requests->len; i++) {
        const LockRequest *request = self->requests->pdata[i];

        if (request->state != LOCK_REQUEST_ENDED || is_saved(self, request))
            return TRUE;
    }
    return FALSE;
}

static gboolean
write_changes(State *self, GError **error)
{
    HeaderRecord *header = store_get_header(self->store);

    if (!store_begin(self->store, error))
        return FALSE;
    if (self->max_token > header->token_ceiling)
        header->token_ceiling = self->max_token + TOKEN_BLOCK;
    if (self->is_deadline_dirty && !write_deadline(self, error))
        return FALSE;
    for (guint i = 0; i < self->dirty_agents->len; i++)
        if (!write_agent(self, self->dirty_agents->pdata[i], error))
            return FALSE;
    for (guint i = 0; i < self->requests->len; i++)
        if (!write_request(self, self->requests->pdata[i], error))
            return FALSE;
    return commit(self, error);
}

/* Clears the notes of the turn, which have been written. */
static void
forget_changes(State *self)
{
    for (guint i = 0; i < self->requests->len; i++) {
        const LockRequest *request = self->requests->pdata[i];
        AgentNotes *notes = get_notes(self, request->agent);

        notes->saved_id = MAX(notes->saved_id, request->id);
    }
    for (guint i = 0; i < self->dirty_agents->len; i++) {
        Agent *agent = self->dirty_agents->pdata[i];

        get_notes(self, agent)->is_dirty = FALSE;
        if (agent->terminated)
            g_hash_table_remove(self->notes, agent);
    }
}

void
state_commit(State *self)
{
    g_autoptr(GError) error = NULL;

    if (self->dirty_agents->len == 0 && self->requests->len == 0 && !self->is_deadline_dirty)
        return;
    if (is_due(self) && !write_changes(self, &error)) {
        g_warning("the state cannot be written: %s", error->message);
        _exit(EXIT_FAILURE);
    }
    forget_changes(self);
    g_ptr_array_set_size(self->requests, 0);
    g_ptr_array_set_size(self->dirty_agents, 0);
    self->is_deadline_dirty = FALSE;
    self->n_bytes = 0;
}
