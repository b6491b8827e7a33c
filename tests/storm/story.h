/* SPDX-FileCopyrightText: 2026 The WebLocks for D-Bus authors
 * SPDX-License-Identifier: LGPL-2.1-or-later */

/* The records of a storm as requests, queries and clients, each with what is certain of it.
 *
 * A request is *certainly* live from the first reply that showed it until the first event that may
 * end it, and *possibly* live from its call until a reply showed that it has ended. A client is
 * certainly inside from `enter` until it records that it leaves, or a record says that it is about
 * to be killed or stolen from. */

#pragma once

#include "tests/storm/history.h"

G_BEGIN_DECLS

typedef struct {
    guint64 from;
    guint64 to;
} Span;

/* Spans in order, without overlap; `before[i]` is the length of all before the i-th. */
typedef struct {
    GArray *spans;
    GArray *before;
} SpanSet;

/* Takes an array of Span in any order. */
SpanSet *span_set_new(GArray *spans);
void span_set_free(SpanSet *self);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(SpanSet, span_set_free)
/* How much of [from, to] the spans cover. */
guint64 span_set_covers(const SpanSet *self, guint64 from, guint64 to);
/* The longest part of [from, to] that the spans don't cover. */
Span span_set_longest_gap(const SpanSet *self, guint64 from, guint64 to);

typedef struct StoryRequest StoryRequest;

typedef struct {
    HistoryHeader header;
    const HistoryRecord *records;
    guint n_records;
    guint64 killed; /* or disconnected */
    guint64 reaped;
    guint64 gone; /* the service has certainly noticed its disconnect by then */
    gboolean was_killed;
    SpanSet *away; /* service down, or client stopped */
    SpanSet *stops;
    GPtrArray *requests;                     /* by number, from 1; some NULL */
    GPtrArray *by_name[HISTORY_N_NAMES];     /* by call */
    GArray *by_name_latest[HISTORY_N_NAMES]; /* latest possible end up to there */
} StoryClient;

struct StoryRequest {
    StoryClient *client;
    guint64 number;
    guint name;
    guint mode;
    guint flags;
    guint64 timeout; /* ns; 0: none */
    guint64 token;   /* 0: unknown */

    /* Recorded times; HISTORY_NEVER: not recorded. */
    guint64 call;
    guint64 enter;
    guint64 end;
    guint64 abort;
    guint64 leave;
    guint64 release;
    guint64 lost;
    HistoryOutcome end_outcome;
    HistoryOutcome release_outcome;
    HistoryOutcome lost_outcome;
    gboolean is_sent; /* certainly sent to the service, even if the client was killed */
    guint n_ends;     /* ends and enters: more than one is a violation */

    /* Conclusions. */
    guint64 seen;         /* certainly live from then on */
    guint64 live_end;     /* until then */
    guint64 inside_end;   /* certainly inside from `enter` until then */
    guint64 possible_end; /* possibly live until then */
    guint64 stolen;       /* possibly stolen from then on */
    Span unnoticed;       /* possibly lost, while its client could not be notified */
    gboolean is_anew; /* it may have been granted and stolen, or have timed out, and its client was
                       * not notified since the service died: then it was requested again, and what
                       * is shown of it before `enter` may be the first request */
};

typedef struct {
    guint32 unique;
    guint name;
    guint mode;
    gboolean is_held;
    guint64 token;
    guint position;
} StoryRow;

typedef struct {
    StoryClient *client; /* NULL: the supervisor's */
    guint32 principal;
    guint32 bus;
    guint64 call;
    guint64 end;
    HistoryOutcome outcome;
    guint32 names; /* one bit for each name that it covers */
    gboolean is_quiet;
    GArray *rows;
} StoryQuery;

/* One name of one principal. */
typedef struct {
    guint32 principal;
    guint name;
    GPtrArray *requests; /* by call */
    GPtrArray *queries;  /* by call */
} StoryLock;

typedef struct {
    guint64 start;
    guint64 end;             /* of the storm */
    guint64 patience;        /* time limit of the service, ns */
    gboolean is_activatable; /* the bus starts the service, so it is always available for calls */
    gboolean is_cluster;     /* the clients are on several hosts, each with a bus and a service */
    gboolean has_steals;
    const HistoryRecord *supervisor; /* by time */
    guint n_supervisor;
    GPtrArray *clients;
    GPtrArray *queries; /* the answered ones, by call */
    GPtrArray *failed_queries;
    GPtrArray *locks;
    SpanSet *down;       /* no service */
    GArray *kills;       /* of the service, guint64 by time */
    GHashTable *uniques; /* bus and number to client */
    GHashTable *numbers; /* number to client */
    GPtrArray *files;
    HistoryRecord *own_supervisor;
} Story;

/* The records must stay where they are as long as the story is used. */
Story *story_new(guint64 patience);
void story_free(Story *self);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(Story, story_free)
void story_add(Story *self, const HistoryHeader *header, const HistoryRecord *records, guint n);
gboolean story_add_directory(Story *self, const char *directory, GError **error);
/* Called when all files have been added. */
void story_finish(Story *self);

StoryClient *story_find_client(const Story *self, guint32 bus, guint32 unique);
/* The time when the client has run for `amount` with a service. */
guint64 story_after(const StoryClient *client, guint64 from, guint64 amount);

/* Whether the row may show the request. */
gboolean story_may_show(const StoryQuery *query, const StoryRow *row, const StoryRequest *request);
/* How many requests of its client the row may show; one of them. */
guint story_count_candidates(const StoryQuery *query,
                             const StoryRow *row,
                             const StoryClient *client,
                             StoryRequest **one);

/* Whether the service was killed then. */
gboolean story_has_kill(const Story *self, guint64 from, guint64 to);
gboolean story_has_kill_while_waiting(const Story *self, const StoryRequest *request);

/* When the fault ended that begins with this record of the supervisor. */
guint64 story_find_fault_end(const Story *self, guint begin);

/* Ends what is certain where a client may have lost its lock without knowing it. Called by
 * story_finish(). */
void story_reckon_with_losses(Story *self);

static inline gboolean
story_covers(const StoryQuery *query, guint name)
{
    return (query->names >> name & 1) != 0;
}

G_END_DECLS
