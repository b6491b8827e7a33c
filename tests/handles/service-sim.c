/* SPDX-FileCopyrightText: 2026 The WebLocks for D-Bus authors
 * SPDX-License-Identifier: LGPL-2.1-or-later */

/* Functions of the service that are called through others here, are wrapped by the linker:
 * meson.build. */

#include "tests/handles/service-sim.h"

#include <fcntl.h>
#include <poll.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cell-offers.h"
#include "cell-pages.h"
#include "intake.h"
#include "log.h"
#include "ownership.h"
#include "packet-socket.h"
#include "recovery.h"
#include "scheduler.h"
#include "server.h"
#include "state.h"
#include "tests/handles/reference.h"
#include "tests/handles/steps.h"

static struct {
    const char *directory;
    guint n_kills, last_tokens;
    gboolean is_gone[SIM_CLIENTS]; /* from the bus */
    gboolean is_removed;           /* the directory, and the service has not noticed */
    guint64 disk;                  /* a hash */
    /* Of this instance. */
    Server *server;
    gboolean is_gone_known[SIM_CLIENTS];
    guint first;   /* the client whose socket is served first */
    guint opening; /* the client for which a page is made */
} s;

static gboolean
has_steps(void)
{
    return step_get_actor() != 0;
}

/* What only the next instance can see. */
static void
step_unless_last(const char *name)
{
    if (s.n_kills > 0)
        step_before(0, 0, name);
}

/* ---- comparison with the model */

static LockRequest *
find_request(guint client, guint64 key)
{
    const GQueue *agents = &s.server->user_agent.agents;

    for (const GList *link = agents->head; link != NULL; link = link->next) {
        Agent *agent = link->data;

        if (service_sim_index_of(agent->client_id) == client && !agent->terminated)
            return agent_find_key(agent, key);
    }
    return NULL;
}

static gboolean
find_token(guint client, guint64 key, guint64 *out_token)
{
    const LockRequest *request = find_request(client, key);

    if (request == NULL)
        return FALSE;
    *out_token = request->token;
    return request->state == LOCK_REQUEST_HELD;
}

/* Returns whether it counts: a lock with an open cell does if that says so. */
static gboolean
check_request(guint client, const LockRequest *request)
{
    const Cell *cell = lock_request_get_cell(request);
    const gboolean is_open = cell != NULL && cell->is_open;
    const gboolean is_held = request->state == LOCK_REQUEST_HELD;

    if (is_open && request->queue->pending.length > 0)
        steps_fail("a request waits for an open cell");
    if (is_open && !(cell->memory->word & LOCK_CELL_HELD))
        return FALSE;
    if (!reference_has(client, request->key, is_held))
        steps_fail("request %" G_GUINT64_FORMAT " of client %u is not %s in the model",
                   request->key, client, is_held ? "held" : "pending");
    return TRUE;
}

void
service_sim_check(void)
{
    guint n = 0;

    for (const GList *i = s.server->user_agent.agents.head; i != NULL; i = i->next) {
        const Agent *agent = i->data;

        for (const GList *j = agent->requests.head; j != NULL && !agent->terminated; j = j->next)
            n += check_request(service_sim_index_of(agent->client_id), j->data) ? 1 : 0;
    }
    if (n != reference_count())
        steps_fail("the service has %u requests, the model %u", n, reference_count());
}

void
service_sim_note_reply(const Client *client, const LockCall *call, const LockReply *reply)
{
    if (has_steps())
        reference_note_call(service_sim_index(client), call, reply);
}

/* ---- wrapped functions: what is on disk */

gboolean __real_log_append(Log *log, GByteArray *frame, GError **error);
gboolean __wrap_log_append(Log *log, GByteArray *frame, GError **error);
gboolean __real_log_replace(Log *log, GByteArray *frame, GError **error);
gboolean __wrap_log_replace(Log *log, GByteArray *frame, GError **error);
void __real_state_commit(State *state);
void __wrap_state_commit(State *state);
gboolean __real_state_begin(State *state, UserAgent *user_agent, GError **error);
gboolean __wrap_state_begin(State *state, UserAgent *user_agent, GError **error);

gboolean
__wrap_log_append(Log *log, GByteArray *frame, GError **error)
{
    gboolean is_written;

    step_unless_last("commits");
    is_written = __real_log_append(log, frame, error);
    if (is_written)
        s.disk = steps_mix_bytes(s.disk, frame->data, frame->len);
    return is_written;
}

gboolean
__wrap_log_replace(Log *log, GByteArray *frame, GError **error)
{
    gboolean is_written;

    step_unless_last("writes a new file");
    is_written = __real_log_replace(log, frame, error);
    s.disk = steps_mix_bytes(0, frame->data, frame->len);
    return is_written;
}

/* What was done is on disk. */
static void
note_commit(void)
{
    if (!has_steps())
        return;
    reference_commit(find_token);
    service_sim_check();
}

void
__wrap_state_commit(State *state)
{
    __real_state_commit(state);
    note_commit();
}

/* The new file has all that this instance has found. */
gboolean
__wrap_state_begin(State *state, UserAgent *user_agent, GError **error)
{
    const gboolean has_begun = __real_state_begin(state, user_agent, error);

    g_assert(has_begun);
    if (has_steps()) {
        reference_restart(s.is_gone_known, find_token);
        service_sim_check();
        step_forget_but(s.disk);
    }
    return has_begun;
}

/* ---- likewise: pages */

int __real_cell_offers_make(Client *client);
int __wrap_cell_offers_make(Client *client);
CellPage *__real_cell_page_new(CellPages *pages, int *out_fd);
CellPage *__wrap_cell_page_new(CellPages *pages, int *out_fd);
void __real_cell_page_free(CellPage *page);
void __wrap_cell_page_free(CellPage *page);
void __real_cell_pages_remove_ended(CellPages *pages);
void __wrap_cell_pages_remove_ended(CellPages *pages);
gboolean __real_cell_pages_remove(const char *path, GError **error);
gboolean __wrap_cell_pages_remove(const char *path, GError **error);
void __real_user_agent_terminate(UserAgent *user_agent, Agent *agent);
void __wrap_user_agent_terminate(UserAgent *user_agent, Agent *agent);

int
__wrap_cell_offers_make(Client *client)
{
    s.opening = service_sim_index(client);
    return __real_cell_offers_make(client);
}

CellPage *
__wrap_cell_page_new(CellPages *pages, int *out_fd)
{
    CellPage *page = __real_cell_page_new(pages, out_fd);

    if (page != NULL)
        sim_add_page(s.opening, page->memory, *out_fd);
    return page;
}

void
__wrap_cell_page_free(CellPage *page)
{
    sim_end_page(page->memory);
    __real_cell_page_free(page);
}

void
__wrap_cell_pages_remove_ended(CellPages *pages)
{
    note_commit(); /* of the state_commit() that calls this */
    if (sim_has_ended_pages())
        step_unless_last("removes pages");
    sim_remove_pages(FALSE);
    __real_cell_pages_remove_ended(pages);
}

gboolean
__wrap_cell_pages_remove(const char *path, GError **error)
{
    step_unless_last("removes pages");
    sim_remove_pages(TRUE);
    return __real_cell_pages_remove(path, error);
}

void
__wrap_user_agent_terminate(UserAgent *user_agent, Agent *agent)
{
    if (has_steps() && server_is_serving(s.server))
        reference_note_end(service_sim_index_of(agent->client_id));
    __real_user_agent_terminate(user_agent, agent);
}

/* In place of random numbers. */
ssize_t
getrandom(void *buffer, size_t size, unsigned flags)
{
    memset(buffer, 1, size);
    return (ssize_t)size;
}

/* Without taking the memory, of which there is next to nothing used. */
int
posix_fallocate(int fd, off_t offset, off_t length)
{
    struct stat now;

    g_assert_cmpint(fstat(fd, &now), ==, 0);
    return now.st_size >= offset + length ? 0 : ftruncate(fd, offset + length);
}

/* ---- the actor */

static void
start(void)
{
    ServerOptions options = {.state_directory = s.directory, .offers_cells = TRUE};
    Limits limits;

    limits_init(&limits);
    s.server = server_new((sd_bus *)&s, &limits, &options);
    ownership_take(s.server);
    service_bus_handle_replies(s.server);
    g_assert_cmpint(s.server->stage, ==, SERVER_RUNNING);
    server_end_turn(s.server);
    sim_note_start();
    if (s.last_tokens > 0)
        user_agent_retire_token(&s.server->user_agent,
                                (guint64)g_get_real_time() + TOKENS_AHEAD - 1 - 8 * s.last_tokens);
}

static gboolean
has_work(const Server *server)
{
    GSource *source = server->scheduler;
    struct pollfd fd = {.fd = server->sockets->epoll_fd, .events = POLLIN};
    int timeout_ms;

    return source->source_funcs->prepare(source, &timeout_ms) || poll(&fd, 1, 0) > 0;
}

static gboolean
has_socket_event(guint client)
{
    return sim_has_packet(client, DIRECTION_TO_SERVICE) ||
           sim_has_ended(client, DIRECTION_TO_SERVICE);
}

/* What is there stays there. */
static gboolean
can_serve(Step *step)
{
    step->reads = 0;
    for (guint i = 0; i < SIM_CLIENTS; i++)
        if (!has_socket_event(i))
            step->reads |= OBJECT_TO_SERVICE(i);
    return has_work(s.server);
}

static gboolean
can_serve_second_first(Step *step)
{
    return can_serve(step) && has_socket_event(0) && has_socket_event(1);
}

static gboolean
can_take_call(Step *step)
{
    const guint client = GPOINTER_TO_UINT(step->data);

    step->reads = OBJECT_BUS(client);
    return sim_has_call(client);
}

static gboolean
can_find_end(Step *step)
{
    step->reads = OBJECT_BUS(0);
    return s.is_gone[0] && !s.is_gone_known[0] && !sim_has_call(0);
}

static gboolean
can_find_no_files(Step *step)
{
    step->reads = OBJECT_DISK;
    return s.is_removed;
}

static void
take_call(guint client)
{
    const BusCallKind kind = sim_take_call(client);
    sd_bus_message *message = service_bus_new_call(client, kind);

    step_note((guint64)kind);
    intake_on_message(message, s.server, NULL);
    sd_bus_message_unref(message);
    service_bus_handle_replies(s.server);
    if (kind == BUS_CALL_QUERY && s.server->user_agent.cells.length > 0)
        steps_fail("client %u looks at a lock with a cell", client);
}

static void
serve_sockets(guint first)
{
    GSource *source = s.server->scheduler;

    s.first = first;
    source->source_funcs->dispatch(source, NULL, NULL);
}

/* As server_run(). */
static void
run_service(gpointer data)
{
    if (s.server == NULL) {
        step_before(OBJECTS_MEMORY | OBJECT_BUS(0) | OBJECT_BUS(1), OBJECTS_MEMORY, "starts");
        start();
    }
    for (;;) {
        const Step alternatives[] = {
            {.name = "serves the sockets", .prepare = can_serve},
            {.name = "serves the sockets, B first", .prepare = can_serve_second_first},
            {.name = "takes a call of A", .prepare = can_take_call, .data = GUINT_TO_POINTER(0)},
            {.name = "takes a call of B", .prepare = can_take_call, .data = GUINT_TO_POINTER(1)},
            {.name = "finds that A has ended", .prepare = can_find_end},
            {.name = "finds no files", .prepare = can_find_no_files},
        };
        const guint chosen = step_choose(alternatives, G_N_ELEMENTS(alternatives));

        if (chosen < 2) {
            serve_sockets(chosen);
        } else if (chosen < 4) {
            take_call(chosen - 2);
        } else if (chosen == 4) {
            s.is_gone_known[0] = TRUE;
            scheduler_on_disconnected(s.server, ":1.A");
        } else {
            service_bus_notice_removal();
            s.is_removed = FALSE;
        }
        server_end_turn(s.server);
    }
}

guint
service_sim_get_first(void)
{
    return s.first;
}

static gboolean
may_be_killed(Step *step)
{
    step->reads = OBJECTS_OF_SERVICE | OBJECT_DISK;
    return s.n_kills > 0 && !s.is_removed;
}

/* Of an instance that is not freed, in the main context of this process. */
static void
remove_sources(void)
{
    service_sim_forget_sockets();
    if (s.server == NULL)
        return;
    g_source_destroy(s.server->scheduler);
    g_source_remove(s.server->sockets->read_id);
    s.server = NULL;
}

static gboolean
kill_service(gpointer data)
{
    s.n_kills--;
    remove_sources();
    reference_kill();
    sim_lose_service();
    return TRUE;
}

gboolean
service_bus_has_client(guint client)
{
    s.is_gone_known[client] = s.is_gone[client];
    return !s.is_gone[client];
}

void
service_sim_leave_bus(guint client)
{
    s.is_gone[client] = TRUE;
}

void
service_sim_settle(void)
{
    for (;;) {
        if (sim_has_call(0))
            take_call(0);
        else if (sim_has_call(1))
            take_call(1);
        else if (has_work(s.server))
            serve_sockets(0);
        else
            return;
        server_end_turn(s.server);
    }
}

void
service_sim_begin(const char *directory, guint last_tokens)
{
    memset(&s, 0, sizeof s);
    s.directory = directory;
    s.last_tokens = last_tokens;
    start();
}

void
service_sim_run(guint n_kills)
{
    const Step killed = {
        .writes = OBJECTS_OF_SERVICE, .name = "is killed", .prepare = may_be_killed};
    Actor *actor = actor_new('S', run_service, NULL);

    s.n_kills = n_kills;
    if (n_kills > 0)
        actor_set_end(actor, &killed, kill_service);
}

void
service_sim_end(void)
{
    remove_sources();
}

void
service_sim_lose_directory(void)
{
    s.is_removed = TRUE;
    s.disk = 0;
}

guint64
service_sim_describe(void)
{
    guint64 hash = steps_mix(s.n_kills * 2 + (guint64)s.is_removed, s.disk);

    for (guint i = 0; i < SIM_CLIENTS; i++)
        hash = steps_mix(hash, (guint64)s.is_gone[i] * 2 + (guint64)s.is_gone_known[i]);
    return hash;
}
