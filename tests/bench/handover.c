/* SPDX-FileCopyrightText: 2026 The WebLocks for D-Bus authors
 * SPDX-License-Identifier: LGPL-2.1-or-later */

#include "handover.h"

#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#define WARM_UP   20
#define SETTLE_US 100

typedef struct {
    guint64 released_at;
    guint turn;
} Shared;

typedef struct {
    const Handover *handover;
    gpointer player;
    Shared *shared;
    BenchSamples *samples;
    int fd; /* to the other process */
    gboolean first;
} Side;

static void
release_lock(Side *side)
{
    if (side->handover->settle != NULL)
        side->handover->settle(side->player);
    bench_notify(side->fd);
    bench_wait_notified(side->fd); /* the other process is queued */
    bench_pause(SETTLE_US);
    side->shared->released_at = bench_now();
    side->handover->release(side->player);
}

static void
take_over(Side *side)
{
    guint64 now;

    bench_wait_notified(side->fd); /* the other process has the lock */
    side->handover->queue(side->player);
    bench_notify(side->fd);
    side->handover->acquire(side->player);
    now = bench_now();
    if (side->shared->turn++ >= WARM_UP)
        bench_samples_add(side->samples, side->shared->released_at, now);
}

static void
play(Side *side, guint count)
{
    for (guint i = 0; i < WARM_UP + count; i++) {
        if ((i % 2 == 0) == side->first)
            release_lock(side);
        else
            take_over(side);
    }
}

void
handover_run(const Handover *handover, const char *address, guint count)
{
    Side side = {.handover = handover, .samples = bench_samples_new_shared(count)};
    int pair[2];
    pid_t child;

    side.shared =
        mmap(NULL, sizeof(Shared), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    bench_check_errno(side.shared != MAP_FAILED, "shared memory");
    bench_make_pair(pair);
    child = bench_fork();
    side.first = child != 0;
    side.fd = pair[side.first ? 0 : 1];
    close(pair[side.first ? 1 : 0]);
    /* The first process has the lock before the second is queued. */
    if (!side.first)
        bench_wait_notified(side.fd);
    side.player = handover->begin(address, side.first);
    if (side.first)
        bench_notify(side.fd);
    play(&side, count);
    if (child == 0)
        _exit(EXIT_SUCCESS);
    bench_join(child);
    bench_samples_print(side.samples, "");
}
