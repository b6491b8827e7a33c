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
    agent = web_locks_agent_new(G_BUS_TYPE_NONE, argv[1]);
    manager = web_locks_manager_new(agent, argv[2]);
    lock = web_locks_manager_request_sync(manager, argv[3], NULL, NULL, &error);
    g_assert_no_error(error);
    puts("held");
    fflush(stdout);
    while (getchar() != EOF)
        ;
    return 0;
}
