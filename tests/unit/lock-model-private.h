/* SPDX-FileCopyrightText: 2026 The WebLocks for D-Bus authors
 * SPDX-License-Identifier: LGPL-2.1-or-later */

/* What lock-model.c (the standard) and lock-model-cluster.c share. */

#pragma once

#include "tests/unit/lock-model.h"

ModelRequest *lock_model_at(GArray *list, guint i);
gboolean lock_model_same_manager(ModelManager a, ModelManager b);
gboolean lock_model_same_name(const ModelRequest *a, const ModelRequest *b);

/* Removes a request and adds the event of its end. */
void lock_model_remove(LockModel *model, GArray *list, guint i, EffectKind kind);

/* Grants the request at this index in `pending`. */
void lock_model_grant(LockModel *model, guint i);

/* Ends the locks that the request steals. */
void lock_model_steal(LockModel *model, const ModelRequest *request);
void lock_model_process_queue(LockModel *model, const ModelRequest *any_of_that_name);

/* ---- lock-model-cluster.c */

gboolean lock_model_is_of_cluster(const LockModel *model, const ModelRequest *request);

/* Whether the request may be granted in the host's current turn. */
gboolean lock_model_is_of_turn(LockModel *model, const ModelRequest *request);

/* Marks a new request that only the cluster can decide. */
void lock_model_ask_cluster(LockModel *model,
                            ModelRequest *request,
                            const LockOptions *options,
                            gint64 now_us);
