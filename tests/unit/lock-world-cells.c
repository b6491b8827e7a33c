/* SPDX-FileCopyrightText: 2026 The WebLocks for D-Bus authors
 * SPDX-License-Identifier: LGPL-2.1-or-later */

/* What clients do by cells, of which the core has to notice nothing until it closes them. In the
 * model, leaving a lock is a release and entering it a request, both at that moment. */

#include "service/core/lock-manager.h"
#include "service/core/lock-queue.h"
#include "service/core/principal.h"
#include "tests/unit/lock-world-private.h"

static WorldCell *
find_parked(World *world, const LockRequest *request)
{
    for (guint slot = 0; slot < N_AGENTS; slot++)
        for (guint i = 0; i < N_CELLS; i++)
            if (world->cells[slot][i].parked == request)
                return &world->cells[slot][i];
    return NULL;
}

gboolean
lock_world_is_parked(const World *world, const LockRequest *request)
{
    return find_parked((World *)world, request) != NULL;
}

/* Exclusion, fairness and tokens must be as if it had asked the service. */
static void
enter(World *world, WorldCell *cell, LockRequest *request)
{
    const PrincipalIdentity *identity = &request->agent->principal->identity;
    guint64 *last = &world->last_token[lock_world_find_principal(identity)][0];
    guint64 before = cell->memory.word >> 2, token = 0;

    if (!lock_cell_enter(&cell->memory, request->key, &token)) {
        lock_world_check(world, before == cell->cell.last_token, "entered");
        return;
    }
    lock_world_check(world, token > before && token <= cell->cell.last_token, "entered tokens");
    *last = MAX(*last, token);
    lock_world_check(world, lock_model_enter(&world->model, &cell->left), "entered locks");
    cell->parked = NULL;
    cell->entered = request;
}

static void
leave(World *world, WorldCell *cell, LockRequest *request)
{
    guint agent = GPOINTER_TO_UINT(request->agent->server_data);

    lock_world_check(world, lock_cell_leave(&cell->memory, cell->memory.word >> 2), "left");
    cell->left = lock_model_leave(&world->model, agent, request->id);
    cell->parked = request;
    cell->entered = NULL;
}

/* A closed cell, or one that is not open yet, lets nobody in. */
static void
try_closed(const World *world, WorldCell *cell)
{
    guint64 token;

    lock_world_check(world,
                     !lock_cell_enter(&cell->memory, cell->memory.key, &token) &&
                         !lock_cell_leave(&cell->memory, cell->memory.word >> 2),
                     "closed cells");
}

static void
look(World *world, guint slot, const LockOperation *operation)
{
    if (operation->number < 86)
        cells_close_of(world->agents[slot]);
    else if (operation->number < 171)
        cells_close_seen_by(world->agents[slot]->principal);
    else
        cells_close_all(world->core);
}

/* The observer finds what the model has. */
static void
check_seen(const World *world, guint slot, const LockOperation *operation)
{
    for (const GList *link = world->core->cells.head; link != NULL; link = link->next) {
        const LockRequest *request = ((const Cell *)link->data)->request;

        if (operation->number < 86)
            lock_world_check(world, request->agent != world->agents[slot], "cells of an agent");
        else
            lock_world_check(world,
                             operation->number < 171 &&
                                 !principal_may_observe(world->agents[slot]->principal,
                                                        request->queue->manager->principal),
                             "cells that are seen");
    }
}

/* Mostly one that is used. */
static WorldCell *
pick_cell(World *world, const LockOperation *operation)
{
    const guint n_cells = N_AGENTS * N_CELLS;
    WorldCell *cells = &world->cells[0][0];
    guint first = operation->place % n_cells;

    for (guint i = 0; i < n_cells && operation->other >= 16; i++)
        if (cells[(first + i) % n_cells].cell.request != NULL)
            return &cells[(first + i) % n_cells];
    return &cells[first];
}

void
lock_world_do_cell(World *world, guint slot, const LockOperation *operation)
{
    WorldCell *cell = pick_cell(world, operation);
    LockRequest *request = cell->cell.request;
    const gboolean is_look = operation->flags < 48;

    lock_world_describe(world, "agent %u, cell %td: %s", world->model_agent[slot],
                        cell - &world->cells[0][0],
                        is_look                ? "look"
                        : request == NULL      ? "closed"
                        : !cell->cell.is_open  ? "not open yet"
                        : cell->parked != NULL ? "enter"
                                               : "leave");
    if (is_look) {
        look(world, slot, operation);
        check_seen(world, slot, operation);
    } else if (request == NULL || !cell->cell.is_open) {
        try_closed(world, cell);
    } else if (cell->parked != NULL) {
        enter(world, cell, request);
    } else {
        leave(world, cell, request);
    }
    lock_world_check_effects(world, ORDER_EXACT);
}

gboolean
lock_world_restore_cell(World *world, const LockRequest *request, LockRequest *stored)
{
    WorldCell *parked = find_parked(world, request);
    const Cell *cell = lock_request_get_cell(request);
    LockCellClosed closed;

    *stored = *request;
    if (cell == NULL || !cell->is_open)
        return TRUE;
    lock_cell_close(cell->memory, &closed);
    cell_apply(&closed, cell->last_token, world->core->now_us, stored);
    lock_world_check(world, closed.is_held == (parked == NULL), "cells at a restart");
    return closed.is_held;
}
