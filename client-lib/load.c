/* SPDX-FileCopyrightText: 2026 The WebLocks for D-Bus authors
 * SPDX-License-Identifier: LGPL-2.1-or-later */

/* Registers the types when the library is loaded, and not when they are first used: a fork() during
 * the first use by another thread would leave the child with locks of GLib's type system that are
 * never unlocked. */

#include <weblocks/weblocks.h>

#include "client-lib/engine/async-result.h"
#include "client-lib/info-list.h"

static void __attribute__((constructor)) load_types(void)
{
    GType (*const types[])(void) = {
        web_locks_mode_get_type,     web_locks_claim_state_get_type,
        web_locks_error_get_type,    web_locks_agent_get_type,
        web_locks_manager_get_type,  web_locks_lock_get_type,
        web_locks_options_get_type,  web_locks_claim_get_type,
        web_locks_monitor_get_type,  web_locks_request_get_type,
        web_locks_snapshot_get_type, web_locks_lock_info_get_type,
        web_locks_handle_get_type,   info_list_get_type,
        async_result_get_type,
    };

    for (guint i = 0; i < G_N_ELEMENTS(types); i++)
        g_type_class_ref(types[i]());
}
