/* SPDX-FileCopyrightText: 2026 The WebLocks for D-Bus authors
 * SPDX-License-Identifier: LGPL-2.1-or-later */

/* A state file, as service/state reads it.
 *
 * An input's first byte selects the format, see `Manner`. Records alone are put into a file with
 * one frame: so the digests don't prevent them from being read and restored. Operations are then
 * made on the restored state, and at the end nothing may be left. */

#include <stdint.h>
#include <string.h>

#include "service/core/lock-manager.h"
#include "service/core/lock-queue.h"
#include "service/core/user-agent.h"
#include "service/state/log.h"
#include "service/state/restore.h"
#include "tests/fuzz/fuzz.h"

typedef enum {
    IS_RAW = 1 << 0,     /* the bytes are those of the file behind its head */
    IS_LATE = 1 << 1,    /* all deadlines have passed */
    ENDS_FIRST = 1 << 2, /* the first agent has disconnected meanwhile */
    ENDS_LAST = 1 << 3,  /* likewise the last one */
    ASKS = 1 << 4,       /* the first agent requests the others' locks */
    STEALS = 1 << 5,     /* and steals them */
} Manner;

static GByteArray *
make_file(const LogHead *head, const uint8_t *data, size_t size, gboolean is_raw)
{
    g_autoptr(GByteArray) frame = g_byte_array_new();
    GByteArray *file = g_byte_array_new();

    g_byte_array_append(file, (const guint8 *)head, sizeof *head);
    if (is_raw)
        return g_byte_array_append(file, data, (guint)size);
    log_begin_frame(frame);
    g_byte_array_append(frame, data, (guint)(size / 8 * 8));
    log_seal(frame, head->digest, 0);
    g_byte_array_append(file, frame->data, frame->len);
    g_byte_array_set_size(frame, 0);
    log_begin_frame(frame);
    memset(frame->data, 0, frame->len); /* where the next one would begin */
    return g_byte_array_append(file, frame->data, frame->len);
}

/* ---- the restored state */

/* Assertions about any restored agent. */
static void
check_agent(const Agent *agent)
{
    guint64 last_id = 0;

    for (const GList *link = agent->requests.head; link != NULL; link = link->next) {
        const LockRequest *request = link->data;
        const LockQueue *queue = request->queue;

        g_assert(request->id > last_id && request->id <= agent->last_id);
        last_id = request->id;
        g_assert((request->state == LOCK_REQUEST_HELD) == (request->token != 0));
        g_assert(request->token <= queue->manager->last_token);
        g_assert(queue->manager->principal == agent->principal);
        if (request->state == LOCK_REQUEST_HELD && request->mode == LOCK_MODE_EXCLUSIVE)
            g_assert(queue->held.length <= request->slots);
        g_assert(queue->pending.length == 0 || queue->held.length > 0);
    }
}

static void
ask(Agent *agent, const Agent *other, gboolean steals)
{
    const LockOptions options = {.mode = LOCK_MODE_EXCLUSIVE, .steal = steals, .why = ""};
    const LockRequest *wanted = other->requests.head != NULL ? other->requests.head->data : NULL;
    g_autoptr(LockManager) manager = NULL;
    g_autofree char *name = NULL;
    LockRequest *request;

    if (wanted == NULL || agent->terminated)
        return;
    name = g_strdup(wanted->queue->name);
    manager = lock_manager_get(agent->principal, wanted->queue->manager->bucket);
    (void)lock_manager_request(manager, agent, name, &options, &request);
}

static void
live(UserAgent *user_agent, const GPtrArray *agents, unsigned manner)
{
    Agent *first, *last;

    if (agents->len == 0)
        return;
    first = agents->pdata[0];
    last = agents->pdata[agents->len - 1];
    if (manner & IS_LATE)
        user_agent_set_time(user_agent, G_MAXINT64 / 4, 0);
    user_agent_expire(user_agent);
    if (manner & ENDS_FIRST)
        user_agent_terminate(user_agent, first);
    if (last != first && manner & ENDS_LAST)
        user_agent_terminate(user_agent, last);
    user_agent_process_all(user_agent);
    for (guint i = 0; i < agents->len; i++)
        check_agent(agents->pdata[i]);
    for (guint i = 0; i < agents->len && manner & (ASKS | STEALS); i++)
        ask(first, agents->pdata[i], (manner & STEALS) != 0);
    for (guint i = 0; i < agents->len; i++)
        check_agent(agents->pdata[i]);
    (void)user_agent_get_next_deadline_ms(user_agent);
}

static void
end(UserAgent *user_agent, const GPtrArray *agents)
{
    for (guint i = 0; i < agents->len; i++) {
        Agent *agent = agents->pdata[i];

        if (!agent->terminated)
            user_agent_terminate(user_agent, agent);
    }
    effects_clear(&user_agent->effects);
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    const guint8 id[LOG_ID_BYTES] = {0};
    const LogHead head = log_make_head(id, id);
    g_autoptr(GByteArray) file = NULL;
    unsigned manner = size > 0 ? data[0] : 0;
    UserAgent user_agent;
    Restored restored;
    const char *fault;
    gsize n_records;
    Limits limits;

    if (size < 1)
        return 0;
    file = make_file(&head, data + 1, size - 1, (manner & IS_RAW) != 0);
    n_records = file->len;
    fault = log_extract_records(&head, file->data, &n_records);
    g_assert(fault == NULL || n_records == file->len);
    limits_init(&limits);
    user_agent_init(&user_agent, &limits);
    user_agent_set_time(&user_agent, 1000000, 1000000);
    if (restore_all(&restored, &user_agent, NULL, g_memdup2(file->data, MAX(n_records, 1)),
                    fault == NULL ? n_records : 0))
        live(&user_agent, restored.agents, manner);
    end(&user_agent, restored.agents);
    restored_clear(&restored);
    user_agent_fini(&user_agent);
    return 0;
}
