/* SPDX-FileCopyrightText: 2026 The WebLocks for D-Bus authors
 * SPDX-License-Identifier: LGPL-2.1-or-later */

/* What takes one for the other, tells somebody what is not theirs to know, or costs too much, if a
 * fault is asked for: see service/base/fault.h. In weblocksd itself all of this is nothing. */

#pragma once

#include "effects.h"
#include "principal.h"
#include "server.h"

#ifdef WEBLOCKS_SEEDED_FAULTS
/* FAULT_QUERY_UNFILTERED: the bucket of that name of somebody else, if there is one. */
LockManager *bus_faults_find_manager(const Client *client, const char *bucket);

/* FAULT_FOREIGN_IDS: takes somebody else's live request of that id for the client's. */
void bus_faults_mistake_id(const Client *client, guint64 id, LockManager **manager, Agent **agent);

/* FAULT_ABORT_BREAKS_FIFO: who came last goes first, if that request of the client waits. */
void bus_faults_let_last_overtake(const Client *client, guint64 id);

/* FAULT_USERS_ARE_ONE, FAULT_APP_ID_IGNORED: takes one for the other. */
void bus_faults_mistake_identity(PrincipalIdentity *identity);

/* FAULT_ERROR_TELLS_NAME: TRUE if it has sent an error that tells somebody's lock. */
gboolean bus_faults_tell_name(Client *client, const LockCall *call);

/* FAULT_BROADCAST, FAULT_WATCH_UNFILTERED: tell people of it who should not hear it. */
void bus_faults_tell_effect(Server *server, const Effect *effect);

/* FAULT_ENDS_SEARCHED_FOR: looks at one client after the other. */
void bus_faults_search_clients(const Server *server, const char *name);

/* FAULT_LOG_UNLIMITED, FAULT_LOG_UNESCAPED: write what the client has caused. */
void bus_faults_log(const LockCall *call, gboolean is_error);
#else
static inline LockManager *
bus_faults_find_manager(const Client *client, const char *bucket)
{
    return NULL;
}

static inline void
bus_faults_mistake_id(const Client *client, guint64 id, LockManager **manager, Agent **agent)
{
}

static inline void
bus_faults_let_last_overtake(const Client *client, guint64 id)
{
}

static inline void
bus_faults_mistake_identity(PrincipalIdentity *identity)
{
}

static inline gboolean
bus_faults_tell_name(Client *client, const LockCall *call)
{
    return FALSE;
}

static inline void
bus_faults_tell_effect(Server *server, const Effect *effect)
{
}

static inline void
bus_faults_search_clients(const Server *server, const char *name)
{
}

static inline void
bus_faults_log(const LockCall *call, gboolean is_error)
{
}
#endif
