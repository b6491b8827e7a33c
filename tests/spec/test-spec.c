/* SPDX-FileCopyrightText: 2026 The WebLocks for D-Bus authors
 * SPDX-License-Identifier: LGPL-2.1-or-later */

/* Runs all cases on one driver. Usage: test-spec-DRIVER CASES-FILE [g_test options] */

#include "tests/spec/spec-driver.h"

static void
test_case(gconstpointer data)
{
    const char *reason =
        SPEC_DRIVER.get_skip_reason != NULL ? SPEC_DRIVER.get_skip_reason(data) : NULL;

    if (reason != NULL)
        g_test_skip(reason);
    else
        spec_run_case(&SPEC_DRIVER, data);
}

int
main(int argc, char **argv)
{
    g_autoptr(GError) error = NULL;
    g_autoptr(GPtrArray) cases = NULL;
    int status;

    g_test_init(&argc, &argv, NULL);
    if (argc != 2)
        g_error("Usage: %s CASES-FILE", argv[0]);
    cases = spec_cases_load(argv[1], &error);
    if (cases == NULL)
        g_error("%s: %s", argv[1], error->message);

    for (guint i = 0; i < cases->len; i++) {
        const SpecCase *spec = cases->pdata[i];
        g_autofree char *path = g_strdup_printf("/%s/%s", SPEC_DRIVER.name, spec->name);

        g_test_add_data_func(path, spec, test_case);
    }
    if (SPEC_DRIVER.set_up != NULL)
        SPEC_DRIVER.set_up();
    status = g_test_run();
    if (SPEC_DRIVER.tear_down != NULL)
        SPEC_DRIVER.tear_down();
    return status;
}
