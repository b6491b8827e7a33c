/* SPDX-FileCopyrightText: 2026 The WebLocks for D-Bus authors
 * SPDX-License-Identifier: LGPL-2.1-or-later */

/* Looks through the whole tree (buckets, their users, their names, the names' claims) or some
 * names, and deletes claims. Several requests run at the same time, but no more than REQUESTS_MAX,
 * since all operations that are started meanwhile are carried out after them: a renewal of the
 * lease waits for so many at most. Nodes that disappear are skipped. */

#include "engine-private.h"

#define REQUESTS_MAX 64

/* The nodes below which a request looks; a claim is deleted. */
typedef enum { LEVEL_ROOT, LEVEL_BUCKET, LEVEL_USER, LEVEL_NAME, LEVEL_CLAIM } Level;

typedef struct {
    Engine *engine;
    EngineFilter filter;
    EngineCallback callback;
    gpointer data;
    GQueue waiting; /* of Request, owned: not sent yet */
    guint n_sent;   /* requests that have not been answered */
    EngineAnswer answer;
} Sweep;

typedef struct {
    Sweep *sweep;
    Level level;
    char *path;
} Request;

/* The request is sent when it is its turn. Takes `path`. */
static void
add_request(Sweep *sweep, Level level, char *path)
{
    const Request request = {sweep, level, path};

    g_queue_push_tail(&sweep->waiting, g_memdup2(&request, sizeof request));
}

static void
request_free(gpointer data)
{
    Request *request = data;

    g_free(request->path);
    g_free(request);
}

static void on_answer(const EngineAnswer *answer, gpointer data);

static void
send_requests(Sweep *sweep)
{
    while (sweep->n_sent < REQUESTS_MAX && sweep->waiting.length > 0) {
        Request *request = g_queue_pop_head(&sweep->waiting);

        sweep->n_sent++;
        if (request->level == LEVEL_CLAIM)
            engine_request_delete(sweep->engine, request->path, on_answer, request);
        else
            engine_list(sweep->engine, request->path, FALSE, on_answer, request);
    }
}

static void
take_children(const Request *request, const char *const *nodes)
{
    Sweep *sweep = request->sweep;

    for (; *nodes != NULL; nodes++)
        if (request->level != LEVEL_NAME || sweep->filter(request->path, *nodes, sweep->data))
            add_request(sweep, request->level + 1, g_strconcat(request->path, "/", *nodes, NULL));
}

/* After an error no more requests are sent. */
static void
on_answer(const EngineAnswer *answer, gpointer data)
{
    Request *request = data;
    Sweep *sweep = request->sweep;

    if (sweep->answer.sent_us == 0)
        sweep->answer.sent_us = answer->sent_us;
    if (answer->result != ENGINE_OK && answer->result != ENGINE_NO_NODE)
        sweep->answer.result = answer->result;
    if (sweep->answer.result != ENGINE_OK)
        g_queue_clear_full(&sweep->waiting, request_free);
    else if (answer->result == ENGINE_OK && request->level != LEVEL_CLAIM)
        take_children(request, answer->children);
    request_free(request);
    sweep->n_sent--;
    send_requests(sweep);
    if (sweep->n_sent > 0)
        return;
    sweep->callback(&sweep->answer, sweep->data);
    g_free(sweep);
}

void
engine_sweep(
    Engine *self, char **name_paths, EngineFilter filter, EngineCallback callback, gpointer data)
{
    Sweep *sweep = g_new0(Sweep, 1);

    g_assert(name_paths == NULL || *name_paths != NULL);
    sweep->engine = self;
    sweep->filter = filter;
    sweep->callback = callback;
    sweep->data = data;
    if (name_paths == NULL)
        add_request(sweep, LEVEL_ROOT, g_strconcat(self->root, "/buckets", NULL));
    for (; name_paths != NULL && *name_paths != NULL; name_paths++)
        add_request(sweep, LEVEL_NAME, g_strdup(*name_paths));
    send_requests(sweep);
}
