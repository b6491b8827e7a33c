/* SPDX-FileCopyrightText: 2026 The WebLocks for D-Bus authors
 * SPDX-License-Identifier: LGPL-2.1-or-later */

/* Calls about buckets of a cluster: who may make them, and those whose replies contain what other
 * hosts hold. A reply to Query, Inspect or Break waits for the gateway for a bounded time. If that
 * does not reply, a list is of this host alone, and Break is LOCK_RESULT_UNREACHED. */

#pragma once

#include "client.h"
#include "cluster-info.h"
#include "lock-call.h"

/* Creates server->cluster; takes `config`. */
void cluster_calls_init(Server *server, ClusterConfig *config, const char *socket_path);
void cluster_calls_fini(Server *server);

/* Returns whether the client may make the call: LOCK_RESULT_OK, or the reason. Calls that are not
 * about a bucket of a cluster may be made. */
LockResult cluster_calls_check(const Client *client, const LockCall *call);

/* What cluster_calls_ask() has done. */
typedef enum {
    CLUSTER_ASK_NONE,      /* the call is about this host alone */
    CLUSTER_ASK_SENT,      /* the reply is sent later, unless the client disconnects */
    CLUSTER_ASK_UNREACHED, /* the gateway can't be asked */
} ClusterAsk;

/* Sends a Query, Inspect or Break of `uid`'s bucket to the other hosts. `n_ended` is the number of
 * locks that Break has ended on this host. */
ClusterAsk cluster_calls_ask(Client *client, const LockCall *call, guint32 uid, guint32 n_ended);

/* For the property Cluster. */
void cluster_calls_get_info(const Server *server, ClusterInfo *out_info);

/* Replies to all these calls as after their time. */
void cluster_calls_finish_all(Server *server);

/* ---- replies that wait for a decision of the cluster
 *
 * A Request with `ifAvailable` or a Steal may be undecided (core/permit.h). No other reply waits
 * for a decision. The request itself is a pending one meanwhile: the limits of requests bound the
 * number of these replies, and whatever ends the request sends the reply, or drops it if the client
 * has disconnected.
 *
 * If the client repeats the call, by its `key`, both calls get the id now, and the outcome is sent
 * as a signal. On a lock socket, an ANSWER never waits. */

/* Keeps the reply to a call that has made `request` if that is undecided. Returns FALSE if the
 * reply is to be sent now. */
gboolean cluster_calls_keep_reply(Client *client,
                                  const Channel *channel,
                                  const LockCall *call,
                                  LockRequest *request);

/* Sends the reply that the effect decides, if there is one. Returns TRUE if the client needs no
 * event in addition. */
gboolean cluster_calls_send_reply(Server *server, const Effect *effect);

/* Sends the reply of a request that waits, if it is a late one: with the id, as pending. */
void cluster_calls_send_id(Server *server, const LockRequest *request);

/* At shutdown: aborts the requests. The effects of this refuse the calls. */
void cluster_calls_abort_undecided(Server *server);
