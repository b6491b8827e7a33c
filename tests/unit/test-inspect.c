/* SPDX-FileCopyrightText: 2026 The WebLocks for D-Bus authors
 * SPDX-License-Identifier: LGPL-2.1-or-later */

/* core/inspect: filters, pages, positions in the queue, and who blocks a request. */

#include "service/core/inspect.h"
#include "tests/unit/core-fixture.h"

static void
describe_entry(const InspectEntry *entry, gpointer data)
{
    GString *text = data;

    g_string_append_printf(text, "%s%s%" G_GUINT64_FORMAT ":%u", text->len > 0 ? " " : "",
                           entry->request->agent->client_id, entry->request->id, entry->position);
    for (guint i = 0; i < entry->n_blocked_by; i++)
        g_string_append_printf(text, "%s%s", i == 0 ? "<" : ",", entry->blocked_by[i]);
}

/* "A1:0 B1:1<A": agent, id, position, blockers; "+" if there are more. Without a limit in the
 * filter, all entries. */
static char *
inspect_in(CoreFixture *f, const char *bucket, InspectFilter *filter)
{
    GString *text = g_string_new(NULL);
    g_autoptr(LockManager) manager = fixture_manager(f, 'A', bucket);

    if (filter->limit == 0)
        filter->limit = G_MAXUINT32;
    if (lock_manager_inspect(manager, filter, describe_entry, text))
        g_string_append(text, " +");
    return g_string_free(text, FALSE);
}

#define assert_inspect_in(fixture, bucket, expected, ...)               \
    G_STMT_START                                                        \
    {                                                                   \
        InspectFilter filter_ = {__VA_ARGS__};                          \
        g_autofree char *text_ = inspect_in(fixture, bucket, &filter_); \
        g_assert_cmpstr(text_, ==, expected);                           \
    }                                                                   \
    G_STMT_END

#define assert_inspect(fixture, expected, ...) \
    assert_inspect_in(fixture, FIXTURE_BUCKET, expected, __VA_ARGS__)

static void
set_scene(CoreFixture *f)
{
    fixture_request(f, 'A', "n", "shared");
    fixture_request(f, 'B', "n", "shared");
    fixture_request(f, 'C', "n", "");
    fixture_request(f, 'D', "nn", "");
    fixture_request(f, 'D', "n", "shared");
    fixture_request(f, 'A', "n", "shared");
    fixture_request(f, 'A', "nn", "");
    fixture_request(f, 'A', "n", "");
}

static void
test_all(CoreFixture *f, gconstpointer data)
{
    assert_inspect(f, "", 0);
    set_scene(f);
    assert_inspect(f, "A1:0 B1:0 C1:1<A,B D1:0 D2:2<C A2:3<C A3:1<D A4:4<A,B,C,D");
    assert_inspect(f, "A1:0 B1:0 C1:1<A,B D1:0 D2:2<C A2:3<C A3:1<D A4:4<A,B,C,D");
}

/* Positions are those in the whole queue, also if the filter excludes some of it. */
static void
test_filters(CoreFixture *f, gconstpointer data)
{
    set_scene(f);
    assert_inspect(f, "D1:0 A3:1<D", .name = "nn");
    assert_inspect(f, "", .name = "");
    assert_inspect(f, "A1:0 B1:0 C1:1<A,B D1:0 D2:2<C A2:3<C A3:1<D A4:4<A,B,C,D", .prefix = "n");
    assert_inspect(f, "D1:0 A3:1<D", .prefix = "nn");
    assert_inspect(f, "", .prefix = "x");
    assert_inspect(f, "", .prefix = "x", .name = "n");
    assert_inspect(f, "A1:0 B1:0 D1:0", .by_state = TRUE, .state = LOCK_REQUEST_HELD);
    assert_inspect(f, "C1:1<A,B D2:2<C A2:3<C A4:4<A,B,C,D", .by_state = TRUE,
                   .state = LOCK_REQUEST_PENDING, .name = "n");
    assert_inspect(f, "D1:0 D2:2<C", .client_id = "D");
    assert_inspect(f, "A2:3<C", .client_id = "A", .by_id = TRUE, .id = 2);
    assert_inspect(f, "D2:2<C A2:3<C", .by_id = TRUE, .id = 2);
    assert_inspect(f, "", .client_id = "D", .by_id = TRUE, .id = 3);
    assert_inspect(f, "", .by_id = TRUE);
    assert_inspect(f, "", .client_id = "X");
}

/* All pages together are the whole list; the last page has no `more`. */
static void
test_pages(CoreFixture *f, gconstpointer data)
{
    guint64 sequence;

    set_scene(f);
    assert_inspect(f, "A1:0 B1:0 C1:1<A,B +", .limit = 3);
    sequence = fixture_find(f, 'C', 1)->sequence;
    assert_inspect(f, "D1:0 D2:2<C A2:3<C +", .limit = 3, .after = sequence);
    sequence = fixture_find(f, 'A', 2)->sequence;
    assert_inspect(f, "A3:1<D A4:4<A,B,C,D", .limit = 3, .after = sequence);
    assert_inspect(f, "A3:1<D A4:4<A,B,C,D", .limit = 2, .after = sequence);
    assert_inspect(f, "A3:1<D +", .limit = 1, .after = sequence);
    sequence = fixture_find(f, 'A', 4)->sequence;
    assert_inspect(f, "", .limit = 3, .after = sequence);
    assert_inspect(f, "", .after = G_MAXUINT64);

    /* Requests that are added or end between two pages don't shift them. */
    sequence = fixture_find(f, 'D', 1)->sequence;
    fixture_release(f, 'D', 1);
    fixture_request(f, 'B', "z", "");
    assert_inspect(f, "D2:2<C A2:3<C A3:0 A4:4<A,B,C,D B2:0", .after = sequence);
}

static void
test_position_after_steal(CoreFixture *f, gconstpointer data)
{
    set_scene(f);
    fixture_request(f, 'D', "n", "steal");
    assert_inspect(f, "C1:1<D D2:2<D,C A2:3<D,C A4:4<D,C,A D3:0", .name = "n");
}

/* The number of blockers that are listed is limited. */
static void
test_blockers_bounded(CoreFixture *f, gconstpointer data)
{
    g_autoptr(LockManager) manager = fixture_manager(f, 'A', FIXTURE_BUCKET);
    InspectFilter filter = {.name = "n", .limit = 1000};
    g_autoptr(GString) text = g_string_new(NULL);

    fixture_request(f, 'A', "n", "shared");
    for (guint i = 0; i < INSPECT_BLOCKERS_MAX + 10; i++)
        fixture_request(f, 'B', "n", "shared");
    fixture_request(f, 'C', "n", "");
    for (guint i = 0; i < 5; i++)
        fixture_request(f, 'D', "n", "");
    g_assert_false(lock_manager_inspect(manager, &filter, describe_entry, text));
    g_assert_true(
        g_str_has_suffix(text->str, " C1:1<A,B D1:2<A,B D2:3<A,B D3:4<A,B D4:5<A,B D5:6<A,B"));
}

/* Two clients that wait for each other (a deadlock) are visible in one reply. */
static void
test_deadlock(CoreFixture *f, gconstpointer data)
{
    fixture_request(f, 'A', "a", "");
    fixture_request(f, 'B', "b", "");
    fixture_request(f, 'A', "b", "");
    fixture_request(f, 'B', "a", "");
    fixture_request(f, 'A', "a", "");
    assert_inspect(f, "A1:0 B1:0 A2:1<B B2:1<A A3:2<A,B");
}

/* Undecided steals are beside the queue: see permit.h. */
static void
test_cluster(CoreFixture *f, gconstpointer data)
{
    fixture_request(f, 'A', "n", "bucket=cluster:c");
    fixture_request(f, 'B', "n", "bucket=cluster:c steal");
    fixture_request(f, 'C', "n", "bucket=cluster:c");
    fixture_request(f, 'B', "n", "bucket=cluster:c steal");
    fixture_request(f, 'D', "m", "bucket=cluster:c ifAvailable");
    assert_inspect_in(f, "cluster:c", "A1:1 B1:1 C1:2<A B2:1 D1:1", 0);
    assert_inspect_in(f, "cluster:c", "B1:1", .client_id = "B", .by_id = TRUE, .id = 1);
}

int
main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    FIXTURE_TEST("/inspect/all", test_all);
    FIXTURE_TEST("/inspect/filters", test_filters);
    FIXTURE_TEST("/inspect/pages", test_pages);
    FIXTURE_TEST("/inspect/position-after-steal", test_position_after_steal);
    FIXTURE_TEST("/inspect/blockers-bounded", test_blockers_bounded);
    FIXTURE_TEST("/inspect/deadlock", test_deadlock);
    FIXTURE_TEST("/inspect/cluster", test_cluster);
    return g_test_run();
}
