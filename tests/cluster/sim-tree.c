/* SPDX-FileCopyrightText: 2026 The WebLocks for D-Bus authors
 * SPDX-License-Identifier: LGPL-2.1-or-later */

#include "sim-tree.h"

#include <string.h>
#include <zookeeper/zookeeper.h>

/* Of containers, as if they had had many children before: after a few more, the numbers become
 * negative. */
#define FIRST_SEQUENCE (G_MAXINT32 - 20)

#define COUNTERS "/weblocks/tokens/"

gint32 sim_tree_first_count;

struct SimTree {
    GHashTable *nodes; /* path -> SimNode */
    SimTreeChanged changed;
    gpointer data;
};

/* ---- transactions */

static void
op_clear(gpointer data)
{
    SimOp *op = data;

    g_free(op->path);
    g_free(op->data);
}

SimTransaction *
sim_transaction_new(guint64 session)
{
    SimTransaction *transaction = g_rc_box_new0(SimTransaction);

    transaction->session = session;
    transaction->ops = g_array_new(FALSE, TRUE, sizeof(SimOp));
    g_array_set_clear_func(transaction->ops, op_clear);
    return transaction;
}

static void
transaction_clear(gpointer data)
{
    g_array_unref(((SimTransaction *)data)->ops);
}

void
sim_transaction_unref(SimTransaction *transaction)
{
    g_rc_box_release_full(transaction, transaction_clear);
}

SimOp *
sim_transaction_add(SimTransaction *transaction, SimOpKind kind, const char *path)
{
    SimOp op = {.kind = kind, .path = g_strdup(path), .version = -1};

    g_array_append_val(transaction->ops, op);
    return &g_array_index(transaction->ops, SimOp, transaction->ops->len - 1);
}

/* ---- nodes */

static SimNode *
node_new(const char *data)
{
    SimNode *node = g_new0(SimNode, 1);

    node->data = g_strdup(data);
    node->children = g_ptr_array_new_with_free_func(g_free);
    return node;
}

static void
node_free(gpointer data)
{
    SimNode *node = data;

    g_free(node->data);
    g_ptr_array_unref(node->children);
    g_free(node);
}

SimTree *
sim_tree_new(SimTreeChanged changed, gpointer data)
{
    SimTree *tree = g_new0(SimTree, 1);

    tree->nodes = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, node_free);
    g_hash_table_insert(tree->nodes, g_strdup(""), node_new(""));
    tree->changed = changed;
    tree->data = data;
    return tree;
}

void
sim_tree_free(SimTree *tree)
{
    g_hash_table_unref(tree->nodes);
    g_free(tree);
}

static SimNode *
find(const SimTree *tree, const char *path)
{
    return g_hash_table_lookup(tree->nodes, path);
}

const SimNode *
sim_tree_find(const SimTree *tree, const char *path)
{
    return find(tree, path);
}

static char *
get_parent_path(const char *path)
{
    return g_strndup(path, (gsize)(strrchr(path, '/') - path));
}

/* ---- checking */

static gboolean
is_sequential(const SimOp *op)
{
    return op->mode == ZOO_EPHEMERAL_SEQUENTIAL || op->mode == ZOO_PERSISTENT_SEQUENTIAL;
}

static int
prepare_create(const SimTree *tree, const SimTransaction *transaction, SimOp *op)
{
    g_autofree char *parent_path = get_parent_path(op->path);
    const SimNode *parent = find(tree, parent_path);
    const SimOp *first = &g_array_index(transaction->ops, SimOp, 0);

    if (parent == NULL && !(first->kind == SIM_CREATE && g_str_equal(first->path, parent_path)))
        return ZNONODE;
    if (is_sequential(op)) {
        g_autofree char *prefix = op->path;

        op->path = g_strdup_printf("%s%010d", prefix, parent->next_sequence);
    }
    if (find(tree, op->path) != NULL)
        return ZNODEEXISTS;
    if (op->mode == ZOO_EPHEMERAL || op->mode == ZOO_EPHEMERAL_SEQUENTIAL)
        op->owner = transaction->session;
    return ZOK;
}

static int
prepare_one(const SimTree *tree, const SimTransaction *transaction, SimOp *op)
{
    const SimNode *node = find(tree, op->path);

    if (op->kind == SIM_CREATE)
        return prepare_create(tree, transaction, op);
    if (node == NULL)
        return ZNONODE;
    if (op->kind == SIM_DELETE)
        return node->children->len > 0 ? ZNOTEMPTY : ZOK;
    if (op->version != -1 && op->version != node->version)
        return ZBADVERSION;
    op->version = node->version + (op->kind == SIM_SET);
    op->n_children = (gint32)node->children->len;
    op->cversion = (gint32)(2 * (guint32)node->next_sequence - node->children->len);
    return ZOK;
}

int
sim_tree_prepare(const SimTree *tree, SimTransaction *transaction, guint *out_failed)
{
    for (guint i = 0; i < transaction->ops->len; i++) {
        int r = prepare_one(tree, transaction, &g_array_index(transaction->ops, SimOp, i));

        *out_failed = i;
        if (r != ZOK)
            return r;
    }
    return ZOK;
}

/* ---- changing */

static void
apply_create(SimTree *tree, const SimOp *op)
{
    g_autofree char *parent_path = get_parent_path(op->path);
    SimNode *parent = find(tree, parent_path);
    SimNode *node = node_new(op->data);

    node->owner = op->owner;
    node->is_container = op->mode == ZOO_CONTAINER;
    node->next_sequence = node->is_container ? FIRST_SEQUENCE : 0;
    if (g_str_has_prefix(op->path, COUNTERS) && strchr(op->path + strlen(COUNTERS), '/') != NULL)
        node->version = sim_tree_first_count;
    g_hash_table_insert(tree->nodes, g_strdup(op->path), node);
    g_ptr_array_add(parent->children, g_strdup(strrchr(op->path, '/') + 1));
    /* The number after G_MAXINT32 is G_MININT32. */
    parent->next_sequence = (gint32)((guint32)parent->next_sequence + 1);
    tree->changed(parent_path, TRUE, tree->data);
}

static void
apply_delete(SimTree *tree, const SimOp *op)
{
    g_autofree char *parent_path = get_parent_path(op->path);
    SimNode *parent = find(tree, parent_path);
    const char *name = strrchr(op->path, '/') + 1;
    guint i;

    g_hash_table_remove(tree->nodes, op->path);
    if (g_ptr_array_find_with_equal_func(parent->children, name, g_str_equal, &i))
        g_ptr_array_remove_index_fast(parent->children, i);
    tree->changed(op->path, FALSE, tree->data);
    tree->changed(op->path, TRUE, tree->data);
    tree->changed(parent_path, TRUE, tree->data);
}

static void
apply_set(SimTree *tree, const SimOp *op)
{
    SimNode *node = find(tree, op->path);

    g_free(node->data);
    node->data = g_strdup(op->data);
    node->version = op->version;
    tree->changed(op->path, FALSE, tree->data);
}

void
sim_tree_apply(SimTree *tree, const SimTransaction *transaction)
{
    for (guint i = 0; i < transaction->ops->len; i++) {
        const SimOp *op = &g_array_index(transaction->ops, SimOp, i);

        if (op->kind == SIM_CREATE)
            apply_create(tree, op);
        else if (op->kind == SIM_DELETE)
            apply_delete(tree, op);
        else if (op->kind == SIM_SET)
            apply_set(tree, op);
    }
}

void
sim_tree_delete_owned(const SimTree *tree, guint64 owner, SimTransaction *transaction)
{
    GHashTableIter iter;
    gpointer path, node;

    g_hash_table_iter_init(&iter, tree->nodes);
    while (g_hash_table_iter_next(&iter, &path, &node))
        if (((SimNode *)node)->owner == owner)
            sim_transaction_add(transaction, SIM_DELETE, path);
}
