/* SPDX-FileCopyrightText: 2026 The WebLocks for D-Bus authors
 * SPDX-License-Identifier: LGPL-2.1-or-later */

/* The nodes of a ZooKeeper server, and the transactions that change them: what DataTree and
 * PrepRequestProcessor do with the requests that cluster/engine sends. The operations of one
 * transaction don't depend on each other, but that one may create the parent of the next. */

#pragma once

#include <glib.h>

typedef struct {
    char *data;
    gint32 version;
    gint32 next_sequence; /* counts the creations of children */
    guint64 owner;        /* the session of an ephemeral node, or 0 */
    gboolean is_container;
    GPtrArray *children; /* names, owned */
} SimNode;

typedef enum { SIM_CREATE, SIM_DELETE, SIM_SET, SIM_CHECK } SimOpKind;

typedef struct {
    SimOpKind kind;
    char *path;
    char *data;      /* of CREATE and SET */
    gint32 version;  /* that SET expects; -1: any. In the result: the new one */
    gint32 cversion; /* the result of SET */
    gint32 n_children;
    int mode;      /* of CREATE, one of ZooKeeper's; sequential ones get their number */
    guint64 owner; /* of CREATE, or 0 */
} SimOp;

/* By g_rc_box_new0(). */
typedef struct {
    guint64 session;       /* whose request it was */
    guint64 ended_session; /* or 0 */
    GArray *ops;           /* of SimOp, owned */
} SimTransaction;

SimTransaction *sim_transaction_new(guint64 session);
void sim_transaction_unref(SimTransaction *transaction);

/* Copies the strings. */
SimOp *sim_transaction_add(SimTransaction *transaction, SimOpKind kind, const char *path);

/* The version with which counters of tokens begin: see cluster/engine/tokens.c. */
extern gint32 sim_tree_first_count;

typedef struct SimTree SimTree;

/* What watches are told: a node was changed or deleted, or its children have changed. */
typedef void (*SimTreeChanged)(const char *path, gboolean are_children, gpointer data);

SimTree *sim_tree_new(SimTreeChanged changed, gpointer data);
void sim_tree_free(SimTree *tree);

/* Borrowed; NULL: there is none. */
const SimNode *sim_tree_find(const SimTree *tree, const char *path);

/* Checks a transaction, and gives it the names and versions that it results in. Returns ZOK, or the
 * error of the operation `out_failed`. */
int sim_tree_prepare(const SimTree *tree, SimTransaction *transaction, guint *out_failed);

/* Carries out what was prepared on a tree with the same nodes. */
void sim_tree_apply(SimTree *tree, const SimTransaction *transaction);

/* Adds the deletions of all nodes of a session. */
void sim_tree_delete_owned(const SimTree *tree, guint64 owner, SimTransaction *transaction);
