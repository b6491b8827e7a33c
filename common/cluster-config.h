/* SPDX-FileCopyrightText: 2026 The WebLocks for D-Bus authors
 * SPDX-License-Identifier: LGPL-2.1-or-later */

/* The configuration of a cluster, /etc/weblocks/cluster.conf, which weblocksd and weblocks-clusterd
 * read when they start:
 *
 *     [Cluster]
 *     Servers=zk1.example.org:2181;zk2.example.org:2181;zk3.example.org:2181
 *     Root=/weblocks
 *     SessionTimeout=15
 *     CredentialFile=/etc/weblocks/cluster.credential
 *     ClusterId=0123456789abcdef0123456789abcdef
 *
 *     [Bucket render]
 *     Users=alice;bob
 *     Groups=artists
 *     Shared=yes
 *     Turn=10
 *
 * Only Servers= and one bucket are required. A bucket without Users= and Groups= is for all users.
 * Each mistake is an error, so that a configuration means the same to both programs. */

#pragma once

#include <glib.h>

#define CLUSTER_CONFIG_PATH "/etc/weblocks/cluster.conf"
#define CLUSTER_SOCKET_PATH "/run/weblocks-cluster/socket"

typedef struct {
    char *name;          /* without "cluster:" */
    GArray *uids;        /* of guint32 */
    GArray *gids;        /* of guint32 */
    gboolean is_for_all; /* neither users nor groups are given */
    gboolean is_shared;  /* its users share its locks */
    guint turn_secs;     /* how long a host keeps a permit that another one waits for */
} ClusterBucketConfig;

typedef struct {
    char *servers; /* HOST:PORT, separated by commas */
    char *root;    /* the path under which everything is stored */
    guint session_timeout_secs;
    char *credential_file; /* NULL: none */
    char *cluster_id;      /* that of the data to be used; NULL: any */
    GPtrArray *buckets;    /* of ClusterBucketConfig, in the order of the file */
} ClusterConfig;

/* Reads a configuration. Returns NULL and sets `error` if it can't be read (in the domain
 * G_FILE_ERROR) or contains a mistake (G_KEY_FILE_ERROR); the message contains the file, and the
 * group and key of the mistake. Blocks while names of users and groups are looked up. */
ClusterConfig *cluster_config_load(const char *path, GError **error);
void cluster_config_free(ClusterConfig *config);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(ClusterConfig, cluster_config_free)

/* Returns the bucket of that name (without "cluster:"), borrowed, or NULL. */
const ClusterBucketConfig *cluster_config_find(const ClusterConfig *config, const char *name);

/* Whether a process with this uid and these groups may use the bucket. */
gboolean cluster_bucket_config_admits(const ClusterBucketConfig *bucket,
                                      guint32 uid,
                                      const guint32 *gids,
                                      gsize n_gids);
