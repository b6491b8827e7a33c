/* SPDX-FileCopyrightText: 2026 The WebLocks for D-Bus authors
 * SPDX-License-Identifier: LGPL-2.1-or-later */

/* holder ADDRESS BUCKET NAME: acquires the lock, prints "held", and holds it until EOF on its
 * input. */

#include <stdio.h>
#include <weblocks/weblocks.h>

int
main(int argc, char **argv)
{
    g_autoptr(GError) error = NULL;
    g_autoptr(WebLocksAgent) agent = NULL;
    g_autoptr(WebLocksManager) manager = NULL;
    g_autoptr(WebLocksLock) lock = NULL;

    g_assert_cmpint(argc, ==, 4);
    agent = web_locks_agent_new_for_address_sync(argv[1], NULL, &error);
    g_assert_no_error(error);
    manager = web_locks_agent_get_manager(agent, argv[2], &error);
    g_assert_no_error(error);
    lock = web_locks_manager_request_sync(manager, argv[3], NULL, NULL, &error);
    g_assert_no_error(error);
    puts("held");
    fflush(stdout);
    while (getchar() != EOF)
        ;
    return 0;
}
