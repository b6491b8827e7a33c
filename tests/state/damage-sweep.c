/* SPDX-FileCopyrightText: 2026 The WebLocks for D-Bus authors
 * SPDX-License-Identifier: LGPL-2.1-or-later */

/* A state file that is damaged in thousands of ways: it is either read unchanged or detected as
 * damaged. It is never read in part, nor as an older state without detection.
 *
 *     damage-sweep [--thorough]
 *
 * In TAP. --thorough flips each bit, truncates at each length and makes three times as many random
 * changes, which takes minutes. WEBLOCKS_TEST_SEED repeats a run. */

#include <fcntl.h>
#include <glib/gstdio.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "tests/state/state-world.h"

#define BUS           0xb5
#define PAGE          4096UL
#define HEAD_BYTES    160UL /* the heads of the file and of the first frame, and the first record */
#define RANDOM_CUTS   300
#define RANDOM_FLIPS  1500
#define RANDOM_SMEARS 500
#define SWAPS_MAX     400

typedef struct {
    char *path; /* of the damaged file */
    char *good; /* the undamaged contents */
    gsize size;
    gsize used;       /* the size without the zeros at the end */
    char *expected;   /* the state in the undamaged contents */
    char *before;     /* the state before the last commit */
    gsize before_end; /* the end of what was used before it */
    GRand *rand;
    guint n_same, n_damaged, n_torn, n_wrong;
    gint64 slowest_us;
    gsize slowest_at;
    guint n_tests;
    gboolean is_thorough;
} Sweep;

/* ---- the contents */

/* Names that contain their owner, so that mixed records are detected. */
static void
fill(World *world, guint n_requests)
{
    for (guint i = 0; i < n_requests; i++) {
        char letter = (char)('A' + i % WORLD_AGENTS);
        g_autofree char *name = g_strdup_printf("lock %u", i / 3);
        g_autofree char *options =
            g_strdup_printf("%s key=%u why=%c%u timeout=%u", i % 4 == 0 ? "shared" : "", i + 1,
                            letter, i, i % 5 == 0 ? 100000 + i : 0);

        world_request(world, letter, name, options);
        if (i % 7 == 0)
            world_commit(world);
    }
    world_commit(world);
}

/* Commits further turns, so that the file has what is over. */
static void
commit_turns(World *world, guint n_turns)
{
    for (guint i = 0; i < n_turns; i++) {
        Agent *agent = world_agent(world, (char)('A' + i % WORLD_AGENTS));
        LockRequest *request = g_queue_peek_tail(&agent->requests);

        world_request(world, (char)('A' + (i + 1) % WORLD_AGENTS), "stirred", "");
        if (request != NULL && request->state == LOCK_REQUEST_HELD)
            world_release(world, (char)('A' + i % WORLD_AGENTS), request->id);
        else if (request != NULL)
            world_abort(world, (char)('A' + i % WORLD_AGENTS), request->id);
        world_commit(world);
    }
}

static gsize
get_used(const Sweep *sweep)
{
    gsize used = sweep->size;

    while (used > 0 && sweep->good[used - 1] == 0)
        used--;
    return used;
}

static void
set_up(Sweep *sweep, const char *directory, guint n_requests, guint n_turns)
{
    World world;

    world_open(&world, directory, BUS);
    fill(&world, n_requests);
    commit_turns(&world, n_turns);
    sweep->before = world_describe(&world);
    sweep->path = world_path(directory, BUS, "state");
    g_assert_true(g_file_get_contents(sweep->path, &sweep->good, &sweep->size, NULL));
    sweep->before_end = get_used(sweep);
    g_free(sweep->good);
    world_request(&world, 'A', "the last", "why=change");
    world_commit(&world);
    sweep->expected = world_describe(&world);
    g_assert_true(g_file_get_contents(sweep->path, &sweep->good, &sweep->size, NULL));
    world_close(&world);
    sweep->used = (get_used(sweep) + PAGE - 1) / PAGE * PAGE;
    printf("# %u requests, %zu pages of %zu\n", n_requests, sweep->used / PAGE, sweep->size / PAGE);
}

static void
tear_down(Sweep *sweep)
{
    g_free(sweep->path);
    g_free(sweep->good);
    g_free(sweep->expected);
    g_free(sweep->before);
}

static void
write_file(const Sweep *sweep, const char *bytes, gsize size)
{
    /* In place, since a new file would be slower. */
    int fd = open(sweep->path, O_WRONLY | O_CREAT | O_TRUNC, 0600);

    g_assert_cmpint(fd, >=, 0);
    g_assert_cmpint(write(fd, bytes, size), ==, (gssize)size);
    close(fd);
}

static const char *
describe_wrong(const Sweep *sweep, const char *text)
{
    if (g_str_equal(text, sweep->before))
        return "read as it was before the last commit";
    return strstr(text, "the last") != NULL ? "read as something else" : "read as it was once";
}

/* Whether it is what a kill within the last commit leaves: its beginning, and then zeros. */
static gboolean
is_torn(const Sweep *sweep, const char *bytes, gsize size)
{
    gsize used = size;

    while (used > 0 && bytes[used - 1] == 0)
        used--;
    return size == sweep->size && used >= sweep->before_end &&
           memcmp(bytes, sweep->good, used) == 0;
}

static void
check(Sweep *sweep, const char *bytes, gsize size, const char *what, gsize where)
{
    gint64 begun_us = g_get_monotonic_time();
    g_autofree char *text = NULL;

    write_file(sweep, bytes, size);
    text = world_describe_file(sweep->path);
    if (g_get_monotonic_time() - begun_us > sweep->slowest_us) {
        sweep->slowest_us = g_get_monotonic_time() - begun_us;
        sweep->slowest_at = where;
    }
    if (g_str_equal(text, sweep->expected)) {
        sweep->n_same++;
    } else if (g_str_equal(text, "damaged")) {
        sweep->n_damaged++;
    } else if (g_str_equal(text, sweep->before) && is_torn(sweep, bytes, size)) {
        sweep->n_torn++;
    } else {
        sweep->n_wrong++;
        if (sweep->n_wrong <= 5)
            printf("# %s at %zu: %s\n", what, where, describe_wrong(sweep, text));
    }
}

/* Checks the damaged part of the copy, and restores it. */
static void
check_copy(Sweep *sweep, char *copy, const char *what, gsize where, gsize length)
{
    if (memcmp(copy + where, sweep->good + where, length) != 0)
        check(sweep, copy, sweep->size, what, where);
    memcpy(copy + where, sweep->good + where, length);
}

static void
report(Sweep *sweep, const char *name)
{
    sweep->n_tests++;
    printf("%s %u - %s: %u unchanged, %u damaged, %u torn, %u wrong; at most %" G_GINT64_FORMAT
           " ms, at %zu\n",
           sweep->n_wrong == 0 && sweep->n_same + sweep->n_damaged + sweep->n_torn > 0 ? "ok"
                                                                                       : "not ok",
           sweep->n_tests, name, sweep->n_same, sweep->n_damaged, sweep->n_torn, sweep->n_wrong,
           sweep->slowest_us / 1000, sweep->slowest_at);
    fflush(stdout);
    sweep->n_same = sweep->n_damaged = sweep->n_torn = sweep->n_wrong = 0;
    sweep->slowest_us = 0;
}

/* ---- kinds of damage */

static guint
few(const Sweep *sweep, guint n)
{
    return sweep->is_thorough ? n : n / 3;
}

static gsize
any_used(Sweep *sweep)
{
    return (gsize)g_rand_int_range(sweep->rand, 0, (gint32)sweep->used);
}

static void
sweep_cuts(Sweep *sweep, gboolean each_byte)
{
    for (gsize page = 0; page <= sweep->size / PAGE; page++) {
        for (int d = -1; d <= 1; d++) {
            gssize size = (gssize)(page * PAGE) + d;

            if (size >= 0 && size <= (gssize)sweep->size)
                check(sweep, sweep->good, (gsize)size, "cut", (gsize)size);
        }
    }
    for (gsize size = 0; size < (each_byte ? sweep->used : HEAD_BYTES); size++)
        check(sweep, sweep->good, size, "cut", size);
    for (guint i = 0; i < few(sweep, RANDOM_CUTS); i++) {
        gsize size = any_used(sweep);

        check(sweep, sweep->good, size, "cut", size);
    }
    report(sweep, "cut");
}

/* A kill at each byte of the last commit. */
static void
sweep_torn(Sweep *sweep)
{
    g_autofree char *copy = g_memdup2(sweep->good, sweep->size);
    gsize end = get_used(sweep);

    for (gsize until = sweep->before_end; until < end; until++) {
        memset(copy + until, 0, end - until);
        check(sweep, copy, sweep->size, "torn", until);
        memcpy(copy + until, sweep->good + until, end - until);
    }
    g_assert_cmpuint(sweep->n_torn, ==, end - sweep->before_end - 1);
    report(sweep, "torn");
}

static void
flip(Sweep *sweep, char *copy, gsize where, guint8 bits)
{
    copy[where] = (char)(copy[where] ^ (char)bits);
    check_copy(sweep, copy, "turned", where, 1);
}

static void
sweep_flips(Sweep *sweep, gboolean each_byte)
{
    g_autofree char *copy = g_memdup2(sweep->good, sweep->size);

    for (gsize where = 0; where < HEAD_BYTES; where++) {
        for (guint bit = 0; bit < 8; bit++)
            if (sweep->is_thorough || bit == where % 8)
                flip(sweep, copy, where, (guint8)(1u << bit));
        flip(sweep, copy, where, 0xff);
    }
    report(sweep, "bits of the beginning");
    for (guint i = 0; i < few(sweep, RANDOM_FLIPS); i++)
        flip(sweep, copy, any_used(sweep), (guint8)g_rand_int_range(sweep->rand, 1, 256));
    for (gsize i = 0; each_byte && i < sweep->used * 8; i++)
        flip(sweep, copy, i / 8, (guint8)(1u << i % 8));
    report(sweep, "bits");
}

/* Overwrites a few bytes with values that look like numbers, pointers or zeros. */
static void
sweep_smears(Sweep *sweep)
{
    static const char *const values[] = {"\0\0\0\0\0\0\0", "\xff\xff\xff\xff\xff\xff\xff\xff",
                                         "\1\0\0\0\0\0\0", "\0\20\0\0\0\0\0", "\2\0\0\0\0\0\0"};
    g_autofree char *copy = g_memdup2(sweep->good, sweep->size);

    for (guint i = 0; i < few(sweep, RANDOM_SMEARS); i++) {
        gsize where = any_used(sweep) / 8 * 8;
        gsize length = i % 2 == 0 ? 8 : 2;

        memcpy(copy + where, values[i % G_N_ELEMENTS(values)], length);
        check_copy(sweep, copy, "overwritten", where, length);
    }
    report(sweep, "numbers");
}

static void
sweep_pages(Sweep *sweep)
{
    g_autofree char *copy = g_memdup2(sweep->good, sweep->size);
    gsize n_pages = sweep->used / PAGE;

    for (gsize page = 0; page < n_pages; page++) {
        memset(copy + page * PAGE, 0, PAGE);
        /* Only zeros until the end are no damage: see log.h. */
        if (page < n_pages - 1)
            check_copy(sweep, copy, "page of zeros", page * PAGE, PAGE);
        memset(copy + page * PAGE, 0xff, PAGE);
        check_copy(sweep, copy, "page of ones", page * PAGE, PAGE);
    }
    for (guint i = 0; i < few(sweep, SWAPS_MAX); i++) {
        gsize a = any_used(sweep) / PAGE * PAGE, b = any_used(sweep) / PAGE * PAGE;

        memcpy(copy + a, sweep->good + b, PAGE);
        if (i % 2 == 0)
            memcpy(copy + b, sweep->good + a, PAGE);
        if (a != b)
            check(sweep, copy, sweep->size, i % 2 == 0 ? "swapped" : "copied", a);
        memcpy(copy + a, sweep->good + a, PAGE);
        memcpy(copy + b, sweep->good + b, PAGE);
    }
    report(sweep, "pages");
}

static void
sweep_garbage(Sweep *sweep)
{
    g_autofree char *garbage = g_malloc0(16 * PAGE);

    for (guint i = 0; i < 100; i++) {
        gsize size = (gsize)g_rand_int_range(sweep->rand, 0, 65536);
        gsize begin = i % 2 == 0 ? 0 : HEAD_BYTES; /* after a valid beginning */

        memcpy(garbage, sweep->good, PAGE);
        for (gsize k = begin; k < size; k++)
            garbage[k] = (char)g_rand_int(sweep->rand);
        check(sweep, garbage, size, "garbage", size);
    }
    report(sweep, "garbage");
}

static void
sweep_all(Sweep *sweep, guint n_requests, guint n_turns, gboolean each_byte)
{
    g_autofree char *directory = world_new_directory();

    set_up(sweep, directory, n_requests, n_turns);
    check(sweep, sweep->good, sweep->size, "nothing", 0);
    g_assert_cmpuint(sweep->n_same, ==, 1);
    report(sweep, "undamaged");
    sweep_cuts(sweep, each_byte);
    sweep_torn(sweep);
    sweep_flips(sweep, each_byte);
    sweep_smears(sweep);
    sweep_pages(sweep);
    sweep_garbage(sweep);
    tear_down(sweep);
    world_remove_directory(directory);
}

/* Damaged files are renamed with a warning, which is expected. */
static GLogWriterOutput
discard_warnings(GLogLevelFlags level, const GLogField *fields, gsize n_fields, gpointer data)
{
    return level & G_LOG_LEVEL_WARNING ? G_LOG_WRITER_HANDLED
                                       : g_log_writer_default(level, fields, n_fields, data);
}

int
main(int argc, char **argv)
{
    const char *seed_text = g_getenv("WEBLOCKS_TEST_SEED");
    guint32 seed =
        seed_text != NULL ? (guint32)g_ascii_strtoull(seed_text, NULL, 10) : g_random_int();
    gboolean is_thorough = argc > 1 && g_str_equal(argv[1], "--thorough");
    Sweep sweep = {.rand = g_rand_new_with_seed(seed), .is_thorough = is_thorough};

    g_log_set_writer_func(discard_warnings, NULL, NULL);
    printf("# WEBLOCKS_TEST_SEED=%u\n", seed);
    sweep_all(&sweep, 8, 3, is_thorough);
    sweep_all(&sweep, 150, 40, FALSE);
    printf("1..%u\n", sweep.n_tests);
    g_rand_free(sweep.rand);
    return 0;
}
