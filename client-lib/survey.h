/* SPDX-FileCopyrightText: 2026 The WebLocks for D-Bus authors
 * SPDX-License-Identifier: LGPL-2.1-or-later */

/* What a monitor watches: one bucket or one name in it, or all buckets that the agent may look at.
 *
 * A look consists of method calls: Observable, if a bucket may be new, and Inspect of each bucket
 * of which something has to be read. All functions but survey_new() and survey_free() are called
 * with the session lock held. */

#pragma once

#include <weblocks/weblocks.h>

#include "client-lib/engine/method-call.h"

typedef struct Survey Survey;

/* `manager` NULL: all buckets. `name` NULL: all names. Borrows all three, which must outlive the
 * survey. */
Survey *survey_new(WebLocksAgent *agent, WebLocksManager *manager, const char *name);
void survey_free(Survey *self);

/* The object to watch, and the call that enables the watch. */
const char *survey_get_path(const Survey *self);
MethodCallMessage survey_build_watch(const Survey *self);

/* Applies a signal of one of the buckets or, if all are watched, of the service. */
void survey_signal(Survey *self, GDBusMessage *signal);

/* Everything has to be read again: the service is a new one, or signals may have been missed. */
void survey_invalidate(Survey *self);

/* The lists are to be empty, since there is no service. */
void survey_clear(Survey *self);

/* Whether a look is needed. */
gboolean survey_wants_call(const Survey *self);

/* For MethodCallKind.build and .read: the next call of a look, and whether that was the last one.
 * Returns FALSE without an error if it was not. */
MethodCallMessage survey_build(Survey *self);
gboolean survey_read(Survey *self, GVariant *body, GError **error);

/* Returns what has changed since this was last called: an owned array of ListChange. What has
 * changed in a bucket of which something has to be read is left out until then, so that the lists
 * don't show a stolen lock as one that nobody holds. */
GArray *survey_collect(Survey *self);
