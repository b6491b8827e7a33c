/* SPDX-FileCopyrightText: 2026 The WebLocks for D-Bus authors
 * SPDX-License-Identifier: LGPL-2.1-or-later */

/* The name by which people know who holds a lock: of commands, scripts and applications, with real
 * processes, and never of another process. */

#include <fcntl.h>
#include <glib/gstdio.h>
#include <sys/wait.h>
#include <unistd.h>

#include "client-lib/lock-info-private.h"
#include "common/program-name.h"
#include "tests/lib/case.h"

#define SCRIPT "nightly-job"

static char *folder;

typedef struct {
    const char *client_id, *process, *application, *command;
    guint pid;
    guint64 age_ms;
} Entry;

static void
check(const Entry *entry, const char *who, guint who_pid)
{
    g_autoptr(WebLocksLockInfo) info = NULL;
    GVariantDict dict;

    g_variant_dict_init(&dict, NULL);
    g_variant_dict_insert(&dict, "clientId", "s",
                          entry->client_id != NULL ? entry->client_id : ":1.5");
    g_variant_dict_insert(&dict, "process", "s", entry->process != NULL ? entry->process : "");
    g_variant_dict_insert(&dict, "app", "s", entry->application != NULL ? entry->application : "");
    g_variant_dict_insert(&dict, "for", "s", entry->command != NULL ? entry->command : "");
    g_variant_dict_insert(&dict, "pid", "u", entry->pid);
    g_variant_dict_insert(&dict, "age", "t", entry->age_ms);
    info = web_locks_lock_info_new_from_inspect(g_variant_dict_end(&dict));
    g_assert_nonnull(info);
    g_assert_cmpstr(web_locks_lock_info_get_who(info), ==, who);
    g_assert_cmpuint(web_locks_lock_info_get_who_pid(info), ==, who_pid);
}

TEST("/who/commands", test_commands)
{
    static const struct {
        const char *command, *who;
        guint pid; /* 0: that of the client */
    } cases[] = {
        {"rsync (pid 123)", "rsync", 123},
        {"two words (pid 1)", "two words", 1},
        {"a (pid 5) (pid 6)", "a (pid 5)", 6},
        {"rsync", "rsync", 0},
        {"a (pid 0)", "a (pid 0)", 0},
        {"a (pid -1)", "a (pid -1)", 0},
        {"a (pid 4294967296)", "a (pid 4294967296)", 0},
        {"a (pid 5", "a (pid 5", 0},
        {"a (pid 5) b", "a (pid 5) b", 0},
        {" (pid 5)", " (pid 5)", 0},
    };

    for (guint i = 0; i < G_N_ELEMENTS(cases); i++) {
        const Entry entry = {.process = "weblocks", .command = cases[i].command, .pid = 7};

        check(&entry, cases[i].who, cases[i].pid > 0 ? cases[i].pid : 7);
    }
}

TEST("/who/words", test_words)
{
    static const struct {
        const char *words, *name;
        gboolean is_script;
    } cases[] = {
        {"/usr/bin/rsync -a x y", "rsync", FALSE},
        {"rsync", "rsync", FALSE},
        {"python3 /x/backup.py --all", "backup.py", TRUE},
        {"/usr/bin/python3.11 -u -W ignore backup.py", "backup.py", TRUE},
        {"python3 -m http.server", "http.server", TRUE},
        {"python3 -c print()", "python3", FALSE},
        {"python3", "python3", FALSE},
        {"python3 -", "python3", FALSE},
        {"gjs -m app.js", "app.js", TRUE},
        {"gjs-console app.js", "app.js", TRUE},
        {"node --import x.mjs app.mjs", "app.mjs", TRUE},
        {"node -e 1", "node", FALSE},
        {"perl -e 1 x", "perl", FALSE},
        {"bash -e job.sh", "job.sh", TRUE},
        {"-bash job.sh", "job.sh", TRUE},
        {"sh -ec true job.sh", "sh", FALSE},
        {"sh -- job.sh", "job.sh", TRUE},
        {"weird/", NULL, FALSE},
    };

    for (guint i = 0; i < G_N_ELEMENTS(cases); i++) {
        g_auto(GStrv) words = g_strsplit(cases[i].words, " ", -1);
        g_autofree char *name = program_name_of_words((const char *const *)words);
        g_autofree char *script = program_name_of_script((const char *const *)words);

        g_test_message("%s", cases[i].words);
        g_assert_cmpstr(name, ==, cases[i].name);
        g_assert_cmpstr(script, ==, cases[i].is_script ? cases[i].name : NULL);
    }
}

/* A shell with a script, which ends with its input. */
TEST("/who/process", test_process)
{
    g_autofree char *path = g_build_filename(folder, SCRIPT, NULL);
    char *argv[] = {(char *)"sh", path, NULL};
    g_autoptr(GError) error = NULL;
    Entry entry = {.process = "sh"};
    GPid pid;
    int input;

    g_assert_true(g_file_set_contents(path, "read line\n", -1, &error));
    g_assert_true(g_spawn_async_with_pipes(NULL, argv, NULL,
                                           G_SPAWN_SEARCH_PATH | G_SPAWN_DO_NOT_REAP_CHILD, NULL,
                                           NULL, &pid, &input, NULL, NULL, &error));
    entry.pid = (guint)pid;
    check(&entry, SCRIPT, entry.pid);
    entry.process = "";
    check(&entry, SCRIPT, entry.pid);
    /* Another process has the pid now: one with another name, or one that was started later. */
    entry.process = "other";
    check(&entry, "other", entry.pid);
    entry.process = "sh";
    entry.age_ms = 3600 * 1000;
    check(&entry, "sh", entry.pid);
    close(input);
    g_assert_cmpint(waitpid(pid, NULL, 0), ==, pid);
    entry.age_ms = 0;
    check(&entry, "sh", entry.pid);
    entry.process = "";
    check(&entry, ":1.5", entry.pid);
    g_unlink(path);
}

TEST("/who/applications", test_applications)
{
    g_autofree char *applications = g_build_filename(folder, "applications", NULL);
    g_autofree char *path = g_build_filename(applications, "org.example.App.desktop", NULL);
    g_autoptr(GError) error = NULL;
    Entry entry = {.process = "app", .pid = 7, .application = "org.example.App"};

    g_assert_cmpint(g_mkdir(applications, 0700), ==, 0);
    g_assert_true(g_file_set_contents(
        path, "[Desktop Entry]\nType=Application\nName=Example Editor\nName[de]=Beispiel\n", -1,
        &error));
    check(&entry, "Example Editor", 7);
    /* It can't pass for another one. */
    entry.command = "rsync (pid 8)";
    check(&entry, "Example Editor", 7);
    entry.application = "org.example.None";
    check(&entry, "org.example.None", 7);
    entry.application = "../applications/org.example.App";
    check(&entry, "../applications/org.example.App", 7);
    g_unlink(path);
    g_rmdir(applications);
}

TEST("/who/hosts", test_hosts)
{
    const Entry entry = {.client_id = "host:node1", .command = "rsync (pid 8)"};

    check(&entry, "host:node1", 0);
}

int
main(int argc, char **argv)
{
    g_autoptr(GError) error = NULL;
    int result;

    folder = g_dir_make_tmp("weblocks-who-XXXXXX", &error);
    g_assert_no_error(error);
    g_setenv("XDG_DATA_DIRS", folder, TRUE);
    g_setenv("XDG_DATA_HOME", folder, TRUE);
    g_test_init(&argc, &argv, NULL);
    test_cases_add();
    result = g_test_run();
    g_rmdir(folder);
    g_free(folder);
    return result;
}
