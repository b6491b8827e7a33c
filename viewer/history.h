/* SPDX-FileCopyrightText: 2026 The WebLocks for D-Bus authors
 * SPDX-License-Identifier: LGPL-2.1-or-later */

/* What has happened to resources while the window was open.
 *
 * A history is a list of events of limited length, the latest first. */

#pragma once

#include "entry.h"

typedef enum {
    VIEWER_EVENT_WAITING,  /* a request began to wait */
    VIEWER_EVENT_GRANTED,  /* a lock was granted */
    VIEWER_EVENT_RELEASED, /* a lock was released, stolen or ended, or its holder exited */
    VIEWER_EVENT_GONE,     /* a request ended without having been granted */
} ViewerEventKind;

#define VIEWER_TYPE_EVENT (viewer_event_get_type())
G_DECLARE_FINAL_TYPE(ViewerEvent, viewer_event, VIEWER, EVENT, GObject)

/* One sentence, without the time. Returns: (transfer full) */
char *viewer_event_describe(ViewerEvent *self);
/* The time of day. Returns: (transfer full) */
char *viewer_event_format_time(ViewerEvent *self);

void viewer_history_add(GListStore *history, ViewerEventKind kind, ViewerEntry *entry);
/* The last hundred events of a resource that are remembered: a list model of ViewerEvent, which
 * follows. Returns: (transfer full) */
GListModel *viewer_history_of(GListStore *history, ViewerResource *resource);
