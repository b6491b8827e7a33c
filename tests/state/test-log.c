/* SPDX-FileCopyrightText: 2026 The WebLocks for D-Bus authors
 * SPDX-License-Identifier: LGPL-2.1-or-later */

/* state/log: a file of frames that is changed, cut or torn at any byte is read as it was written,
 * or not at all, and never in part or as it was once; room; the spare file. A file that cannot grow
 * is in test-state-room.c; with a service: tests/bus/test_state_places.py. */

#include "service/state/log.h"

#include <glib/gstdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "tests/state/state-world.h"

#define BUS        0xb5
#define FIRST_SIZE 512 /* so small that the sweeps can go over all bytes */
#define DAMAGED    "damaged"

typedef struct {
    char *directory;
    char *path;
    char *spare_path;
    Log *log;
} Fixture;

/* ---- the log */

static const guint8 bus_id[LOG_ID_BYTES] = {BUS};
static const guint8 boot_id[LOG_ID_BYTES] = {1};

static void
open_log(Fixture *fixture)
{
    g_autoptr(GError) error = NULL;

    fixture->log = log_open(fixture->path, bus_id, boot_id, &error);
    g_assert_no_error(error);
    g_assert_nonnull(fixture->log);
}

static void
set_up(Fixture *fixture, gconstpointer data)
{
    fixture->directory = world_new_directory();
    fixture->path = world_path(fixture->directory, BUS, "state");
    fixture->spare_path = world_path(fixture->directory, BUS, "state.new");
    open_log(fixture);
}

static void
tear_down(Fixture *fixture, gconstpointer data)
{
    log_free(fixture->log);
    world_remove_directory(fixture->directory);
    g_free(fixture->directory);
    g_free(fixture->path);
    g_free(fixture->spare_path);
}

/* A frame with these words of eight letters. */
static GByteArray *
new_frame(const char *words)
{
    GByteArray *frame = g_byte_array_new();

    log_begin_frame(frame);
    g_byte_array_append(frame, (const guint8 *)words, (guint)strlen(words));
    return frame;
}

static void
append(Fixture *fixture, const char *words)
{
    g_autoptr(GByteArray) frame = new_frame(words);
    g_autoptr(GError) error = NULL;

    g_assert_true(log_append(fixture->log, frame, &error));
    g_assert_no_error(error);
}

static void
replace(Fixture *fixture, const char *words)
{
    g_autoptr(GByteArray) frame = new_frame(words);
    g_autoptr(GError) error = NULL;

    log_replace(fixture->log, frame, &error);
    g_assert_no_error(error);
}

/* The words of all frames; or DAMAGED. */
static char *
read_bytes(const Fixture *fixture, const char *bytes, gsize size)
{
    g_autofree guint8 *copy = g_memdup2(bytes, MAX(size, 1)); /* exactly that long */

    if (log_extract_records(&fixture->log->head, copy, &size) != NULL)
        return g_strdup(DAMAGED);
    return g_strndup((const char *)copy, size);
}

static char *
get_contents(const Fixture *fixture, gsize *size)
{
    g_autoptr(GError) error = NULL;
    char *bytes;

    g_file_get_contents(fixture->path, &bytes, size, &error);
    g_assert_no_error(error);
    return bytes;
}

static void
assert_reads(const Fixture *fixture, const char *expected)
{
    gsize size;
    g_autofree char *bytes = get_contents(fixture, &size);
    g_autofree char *found = read_bytes(fixture, bytes, size);

    g_assert_cmpstr(found, ==, expected);
}

/* Four frames; the file grows before the third and after the fourth one. */
static const char four_frames[] = "everything-one--a-changeanother-change--the-last";

static void
fill(Fixture *fixture)
{
    g_assert_true(log_reserve(fixture->log, FIRST_SIZE));
    replace(fixture, "everything-one--");
    append(fixture, "a-change");
    g_assert_true(log_reserve(fixture->log, 2 * FIRST_SIZE));
    append(fixture, "another-change--");
    append(fixture, "the-last");
    g_assert_true(log_reserve(fixture->log, 3 * FIRST_SIZE));
}

/* ---- what is read */

static void
test_frames(Fixture *fixture, gconstpointer data)
{
    fill(fixture);
    assert_reads(fixture, four_frames);
    replace(fixture, "new-file");
    assert_reads(fixture, "new-file");
    append(fixture, "");
    append(fixture, "and-more");
    assert_reads(fixture, "new-fileand-more");
    replace(fixture, "");
    assert_reads(fixture, "");
}

/* What was in the spare file is not read behind what is in it now, also if it is from a process
 * that was killed. */
static void
test_spare(Fixture *fixture, gconstpointer data)
{
    for (guint i = 0; i < 5; i++) {
        g_autofree char *garbage = g_strnfill(3 * FIRST_SIZE, 'x');

        fill(fixture);
        replace(fixture, "short-1-");
        assert_reads(fixture, "short-1-");
        replace(fixture, "short-2-");
        append(fixture, "short-3-");
        assert_reads(fixture, "short-2-short-3-");
        log_free(fixture->log);
        g_assert_true(g_file_set_contents(fixture->spare_path, garbage, -1, NULL));
        open_log(fixture);
        replace(fixture, "short-4-");
        assert_reads(fixture, "short-4-");
    }
}

static void
test_flipped(Fixture *fixture, gconstpointer data)
{
    gsize size;
    g_autofree char *bytes = NULL;
    guint n_sound = 0;

    fill(fixture);
    bytes = get_contents(fixture, &size);
    g_assert_cmpuint(size, ==, 3 * FIRST_SIZE);
    for (gsize i = 0; i < size; i++) {
        char before = bytes[i];

        for (guint value = 0; value < 256; value++) {
            g_autofree char *found = NULL;

            bytes[i] = (char)value;
            found = read_bytes(fixture, bytes, size);
            if (g_str_equal(found, four_frames))
                n_sound++;
            else if (!g_str_equal(found, DAMAGED))
                g_error("byte %zu from %d to %u: %s", i, before, value, found);
        }
        bytes[i] = before;
    }
    /* The right values, the marks of four frames, and what could be the begin of a next one. */
    g_assert_cmpuint(n_sound, ==, size + (4 + 24) * 255);
}

static void
test_cut(Fixture *fixture, gconstpointer data)
{
    gsize size;
    g_autofree char *bytes = NULL;

    fill(fixture);
    bytes = get_contents(fixture, &size);
    for (gsize length = 0; length < size; length++) {
        g_autofree char *found = read_bytes(fixture, bytes, length);
        /* After the last frame the file has grown once more. */
        gboolean is_whole = length >= 2 * FIRST_SIZE;

        if (!g_str_equal(found, is_whole ? four_frames : DAMAGED))
            g_error("cut to %zu bytes: %s", length, found);
    }
}

/* A kill within the write of a frame: the beginning of it is there. */
static void
test_torn(Fixture *fixture, gconstpointer data)
{
    g_autofree char *before = NULL, *after = NULL, *file = NULL;
    gsize size, begin, end;

    fill(fixture);
    before = get_contents(fixture, &size);
    begin = fixture->log->file.end;
    append(fixture, "is-torn-or-not--");
    after = get_contents(fixture, &size);
    end = fixture->log->file.end;
    for (gsize until = begin; until <= end; until++) {
        g_autofree char *found = NULL;

        memcpy(before + begin, after + begin, until - begin);
        found = read_bytes(fixture, before, size);
        if (until < end - 1)
            g_assert_cmpstr(found, ==, four_frames);
        else
            g_assert_true(g_str_has_suffix(found, "is-torn-or-not--"));
    }
    /* The same with something behind it is damage. */
    for (gsize until = begin + 24; until < end - 8; until++) {
        g_autofree char *found = NULL;

        memset(before + until, 0, size - until);
        before[end - 1] = 1;
        found = read_bytes(fixture, before, size);
        if (memcmp(before, after, end - 1) != 0)
            g_assert_cmpstr(found, ==, DAMAGED);
        memcpy(before + until, after + until, 1);
    }
}

/* Frames exchanged, repeated, or missing. */
static void
test_order(Fixture *fixture, gconstpointer data)
{
    g_autofree char *bytes = NULL, *copy = NULL;
    gsize size, second, third, end;

    g_assert_true(log_reserve(fixture->log, 2 * FIRST_SIZE));
    replace(fixture, "everything-one--");
    second = fixture->log->file.end;
    append(fixture, "a-change");
    third = fixture->log->file.end;
    append(fixture, "b-change");
    end = fixture->log->file.end;
    bytes = get_contents(fixture, &size);
    for (guint i = 0; i < 3; i++) {
        g_autofree char *found = NULL;

        copy = g_memdup2(bytes, size);
        if (i == 0) {
            memcpy(copy + second, bytes + third, end - third);
            memcpy(copy + third, bytes + second, third - second);
        } else if (i == 1) {
            memcpy(copy + third, bytes + second, third - second);
        } else {
            memcpy(copy + second, bytes + third, end - third);
            memset(copy + third, 0, end - third);
        }
        found = read_bytes(fixture, copy, size);
        g_assert_cmpstr(found, ==, DAMAGED);
        g_clear_pointer(&copy, g_free);
    }
}

static void
test_no_frame(Fixture *fixture, gconstpointer data)
{
    char zeros[FIRST_SIZE] = {0};
    g_autofree char *bytes = NULL;
    gsize size;

    fill(fixture);
    bytes = get_contents(fixture, &size);
    for (gsize from = 0; from <= sizeof(LogHead); from += sizeof(LogHead) / 2) {
        g_autofree char *found = NULL;

        memcpy(zeros, bytes, from);
        found = read_bytes(fixture, zeros, sizeof zeros);
        g_assert_cmpstr(found, ==, DAMAGED);
    }
}

/* ---- room */

static goffset
get_blocks(const char *path)
{
    struct stat status;

    g_assert_cmpint(stat(path, &status), ==, 0);
    return (goffset)status.st_blocks * 512;
}

static void
test_reserved(Fixture *fixture, gconstpointer data)
{
    gsize size = 1 << 20;

    g_assert_true(log_reserve(fixture->log, size));
    for (guint i = 0; i < 4; i++) {
        replace(fixture, "everything-one--");
        g_assert_true(log_reserve(fixture->log, size));
        g_assert_cmpint(get_blocks(fixture->path), >=, (goffset)size);
        g_assert_cmpint(get_blocks(fixture->spare_path), >=, (goffset)size);
    }
    g_assert_false(log_reserve(fixture->log, G_MAXSIZE / 2));
    append(fixture, "a-change");
    assert_reads(fixture, "everything-one--a-change");
}

/* Without a spare file, or with one that the service may not write. */
static void
test_other_spares(Fixture *fixture, gconstpointer data)
{
    for (guint i = 0; i < 4; i++) {
        g_autofree char *kept = world_path(fixture->directory, BUS, "kept");

        fill(fixture);
        g_remove(fixture->spare_path);
        if (i == 1)
            g_assert_cmpint(g_mkdir(fixture->spare_path, 0700), ==, 0);
        else if (i == 2)
            g_assert_cmpint(symlink(fixture->path, fixture->spare_path), ==, 0);
        else if (i == 3)
            g_assert_cmpint(link(fixture->path, kept), ==, 0);
        assert_reads(fixture, four_frames);
        replace(fixture, "new-file");
        assert_reads(fixture, "new-file");
        replace(fixture, "newer---");
        assert_reads(fixture, "newer---");
        if (i == 3) {
            g_autofree char *bytes = NULL, *found = NULL;
            gsize size;

            g_assert_true(g_file_get_contents(kept, &bytes, &size, NULL));
            found = read_bytes(fixture, bytes, size);
            g_assert_cmpstr(found, ==, four_frames);
        }
    }
}

int
main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
#define LOG_TEST(path, function) g_test_add(path, Fixture, NULL, set_up, function, tear_down)
    LOG_TEST("/log/frames", test_frames);
    LOG_TEST("/log/spare", test_spare);
    LOG_TEST("/log/flipped", test_flipped);
    LOG_TEST("/log/cut", test_cut);
    LOG_TEST("/log/torn", test_torn);
    LOG_TEST("/log/order", test_order);
    LOG_TEST("/log/no-frame", test_no_frame);
    LOG_TEST("/log/reserved", test_reserved);
    LOG_TEST("/log/other-spares", test_other_spares);
    return g_test_run();
}
