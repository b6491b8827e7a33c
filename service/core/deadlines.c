/* SPDX-FileCopyrightText: 2026 The WebLocks for D-Bus authors
 * SPDX-License-Identifier: LGPL-2.1-or-later */

#include "deadlines.h"

#include "lock-request.h"

#define DIGIT_BITS 6

static guint
get_digit(gint64 time_ms, guint level)
{
    return (guint)((guint64)time_ms >> (level * DIGIT_BITS)) % DEADLINES_SLOTS;
}

/* Returns the level of a deadline later than `now_ms`: the index of its highest differing digit. */
static guint
get_level(const Deadlines *deadlines, gint64 deadline_ms)
{
    guint64 difference = (guint64)deadline_ms ^ (guint64)deadlines->now_ms;

    g_assert(deadline_ms > deadlines->now_ms);
    return (63u - (guint)__builtin_clzll(difference)) / DIGIT_BITS;
}

static void
put(Deadlines *deadlines, LockRequest *request)
{
    guint level = get_level(deadlines, request->deadline_ms);
    guint slot = get_digit(request->deadline_ms, level);

    g_queue_push_tail_link(&deadlines->slots[level][slot], &request->in_deadlines);
    deadlines->occupied[level] |= G_GUINT64_CONSTANT(1) << slot;
}

void
deadlines_init(Deadlines *deadlines)
{
    memset(deadlines, 0, sizeof *deadlines);
}

void
deadlines_add(Deadlines *deadlines, LockRequest *request, gint64 deadline_ms)
{
    g_assert(request->deadline_ms == 0);
    request->deadline_ms = deadline_ms;
    put(deadlines, request);
}

void
deadlines_remove(Deadlines *deadlines, LockRequest *request)
{
    guint level, slot;

    if (request->deadline_ms == 0)
        return;

    /* The clock has not reached the beginning of its slot, or the request would have been moved to
     * a lower level. So the position computed from the digits is the current one. */
    level = get_level(deadlines, request->deadline_ms);
    slot = get_digit(request->deadline_ms, level);
    g_queue_unlink(&deadlines->slots[level][slot], &request->in_deadlines);
    if (deadlines->slots[level][slot].length == 0)
        deadlines->occupied[level] &= ~(G_GUINT64_CONSTANT(1) << slot);
    request->deadline_ms = 0;
}

/* Returns the beginning of the first occupied slot, or -1 if all are empty. */
static gint64
find_first(const Deadlines *deadlines, guint *out_level, guint *out_slot)
{
    for (guint level = 0; level < DEADLINES_LEVELS; level++) {
        guint slot;
        guint64 begin;

        if (deadlines->occupied[level] == 0)
            continue;

        /* A deadline that shares more leading digits with `now_ms` is earlier, so the lowest
         * occupied level has the first one. In it, all occupied slots are after that of
         * `now_ms`. */
        slot = (guint)__builtin_ctzll(deadlines->occupied[level]);
        begin = (guint64)deadlines->now_ms >> (level * DIGIT_BITS);
        begin = (begin - begin % DEADLINES_SLOTS + slot) << (level * DIGIT_BITS);
        *out_level = level;
        *out_slot = slot;
        return (gint64)begin;
    }
    return -1;
}

gint64
deadlines_get_next_ms(const Deadlines *deadlines)
{
    guint level, slot;

    return find_first(deadlines, &level, &slot);
}

void
deadlines_take_due(Deadlines *deadlines, gint64 now_ms, GPtrArray *due)
{
    guint level, slot;
    gint64 begin;

    while ((begin = find_first(deadlines, &level, &slot)) != -1 && begin <= now_ms) {
        GQueue *queue = &deadlines->slots[level][slot];
        GList *link;

        deadlines->now_ms = begin;
        deadlines->occupied[level] &= ~(G_GUINT64_CONSTANT(1) << slot);
        while ((link = g_queue_pop_head_link(queue)) != NULL) {
            LockRequest *request = link->data;

            if (request->deadline_ms > begin) {
                put(deadlines, request);
            } else {
                request->deadline_ms = 0;
                g_ptr_array_add(due, request);
            }
        }
    }
    deadlines->now_ms = MAX(deadlines->now_ms, now_ms);
}
