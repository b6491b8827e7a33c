/* SPDX-FileCopyrightText: 2026 The WebLocks for D-Bus authors
 * SPDX-License-Identifier: LGPL-2.1-or-later */

/* An application that uses only the installed pkg-config file. */

#include <stdio.h>
#include <weblocks/weblocks.h>

int
main(int argc, char **argv)
{
    g_autoptr(GError) error = NULL;
    g_autoptr(WebLocksManager) manager = web_locks_manager_new(NULL, "org.example.Consumer");
    g_autoptr(WebLocksLock) lock =
        web_locks_manager_request_sync(manager, "resource", NULL, NULL, &error);

    if (lock == NULL) {
        fprintf(stderr, "%s\n", error->message);
        return 1;
    }
    printf("%s: %s\n", web_locks_lock_get_name(lock),
           web_locks_lock_get_held(lock) ? "held" : "not held");
    return 0;
}
