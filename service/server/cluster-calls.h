/* SPDX-FileCopyrightText: 2026 The WebLocks for D-Bus authors
 * SPDX-License-Identifier: LGPL-2.1-or-later */

/* Calls about buckets of a cluster: who may make them, and those whose replies contain what other
 * hosts hold. A reply to Break, to Inspect of a name, or with the property Cluster waits for the
 * gateway for a bounded time. If that does not answer, a list is of this host alone, the property
 * is as of the last answer, and Break is LOCK_RESULT_UNREACHED. */

#pragma once

#include "client.h"
#include "lock-call.h"

/* Serves the buckets of a cluster: creates server->cluster; takes `config`. To be called before
 * server_start(). */
void cluster_calls_init(Server *server, ClusterConfig *config, const char *socket_path);
void cluster_calls_fini(Server *server);

/* Returns whether the client may make a call about a bucket of a cluster: LOCK_RESULT_OK, or the
 * reason. */
LockResult cluster_calls_check(const Client *client, const LockCall *call, const Target *target);

/* What cluster_calls_ask() has done. */
typedef enum {
    CLUSTER_ASK_NONE,      /* the call is about this host alone */
    CLUSTER_ASK_SENT,      /* the reply is sent later, unless the client disconnects */
    CLUSTER_ASK_UNREACHED, /* the gateway can't be asked */
} ClusterAsk;

/* Asks the other hosts about an Inspect or Break of `uid`'s bucket. `n_ended` is the number of
 * locks that Break has ended on this host. */
ClusterAsk cluster_calls_ask(Client *client, const LockCall *call, guint32 uid, guint32 n_ended);

/* Replies to a Get or GetAll with the property Cluster, now or later. */
void cluster_calls_get(Client *client, const LockCall *call);

/* Replies to all these calls as after their time. */
void cluster_calls_finish_all(Server *server);

/* At shutdown: ends the undecided requests (core/permit.h) of a client on the bus, since they are
 * not stored. A client with a lock socket requests them again. */
void cluster_calls_end_undecided(const Client *client);
