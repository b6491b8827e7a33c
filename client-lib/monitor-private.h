/* SPDX-FileCopyrightText: 2026 The WebLocks for D-Bus authors
 * SPDX-License-Identifier: LGPL-2.1-or-later */

/* What the files of WebLocksMonitor share. Each calls only those after it: the class and its
 * constructors (monitor.c), how the lists change (monitor-update.c), and what has arrived
 * (monitor-inbox.h).
 *
 * Signals are queued when they arrive, and applied to the caches of the buckets and then to the
 * lists a little later, in the main context of the monitor: an update. If something has to be read
 * for that, it makes method calls first. While an update is going on `is_busy` is set, and nothing
 * else uses the buckets: the callbacks of the calls, which run in any thread with the session lock
 * held, nor the main context. */

#pragma once

#include <weblocks/weblocks.h>

#include "client-lib/bucket-cache.h"
#include "client-lib/engine/async-result.h"
#include "client-lib/monitor-inbox.h"

/* No signals are sent for what other hosts hold or wait for. It is read again after this time, then
 * after twice as much, and so on: each time the servers of the cluster are asked. */
#define MONITOR_HOSTS_MS     2000
#define MONITOR_HOSTS_MAX_MS 64000

typedef enum {
    MONITOR_CALL_WATCH,
    MONITOR_CALL_LIST,
    MONITOR_CALL_INSPECT,
} MonitorCall;

struct _WebLocksMonitor {
    GObject parent;
    WebLocksAgent *agent;
    WebLocksManager *manager; /* NULL: all buckets */
    char *name;               /* NULL: all names */
    GMainContext *context;    /* in which the lists change */
    ShownList held;
    ShownList pending;
    MonitorInbox *inbox;
    AsyncResult *ready;      /* web_locks_monitor_new_async() */
    int is_busy;             /* atomic */
    GPtrArray *buckets;      /* of BucketCache */
    GHashTable *by_path;     /* the same, by object path */
    GPtrArray *dropped;      /* BucketCaches that are empty, but in the lists */
    guint64 n_added;         /* how many buckets there have ever been */
    guint hosts_ms;          /* until what other hosts hold is read again; 0: it is not shown */
    gint64 hosts_due_us;     /* likewise; monotonic */
    gboolean is_list_stale;  /* there may be buckets that are not in `buckets` */
    gboolean is_watch_asked; /* Watch was called, so it has to be disabled */

    /* The refresh. */
    MonitorCall call;
    guint at;     /* buckets before this one have been read */
    GQueue later; /* signals of those, since then */
};

/* As web_locks_monitor_new_for_name(), but the lists change in `context`. */
WebLocksMonitor *
web_locks_monitor_new_of_name(WebLocksManager *manager, const char *name, GMainContext *context);

/* ---- monitor-update.c */

/* For the inbox. An update that begins while another one is going on follows it. */
void web_locks_monitor_update(gpointer self);

/* The object path that is watched. */
const char *web_locks_monitor_get_path(const WebLocksMonitor *self);

void web_locks_monitor_add_bucket(WebLocksMonitor *self, WebLocksManager *manager);

/* Reads what has to be read, by one call after the other, with the monitor as data. The result is
 * not used. */
extern const MethodCallKind web_locks_monitor_refresh;

/* The first update, from its calls on and after them. */
void web_locks_monitor_start_refresh(WebLocksMonitor *self);
void web_locks_monitor_finish_update(WebLocksMonitor *self);
