/* SPDX-FileCopyrightText: 2026 The WebLocks for D-Bus authors
 * SPDX-License-Identifier: LGPL-2.1-or-later */

#include "tests/fuzz/socket-party.h"

#include <errno.h>
#include <sys/socket.h>
#include <unistd.h>

#include "service/core/lock-queue.h"

/* A call that was sent. */
typedef struct {
    guint64 serial;
    guint64 key;
    guint16 kind;
    guint number;
} Awaited;

/* ---- the socket */

void
party_init(Party *party)
{
    party->fd = -1;
    g_queue_init(&party->awaited);
    party->live = g_hash_table_new(NULL, NULL);
    party->doubt = g_hash_table_new(NULL, NULL);
}

void
party_fini(Party *party)
{
    g_queue_clear_full(&party->awaited, g_free);
    g_hash_table_unref(party->live);
    g_hash_table_unref(party->doubt);
    g_clear_object(&party->ping);
}

static void
drop_socket(Party *party)
{
    g_queue_clear_full(&party->awaited, g_free);
    g_hash_table_remove_all(party->live);
    g_hash_table_remove_all(party->doubt);
    party->has_live = party->is_closed = party->is_broken = party->is_over = FALSE;
}

void
party_close(Party *party)
{
    if (party->fd >= 0)
        close(party->fd);
    party->fd = -1;
    drop_socket(party);
}

void
party_call_open_socket(Party *party)
{
    if (party->n_opens++ == 0)
        party->n_before = party->n_sent;
}

void
party_open(Party *party, int fd)
{
    party->fd = fd;
    party->n_opens--;
    party->n_before = 0; /* if another one has been asked for, it was before all that follows */
}

/* ---- messages of the client */

static gpointer
key_pointer(guint64 key)
{
    return GSIZE_TO_POINTER(key);
}

static void
note_call(Party *party, const PacketHead *head)
{
    /* All that have a key have it there. */
    const gboolean has_key = head->size >= sizeof(PacketKey);
    const Awaited call = {
        .serial = head->serial,
        .key = has_key ? ((const PacketKey *)head)->key : 0,
        .kind = head->kind,
        .number = ++party->n_sent,
    };

    if (head->flags & PACKET_FLAG_NO_ANSWER)
        g_hash_table_insert(party->doubt, key_pointer(call.key), GUINT_TO_POINTER(call.number));
    else
        g_queue_push_tail(&party->awaited, g_memdup2(&call, sizeof call));
}

/* Records which calls have to be answered. */
static void
note_packet(Party *party, const void *packet, gsize size)
{
    gsize offset = 0;

    if (party->is_broken)
        return;
    party->is_over = size == 0;
    party->is_broken = size == 0 || size > PACKET_BYTES_MAX;
    while (!party->is_broken && offset < size) {
        const PacketHead *head = packet_read_from_client(packet, size, &offset);

        party->is_broken = head == NULL;
        if (head != NULL)
            note_call(party, head);
    }
}

gboolean
party_send(Party *party, const void *packet, gsize size)
{
    g_autofree void *aligned = g_memdup2(packet, size);

    if (send(party->fd, packet, size, MSG_DONTWAIT | MSG_NOSIGNAL) >= 0)
        note_packet(party, aligned, size);
    else
        return errno != EAGAIN;
    return TRUE;
}

/* ---- the client's view of its requests */

static void
set_state(Party *party, guint64 key, guint state)
{
    if (state == PACKET_STATE_NONE)
        g_hash_table_remove(party->live, key_pointer(key));
    else
        g_hash_table_insert(party->live, key_pointer(key), GUINT_TO_POINTER(state));
}

static guint
get_state(const Party *party, guint64 key)
{
    return GPOINTER_TO_UINT(g_hash_table_lookup(party->live, key_pointer(key)));
}

/* It may have been released or aborted without an answer since the call with that number. */
static gboolean
is_in_doubt(const Party *party, guint64 key, guint number)
{
    return GPOINTER_TO_UINT(g_hash_table_lookup(party->doubt, key_pointer(key))) > number;
}

static void
update_from_answer(Party *party, const Awaited *call, const PacketAnswer *answer)
{
    if (call->kind == PACKET_REQUEST && answer->error == PACKET_ERROR_NONE) {
        if (!is_in_doubt(party, call->key, call->number))
            g_hash_table_remove(party->doubt, key_pointer(call->key));
        set_state(party, call->key, answer->state);
    } else if (call->kind == PACKET_RELEASE && answer->error == PACKET_ERROR_NONE) {
        g_assert_true(get_state(party, call->key) == PACKET_STATE_HELD ||
                      is_in_doubt(party, call->key, 0));
        set_state(party, call->key, PACKET_STATE_NONE);
    } else if (call->kind == PACKET_ABORT && answer->aborted) {
        g_assert_true(get_state(party, call->key) == PACKET_STATE_WAITS ||
                      is_in_doubt(party, call->key, 0));
        set_state(party, call->key, PACKET_STATE_NONE);
    } else if (call->kind == PACKET_DOWNGRADE && answer->error == PACKET_ERROR_NONE) {
        g_assert_true(get_state(party, call->key) == PACKET_STATE_HELD ||
                      is_in_doubt(party, call->key, 0));
    } else if (call->kind == PACKET_END) {
        g_hash_table_remove_all(party->live);
    }
}

static void
update_from_event(Party *party, const PacketHead *head)
{
    const PacketGranted *event = (const PacketGranted *)head; /* ENDED has its key there too */
    const guint state = get_state(party, event->key);

    if (head->kind == PACKET_WANTED) {
        g_assert_true(state == PACKET_STATE_HELD || is_in_doubt(party, event->key, 0));
    } else if (head->kind == PACKET_GRANTED) {
        g_assert_true(state == PACKET_STATE_WAITS || is_in_doubt(party, event->key, 0));
        set_state(party, event->key, PACKET_STATE_HELD);
    } else {
        g_assert_true(state != PACKET_STATE_NONE || is_in_doubt(party, event->key, 0));
        set_state(party, event->key, PACKET_STATE_NONE);
    }
}

static void
update_from_live(Party *party, const PacketLive *live)
{
    for (guint i = 0; i < live->n_entries; i++)
        set_state(party, live->entries[i].key, live->entries[i].state);
    party->has_live = live->more == 0;
}

static void
check_live(const Party *party, const Agent *agent)
{
    guint n_certain = 0;
    GHashTableIter iter;
    gpointer key;

    for (const GList *link = agent->requests.head; link != NULL; link = link->next) {
        const LockRequest *request = link->data;
        const guint state =
            request->state == LOCK_REQUEST_HELD ? PACKET_STATE_HELD : PACKET_STATE_WAITS;

        if (is_in_doubt(party, request->key, 0))
            continue;
        g_assert_cmpuint(get_state(party, request->key), ==, state);
        g_assert_true(state == PACKET_STATE_WAITS ||
                      request->is_told_wanted == request->queue->is_wanted);
        n_certain++;
    }
    g_hash_table_iter_init(&iter, party->live);
    while (g_hash_table_iter_next(&iter, &key, NULL))
        n_certain -= is_in_doubt(party, GPOINTER_TO_SIZE(key), 0) ? 0 : 1;
    g_assert_cmpuint(n_certain, ==, 0);
}

/* ---- messages of the service */

static void
take_answer(Party *party, const PacketAnswer *answer)
{
    g_autofree Awaited *call = g_queue_pop_head(&party->awaited);

    g_assert_nonnull(call);
    g_assert_cmpuint(answer->head.serial, ==, call->serial);
    g_assert_cmpuint(answer->limit, <=, N_LIMITS);
    g_assert_true(answer->limit == 0 || answer->error == PACKET_ERROR_LIMITS_EXCEEDED);
    update_from_answer(party, call, answer);
}

/* Everything sent before the call that replaced the socket was processed before it. */
static void
take_closed(Party *party, const PacketClosed *closed)
{
    const Awaited *first = g_queue_peek_head(&party->awaited);

    g_assert_true(closed->reason != PACKET_CLOSED_MALFORMED || party->is_broken);
    if (closed->reason == PACKET_CLOSED_REPLACED) {
        g_assert_cmpuint(party->n_opens, >, 0);
        g_assert_true(first == NULL || first->number > party->n_before || party->is_broken);
    }
    party->is_closed = TRUE;
}

static void
take_message(Party *party, const PacketHead *head)
{
    g_assert_nonnull(head);
    g_assert_false(party->is_closed);
    g_assert_cmpuint(head->flags, ==, 0);
    g_assert_true(party->has_live || head->kind == PACKET_LIVE || head->kind == PACKET_CLOSED);
    if (head->kind == PACKET_ANSWER)
        take_answer(party, (const PacketAnswer *)head);
    else if (head->kind == PACKET_LIVE)
        update_from_live(party, (const PacketLive *)head);
    else if (head->kind == PACKET_CLOSED)
        take_closed(party, (const PacketClosed *)head);
    else
        update_from_event(party, head);
}

/* Without CLOSED if the client has closed it, has disconnected, or is flooding. */
static void
take_end(Party *party)
{
    g_assert_true(party->is_closed || party->is_over || !party->is_there ||
                  party->n_calls > PARTY_CALLS_MAX);
    party_close(party);
}

gboolean
party_read(Party *party)
{
    static guint64 packet[(PACKET_BYTES_MAX + 8) / sizeof(guint64)];
    gsize offset = 0;
    ssize_t n;

    if (party->fd < 0)
        return FALSE;
    n = recv(party->fd, packet, sizeof packet, MSG_DONTWAIT);
    if (n < 0)
        return errno == ECONNRESET;
    if (n == 0) {
        take_end(party);
        return FALSE;
    }
    g_assert_cmpint(n, <=, PACKET_BYTES_MAX);
    while (offset < (gsize)n)
        take_message(party, packet_read_from_service(packet, (gsize)n, &offset));
    return TRUE;
}

/* ---- when idle */

void
party_check(const Party *party, const Agent *agent)
{
    if (party->fd < 0)
        return;
    /* A socket on which something malformed was sent is closed. */
    g_assert_true(party->has_live && !party->is_broken);
    g_assert_cmpuint(party->awaited.length, ==, 0);
    check_live(party, agent);
}
