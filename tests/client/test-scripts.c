/* SPDX-FileCopyrightText: 2026 The WebLocks for D-Bus authors
 * SPDX-License-Identifier: LGPL-2.1-or-later */

/* The library with a service that follows a script. Usage: test-scripts FILE [g_test options] */

#include "tests/client/script.h"

static void
run_async(gconstpointer data)
{
    script_run(data, FALSE);
}

static void
run_sync(gconstpointer data)
{
    script_run(data, TRUE);
}

int
main(int argc, char **argv)
{
    g_autoptr(GPtrArray) cases = NULL;

    g_test_init(&argc, &argv, NULL);
    if (argc != 2)
        g_error("Usage: %s FILE", argv[0]);
    cases = script_cases_load(argv[1]);
    for (guint i = 0; i < cases->len; i++) {
        const ScriptCase *script = cases->pdata[i];
        g_autofree char *path = g_strdup_printf("/%s/%s", script->file, script->name);
        g_autofree char *sync_path = g_strdup_printf("/%s/sync/%s", script->file, script->name);

        g_test_add_data_func(path, script, run_async);
        if (script->is_also_sync)
            g_test_add_data_func(sync_path, script, run_sync);
    }
    return test_run_on_bus();
}
