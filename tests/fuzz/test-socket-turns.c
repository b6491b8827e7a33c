/* SPDX-FileCopyrightText: 2026 The WebLocks for D-Bus authors
 * SPDX-License-Identifier: LGPL-2.1-or-later */

/* How much the service does in one turn for clients that always have more to send.
 *
 * The server is in this process (socket-world.h). Whenever it receives a packet, all senders fill
 * their sockets again, and read their answers, so that no socket is ever empty or blocked. Every
 * message that is read is counted, by wrapping the function that reads messages of clients: the
 * service's own count is not used. A turn is from one turn_end() to the next. The cases are
 * run for each kind of message, from the enumeration: a new kind does not compile without a line
 * here. */

#include <errno.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "service/core/principal.h"
#include "service/core/wanted.h"
#include "service/server/admission.h"
#include "service/server/scheduler.h"
#include "service/server/server.h"
#include "service/socket/packet-socket.h"
#include "tests/fuzz/socket-world.h"

/* What docs/security.md states: messages in a turn, and in one that serves clients which end. */
#define MESSAGES_MAX      64
#define MESSAGES_MAX_LAST 256
/* Holders that are visited at the end of a turn, since somebody waits for their locks; and locks of
 * which a client is notified before it reads. */
#define HOLDERS_MAX 64
#define WANTED_MAX  64
/* Bytes of messages in a turn with the longest messages. */
#define LONG_BYTES_MAX (320UL * 1024)

/* For two messages of a packet, beside as many sockets with a rest as are served in two turns: some
 * times as many turns as that takes. */
#define REST_TURNS_MAX 16

#define SENDERS_MAX  64
#define SENDERS_LAST 8

const PacketHead *__real_packet_read_from_client(const void *packet, gsize size, gsize *offset);
const PacketHead *__wrap_packet_read_from_client(const void *packet, gsize size, gsize *offset);
void __real_packet_write_wanted(GByteArray *bytes, guint64 key, gboolean wanted);
void __wrap_packet_write_wanted(GByteArray *bytes, guint64 key, gboolean wanted);
gboolean __real_wanted_visit(UserAgent *user_agent, Agent **out_agent);
gboolean __wrap_wanted_visit(UserAgent *user_agent, Agent **out_agent);
void __real_turn_end(Turn *turn);
void __wrap_turn_end(Turn *turn);
PacketRead __real_packet_socket_read(Client *client, LockCall *out_call);
PacketRead __wrap_packet_socket_read(Client *client, LockCall *out_call);

typedef struct {
    char name[16];
    int fd;             /* its end */
    GByteArray *packet; /* what it sends, over and over */
    guint n_messages;   /* in that packet */
    gboolean is_calm;   /* sends nothing by itself */
    gsize n_sent;       /* messages */
    gsize n_read;       /* messages that the service has read */
} Sender;

typedef struct {
    SocketWorld world;
    Sender senders[SENDERS_MAX];
    guint n_senders;
    gboolean is_refilling;
    Sender *read; /* whose socket the service reads */
    guint messages_max;
    gsize bytes_max;
    guint n_all_wanted; /* notifications of holders */
    guint n_messages;   /* these four: in this turn */
    guint n_visits;
    guint n_receives;
    gsize n_bytes;
    guint n_turns;
} Run;

static Run *run;

/* ---- the senders */

/* Returns FALSE if clients don't send that kind. */
static gboolean
write_message(GByteArray *bytes, PacketKind kind)
{
    switch (kind) {
    case PACKET_REQUEST:
        packet_write_request(bytes, 1, 1, 0, LOCK_MODE_EXCLUSIVE, 0, 0, "b", "x", NULL, NULL);
        return TRUE;
    case PACKET_RELEASE:
    case PACKET_ABORT:
    case PACKET_DOWNGRADE:
        packet_write_key(bytes, kind, PACKET_FLAG_NO_ANSWER, 0, 1);
        return TRUE;
    case PACKET_SYNC:
    case PACKET_END:
        PACKET_WRITE(bytes, kind, PacketHead, .serial = 1);
        return TRUE;
    case PACKET_ANSWER:
    case PACKET_GRANTED:
    case PACKET_ENDED:
    case PACKET_LIVE:
    case PACKET_CLOSED:
    case PACKET_WANTED:
        return FALSE;
    }
    return FALSE;
}

/* Returns the number of messages that fit. */
static guint
fill_packet(GByteArray *packet, PacketKind kind, guint n_messages)
{
    guint n = 0;

    for (gsize size = 0; n < n_messages; n++) {
        write_message(packet, kind);
        if (packet->len > PACKET_BYTES_MAX) {
            g_byte_array_set_size(packet, (guint)size);
            break;
        }
        size = packet->len;
    }
    return n;
}

static void
read_answers(Sender *sender)
{
    static guint64 answers[PACKET_BYTES_MAX / sizeof(guint64)];

    while (recvfrom(sender->fd, answers, sizeof answers, MSG_DONTWAIT, NULL, NULL) > 0)
        continue;
}

static gboolean
is_open(const Sender *sender)
{
    return send(sender->fd, "", 1, MSG_DONTWAIT | MSG_NOSIGNAL) > 0 || errno == EAGAIN;
}

static void
refill(void)
{
    for (guint i = 0; i < run->n_senders; i++) {
        Sender *sender = &run->senders[i];

        read_answers(sender);
        while (!sender->is_calm && send(sender->fd, sender->packet->data, sender->packet->len,
                                        MSG_DONTWAIT | MSG_NOSIGNAL) > 0)
            sender->n_sent += sender->n_messages;
    }
}

/* ---- what the service does */

/* Replaces the C library's function, which the service receives with. */
ssize_t
recv(int fd, void *buffer, size_t size, int flags)
{
    if (run->is_refilling && run->n_receives % MAX(run->n_senders, 1) == 0)
        refill();
    g_assert_cmpuint(++run->n_receives, <=, run->messages_max + SENDERS_MAX);
    return recvfrom(fd, buffer, size, flags, NULL, NULL);
}

const PacketHead *
__wrap_packet_read_from_client(const void *packet, gsize size, gsize *offset)
{
    const PacketHead *head = __real_packet_read_from_client(packet, size, offset);

    g_assert_cmpuint(++run->n_messages, <=, run->messages_max);
    g_assert_nonnull(head);
    run->n_bytes += head->size;
    g_assert_cmpuint(run->n_bytes, <=, run->bytes_max);
    run->read->n_read++;
    return head;
}

PacketRead
__wrap_packet_socket_read(Client *client, LockCall *out_call)
{
    for (guint i = 0; i < run->n_senders; i++)
        if (g_str_equal(run->senders[i].name, client->unique_name))
            run->read = &run->senders[i];
    return __real_packet_socket_read(client, out_call);
}

void
__wrap_packet_write_wanted(GByteArray *bytes, guint64 key, gboolean wanted)
{
    __real_packet_write_wanted(bytes, key, wanted);
    g_assert_cmpuint(bytes->len, <=, WANTED_MAX * sizeof(PacketWanted));
    run->n_all_wanted++;
}

gboolean
__wrap_wanted_visit(UserAgent *user_agent, Agent **out_agent)
{
    g_assert_cmpuint(++run->n_visits, <=, HOLDERS_MAX);
    return __real_wanted_visit(user_agent, out_agent);
}

void
__wrap_turn_end(Turn *turn)
{
    __real_turn_end(turn);
    run->n_turns++;
    run->n_messages = run->n_receives = run->n_visits = 0;
    run->n_bytes = 0;
    if (run->is_refilling)
        refill();
}

static Client *
get_client(const Sender *sender)
{
    return server_find_client(run->world.server, sender->name);
}

static Sender *
add_sender(void)
{
    const PrincipalIdentity identity = {.uid = 1000, .kind = PRINCIPAL_UNSANDBOXED, .app_id = ""};
    Principal *principal = principal_get(&run->world.server->user_agent, &identity);
    Sender *sender = &run->senders[run->n_senders++];
    g_autoptr(Agent) agent = NULL;
    gboolean is_open;

    g_assert_cmpuint(run->n_senders, <=, SENDERS_MAX);
    g_snprintf(sender->name, sizeof sender->name, ":2.%u", run->n_senders);
    sender->packet = g_byte_array_new();
    g_assert_cmpint(agent_new(principal, sender->name, &agent), ==, LOCK_RESULT_OK);
    principal_unref(principal);
    admission_restore_client(run->world.server, agent);
    is_open = packet_socket_open(run->world.server->sockets, get_client(sender), &sender->fd);
    g_assert_true(is_open);
    return sender;
}

/* A sender that always sends packets of `n_messages`. */
static Sender *
add_flood(PacketKind kind, guint n_messages)
{
    Sender *sender = add_sender();

    sender->n_messages = fill_packet(sender->packet, kind, n_messages);
    return sender;
}

static void
begin(guint messages_max)
{
    run = g_new0(Run, 1);
    run->is_refilling = TRUE;
    run->messages_max = messages_max;
    run->bytes_max = G_MAXSIZE;
    socket_world_init(&run->world);
}

static void
serve_turns(guint n_turns)
{
    const guint until = run->n_turns + n_turns;

    refill(); /* the first packets */
    while (run->n_turns < until) {
        g_main_context_iteration(NULL, FALSE);
        server_end_turn(run->world.server);
    }
}

static void
end(void)
{
    run->is_refilling = FALSE;
    run->messages_max = MESSAGES_MAX_LAST;
    for (guint i = 0; i < run->n_senders; i++) {
        close(run->senders[i].fd);
        if (get_client(&run->senders[i]) != NULL)
            scheduler_on_disconnected(run->world.server, run->senders[i].name);
        g_byte_array_unref(run->senders[i].packet);
    }
    socket_world_fini(&run->world, FALSE);
    g_clear_pointer(&run, g_free);
}

/* ---- cases, for each kind of message and number of messages in a packet */

static const guint packet_sizes[] = {1, G_MAXUINT};

typedef void (*Check)(PacketKind kind, guint n_messages);

static void
check_all(gconstpointer data)
{
    const Check *check = data;
    g_autoptr(GByteArray) probe = g_byte_array_new();

    for (guint kind = 0; kind <= G_MAXUINT8; kind++) {
        if (!write_message(probe, (PacketKind)kind))
            continue;
        for (guint i = 0; i < G_N_ELEMENTS(packet_sizes); i++) {
            g_test_message("kind %u, up to %u in a packet", kind, packet_sizes[i]);
            (*check)((PacketKind)kind, packet_sizes[i]);
        }
    }
}

static void
check_one(PacketKind kind, guint n_messages)
{
    begin(MESSAGES_MAX);
    add_flood(kind, n_messages);
    serve_turns(60);
    g_assert_cmpuint(run->senders[0].n_read, >=, 40 * MESSAGES_MAX); /* it is served */
    end();
}

/* They are also served equally. */
static void
check_many(PacketKind kind, guint n_messages)
{
    gsize least = G_MAXSIZE, most = 0;

    begin(MESSAGES_MAX);
    for (guint i = 0; i < SENDERS_MAX; i++)
        add_flood(kind, n_messages);
    serve_turns(40);
    for (guint i = 0; i < SENDERS_MAX; i++) {
        least = MIN(least, run->senders[i].n_read);
        most = MAX(most, run->senders[i].n_read);
    }
    g_assert_cmpuint(least, >=, 10);
    g_assert_cmpuint(most, <=, 2 * least);
    end();
}

/* What was sent before the end is served, in many turns, and nothing that is sent after it. */
static void
check_last(PacketKind kind, guint n_messages, gboolean is_shutdown)
{
    gsize n_sent[SENDERS_LAST];
    guint n_turns;

    begin(MESSAGES_MAX_LAST);
    for (guint i = 0; i < SENDERS_LAST; i++)
        add_flood(kind, n_messages);
    serve_turns(10);
    for (guint i = 0; i < SENDERS_LAST; i++)
        n_sent[i] = run->senders[i].n_sent;
    n_turns = run->n_turns;
    if (is_shutdown) {
        run->world.server->stage = SERVER_DRAINING;
        scheduler_end_all(run->world.server);
    }
    for (guint i = 0; !is_shutdown && i < SENDERS_LAST; i++)
        scheduler_on_disconnected(run->world.server, run->senders[i].name);
    while (run->world.server->turn.runnable.length > 0)
        serve_turns(1);
    g_assert_cmpuint(run->n_turns - n_turns, >=, SENDERS_LAST * 64 / MESSAGES_MAX_LAST);
    for (guint i = 0; i < SENDERS_LAST; i++) {
        g_assert_cmpuint(run->senders[i].n_read, ==, n_sent[i]);
        g_assert_false(is_open(&run->senders[i]));
    }
    end();
}

static void
check_disconnected(PacketKind kind, guint n_messages)
{
    check_last(kind, n_messages, FALSE);
}

static void
check_shutdown(PacketKind kind, guint n_messages)
{
    check_last(kind, n_messages, TRUE);
}

/* ---- other cases */

/* A packet of more than one message, beside sockets that have a rest in every turn, is served as
 * soon as theirs. */
static void
test_rest_of_a_packet(void)
{
    Sender *calm;

    begin(MESSAGES_MAX);
    for (guint i = 0; i + 1 < SENDERS_MAX; i++)
        add_flood(PACKET_SYNC, G_MAXUINT);
    calm = add_sender();
    calm->is_calm = TRUE;
    fill_packet(calm->packet, PACKET_SYNC, 2);
    serve_turns(100);
    for (guint round = 0; round < 10; round++) {
        const gsize n_before = calm->n_read;
        const guint n_turns = run->n_turns;

        g_assert_cmpint(send(calm->fd, calm->packet->data, calm->packet->len, 0), >, 0);
        while (calm->n_read < n_before + 2 && run->n_turns < n_turns + 2 * REST_TURNS_MAX)
            serve_turns(1);
        g_assert_cmpuint(run->n_turns - n_turns, <=, REST_TURNS_MAX);
    }
    end();
}

/* The longest messages count by their size. */
static void
test_long_messages(void)
{
    static char name[30000];

    memset(name, 'n', sizeof name - 1);
    begin(MESSAGES_MAX);
    for (guint i = 0; i < SENDERS_MAX; i++) {
        Sender *sender = add_sender();

        packet_write_request(sender->packet, 1, 1, 0, LOCK_MODE_EXCLUSIVE, 0, 0, "b", name, name,
                             NULL);
        sender->n_messages = 1;
    }
    run->bytes_max = LONG_BYTES_MAX;
    serve_turns(400);
    for (guint i = 0; i < SENDERS_MAX; i++)
        g_assert_cmpuint(run->senders[i].n_read, >=, 10);
    end();
}

static Sender *
add_calm(LockMode mode, guint n_requests)
{
    Sender *sender = add_sender();

    sender->is_calm = TRUE;
    for (guint64 key = 1; key <= n_requests; key++)
        packet_write_request(sender->packet, 0, key, 0, mode, 0, 0, "b", "x", NULL, NULL);
    g_assert_cmpint(send(sender->fd, sender->packet->data, sender->packet->len, 0), >, 0);
    serve_turns(2 * n_requests / MESSAGES_MAX + 4);
    g_assert_cmpuint(sender->n_read, ==, n_requests);
    return sender;
}

/* Many holders of a shared lock are notified in many turns that there is a request, also beside
 * clients that always send; and each once. */
static void
test_holders(void)
{
    const guint n_holders = 10 * 500;

    begin(MESSAGES_MAX);
    for (guint i = 0; i < 10; i++)
        add_calm(LOCK_MODE_SHARED, 500);
    for (guint i = 0; i < SENDERS_LAST; i++)
        add_flood(PACKET_SYNC, G_MAXUINT);
    add_calm(LOCK_MODE_EXCLUSIVE, 1);
    serve_turns(4 * n_holders / HOLDERS_MAX);
    g_assert_cmpuint(run->n_all_wanted, ==, n_holders);
    end();
}

int
main(int argc, char **argv)
{
    static const Check one = check_one, many = check_many, disconnected = check_disconnected,
                       shutdown = check_shutdown;

    g_test_init(&argc, &argv, NULL);
    g_test_add_data_func("/socket-turns/one", &one, check_all);
    g_test_add_data_func("/socket-turns/many", &many, check_all);
    g_test_add_data_func("/socket-turns/disconnected", &disconnected, check_all);
    g_test_add_data_func("/socket-turns/shutdown", &shutdown, check_all);
    g_test_add_func("/socket-turns/rest-of-a-packet", test_rest_of_a_packet);
    g_test_add_func("/socket-turns/long-messages", test_long_messages);
    g_test_add_func("/socket-turns/holders", test_holders);
    return g_test_run();
}
