/* SPDX-FileCopyrightText: 2026 The WebLocks for D-Bus authors
 * SPDX-License-Identifier: LGPL-2.1-or-later */

/* The nodes in ZooKeeper:
 *
 *     ROOT                              data: the format and the identification of the data
 *     ROOT/hosts                        in which nobody can make nodes: see join.c
 *     ROOT/sessions/HOST-SESSION        ephemeral; HOST and the session's id in 16 hex digits
 *     ROOT/tokens/BUCKET/GENERATION     its version is the lower part of a block: see tokens.c
 *     ROOT/buckets/BUCKET               data: its settings
 *     ROOT/buckets/BUCKET/UID           its version is the number of steals; UID is
 *                                       CLUSTER_NO_UID in a shared bucket
 *     ROOT/buckets/BUCKET/UID/HASH      container; HASH is the lock name's, data: the lock name
 *     ROOT/buckets/BUCKET/UID/HASH/...  claims, ephemeral, data: see gateway/entry.c */

#pragma once

#include <glib.h>

/* Whether a string can be the name of a host: UTF-8 without control characters and "/", of 1 to 255
 * bytes, and not "." or "..". */
gboolean engine_path_is_component(const char *text);

/* All of these return new strings. */
char *engine_path_host(const char *root, const char *host, guint64 session);
char *engine_path_bucket(const char *root, const char *bucket);
char *engine_path_name(const char *root, const char *bucket, guint32 uid, const char *name);
char *engine_path_tokens(const char *root, const char *bucket);
char *engine_path_generation(const char *root, const char *bucket, guint generation);

/* Parses the name of a node below ROOT/sessions. `host` may be NULL, else it is a new string. */
gboolean engine_path_parse_host(const char *node, char **host, guint64 *session);
