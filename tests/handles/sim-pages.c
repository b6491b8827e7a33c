/* SPDX-FileCopyrightText: 2026 The WebLocks for D-Bus authors
 * SPDX-License-Identifier: LGPL-2.1-or-later */

/* The memory of the cells: sim.h. */

#include <sys/mman.h>

#include "tests/handles/reference.h"
#include "tests/handles/sim.h"
#include "tests/handles/steps.h"

#define PAGES_MAX 16

/* A page of cells, in the order of the pages of a client. */
typedef struct {
    guint client, number;
    const LockCell *service_memory; /* NULL: the service does not have it any more */
    const LockCell *memory;         /* of this test */
    gboolean is_on_disk;
} Page;

static Page pages[PAGES_MAX];
static guint n_pages;

/* Returns the objects of the field at `address`, or 0. */
static guint32
get_objects(const volatile void *address)
{
    const guint offset = (guint)((guintptr)address % LOCK_CELL_PAGE_SIZE);
    const guint field = offset % sizeof(LockCell) / sizeof(guint64);
    const void *page = (const char *)address - offset;

    if (offset / sizeof(LockCell) != SIM_CELL)
        return 0;
    if (step_get_actor() != 'S')
        return OBJECT_MEMORY(sim_get_client(), field);
    for (guint i = 0; i < n_pages; i++)
        if (pages[i].service_memory == page)
            return OBJECT_MEMORY(pages[i].client, field);
    /* A page that the service has found when it started. */
    return OBJECT_MEMORY(0, field) | OBJECT_MEMORY(1, field);
}

void
cell_step(const volatile void *address, gboolean writes)
{
    static const char *const texts[][2] = {
        {"reads word", "writes word"},
        {"reads key", "writes key"},
        {"reads last", "writes last"},
        {"reads since", "writes since"},
        {"reads since_token", "writes since_token"},
        {"reads agent", "writes agent"},
        {"reads request", "writes request"},
    };
    const guint field = (guint)((guintptr)address % sizeof(LockCell) / sizeof(guint64));
    const guint32 objects = step_get_actor() != 0 ? get_objects(address) : 0;

    if (objects != 0)
        step_before(writes ? 0 : objects, writes ? objects : 0, texts[field][writes]);
}

guint64
cell_note(guint64 value)
{
    step_note(value);
    return value;
}

void
cell_exchanged(const guint64 *word, guint64 value)
{
    const LockCell *cell = (const LockCell *)word;

    if (step_get_actor() != 0)
        reference_exchange(sim_get_client(), cell->key, value >> 2, (value & LOCK_CELL_HELD) != 0);
}

void
sim_add_page(guint client, const LockCell *service_memory, int fd)
{
    Page *page = &pages[n_pages];

    g_assert(n_pages < PAGES_MAX);
    *page = (Page){.client = client, .service_memory = service_memory, .is_on_disk = TRUE};
    for (guint i = 0; i < n_pages; i++)
        page->number += pages[i].client == client ? 1 : 0;
    page->memory = mmap(NULL, LOCK_CELL_PAGE_SIZE, PROT_READ, MAP_SHARED, fd, 0);
    g_assert(page->memory != MAP_FAILED);
    n_pages++;
}

void
sim_end_page(const LockCell *service_memory)
{
    for (guint i = 0; i < n_pages; i++)
        if (service_memory == NULL || pages[i].service_memory == service_memory)
            pages[i].service_memory = NULL;
}

gboolean
sim_has_ended_pages(void)
{
    for (guint i = 0; i < n_pages; i++)
        if (pages[i].is_on_disk && pages[i].service_memory == NULL)
            return TRUE;
    return FALSE;
}

void
sim_remove_pages(gboolean is_all)
{
    for (guint i = 0; i < n_pages; i++)
        if (is_all || pages[i].service_memory == NULL) {
            pages[i].is_on_disk = FALSE;
            pages[i].service_memory = NULL;
        }
}

guint
sim_count_pages(guint client)
{
    guint n = 0;

    for (guint i = 0; i < n_pages; i++)
        n += pages[i].client == client ? 1 : 0;
    return n;
}

/* Whether the client, or a service that starts, may look at the page. */
static gboolean
is_in_use(const Page *page)
{
    return page->is_on_disk || page->number + 2 >= sim_count_pages(page->client);
}

guint64
sim_describe_pages(void)
{
    guint64 hash = 0;

    for (guint i = 0; i < n_pages; i++) {
        const Page *page = &pages[i];

        /* In whichever order they were made. */
        if (is_in_use(page))
            hash += steps_mix_bytes(
                steps_mix(page->client * 16 + page->number, (guint64)page->is_on_disk),
                &page->memory[SIM_CELL], sizeof(LockCell));
    }
    return hash;
}

void
sim_forget_pages(void)
{
    while (n_pages > 0)
        munmap((gpointer)pages[--n_pages].memory, LOCK_CELL_PAGE_SIZE);
}
