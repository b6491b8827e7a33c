/* SPDX-FileCopyrightText: 2026 The WebLocks for D-Bus authors
 * SPDX-License-Identifier: LGPL-2.1-or-later */

#include "lock-cell.h"

#include <time.h>

G_STATIC_ASSERT(sizeof(LockCell) == LOCK_CELL_PAGE_SIZE / LOCK_CELLS_PER_PAGE);
G_STATIC_ASSERT(__atomic_always_lock_free(sizeof(guint64), 0));

#define TOKEN_SHIFT 2

static guint64
make_word(guint64 token, guint64 flags)
{
    return token << TOKEN_SHIFT | flags;
}

/* ---- the service's */

void
lock_cell_open(LockCell *cell, guint64 key, guint64 first, guint64 last)
{
    __atomic_store_n(&cell->key, key, __ATOMIC_RELAXED);
    __atomic_store_n(&cell->last, last, __ATOMIC_RELAXED);
    __atomic_store_n(&cell->since_token, 0, __ATOMIC_RELAXED);
    /* Whoever reads this word finds the fields above. */
    __atomic_store_n(&cell->word, make_word(first, LOCK_CELL_HELD | LOCK_CELL_OPEN),
                     __ATOMIC_RELEASE);
}

void
lock_cell_identify(LockCell *cell, guint64 agent, guint64 request)
{
    /* Neither before the word. An agent has a page of its own, and an id is never used again. */
    __atomic_store_n(&cell->agent, agent, __ATOMIC_RELEASE);
    __atomic_store_n(&cell->request, request, __ATOMIC_RELEASE);
}

void
lock_cell_close(LockCell *cell, LockCellClosed *out_closed)
{
    /* Acquire: who gets the lock next finds what was written before it was left. */
    const guint64 word =
        __atomic_fetch_and(&cell->word, ~(guint64)LOCK_CELL_OPEN, __ATOMIC_ACQ_REL);

    out_closed->is_held = (word & LOCK_CELL_HELD) != 0;
    out_closed->token = word >> TOKEN_SHIFT;
    out_closed->since_us = 0;
    /* A client that was interrupted between entering and storing the time has an older token there.
     */
    if (__atomic_load_n(&cell->since_token, __ATOMIC_ACQUIRE) == out_closed->token)
        out_closed->since_us = (gint64)__atomic_load_n(&cell->since, __ATOMIC_RELAXED);
}

/* ---- the client's */

gboolean
lock_cell_is_open(const LockCell *cell)
{
    return (__atomic_load_n(&cell->word, __ATOMIC_RELAXED) & LOCK_CELL_OPEN) != 0;
}

gboolean
lock_cell_is_held(const LockCell *cell, guint64 key, guint64 token)
{
    return __atomic_load_n(&cell->word, __ATOMIC_ACQUIRE) ==
               make_word(token, LOCK_CELL_HELD | LOCK_CELL_OPEN) &&
           __atomic_load_n(&cell->key, __ATOMIC_RELAXED) == key;
}

gboolean
lock_cell_enter(LockCell *cell, guint64 key, guint64 *out_token)
{
    guint64 word = __atomic_load_n(&cell->word, __ATOMIC_ACQUIRE);
    guint64 token = word >> TOKEN_SHIFT;
    struct timespec now;

    /* If the service closes the cell and opens it again meanwhile, the word is another one. */
    if (word != make_word(token, LOCK_CELL_OPEN) ||
        __atomic_load_n(&cell->key, __ATOMIC_RELAXED) != key ||
        token >= __atomic_load_n(&cell->last, __ATOMIC_RELAXED))
        return FALSE;
    token++;
    if (!__atomic_compare_exchange_n(&cell->word, &word,
                                     make_word(token, LOCK_CELL_HELD | LOCK_CELL_OPEN), FALSE,
                                     __ATOMIC_ACQUIRE, __ATOMIC_RELAXED))
        return FALSE;
    clock_gettime(CLOCK_MONOTONIC_COARSE, &now);
    __atomic_store_n(&cell->since,
                     (guint64)now.tv_sec * G_USEC_PER_SEC + (guint64)now.tv_nsec / 1000,
                     __ATOMIC_RELAXED);
    __atomic_store_n(&cell->since_token, token, __ATOMIC_RELEASE);
    *out_token = token;
    return TRUE;
}

gboolean
lock_cell_leave(LockCell *cell, guint64 token)
{
    guint64 word = make_word(token, LOCK_CELL_HELD | LOCK_CELL_OPEN);

    return __atomic_compare_exchange_n(&cell->word, &word, make_word(token, LOCK_CELL_OPEN), FALSE,
                                       __ATOMIC_RELEASE, __ATOMIC_RELAXED);
}
