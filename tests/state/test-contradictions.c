/* SPDX-FileCopyrightText: 2026 The WebLocks for D-Bus authors
 * SPDX-License-Identifier: LGPL-2.1-or-later */

/* state/records, state/restore: records that are invalid or contradict each other, in a file that
 * is sound. None of them is restored, and their file is renamed. Records of any bytes are in
 * ../fuzz/fuzz-state.c.
 *
 * A record is written as a line of words: "agent NUMBER CLIENT [uid=N] [kind=N] [app=ID]", "request
 * AGENT ID NAME held|waiting SEQUENCE [shared] [key=N] ...", or the kind and the two numbers of one
 * that has no more. */

#include "service/state/restore.h"

#include <signal.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "service/core/lock-queue.h"
#include "service/core/principal.h"
#include "service/state/crash-guard.h"
#include "service/state/records.h"
#include "tests/state/state-fixture.h"

#define ID_CEILING 256

/* Two agents, and a request of each. */
static const char *const sound[] = {
    "tokens 0 1000",           "agent 1 :1.A", "agent 2 :1.B", "request 1 1 x held 1",
    "request 2 1 x waiting 2", NULL,
};

static const struct {
    const char *path;
    const char *records; /* that are added, separated by ";" */
} contradictions[] = {
    {"two-exclusive", "request 2 2 x held 3"},
    {"exclusive-and-shared", "request 2 2 x held 3 shared"},
    {"shared-and-exclusive", "request 2 2 y held 3 shared;request 2 3 y held 4"},
    {"more-holders-than-slots",
     "request 1 2 c held 3 slots=2;request 2 2 c held 4 slots=2;request 2 3 c held 5 slots=2"},
    {"different-slots", "request 1 2 c held 3 slots=2;request 2 2 c held 4 slots=3"},
    {"slots-and-exclusive", "request 1 2 c held 3 slots=2;request 2 2 c held 4"},
    {"slots-in-a-cluster", "request 1 2 c held 3 slots=2 bucket=cluster:b"},
    {"one-document-twice", "agent 3 :1.C kind=1 app=a.b;request 1 2 d held 1 bucket=documents;"
                           "request 3 1 d held 2 bucket=user:documents"},
    {"same-key-twice", "request 1 2 y waiting 3 key=7;request 1 3 y waiting 4 key=7"},
    {"id-above-ceiling", "request 1 257 y waiting 3"},
    {"id-zero", "request 1 0 y waiting 3"},
    {"unknown-agent", "request 3 1 y waiting 3"},
    {"one-client-twice", "agent 3 :1.A"},
    {"one-client-of-two-users", "agent 3 :1.A uid=2000"},
    {"agent-zero", "agent 0 :1.C"},
    {"same-place-twice", "request 1 2 y waiting 2"},
    {"place-zero", "request 1 2 y waiting 0"},
    {"lock-without-token", "request 1 2 y held 3 token=0"},
    {"token-without-lock", "request 1 2 y waiting 3 token=5"},
    /* An agent's record may come again, but not as that of another client. */
    {"another-client", "agent 2 :1.C"},
    {"agent-above-all", "agent 9223372036854775808 :1.C"},
    {"gone-with-a-lock", "gone 1 0"},
    {"gone-twice", "agent 3 :1.C;gone 3 0;gone 3 0"},
    {"ended-twice", "ended 1 1;ended 1 1"},
    {"another-kind", "z 1 1"},
    {"deadline-before-the-boot", "lease 0 18446744073709551615"},
    {"no-room-for-tokens", "tokens 0 9223372036854775808"},
    {"size-zero", "request 1 2 y waiting 3 size=0"},
    {"size-of-less", "request 1 2 y waiting 3 size=24"},
    {"size-of-more", "request 1 2 y waiting 3 size=1000"},
    {"size-of-all", "request 1 2 y waiting 3 size=4294967288"},
    {"agent/well-known-name", "agent 3 org.example.App"},
    {"agent/no-name", "agent 3 "},
    {"agent/not-utf-8", "agent 3 :1.\xff"},
    {"agent/no-uid", "agent 3 :1.9 uid=4294967295"},
    {"agent/app-without-id", "agent 3 :1.9 kind=1"},
    {"agent/app-not-utf-8", "agent 3 :1.9 kind=1 app=\xc3"},
    {"agent/id-without-app", "agent 3 :1.9 app=org.example.App"},
    {"agent/another-kind", "agent 3 :1.9 kind=3 app=org.example.App"},
    {"request/no-bucket", "request 1 2 y held 3 bucket="},
    {"request/bucket-not-utf-8", "request 1 2 y held 3 bucket=\xff"},
    {"request/surrogate", "request 1 2 \xed\xa0\x80 held 3"},
    {"request/overlong-nul", "request 1 2 y held 3 why=\xc0\x80"},
    {"request/overlong-nul-in-for", "request 1 2 y held 3 why=w for=\xc0\x80"},
    {"request/for-not-utf-8", "request 1 2 y held 3 for=\xff"},
    {"request/ended", "request 1 2 y held 3 state=2"},
    {"request/another-state", "request 1 2 y held 3 state=200"},
    {"request/shared-slots", "request 1 2 y held 3 shared slots=2"},
    {"request/another-mode", "request 1 2 y held 3 mode=2"},
    {"request/no-room-for-tokens", "request 1 2 y held 3 token=9223372036854775808"},
    {"request/no-room-behind-it", "request 1 2 y held 18446744073709551615"},
    {"request/before-the-boot", "request 1 2 y held 3 since=-1"},
    {"request/deadline-before-the-boot", "request 1 2 y held 3 deadline=-1"},
};

/* ---- the file */

/* The value of the option, or NULL. */
static const char *
get_option(char **words, const char *name)
{
    for (guint i = 0; words[i] != NULL; i++)
        if (g_str_has_prefix(words[i], name) && words[i][strlen(name)] == '=')
            return words[i] + strlen(name) + 1;
    return NULL;
}

static guint64
get_number(char **words, const char *name, guint64 otherwise)
{
    const char *value = get_option(words, name);

    return value == NULL     ? otherwise
           : value[0] == '-' ? (guint64)g_ascii_strtoll(value, NULL, 10)
                             : g_ascii_strtoull(value, NULL, 10);
}

static void
put_agent(GByteArray *frame, char **words)
{
    const char *app_id = get_option(words, "app");
    Principal principal = {
        .identity = {.uid = (guint32)get_number(words, "uid", 1000),
                     .kind = (PrincipalKind)get_number(words, "kind", PRINCIPAL_UNSANDBOXED),
                     .app_id = app_id != NULL ? app_id : ""}};
    const Agent agent = {
        .principal = &principal,
        .client_id = words[2],
        .pid = 1,
        .mark = {.number = g_ascii_strtoull(words[1], NULL, 10), .id_ceiling = ID_CEILING}};

    record_put_agent(frame, &agent);
}

static void
put_request(GByteArray *frame, char **words)
{
    const char *bucket = get_option(words, "bucket"), *name = words[3];
    gboolean is_held = g_str_equal(words[4], "held");
    guint64 sequence = g_ascii_strtoull(words[5], NULL, 10);
    g_autofree LockQueue *queue = g_malloc0(sizeof(LockQueue) + strlen(name) + 1);
    LockManager manager = {.bucket = (char *)(bucket != NULL ? bucket : "default")};
    Principal principal = {.refs = 1};
    Agent agent = {.principal = &principal,
                   .mark = {.number = g_ascii_strtoull(words[1], NULL, 10)}};
    const LockRequest request = {
        .state = (LockRequestState)get_number(words, "state",
                                              is_held ? LOCK_REQUEST_HELD : LOCK_REQUEST_PENDING),
        .mode = (LockMode)get_number(words, "mode",
                                     g_strv_contains((const char *const *)words, "shared")
                                         ? LOCK_MODE_SHARED
                                         : LOCK_MODE_EXCLUSIVE),
        .slots = (guint32)get_number(words, "slots", 1),
        .id = g_ascii_strtoull(words[2], NULL, 10),
        .key = get_number(words, "key", 0),
        .token = get_number(words, "token", is_held ? 10 + sequence : 0),
        .sequence = sequence,
        .since_us = (gint64)get_number(words, "since", 0),
        .deadline_ms = (gint64)get_number(words, "deadline", 0),
        .why = (char *)get_option(words, "why"),
        .command = (char *)get_option(words, "for"),
        .agent = &agent,
        .queue = queue,
    };
    guint position = frame->len;
    guint32 size;

    memcpy(queue->name, name, strlen(name));
    queue->manager = &manager;
    record_put_request(frame, &request);
    memcpy(&size, frame->data + position, sizeof size);
    size = (guint32)get_number(words, "size", size);
    memcpy(frame->data + position, &size, sizeof size);
}

static void
put(GByteArray *frame, const char *const *lines)
{
    for (guint i = 0; lines[i] != NULL; i++) {
        g_auto(GStrv) words = g_strsplit(lines[i], " ", -1);

        if (g_str_equal(words[0], "agent"))
            put_agent(frame, words);
        else if (g_str_equal(words[0], "request"))
            put_request(frame, words);
        else /* the first letter is the kind */
            record_put(frame, (RecordKind)words[0][0], g_ascii_strtoull(words[1], NULL, 10),
                       g_ascii_strtoull(words[2], NULL, 10));
    }
}

/* Closes the world, and writes a file with the sound records and these. Returns what it has. */
static char *
write_records(Fixture *fixture, const char *records)
{
    g_auto(GStrv) lines = g_strsplit(records, ";", -1);
    g_autoptr(GByteArray) frame = g_byte_array_new();
    g_autoptr(GError) error = NULL;
    Log *log;

    if (fixture->world.state != NULL)
        world_close(&fixture->world);
    log_begin_frame(frame);
    put(frame, sound);
    put(frame, (const char *const *)lines);
    log = log_open(fixture->path, fixture->world.options.bus_id, fixture->world.options.boot_id,
                   &error);
    g_assert_no_error(error);
    g_assert_true(log_reserve(log, 65536));
    g_assert_true(log_replace(log, frame, &error));
    log_free(log);
    return world_describe_file(fixture->path);
}

/* ---- the file is used, or not */

/* What contradicts itself in one bucket is valid in two, and with two agents. */
static void
test_consistent(Fixture *fixture, gconstpointer data)
{
    static const char *const consistent[] = {
        "agent 2 :1.B",
        "request 1 2 x held 1 bucket=other key=7;request 2 256 x held 9 bucket=another key=7",
        "agent 5 :1.C uid=2000;request 5 1 x held 1 key=7",
        ("agent 5 :1.C kind=1 app=a.b;request 5 1 x held 1 bucket=documents;"
         "request 1 2 x held 1 bucket=documents"),
        "agent 5 :1.C kind=1 app=a.b;request 5 1 x held 1 bucket=user:documents",
        "lease 0 1",
        "ended 2 1;gone 2 0;agent 3 :1.B",
        "request 1 2 y held 3 deadline=9", /* a lock has no deadline */
        ("request 1 2 c held 3 slots=2;request 2 2 c held 4 slots=2;"
         "request 2 3 c waiting 5 slots=3"),
    };

    for (guint i = 0; i < G_N_ELEMENTS(consistent); i++) {
        g_autofree char *text = write_records(fixture, consistent[i]);

        g_assert_cmpstr(text, !=, "damaged");
        fixture_open(fixture);
        g_assert_nonnull(world_find(&fixture->world, 'A', 1));
        g_assert_cmpint(user_agent_get_next_deadline_ms(&fixture->world.user_agent), ==, -1);
    }
}

static void
test_contradiction(Fixture *fixture, gconstpointer data)
{
    g_autofree char *aside = fixture_path(fixture, "state.aside");
    g_autofree char *text = write_records(fixture, data);
    g_autofree char *before = NULL, *after = NULL;
    gsize n_before, n_after;

    g_assert_cmpstr(text, ==, "damaged");
    g_assert_true(g_file_get_contents(fixture->path, &before, &n_before, NULL));
    fixture_open(fixture);
    fixture_assert_warned("*inconsistent*aside*");
    g_assert_cmpuint(user_agent_get_n_requests(&fixture->world.user_agent), ==, 0);
    g_assert_cmpuint(fixture->world.user_agent.agents.length, ==, 0);
    g_assert_true(g_file_get_contents(aside, &after, &n_after, NULL));
    g_assert_cmpmem(after, n_after, before, n_before);
    world_request(&fixture->world, 'C', "x", "");
    world_commit(&fixture->world);
    fixture_check_stored(fixture);
}

/* Tokens continue above the ceiling, also if all other records are discarded. */
static void
test_tokens_of_contradictions(Fixture *fixture, gconstpointer data)
{
    guint64 ceiling = (guint64)WORLD_REALTIME_US * 2;
    g_autofree char *records =
        g_strdup_printf("tokens 0 %" G_GUINT64_FORMAT ";request 2 2 x held 3", ceiling);
    g_autofree char *text = write_records(fixture, records);
    guint64 id;

    fixture_open(fixture);
    fixture_assert_warned("*inconsistent*");
    id = world_request(&fixture->world, 'A', "x", "");
    g_assert_cmpuint(world_find(&fixture->world, 'A', id)->token, >, ceiling);
}

static void
crash_at_request(const char *guard, guint64 agent, guint64 id)
{
    const struct rlimit no_core = {0, 0};
    pid_t pid = fork();

    g_assert_cmpint(pid, >=, 0);
    if (pid == 0) {
        setrlimit(RLIMIT_CORE, &no_core);
        signal(SIGSEGV, SIG_DFL); /* that of a sanitizer would report it */
        crash_guard_begin(guard, 1);
        crash_guard_skips(agent, id);
        raise(SIGSEGV);
    }
    g_assert_cmpint(waitpid(pid, NULL, 0), ==, pid);
}

/* A request is left out, since it has crashed the service, and a later one is inconsistent: then
 * nobody is notified of the first. */
static void
test_left_out(Fixture *fixture, gconstpointer data)
{
    static const char *const more[] = {"request 9 1 y waiting 3", NULL};
    g_autofree char *guard = fixture_path(fixture, "guard");
    g_autoptr(GByteArray) frame = g_byte_array_new();
    UserAgent user_agent;
    Restored restored;

    for (guint i = 0; i < 3; i++)
        crash_at_request(guard, 1, 1);
    put(frame, sound);
    for (gboolean is_consistent = TRUE; is_consistent >= FALSE; is_consistent--) {
        if (!is_consistent)
            put(frame, more);
        world_init_user_agent(&user_agent, WORLD_MONOTONIC_US, WORLD_REALTIME_US);
        crash_guard_begin(guard, 1);
        g_assert_cmpint(restore_all(&restored, &user_agent, NULL,
                                    g_memdup2(frame->data, frame->len), frame->len),
                        ==, is_consistent);
        crash_guard_end(FALSE);
        g_assert_cmpint(restored.lost.agent != NULL, ==, is_consistent);
        restored_undo(&restored, &user_agent);
        restored_clear(&restored);
        user_agent_fini(&user_agent);
    }
}

int
main(int argc, char **argv)
{
    fixture_init(&argc, &argv);
    STATE_TEST("/contradictions/none", test_consistent);
    for (guint i = 0; i < G_N_ELEMENTS(contradictions); i++) {
        g_autofree char *path = g_strdup_printf("/contradictions/%s", contradictions[i].path);

        g_test_add(path, Fixture, contradictions[i].records, fixture_set_up, test_contradiction,
                   fixture_tear_down);
    }
    STATE_TEST("/contradictions/tokens-of-contradictions", test_tokens_of_contradictions);
    STATE_TEST("/contradictions/left-out", test_left_out);
    return g_test_run();
}
