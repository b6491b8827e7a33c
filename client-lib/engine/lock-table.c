/* SPDX-FileCopyrightText: 2026 The WebLocks for D-Bus authors
 * SPDX-License-Identifier: LGPL-2.1-or-later */

#include "client-lib/engine/lock-table.h"

struct LockTable {
    Session *session; /* borrowed */
    void (*finished)(const GError *error, gpointer data);
    gpointer data;
    Recovery *recovery;

    GHashTable *entries; /* key -> LockEntry */
    GQueue live;         /* the same, in the order of the requests */
    guint64 last_key;

    GQueue calls; /* of LockEntry, by number */
    guint64 last_number;
    guint64 last_serial;
    guint64 unacknowledged; /* serial of the last unacknowledged message; 0: none */

    gboolean is_deferred; /* something is queued that lock_table_send() sends */
    GThread *batching;
    guint n_batches; /* of that thread, each within the one before */
};

/* ---- entries */

void
lock_table_add(LockTable *self, LockEntry *entry)
{
    entry->key = ++self->last_key;
    entry->is_live = TRUE;
    g_hash_table_insert(self->entries, &entry->key, entry);
    entry->live_link.data = entry;
    g_queue_push_tail_link(&self->live, &entry->live_link);
}

void
lock_entry_init_call(LockEntry *entry)
{
    entry->is_live = TRUE;
    entry->was_sent = TRUE;
}

static void
remove_call(LockTable *self, LockEntry *entry)
{
    if (!entry->is_calling)
        return;
    g_queue_unlink(&self->calls, &entry->link);
    entry->is_calling = FALSE;
    entry->serial = 0;
}

void
lock_table_forget(LockTable *self, LockEntry *entry)
{
    if (entry->is_live && g_hash_table_remove(self->entries, &entry->key))
        g_queue_unlink(&self->live, &entry->live_link);
    entry->is_live = FALSE;
    if (entry->serial == 0)
        remove_call(self, entry);
    if (!entry->is_calling)
        entry->funcs->left(entry);
}

static LockEntry *
find_entry(const LockTable *self, guint64 key)
{
    return g_hash_table_lookup(self->entries, &key);
}

/* ---- sending */

static gboolean
is_in_batch(const LockTable *self)
{
    return self->batching == g_thread_self();
}

static void
write_call(LockTable *self, LockEntry *entry)
{
    PacketSocket *socket = recovery_get_socket(self->recovery);

    entry->serial = ++self->last_serial;
    entry->funcs->write(entry, entry->serial, packet_socket_get_queue(socket));
    entry->position = packet_socket_count_appended(socket);
}

static void
add_call(LockTable *self, LockEntry *entry)
{
    GList *before = self->calls.tail;

    g_assert(!entry->is_calling);
    entry->is_calling = TRUE;
    entry->link.data = entry;
    while (before != NULL && ((LockEntry *)before->data)->number > entry->number)
        before = before->prev;
    g_queue_insert_after_link(&self->calls, before, &entry->link);
}

void
lock_table_send(LockTable *self)
{
    PacketSocket *socket = recovery_get_socket(self->recovery);

    if (!self->is_deferred)
        return;
    self->is_deferred = FALSE;
    if (socket != NULL)
        packet_socket_send(socket);
}

static void
send_soon(LockTable *self)
{
    self->is_deferred = TRUE;
    if (session_is_delivering(self->session))
        session_progress_later(self->session);
    else
        lock_table_send(self);
}

void
lock_table_call(LockTable *self, LockEntry *entry, LockCallHaste haste)
{
    PacketSocket *socket = recovery_get_socket(self->recovery);

    entry->number = ++self->last_number;
    add_call(self, entry);
    if (socket == NULL) {
        recovery_need(self->recovery);
        return;
    }
    write_call(self, entry);
    if (haste != LOCK_CALL_URGENT && is_in_batch(self))
        return;
    if (haste == LOCK_CALL_SLOW)
        send_soon(self);
    else
        packet_socket_send(socket);
}

void
lock_table_begin_batch(LockTable *self)
{
    if (self->batching == NULL)
        self->batching = g_thread_self();
    if (is_in_batch(self))
        self->n_batches++;
}

void
lock_table_end_batch(LockTable *self)
{
    if (!is_in_batch(self) || --self->n_batches > 0)
        return;
    self->batching = NULL;
    send_soon(self);
}

void
lock_table_call_again(LockTable *self, LockEntry *entry)
{
    add_call(self, entry);
}

/* Writes a RELEASE or ABORT that requests no answer. The service may have nothing with this key. */
static void
write_release(LockTable *self, guint64 key, gboolean is_held)
{
    GByteArray *queue = packet_socket_get_queue(recovery_get_socket(self->recovery));

    if (!is_held)
        packet_write_key(queue, PACKET_ABORT, PACKET_FLAG_NO_ANSWER, 0, key);
    packet_write_key(queue, PACKET_RELEASE, PACKET_FLAG_NO_ANSWER, 0, key);
    self->unacknowledged = ++self->last_serial;
}

static void
send_release(LockTable *self, guint64 key, gboolean is_held)
{
    PacketSocket *socket = recovery_get_socket(self->recovery);

    if (socket != NULL) {
        write_release(self, key, is_held);
        if (!is_in_batch(self))
            packet_socket_send(socket);
    } else {
        self->unacknowledged = ++self->last_serial;
    }
}

/* Sends an abort and a release: if the service grants the request before it reads the abort, the
 * release takes effect. So no answer is needed to know that the lock is not held. */
void
lock_table_abort(LockTable *self, LockEntry *entry)
{
    if (entry->was_sent || entry->serial != 0)
        send_release(self, entry->key, FALSE);
    lock_table_forget(self, entry);
}

void
lock_table_release(LockTable *self, LockEntry *entry)
{
    if (entry->serial != 0)
        self->unacknowledged = MAX(self->unacknowledged, entry->serial);
    else
        send_release(self, entry->key, TRUE);
    lock_table_forget(self, entry);
}

/* ---- answers and events */

static void
take_answer(LockTable *self, const PacketAnswer *answer)
{
    GList *link = self->calls.head;
    LockEntry *entry;

    /* Calls that wait for the next socket can precede those that were sent on this one. */
    while (link != NULL && ((LockEntry *)link->data)->serial == 0)
        link = link->next;
    if (link == NULL || ((LockEntry *)link->data)->serial != answer->head.serial) {
        g_debug("the lock service has sent an unexpected answer");
        return;
    }
    if (self->unacknowledged <= answer->head.serial)
        self->unacknowledged = 0;
    entry = link->data;
    remove_call(self, entry);
    if (entry->is_live)
        entry->funcs->answered(entry, answer);
    else
        lock_table_forget(self, entry);
}

static void
take_granted(LockTable *self, const PacketGranted *granted)
{
    LockEntry *entry = find_entry(self, granted->key);

    if (entry != NULL)
        entry->funcs->granted(entry, granted->token);
}

static void
take_ended(LockTable *self, const PacketEnded *ended)
{
    LockEntry *entry = find_entry(self, ended->key);

    if (entry != NULL)
        entry->funcs->ended(entry, (PacketReason)ended->reason);
}

static void
take_wanted(LockTable *self, const PacketWanted *wanted)
{
    LockEntry *entry = find_entry(self, wanted->key);

    if (entry != NULL)
        entry->funcs->wanted(entry, wanted->wanted != 0);
}

static void
on_message(const PacketHead *message, gpointer data)
{
    switch ((PacketKind)message->kind) {
    case PACKET_ANSWER:
        take_answer(data, (const PacketAnswer *)message);
        break;
    case PACKET_GRANTED:
        take_granted(data, (const PacketGranted *)message);
        break;
    case PACKET_ENDED:
        take_ended(data, (const PacketEnded *)message);
        break;
    case PACKET_WANTED:
        take_wanted(data, (const PacketWanted *)message);
        break;
    case PACKET_REQUEST:
    case PACKET_RELEASE:
    case PACKET_ABORT:
    case PACKET_DOWNGRADE:
    case PACKET_SYNC:
    case PACKET_END:
    case PACKET_LIVE:
    case PACKET_CLOSED:
    default:
        break;
    }
}

/* ---- recovery */

/* Whether the service may have requests or locks of this agent. */
static gboolean
is_needed(gpointer data)
{
    const LockTable *self = data;

    return g_hash_table_size(self->entries) > 0 || self->calls.length > 0 ||
           self->unacknowledged != 0;
}

gboolean
lock_table_is_settled(LockTable *self)
{
    PacketSocket *socket = recovery_get_socket(self->recovery);

    if (socket == NULL)
        return !is_needed(self);
    packet_socket_send(socket);
    return packet_socket_is_drained(socket);
}

static void
compare(LockTable *self, GHashTable *live)
{
    for (GList *link = self->live.head, *next; link != NULL; link = next) {
        LockEntry *entry = link->data;

        next = link->next;
        entry->funcs->compared(entry, g_hash_table_lookup(live, &entry->key));
    }
}

/* Releases and aborts live requests whose release or abort the service has not received. */
static void
release_unwanted(LockTable *self, const PacketLiveEntry *live, guint n_live)
{
    for (guint i = 0; i < n_live; i++)
        if (find_entry(self, live[i].key) == NULL)
            write_release(self, live[i].key, live[i].state == PACKET_STATE_HELD);
}

static void
on_opened(const PacketLiveEntry *live, guint n_live, gpointer data)
{
    LockTable *self = data;
    g_autoptr(GHashTable) by_key = g_hash_table_new(g_int64_hash, g_int64_equal);

    for (guint i = 0; i < n_live; i++)
        g_hash_table_insert(by_key, (gpointer)&live[i].key, (gpointer)&live[i]);
    self->unacknowledged = 0;
    compare(self, by_key);
    recovery_map_cells(self->recovery);
    release_unwanted(self, live, n_live);
    for (GList *link = self->calls.head; link != NULL; link = link->next)
        write_call(self, link->data);
    packet_socket_send(recovery_get_socket(self->recovery));
}

/* Calls of removed entries are dropped; they are not sent again. */
static void
on_ended(gboolean was_read, gpointer data)
{
    LockTable *self = data;
    const guint64 n_sent = recovery_count_sent(self->recovery);

    if (was_read)
        self->unacknowledged = 0;
    for (GList *link = self->calls.head, *next; link != NULL; link = next) {
        LockEntry *entry = link->data;

        next = link->next;
        if (entry->serial != 0 && entry->position <= n_sent)
            entry->was_sent = TRUE;
        entry->serial = 0;
        if (!entry->is_live)
            lock_table_forget(self, entry);
    }
}

static void
on_failed(const GError *error, gboolean is_temporary, gpointer data)
{
    LockTable *self = data;

    if (is_temporary)
        return;
    for (GList *link = self->calls.head, *next; link != NULL; link = next) {
        LockEntry *entry = link->data;

        next = link->next;
        if (!entry->was_sent)
            entry->funcs->failed(entry, error);
    }
}

static void
on_finished(const GError *error, gpointer data)
{
    LockTable *self = data;

    self->finished(error, self->data);
}

void
lock_table_finish(LockTable *self, PacketReason reason, const GError *error)
{
    self->unacknowledged = 0;
    for (GList *link = self->live.head, *next; link != NULL; link = next) {
        LockEntry *entry = link->data;

        next = link->next;
        remove_call(self, entry);
        entry->funcs->finished(entry, reason, error);
    }
    while (!g_queue_is_empty(&self->calls)) {
        LockEntry *entry = g_queue_peek_head(&self->calls);

        remove_call(self, entry);
        if (entry->is_live)
            entry->funcs->finished(entry, reason, error);
        else
            lock_table_forget(self, entry);
    }
}

/* ---- life */

LockTable *
lock_table_new(Session *session,
               Bus *bus,
               void (*finished)(const GError *error, gpointer data),
               gpointer data)
{
    static const RecoveryFuncs recovery_funcs = {
        .is_needed = is_needed,
        .opened = on_opened,
        .message = on_message,
        .ended = on_ended,
        .failed = on_failed,
        .finished = on_finished,
    };
    LockTable *self = g_new0(LockTable, 1);

    self->session = session;
    self->finished = finished;
    self->data = data;
    self->recovery = recovery_new(session, bus, &recovery_funcs, self);
    self->entries = g_hash_table_new(g_int64_hash, g_int64_equal);
    return self;
}

Recovery *
lock_table_get_recovery(LockTable *self)
{
    return self->recovery;
}

void
lock_table_free(LockTable *self)
{
    g_assert(g_hash_table_size(self->entries) == 0 && g_queue_is_empty(&self->calls));
    recovery_free(self->recovery);
    g_hash_table_unref(self->entries);
    g_free(self);
}
