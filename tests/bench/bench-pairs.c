/* SPDX-FileCopyrightText: 2026 The WebLocks for D-Bus authors
 * SPDX-License-Identifier: LGPL-2.1-or-later */

/* Locks requested and released, by one client or many, and other ways to do that: see load.h.
 *
 * WAY is
 *   sync       synchronous calls of the library, each client with a lock of its own;
 *   cold       the same, with the processor's caches filled with other data before each call;
 *   contended  the same, and all clients use one lock; ADDRESS can be several, with spaces between,
 *              which are used in turns;
 *   async      asynchronous calls in a main loop;
 *   unref      asynchronous, and the lock is released by dropping the last reference, which doesn't
 *              wait for a reply;
 *   handle     a handle that is entered and left; all clients use one lock;
 *   packets    packets on a lock socket, without the library (hand.h), every answer awaited;
 *   name       a bus name, as programs do that use one as a lock, by calls marshalled once, on a
 *              bare socket (raw-bus.h); several in flight are sent by one write();
 *   flock      flock(2); ADDRESS is the file;
 *   echo       two round trips of a byte with a process that sends each byte back.
 *
 * Of these the request is measured, and COUNT is its number:
 *   free, parked       that of another client, after a pair of `sync` or `handle`;
 *   take               by the clients of two ADDRESSes in turns;
 *   acquire            of COUNT locks that were released some seconds before;
 *   first, activated   from the creation of an agent, which connects to the bus; the service runs,
 *                      or is ended before, which makes the bus start it. */

#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <sys/file.h>
#include <unistd.h>

#include "hand.h"
#include "load.h"
#include "raw-bus.h"

#define LOCK_NAME   "printer"
#define CLIENTS_MAX 256
#define EVENTS_MAX  64
#define POLL_US     500

/* A host returns a permit after a second without requests. */
#define RETURN_SECONDS 3

/* What of it is used depends on the way. */
typedef struct {
    char name[32];
    WebLocksManager *manager;
    WebLocksManager *other; /* of another agent */
    WebLocksHandle *handle;
    Hand *hand;
    RawBus *bus;
    RawCall **requests, **releases; /* as many as are in flight */
    int fd;
} Client;

static Client *
client_new(const Load *load)
{
    Client *client = g_new0(Client, 1);

    g_snprintf(client->name, sizeof client->name, "document %u", load->index);
    return client;
}

/* ---- the library */

/* A manager at one of the addresses. */
static WebLocksManager *
connect_to(const Load *load, guint number)
{
    g_auto(GStrv) addresses = g_strsplit(load->address, " ", -1);
    g_autoptr(WebLocksAgent) agent = bench_agent_new(addresses[number % g_strv_length(addresses)]);

    bench_barrier(agent);
    return bench_manager_new(agent, load->bucket);
}

static gpointer
connect_sync(const Load *load)
{
    Client *client = client_new(load);

    client->manager = connect_to(load, load->index);
    return client;
}

static gpointer
connect_contended(const Load *load)
{
    Client *client = connect_sync(load);

    g_strlcpy(client->name, LOCK_NAME, sizeof client->name);
    return client;
}

static void
pair_sync(gpointer data)
{
    const Client *client = data;
    g_autoptr(WebLocksLock) lock = bench_request(client->manager, client->name);

    bench_release(lock);
}

static void
pair_cold(gpointer data)
{
    const Client *client = data;
    g_autoptr(WebLocksLock) lock = NULL;

    bench_fill_caches();
    lock = bench_request(client->manager, client->name);
    bench_fill_caches();
    bench_release(lock);
}

static gpointer
connect_two(const Load *load)
{
    Client *client = connect_contended(load);

    client->other = connect_to(load, load->index + 1);
    return client;
}

static gpointer
connect_handle(const Load *load)
{
    Client *client = connect_two(load);

    client->handle = web_locks_manager_prepare(client->manager, client->name, NULL);
    return client;
}

static void
pair_handle(gpointer data)
{
    const Client *client = data;
    g_autoptr(GError) error = NULL;

    web_locks_handle_enter_sync(client->handle, NULL, &error);
    bench_check_error(error, "enter");
    web_locks_handle_leave(client->handle);
}

/* ---- requests alone */

static void
time_request(const Load *load, WebLocksManager *manager, const char *name)
{
    const guint64 begin = bench_now();
    g_autoptr(WebLocksLock) lock = bench_request(manager, name);

    load_add_sample(load, begin);
    bench_release(lock);
}

static void
run_free(const Load *load, gpointer data)
{
    Client *client = data;

    for (guint i = 0; i < load->n_pairs; i++) {
        pair_sync(client);
        time_request(load, client->other, client->name);
    }
}

static void
run_parked(const Load *load, gpointer data)
{
    Client *client = data;

    for (guint i = 0; i < load->n_pairs; i++) {
        pair_handle(client);
        time_request(load, client->other, client->name);
    }
}

static void
run_take(const Load *load, gpointer data)
{
    const Client *client = data;

    for (guint i = 0; i < load->n_pairs; i++)
        time_request(load, i % 2 == 0 ? client->manager : client->other, client->name);
}

static void
run_acquire(const Load *load, gpointer data)
{
    const Load unmeasured = {0};
    const Client *client = data;

    for (guint i = 0; i < 2 * load->n_pairs; i++) {
        g_autofree char *name = g_strdup_printf(LOCK_NAME "-%u", i % load->n_pairs);

        if (i == load->n_pairs)
            sleep(RETURN_SECONDS);
        time_request(i < load->n_pairs ? &unmeasured : load, client->manager, name);
    }
}

static void
end_service(GDBusConnection *connection)
{
    const pid_t pid = bench_get_service_pid(connection);

    if (pid != 0)
        bench_check_errno(kill(pid, SIGTERM) == 0, "kill");
    while (bench_get_service_pid(connection) != 0)
        bench_pause(POLL_US);
}

static void
time_first(const Load *load)
{
    const guint64 begin = bench_now();
    g_autoptr(WebLocksAgent) agent = web_locks_agent_new(G_BUS_TYPE_NONE, load->address);
    g_autoptr(WebLocksManager) manager = bench_manager_new(agent, load->bucket);
    g_autoptr(WebLocksLock) lock = bench_request(manager, LOCK_NAME);

    load_add_sample(load, begin);
    bench_release(lock);
}

static gpointer
connect_bare(const Load *load)
{
    return bench_connect(load->address);
}

static void
run_first(const Load *load, G_GNUC_UNUSED gpointer connection)
{
    for (guint i = 0; i < load->n_pairs; i++)
        time_first(load);
}

static void
run_activated(const Load *load, gpointer connection)
{
    for (guint i = 0; i < load->n_pairs; i++) {
        end_service(connection);
        time_first(load);
    }
}

/* ---- packets, and bus names */

static gpointer
connect_hand(const Load *load)
{
    Client *client = client_new(load);

    client->hand = hand_new(load->address);
    return client;
}

static void
pair_packets(gpointer data)
{
    const Client *client = data;

    hand_release(client->hand, hand_request(client->hand, client->name));
}

static gpointer
connect_names(const Load *load)
{
    Client *client = client_new(load);

    client->bus = raw_bus_new(load->address);
    client->requests = g_new0(RawCall *, load->in_flight);
    client->releases = g_new0(RawCall *, load->in_flight);
    for (guint i = 0; i < load->in_flight; i++) {
        g_autofree char *name =
            g_strdup_printf("org.w3.WebLocks.Bench%u.Document%u", load->index, i);

        client->requests[i] = raw_call_new_request_name(name);
        client->releases[i] = raw_call_new_release_name(name);
    }
    return client;
}

static void
call_all(const Client *client, RawCall *const *calls, guint n)
{
    raw_bus_send_all(client->bus, calls, n);
    for (guint i = 0; i < n; i++)
        if (raw_bus_await_reply(client->bus) != RAW_NAME_OWNER)
            bench_die("bus name", "an answer that was not expected");
}

static void
run_names(const Load *load, gpointer data)
{
    const Client *client = data;

    for (guint left = load->n_pairs, n; left > 0; left -= n) {
        const guint64 begin = bench_now();

        n = MIN(left, load->in_flight);
        call_all(client, client->requests, n);
        call_all(client, client->releases, n);
        load_add_sample(load, begin);
    }
}

/* ---- flock(), and echoes */

static gpointer
connect_file(const Load *load)
{
    Client *client = client_new(load);

    client->fd = open(load->address, O_RDWR | O_CLOEXEC);
    bench_check_errno(client->fd >= 0, load->address);
    return client;
}

static void
pair_flock(gpointer data)
{
    const Client *client = data;

    bench_check_errno(flock(client->fd, LOCK_EX) == 0, "flock");
    bench_check_errno(flock(client->fd, LOCK_UN) == 0, "flock");
}

static int echo_pairs[CLIENTS_MAX][2]; /* one end for the client, the other for the echo process */

static void
echo_once(int fd)
{
    bench_wait_notified(fd);
    bench_notify(fd);
}

static void
echo(guint n_clients)
{
    struct epoll_event events[EVENTS_MAX];
    int epoll_fd = epoll_create1(EPOLL_CLOEXEC);

    if (n_clients == 1)
        for (;;)
            echo_once(echo_pairs[0][1]);
    bench_check_errno(epoll_fd >= 0, "epoll");
    for (guint i = 0; i < n_clients; i++) {
        struct epoll_event event = {.events = EPOLLIN, .data.fd = echo_pairs[i][1]};

        bench_check_errno(epoll_ctl(epoll_fd, EPOLL_CTL_ADD, event.data.fd, &event) == 0, "epoll");
    }
    for (;;) {
        int n_events = epoll_wait(epoll_fd, events, EVENTS_MAX, -1);

        for (int i = 0; i < n_events; i++)
            echo_once(events[i].data.fd);
    }
}

static pid_t echo_pid;

static void
end_echo(void)
{
    bench_kill(echo_pid);
}

static void
start_echo(const Load *load)
{
    if (load->n_clients > CLIENTS_MAX)
        bench_die("clients", "too many");
    for (guint i = 0; i < load->n_clients; i++)
        bench_make_pair(echo_pairs[i]);
    echo_pid = bench_fork();
    if (echo_pid == 0)
        echo(load->n_clients);
    atexit(end_echo);
}

static gpointer
connect_echo(const Load *load)
{
    return &echo_pairs[load->index][0];
}

int
main(int argc, char **argv)
{
    static const LoadWay ways[] = {
        {"sync", connect_sync, pair_sync, .n_warm_up = 200},
        {"cold", connect_sync, pair_cold, .n_warm_up = 10},
        {"contended", connect_contended, pair_sync},
        {"async", load_connect_async, .run = load_run_async, .n_warm_up = 200},
        {"unref", load_connect_async, .run = load_run_unref, .n_warm_up = 200},
        {"handle", connect_handle, pair_handle, .n_warm_up = 2000, .batch = 100},
        {"packets", connect_hand, pair_packets, .n_warm_up = 200},
        {"name", connect_names, .run = run_names, .n_warm_up = 200},
        {"flock", connect_file, pair_flock, .n_warm_up = 2000, .batch = 100},
        {"echo", connect_echo, bench_echo_twice, .n_warm_up = 200, .prepare = start_echo},
        {"free", connect_two, .run = run_free, .n_warm_up = 20},
        {"parked", connect_handle, .run = run_parked, .n_warm_up = 20},
        {"take", connect_two, .run = run_take, .n_warm_up = 20},
        {"acquire", connect_sync, .run = run_acquire},
        {"first", connect_bare, .run = run_first, .n_warm_up = 3},
        {"activated", connect_bare, .run = run_activated, .n_warm_up = 3},
    };

    return load_main(argc, argv, ways, G_N_ELEMENTS(ways));
}
