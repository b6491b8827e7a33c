/* SPDX-FileCopyrightText: 2026 The WebLocks for D-Bus authors
 * SPDX-License-Identifier: LGPL-2.1-or-later */

/* The gateway: connects the lock service of this host to the engine that all hosts share.
 *
 * The lock service sends its demand for each name; the gateway has an entry for each, which takes
 * the host's turns. It also lists and breaks the claims of other hosts. */

#pragma once

#include <sys/types.h>

#include "cluster-config.h"
#include "seen.h"

typedef struct Entry Entry;
typedef struct Gateway Gateway;

typedef struct {
    const ClusterConfig *config;
    const char *credential;      /* NULL: none */
    const char *host;            /* the name of this host, as others see it */
    const char *state_directory; /* exists */
    Seen *seen;                  /* its file `seen` */
    const char *socket_path;     /* NULL: systemd has passed the socket */
    uid_t service_uid;           /* of weblocksd */
} GatewayOptions;

/* `options` have to stay valid. */
Gateway *gateway_new(const GatewayOptions *options, GError **error);
void gateway_free(Gateway *gateway);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(Gateway, gateway_free)

/* ---- called by the session and the entries */

void gateway_session_ready(Gateway *gateway);
void gateway_session_interrupted(Gateway *gateway);
void gateway_session_ended(Gateway *gateway);
void gateway_node_changed(Gateway *gateway, const char *name_path);
/* A new deadline or state has to be sent to the lock service, with this number. */
void gateway_lease_changed(Gateway *gateway, guint64 serial);
/* Whether this process has nodes, or may have some: only then, or if the one before may have left
 * some, there is a lease. */
gboolean gateway_has_nodes(const Gateway *gateway);
/* The entry has carried out actions; it may have ended. */
void gateway_entry_changed(Gateway *gateway, Entry *entry);
