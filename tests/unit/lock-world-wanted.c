/* SPDX-FileCopyrightText: 2026 The WebLocks for D-Bus authors
 * SPDX-License-Identifier: LGPL-2.1-or-later */

/* Notifies holders of locks that are wanted as the server does, in part or all of them; and then
 * compares what they have been notified of with the model. */

#include "service/core/lock-queue.h"
#include "service/core/wanted.h"
#include "tests/unit/lock-world-private.h"

static gint64
make_key(guint agent, guint64 id)
{
    return ((gint64)agent << 32) | (gint64)id;
}

/* Every notification is news. */
static void
notify(World *world, Agent *agent, guint max)
{
    const LockRequest *request;

    for (guint n = 0; n < max && (request = wanted_take(agent)) != NULL; n++) {
        gint64 key = make_key(GPOINTER_TO_UINT(agent->server_data), request->id);

        lock_world_check(world, request->state == LOCK_REQUEST_HELD, "notified holders");
        lock_world_check(world,
                         request->is_told_wanted
                             ? g_hash_table_add(world->wanted, g_memdup2(&key, sizeof key))
                             : g_hash_table_remove(world->wanted, &key),
                         "notifications");
    }
}

static void
check_all(World *world)
{
    for (guint i = 0; i < world->model.held->len; i++) {
        const ModelRequest *request = &g_array_index(world->model.held, ModelRequest, i);
        gint64 key = make_key(request->agent, request->id);

        lock_world_check(world,
                         g_hash_table_contains(world->wanted, &key) ==
                             lock_model_is_wanted(&world->model, request),
                         "wanted locks");
    }
}

void
lock_world_notify_holders(World *world, guint n_visits, gboolean is_all)
{
    Agent *agent;

    while ((is_all || n_visits-- > 0) && wanted_visit(world->core, &agent))
        if (agent != NULL)
            notify(world, agent, is_all ? G_MAXUINT : n_visits % 2);
    if (!is_all)
        return;
    for (guint slot = 0; slot < N_AGENTS; slot++)
        if (world->agents[slot] != NULL)
            notify(world, world->agents[slot], G_MAXUINT);
    lock_world_check(world, world->core->wanted.length == 0, "queues that have changed");
    check_all(world);
}
