/* SPDX-FileCopyrightText: 2026 The WebLocks for D-Bus authors
 * SPDX-License-Identifier: LGPL-2.1-or-later */

/* An engine in a process that a test can stop and kill. Reads commands, one a line, words separated
 * by tabs, the first a number that is repeated in the answer; prints states, changes and answers.
 *
 *     engine-client SERVERS ROOT TIMEOUT_MS CREDENTIAL [SESSION PASSWORD] */

#include "cluster/engine/engine-private.h"

#include <glib-unix.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#define WORDS_MAX 10

static Engine *engine;
static GMainLoop *loop;

static const char *const result_names[] = {"OK",          "NO_NODE",         "NODE_EXISTS",
                                           "BAD_VERSION", "CONNECTION_LOST", "SESSION_LOST",
                                           "DENIED",      "OTHER_FORMAT",    "OTHER"};

/* Lock names that are empty or contain tabs are not supported. */
static void
on_answer(const EngineAnswer *answer, gpointer data)
{
    g_print("answer\t%u\t%s\t%d\t%" G_GUINT64_FORMAT "\t%" G_GINT64_FORMAT "\t%s\t%s\t",
            GPOINTER_TO_UINT(data), result_names[answer->result], answer->version, answer->block,
            answer->sent_us, answer->node != NULL ? answer->node : "",
            answer->text != NULL ? answer->text : "");
    if (answer->children != NULL) {
        g_autofree char *children = g_strjoinv(",", (char **)answer->children);

        g_print("%s", children);
    }
    g_print("\n");
}

static void
on_state_changed(EngineState state, gpointer data)
{
    static const char *const names[] = {"CONNECTING", "CONNECTED", "ENDED"};
    const EngineSession *session = engine_get_session(engine);

    g_print("state\t%s\t%" G_GINT64_MODIFIER "x\t", names[state], session->id);
    for (guint i = 0; i < sizeof(session->password); i++)
        g_print("%02x", session->password[i]);
    g_print("\t%u\t%s\n", session->timeout_ms,
            state == ENGINE_CONNECTED ? engine_get_server(engine) : "");
}

static void
on_changed(const char *name_path, const char *claim, gpointer data)
{
    g_print("changed\t%s\t%s\n", name_path, claim != NULL ? claim : "");
}

static int
number(const char *word)
{
    return (int)g_ascii_strtoll(word, NULL, 10);
}

static const char *
or_null(const char *word)
{
    return word[0] != '\0' ? word : NULL;
}

/* `block` is the number of claims that were made before. */
static void
on_stolen(const EngineAnswer *answer, gpointer data)
{
    EngineAnswer counted = *answer;

    counted.block = answer->n_created;
    on_answer(&counted, data);
}

/* ---- sweeps; `block` is the number of claims that were found */

static char *swept; /* a part of the names of those that are deleted */
static guint64 n_found;

static gboolean
is_swept(const char *name_path, const char *claim, gpointer data)
{
    n_found++;
    return swept != NULL && strstr(claim, swept) != NULL;
}

static void
on_swept(const EngineAnswer *answer, gpointer data)
{
    EngineAnswer counted = *answer;

    counted.block = n_found;
    on_answer(&counted, data);
}

static void
sweep(const char *part, const char *path, gpointer data)
{
    char *paths[] = {(char *)path, NULL};

    g_free(swept);
    swept = g_strdup(part);
    n_found = 0;
    engine_sweep(engine, path[0] != '\0' ? paths : NULL, is_swept, on_swept, data);
}

/* ---- renewals, one after the other, during a sweep; `version` is the number of those that were
 * answered before its end */

static gint32 n_renewals;
static gboolean is_sweeping;

static void
on_renewed(const EngineAnswer *answer, gpointer data)
{
    if (!is_sweeping || answer->result != ENGINE_OK)
        return;
    n_renewals++;
    engine_renew(engine, on_renewed, NULL);
}

static void
on_swept_renewing(const EngineAnswer *answer, gpointer data)
{
    EngineAnswer counted = *answer;

    is_sweeping = FALSE;
    counted.version = n_renewals;
    on_swept(&counted, data);
}

static void
begin_renewals(void)
{
    is_sweeping = TRUE;
    n_renewals = 0;
    engine_renew(engine, on_renewed, NULL);
}

/* ---- many renewals at the same moment; `version` is the number of those that were committed */

static guint n_pending;
static gint32 n_committed;

static void
on_one_of_many(const EngineAnswer *answer, gpointer data)
{
    EngineAnswer counted = *answer;

    if (answer->result == ENGINE_OK)
        n_committed++;
    counted.version = n_committed;
    if (--n_pending == 0)
        on_answer(&counted, data);
}

static void
renew_many(guint count, gpointer id)
{
    n_pending = count;
    n_committed = 0;
    for (guint i = 0; i < count; i++)
        engine_renew(engine, on_one_of_many, id);
}

/* Sets a node so many times in one transaction. */
static void
set_many(const char *path, guint count, gpointer id)
{
    EngineOperation *transaction = engine_transaction_new(count);

    for (guint i = 0; i < count; i++)
        engine_transaction_set(transaction, path, "", -1);
    engine_transaction_send(transaction, engine, on_answer, id);
}

/* ---- commands */

/* Returns whether the command was one of those about a name. */
static gboolean
run_name_command(char **words, gpointer id)
{
    const char *command = words[1];

    if (g_str_equal(command, "create")) {
        engine_create_claim(engine, words[2], NULL, words[3], words[4], on_answer, id);
    } else if (g_str_equal(command, "list")) {
        engine_list_claims(engine, words[2], (EngineWatch)number(words[3]), on_answer, id);
    } else if (g_str_equal(command, "notify") || g_str_equal(command, "set")) {
        engine_notify(engine, words[2], words[3], on_answer, id);
    } else if (g_str_equal(command, "watch")) {
        engine_read_claim(engine, words[2], words[3], TRUE, on_answer, id);
    } else if (g_str_equal(command, "read")) {
        engine_read_claim(engine, words[2], words[3], FALSE, on_answer, id);
    } else if (g_str_equal(command, "grant")) {
        engine_grant(engine, words[2], words[3], number(words[4]), on_answer, id);
    } else if (g_str_equal(command, "steal")) {
        g_auto(GStrv) holders = g_strsplit(words[5], ",", -1);

        engine_steal(engine, words[2], words[3], number(words[4]), (const char *const *)holders,
                     or_null(words[6]), words[7], on_stolen, id);
    } else if (g_str_equal(command, "delete")) {
        engine_delete(engine, words[2], words[3], on_answer, id);
    } else if (g_str_equal(command, "swap")) {
        engine_create_claim(engine, words[2], words[3], words[4], words[5], on_answer, id);
    } else if (g_str_equal(command, "make")) {
        engine_request_create(engine, words[2], words[3], ZOO_PERSISTENT, on_answer, id);
    } else if (g_str_equal(command, "set-many")) {
        set_many(words[2], (guint)number(words[3]), id);
    } else if (g_str_equal(command, "get")) {
        engine_request_get(engine, words[2], FALSE, on_answer, id);
    } else if (g_str_equal(command, "sync")) {
        engine_sync(engine, words[2], on_answer, id);
    } else {
        return FALSE;
    }
    return TRUE;
}

static void
run_command(char **words)
{
    gpointer id = GUINT_TO_POINTER((guint)number(words[0]));
    const char *command = words[1];

    if (run_name_command(words, id))
        return;
    if (g_str_equal(command, "join")) {
        engine_join(engine, words[2], or_null(words[3]), on_answer, id);
    } else if (g_str_equal(command, "ensure")) {
        engine_ensure_name(engine, words[2], (guint32)number(words[3]), words[4], on_answer, id);
    } else if (g_str_equal(command, "renew")) {
        engine_renew(engine, on_answer, id);
    } else if (g_str_equal(command, "renew-many")) {
        renew_many((guint)number(words[2]), id);
    } else if (g_str_equal(command, "block")) {
        engine_read_block(engine, words[2], on_answer, id);
    } else if (g_str_equal(command, "hosts")) {
        engine_list_hosts(engine, on_answer, id);
    } else if (g_str_equal(command, "sweep")) {
        sweep(words[2], words[3], id);
    } else if (g_str_equal(command, "sweep-renewing")) {
        engine_sweep(engine, NULL, is_swept, on_swept_renewing, id);
        begin_renewals();
    } else if (g_str_equal(command, "free")) {
        engine_free(g_steal_pointer(&engine), number(words[2]) != 0);
        g_print("freed\n");
        g_main_loop_quit(loop);
    } else {
        g_error("no such command: %s", command);
    }
}

/* Commands that are read together are sent together. */
static gboolean
on_input(int fd, GIOCondition condition, gpointer data)
{
    GString *input = data;
    char buffer[4096], *end;
    gssize n = read(fd, buffer, sizeof(buffer));

    if (n <= 0) {
        g_main_loop_quit(loop);
        return G_SOURCE_REMOVE;
    }
    g_string_append_len(input, buffer, n);
    while (engine != NULL && (end = strchr(input->str, '\n')) != NULL) {
        g_auto(GStrv) words = NULL;

        *end = '\0';
        words = g_strsplit(input->str, "\t", WORDS_MAX);
        g_string_erase(input, 0, end + 1 - input->str);
        run_command(words);
    }
    return G_SOURCE_CONTINUE;
}

static void
parse_password(const char *hex, guint8 *password, gsize size)
{
    for (gsize i = 0; i < size; i++)
        password[i] =
            (guint8)(g_ascii_xdigit_value(hex[2 * i]) << 4 | g_ascii_xdigit_value(hex[2 * i + 1]));
}

int
main(int argc, char **argv)
{
    static const EngineEvents events = {on_state_changed, on_changed};
    EngineSession session = {.timeout_ms = G_MAXUINT};
    EngineConfig config = {.servers = argv[1],
                           .root = argv[2],
                           .timeout_ms = (guint)number(argv[3]),
                           .credential = or_null(argv[4])};
    g_autoptr(GString) input = g_string_new(NULL);
    g_autoptr(GError) error = NULL;

    g_log_writer_default_set_use_stderr(TRUE);
    setvbuf(stdout, NULL, _IOLBF, 0);
    if (argc > 6) {
        session.id = g_ascii_strtoull(argv[5], NULL, 16);
        parse_password(argv[6], session.password, sizeof(session.password));
        config.session = &session;
    }
    engine = engine_new(&config, &events, NULL, &error);
    if (engine == NULL) {
        g_print("error\t%s\n", error->message);
        return 1;
    }
    loop = g_main_loop_new(NULL, FALSE);
    g_unix_fd_add(STDIN_FILENO, G_IO_IN | G_IO_HUP, on_input, input);
    g_main_loop_run(loop);
    g_main_loop_unref(loop);
    if (engine != NULL)
        engine_free(engine, FALSE);
    return 0;
}
