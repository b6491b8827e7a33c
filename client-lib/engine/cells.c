/* SPDX-FileCopyrightText: 2026 The WebLocks for D-Bus authors
 * SPDX-License-Identifier: LGPL-2.1-or-later */

#include "client-lib/engine/cells.h"

#include <errno.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "client-lib/engine/process.h"

struct Cells {
    gatomicrefcount n_refs;
    int n_forks;        /* process_n_forks at creation */
    LockCell *page;     /* NULL: no number has been taken, and no page has come */
    gboolean is_shared; /* the page is that of the service, not one of zeros */
    guint64 numbers;    /* a bit for each that is taken, and for 0 */
    guint64 requested;  /* a bit for each that a request has */
};

Cells *
cells_new(void)
{
    Cells *self = g_new0(Cells, 1);

    g_atomic_ref_count_init(&self->n_refs);
    self->n_forks = process_n_forks;
    self->numbers = 1;
    return self;
}

Cells *
cells_ref(Cells *self)
{
    g_atomic_ref_count_inc(&self->n_refs);
    return self;
}

void
cells_unref(Cells *self)
{
    if (!g_atomic_ref_count_dec(&self->n_refs))
        return;
    /* In the child of a fork() other memory may be there. */
    if (self->page != NULL && self->n_forks == process_n_forks)
        munmap(self->page, LOCK_CELL_PAGE_SIZE);
    g_free(self);
}

/* A page that is too short would end the process when it is used. */
static gboolean
is_page(int fd)
{
    struct stat now;

    return fstat(fd, &now) == 0 && S_ISREG(now.st_mode) && now.st_size >= LOCK_CELL_PAGE_SIZE;
}

/* Maps the page of `fd`, or zeros, in place of the page before. No fork() can happen between the
 * two calls. */
static gboolean
map(Cells *self, int fd)
{
    const int flags =
        (fd >= 0 ? MAP_SHARED : MAP_PRIVATE | MAP_ANONYMOUS) | (self->page != NULL ? MAP_FIXED : 0);
    void *page;
    gboolean is_mapped;

    process_lock(PROCESS_MUTEX_FDS);
    page = mmap(self->page, LOCK_CELL_PAGE_SIZE, PROT_READ | PROT_WRITE, flags, fd, 0);
    is_mapped = page != MAP_FAILED;
    if (is_mapped && madvise(page, LOCK_CELL_PAGE_SIZE, MADV_DONTFORK) != 0)
        g_error("could not exclude the page of locks from a fork: %s", g_strerror(errno));
    process_unlock(PROCESS_MUTEX_FDS);
    if (is_mapped)
        self->page = page;
    return is_mapped;
}

static void
map_zeros(Cells *self)
{
    if (!map(self, -1))
        g_error("could not map a page: %s", g_strerror(errno));
}

void
cells_map(Cells *self, int fd)
{
    const gboolean was_shared = self->is_shared;

    self->is_shared = fd >= 0 && is_page(fd) && map(self, fd);
    if (was_shared && !self->is_shared)
        map_zeros(self);
    if (fd >= 0)
        close(fd);
}

gboolean
cells_are_shared(const Cells *self)
{
    return self->is_shared;
}

guint
cells_take_number(Cells *self)
{
    const guint64 free_numbers = ~self->numbers;
    guint number;

    if (free_numbers == 0)
        return 0;
    if (self->page == NULL)
        map_zeros(self);
    number = (guint)__builtin_ctzll(free_numbers);
    self->numbers |= G_GUINT64_CONSTANT(1) << number;
    return number;
}

void
cells_return_number(Cells *self, guint number)
{
    if (number > 0)
        self->numbers &= ~(G_GUINT64_CONSTANT(1) << number);
}

gboolean
cells_begin_request(Cells *self, guint number)
{
    const guint64 bit = G_GUINT64_CONSTANT(1) << number;
    const gboolean is_first = (self->requested & bit) == 0;

    self->requested |= bit;
    return is_first;
}

void
cells_end_request(Cells *self, guint number)
{
    self->requested &= ~(G_GUINT64_CONSTANT(1) << number);
}

LockCell *
cells_get(Cells *self, guint number)
{
    g_assert(number > 0 && number < LOCK_CELLS_PER_PAGE && self->page != NULL);
    return &self->page[number];
}
