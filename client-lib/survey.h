/* SPDX-FileCopyrightText: 2026 The WebLocks for D-Bus authors
 * SPDX-License-Identifier: LGPL-2.1-or-later */

/* What a monitor sees: one bucket or one name in it, or all buckets that the agent may look at.
 *
 * A look consists of method calls: Inspect of the bucket; or Observable, and then Inspect of each
 * bucket that is new or from which a signal has come. Buckets without a signal are not inspected
 * again. All functions but survey_new() and survey_free() are called with the session lock held. */

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

/* Something has changed at the object path: that of a bucket, or of the service. */
void survey_note(Survey *self, const char *path);

/* Drops everything: the service is a new one, or signals may have been missed. */
void survey_reset(Survey *self);

/* For MethodCallKind.build and .read: the next call of a look, and a snapshot (owned) after the
 * last one. The items of the snapshot have their managers. */
MethodCallMessage survey_build(Survey *self);
gpointer survey_read(GVariant *body, Survey *self, GError **error);
