/* SPDX-FileCopyrightText: 2026 The WebLocks for D-Bus authors
 * SPDX-License-Identifier: LGPL-2.1-or-later */

#include "private-session.h"

PrivateSession *
private_session_new(const char *bucket)
{
    const char *digits = bucket + strlen(BUS_PRIVATE_PREFIX);
    g_autofree char *digest = NULL;
    PrivateSession *self;

    if (strlen(digits) != PRIVATE_DIGITS || strspn(digits, "0123456789abcdef") != PRIVATE_DIGITS)
        return NULL;
    digest = g_compute_checksum_for_string(G_CHECKSUM_SHA256, bucket, -1);
    self = g_new0(PrivateSession, 1);
    self->members = g_hash_table_new(NULL, NULL);
    g_snprintf(self->public_name, sizeof self->public_name, BUS_PUBLIC_PREFIX "%.*s",
               PRIVATE_DIGITS, digest);
    return self;
}

void
private_session_free(PrivateSession *self)
{
    g_assert(g_hash_table_size(self->members) == 0);
    g_hash_table_unref(self->members);
    g_free(self);
}

static guint
get_count(const PrivateSession *self, const Agent *agent)
{
    return GPOINTER_TO_UINT(g_hash_table_lookup(self->members, agent));
}

static void
set_count(PrivateSession *self, const Agent *agent, guint count)
{
    if (count > 0)
        g_hash_table_insert(self->members, (gpointer)agent, GUINT_TO_POINTER(count));
    else
        g_hash_table_remove(self->members, agent);
}

void
private_session_add(PrivateSession *self, const Agent *agent)
{
    set_count(self, agent, get_count(self, agent) + 1);
}

void
private_session_remove(PrivateSession *self, const Agent *agent)
{
    set_count(self, agent, get_count(self, agent) - 1);
}

gboolean
private_session_has(const PrivateSession *self, const Agent *agent)
{
    return get_count(self, agent) > 0;
}
