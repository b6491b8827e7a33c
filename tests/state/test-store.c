/* SPDX-FileCopyrightText: 2026 The WebLocks for D-Bus authors
 * SPDX-License-Identifier: LGPL-2.1-or-later */

/* state/store: records are added, changed and removed; the header always matches them. */

#include "service/state/store.h"

#include <fcntl.h>
#include <glib/gstdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "tests/state/state-world.h"

typedef struct {
    char *directory;
    char *path;
    Store *store;
} Fixture;

static void
set_up(Fixture *fixture, gconstpointer data)
{
    g_autoptr(GError) error = NULL;

    fixture->directory = world_new_directory();
    fixture->path = g_build_filename(fixture->directory, "store", NULL);
    fixture->store = store_open(fixture->path, &error);
    g_assert_no_error(error);
}

static void
tear_down(Fixture *fixture, gconstpointer data)
{
    g_clear_pointer(&fixture->store, store_free);
    world_remove_directory(fixture->directory);
    g_free(fixture->directory);
    g_free(fixture->path);
}

static void
begin(Fixture *fixture)
{
    g_autoptr(GError) error = NULL;

    g_assert_true(store_begin(fixture->store, &error));
    g_assert_no_error(error);
}

static void
put(Fixture *fixture, guint64 id, const char *text)
{
    const RecordKey key = record_key_of_request(1, id);
    g_autoptr(GByteArray) bytes = g_byte_array_new();
    g_autoptr(GError) error = NULL;

    g_byte_array_append(bytes, (const guint8 *)text, (guint)strlen(text) + 1);
    store_put(fixture->store, &key, bytes, &error);
    g_assert_no_error(error);
}

static void
drop(Fixture *fixture, guint64 id)
{
    const RecordKey key = record_key_of_request(1, id);
    g_autoptr(GError) error = NULL;

    g_assert_true(store_remove(fixture->store, &key, &error));
    g_assert_no_error(error);
}

static void
commit(Fixture *fixture)
{
    g_autoptr(GError) error = NULL;

    g_assert_true(store_commit(fixture->store, &error));
    g_assert_no_error(error);
}

typedef struct {
    GString *text;
    HeaderRecord header;
    guint64 n_records;
    guint64 digest;
} Contents;

static gboolean
visit(const void *key, gsize key_size, const void *value, gsize value_size, gpointer data)
{
    Contents *contents = data;
    guint64 agent, id;
    RecordKind kind;

    g_assert_true(record_key_read(key, key_size, &kind, &agent, &id));
    if (kind == RECORD_HEADER) {
        g_assert_true(header_record_read(value, value_size, &contents->header));
        return TRUE;
    }
    contents->n_records++;
    contents->digest += record_digest(key, key_size, value, value_size);
    g_string_append_printf(contents->text, "%s%" G_GUINT64_FORMAT " %s",
                           contents->text->len > 0 ? ", " : "", id, (const char *)value);
    return TRUE;
}

/* "1 a, 2 b": the contents of the file, which match its header. */
static char *
read_file(const Fixture *fixture)
{
    Contents contents = {.text = g_string_new(NULL)};
    g_autoptr(GError) error = NULL;

    store_read(fixture->path, visit, &contents, &error);
    g_assert_no_error(error);
    g_assert_cmpuint(contents.header.n_records, ==, contents.n_records);
    g_assert_cmpuint(contents.header.digest, ==, contents.digest);
    return g_string_free(contents.text, FALSE);
}

#define assert_file(fixture, expected)               \
    G_STMT_START                                     \
    {                                                \
        g_autofree char *file_ = read_file(fixture); \
        g_assert_cmpstr(file_, ==, expected);        \
    }                                                \
    G_STMT_END

static void
test_put_replace_remove(Fixture *fixture, gconstpointer data)
{
    begin(fixture);
    put(fixture, 2, "b");
    put(fixture, 1, "a");
    put(fixture, 300, "c");
    commit(fixture);
    assert_file(fixture, "1 a, 2 b, 300 c");
    begin(fixture);
    put(fixture, 2, "longer than before");
    put(fixture, 300, "c");
    drop(fixture, 1);
    drop(fixture, 77);
    commit(fixture);
    assert_file(fixture, "2 longer than before, 300 c");
    begin(fixture);
    put(fixture, 2, "");
    put(fixture, 2, "twice");
    put(fixture, 5, "and gone");
    drop(fixture, 5);
    drop(fixture, 5);
    commit(fixture);
    assert_file(fixture, "2 twice, 300 c");
    begin(fixture);
    drop(fixture, 2);
    drop(fixture, 300);
    commit(fixture);
    assert_file(fixture, "");
    g_assert_cmpuint(store_get_header(fixture->store)->n_records, ==, 0);
    g_assert_cmpuint(store_get_header(fixture->store)->digest, ==, 0);
}

static void
test_header(Fixture *fixture, gconstpointer data)
{
    Contents contents = {.text = g_string_new(NULL)};
    g_autoptr(GError) error = NULL;

    begin(fixture);
    store_get_header(fixture->store)->token_ceiling = 42;
    store_get_header(fixture->store)->last_agent = 7;
    memset(store_get_header(fixture->store)->bus_id, 5, STATE_ID_BYTES);
    commit(fixture);
    store_read(fixture->path, visit, &contents, &error);
    g_assert_no_error(error);
    g_assert_cmpuint(contents.header.token_ceiling, ==, 42);
    g_assert_cmpuint(contents.header.last_agent, ==, 7);
    g_assert_cmpuint(contents.header.bus_id[15], ==, 5);
    g_string_free(contents.text, TRUE);
}

/* Changes that were not committed are not in the file. */
static void
test_not_committed(Fixture *fixture, gconstpointer data)
{
    begin(fixture);
    put(fixture, 1, "a");
    commit(fixture);
    begin(fixture);
    put(fixture, 1, "x");
    put(fixture, 2, "b");
    assert_file(fixture, "1 a");
    g_clear_pointer(&fixture->store, store_free);
    assert_file(fixture, "1 a");
}

static void
test_open(Fixture *fixture, gconstpointer data)
{
    g_autoptr(GError) error = NULL;
    HeaderRecord header;

    begin(fixture);
    put(fixture, 1, "a");
    put(fixture, 2, "b");
    commit(fixture);
    header = *store_get_header(fixture->store);
    g_clear_pointer(&fixture->store, store_free);
    fixture->store = store_open(fixture->path, &error);
    g_assert_no_error(error);
    begin(fixture);
    /* store_open() doesn't read the header: the caller has read it before. */
    *store_get_header(fixture->store) = header;
    drop(fixture, 1);
    put(fixture, 3, "c");
    commit(fixture);
    assert_file(fixture, "2 b, 3 c");
}

/* The commit before the last one can still be read, and no older one. */
static void
test_step_back(Fixture *fixture, gconstpointer data)
{
    g_autofree char *other = g_build_filename(fixture->directory, "other", NULL);
    g_autofree char *before = NULL, *after = NULL;
    gsize number, n_before, n_after;

    for (guint id = 1; id <= 5; id++) {
        begin(fixture);
        put(fixture, id, "a");
        commit(fixture);
    }
    g_clear_pointer(&fixture->store, store_free);
    g_assert_true(g_file_get_contents(fixture->path, &before, &n_before, NULL));
    g_assert_true(store_step_back(fixture->path, &number));
    assert_file(fixture, "1 a, 2 a, 3 a, 4 a");
    store_undo_step_back(fixture->path, number);
    assert_file(fixture, "1 a, 2 a, 3 a, 4 a, 5 a");
    g_assert_true(g_file_get_contents(fixture->path, &after, &n_after, NULL));
    g_assert_cmpmem(before, n_before, after, n_after);

    g_assert_false(store_step_back(other, &number));
    g_assert_true(g_file_set_contents(other, "short", -1, NULL));
    g_assert_false(store_step_back(other, &number));
    memset(before, 'x', n_before);
    g_assert_true(g_file_set_contents(other, before, (gssize)n_before, NULL));
    g_assert_false(store_step_back(other, &number));
}

/* Continues with the old file, as if there were no space for a new one. */
static void
test_open_after_step_back(Fixture *fixture, gconstpointer data)
{
    g_autoptr(GError) error = NULL;
    HeaderRecord header;
    gsize number;

    for (guint id = 1; id <= 5; id++) {
        header = *store_get_header(fixture->store);
        begin(fixture);
        put(fixture, id, "a");
        commit(fixture);
    }
    g_clear_pointer(&fixture->store, store_free);
    g_assert_true(store_step_back(fixture->path, &number));
    fixture->store = store_open(fixture->path, &error);
    g_assert_no_error(error);
    *store_get_header(fixture->store) = header;
    for (guint id = 6; id <= 9; id++) {
        begin(fixture);
        drop(fixture, id - 5);
        put(fixture, id, "b");
        commit(fixture);
    }
    assert_file(fixture, "6 b, 7 b, 8 b, 9 b");
}

static void
test_many(Fixture *fixture, gconstpointer data)
{
    g_autoptr(GRand) rand = g_rand_new_with_seed(1);
    g_autoptr(GHashTable) model = g_hash_table_new_full(NULL, NULL, NULL, g_free);

    for (guint round = 0; round < 200; round++) {
        g_assert_true(store_has_room(fixture->store, 50 * 3100));
        begin(fixture);
        for (guint i = 0; i < 50; i++) {
            guint id = (guint)g_rand_int_range(rand, 1, 500);

            if (g_rand_boolean(rand)) {
                char *text = g_strnfill((gsize)g_rand_int_range(rand, 0, 3000), 'v');

                put(fixture, id, text);
                g_hash_table_replace(model, GUINT_TO_POINTER(id), text);
            } else {
                drop(fixture, id);
                g_hash_table_remove(model, GUINT_TO_POINTER(id));
            }
        }
        commit(fixture);
    }
    {
        g_autofree char *file = read_file(fixture);
        GString *expected = g_string_new(NULL);

        for (guint id = 1; id < 500; id++) {
            const char *text = g_hash_table_lookup(model, GUINT_TO_POINTER(id));

            if (text != NULL)
                g_string_append_printf(expected, "%s%u %s", expected->len > 0 ? ", " : "", id,
                                       text);
        }
        g_assert_cmpstr(file, ==, expected->str);
        g_string_free(expected, TRUE);
    }
}

/* ---- space in the file */

static gint64
get_allocated(const Fixture *fixture)
{
    struct stat status;

    g_assert_cmpint(stat(fixture->path, &status), ==, 0);
    return (gint64)status.st_blocks * 512;
}

/* Space is allocated in advance, on the disk too. */
static void
test_room(Fixture *fixture, gconstpointer data)
{
    gint64 before = get_allocated(fixture);

    g_assert_cmpint(before, >=, 262144);
    g_assert_true(store_has_room(fixture->store, 1000));
    g_assert_cmpint(get_allocated(fixture), ==, before);
    g_assert_true(store_has_room(fixture->store, 1000000));
    g_assert_cmpint(get_allocated(fixture), >=, 4000000);
}

static void
test_exceeding_the_maximum(Fixture *fixture, gconstpointer data)
{
    g_assert_false(store_has_room(fixture->store, 512UL * 1024 * 1024));
    g_assert_false(store_has_room(fixture->store, G_MAXSIZE / 8));
    begin(fixture);
    put(fixture, 1, "a");
    commit(fixture);
    assert_file(fixture, "1 a");
}

/* ---- files that are no store */

static gboolean
refuse_all(const void *key, gsize key_size, const void *value, gsize value_size, gpointer data)
{
    return FALSE;
}

static void
test_record_refused(Fixture *fixture, gconstpointer data)
{
    g_autoptr(GError) error = NULL;

    begin(fixture);
    commit(fixture);
    g_assert_false(store_read(fixture->path, refuse_all, NULL, &error));
    g_assert_error(error, STORE_ERROR, STORE_ERROR_DAMAGED);
}

static void
test_no_store(Fixture *fixture, gconstpointer data)
{
    static const char zeros[8192];
    g_autoptr(GError) no_file = NULL;
    g_autoptr(GError) zero_error = NULL;
    g_autoptr(GError) directory_error = NULL;
    Contents contents = {.text = g_string_new(NULL)};
    g_autofree char *missing = g_build_filename(fixture->directory, "missing", NULL);

    g_assert_false(store_read(missing, visit, &contents, &no_file));
    g_assert_nonnull(no_file);
    g_assert_false(g_file_test(missing, G_FILE_TEST_EXISTS));
    g_assert_true(g_file_set_contents(missing, zeros, sizeof zeros, NULL));
    g_assert_false(store_read(missing, visit, &contents, &zero_error));
    g_assert_error(zero_error, STORE_ERROR, STORE_ERROR_DAMAGED);
    g_assert_null(store_open(fixture->directory, &directory_error));
    g_assert_nonnull(directory_error);
    g_string_free(contents.text, TRUE);
}

/* An empty file can't be read, like a missing one. */
static void
test_empty(Fixture *fixture, gconstpointer data)
{
    g_autofree char *path = g_build_filename(fixture->directory, "empty", NULL);
    Contents contents = {.text = g_string_new(NULL)};
    g_autoptr(GError) error = NULL;

    g_assert_true(g_file_set_contents(path, "", 0, NULL));
    g_assert_false(store_read(path, visit, &contents, &error));
    g_assert_nonnull(error);
    g_string_free(contents.text, TRUE);
}

#define STORE_TEST(path, function) g_test_add(path, Fixture, NULL, set_up, function, tear_down)

int
main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    STORE_TEST("/store/put-replace-remove", test_put_replace_remove);
    STORE_TEST("/store/header", test_header);
    STORE_TEST("/store/not-committed", test_not_committed);
    STORE_TEST("/store/open", test_open);
    STORE_TEST("/store/step-back", test_step_back);
    STORE_TEST("/store/open-after-step-back", test_open_after_step_back);
    STORE_TEST("/store/many", test_many);
    STORE_TEST("/store/room", test_room);
    STORE_TEST("/store/exceeding-the-maximum", test_exceeding_the_maximum);
    STORE_TEST("/store/record-refused", test_record_refused);
    STORE_TEST("/store/no-store", test_no_store);
    STORE_TEST("/store/empty", test_empty);
    return g_test_run();
}
