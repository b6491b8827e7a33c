/* SPDX-FileCopyrightText: 2026 The WebLocks for D-Bus authors
 * SPDX-License-Identifier: LGPL-2.1-or-later */

#include "bulk.h"

/* The maximum number of requests without an answer. */
#define AT_A_TIME 500

static void
on_held(GObject *source, GAsyncResult *result, gpointer data)
{
    g_autoptr(GError) error = NULL;
    WebLocksLock *lock =
        web_locks_manager_request_finish(WEB_LOCKS_MANAGER(source), result, &error);
    GPtrArray *locks = data;

    bench_check_error(error, "request");
    g_ptr_array_add(locks, lock);
}

/* They are held until the process exits. */
void
bulk_hold(WebLocksManager *manager, guint n)
{
    static GPtrArray *locks;

    locks = g_ptr_array_new();
    for (guint i = 0; i < n; i++) {
        g_autofree char *name = g_strdup_printf("document %u", i);

        web_locks_manager_request_async(manager, name, NULL, NULL, on_held, locks);
        while (i + 1 - locks->len >= AT_A_TIME)
            g_main_context_iteration(NULL, TRUE);
    }
    while (locks->len < n)
        g_main_context_iteration(NULL, TRUE);
}

void
bulk_wait(WebLocksManager *manager, guint n, GAsyncReadyCallback on_granted, gpointer data)
{
    for (guint i = 1; i <= n; i++) {
        web_locks_manager_request_async(manager, BULK_NAME, NULL, NULL, on_granted, data);
        if (i % AT_A_TIME == 0 || i == n)
            bench_barrier(web_locks_manager_get_agent(manager));
    }
}
