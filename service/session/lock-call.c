/* SPDX-FileCopyrightText: 2026 The WebLocks for D-Bus authors
 * SPDX-License-Identifier: LGPL-2.1-or-later */

#include "lock-call.h"

#include <string.h>

#include "bus-names.h"

const char *
lock_call_get_name(const LockCall *call)
{
    static const char *const names[] = {
        [LOCK_CALL_REQUEST] = "Request",
        [LOCK_CALL_RELEASE] = "Release",
        [LOCK_CALL_ABORT] = "Abort",
        [LOCK_CALL_DOWNGRADE] = "Downgrade",
        [LOCK_CALL_SYNC] = "SYNC",
        [LOCK_CALL_END] = "END",
        [LOCK_CALL_QUERY] = "Query",
        [LOCK_CALL_INSPECT] = "Inspect",
        [LOCK_CALL_WATCH] = "Watch",
        [LOCK_CALL_BREAK] = "Break",
        [LOCK_CALL_BUCKETS] = "Buckets",
        [LOCK_CALL_TREE] = "Introspect",
        [LOCK_CALL_OBSERVABLE] = "Observable",
        [LOCK_CALL_RESYNC] = "Resync",
        [LOCK_CALL_OPEN_SOCKET] = "OpenSocket",
        [LOCK_CALL_OPEN_DOCUMENT] = "OpenDocument",
        [LOCK_CALL_PING] = "Ping",
        [LOCK_CALL_MACHINE_ID] = "GetMachineId",
        [LOCK_CALL_INTROSPECT] = "Introspect",
        [LOCK_CALL_GET] = "Get",
        [LOCK_CALL_GET_ALL] = "GetAll",
        [LOCK_CALL_UNKNOWN] = "another call",
    };

    return names[call->kind];
}

/* ---- copies */

/* The strings of a call, each with the maximum length of its copy. */
#define N_TEXTS 8

typedef struct {
    const char **text;
    gsize max;
} CallText;

static void
get_texts(LockCall *call, const Limits *limits, CallText *out_texts)
{
    const gsize name_max = limits->max[LIMIT_NAME_BYTES], why_max = limits->max[LIMIT_WHY_BYTES];

    out_texts[0] = (CallText){&call->bucket, BUS_BUCKET_BYTES_MAX};
    out_texts[1] = (CallText){&call->name, name_max};
    out_texts[2] = (CallText){&call->options.why, why_max};
    out_texts[3] = (CallText){&call->filter.name, name_max};
    out_texts[4] = (CallText){&call->filter.prefix, name_max};
    out_texts[5] = (CallText){&call->filter.client_id, BUS_CLIENT_ID_BYTES_MAX};
    out_texts[6] = (CallText){&call->owner.identity.app_id, BUS_APP_BYTES_MAX};
    out_texts[7] = (CallText){&call->options.command, why_max};
}

LockCall *
lock_call_copy(const LockCall *call, const Limits *limits)
{
    LockCall with_texts = *call;
    CallText texts[N_TEXTS];
    gsize lengths[N_TEXTS], n_bytes = sizeof *call;
    LockCall *copy;
    char *end;

    get_texts(&with_texts, limits, texts);
    for (guint i = 0; i < N_TEXTS; i++) {
        lengths[i] = *texts[i].text != NULL ? strnlen(*texts[i].text, texts[i].max + 1) : 0;
        n_bytes += lengths[i] + 1;
    }
    copy = g_malloc(n_bytes);
    end = (char *)(copy + 1);
    for (guint i = 0; i < N_TEXTS; i++) {
        if (*texts[i].text == NULL)
            continue;
        memcpy(end, *texts[i].text, lengths[i]);
        end[lengths[i]] = '\0';
        *texts[i].text = end;
        end += lengths[i] + 1;
    }
    *copy = with_texts;
    copy->refusal_text = g_strdup(call->refusal_text);
    copy->document = g_strdup(call->document);
    copy->n_bytes = n_bytes + (call->refusal_text != NULL ? strlen(call->refusal_text) : 0) +
                    (call->document != NULL ? strlen(call->document) : 0);
    return copy;
}

void
lock_call_free(LockCall *call)
{
    lock_call_clear(call);
    g_free(call);
}

void
lock_call_clear(LockCall *call)
{
    g_clear_pointer(&call->refusal_text, g_free);
    g_clear_pointer(&call->document, g_free);
}
