/* SPDX-FileCopyrightText: 2026 The WebLocks for D-Bus authors
 * SPDX-License-Identifier: LGPL-2.1-or-later */

/* Checks a story for violations. It only uses what is certain, so a reported violation is one: an
 * operation without a reply may or may not have happened. */

#pragma once

#include "tests/storm/story.h"

G_BEGIN_DECLS

typedef enum {
    CHECK_EXCLUSION,   /* no client is inside beside the holder of an exclusive lock */
    CHECK_TOKENS,      /* no token twice, and none smaller than that of an earlier grant */
    CHECK_FIFO,        /* no request is granted before an earlier one */
    CHECK_ONCE,        /* a request exists once, and ends once */
    CHECK_NOT_LOST,    /* held and pending requests exist, also after the service's death */
    CHECK_NOT_RISEN,   /* a request that was released or has ended does not exist again */
    CHECK_NO_GHOST,    /* no request of a dead client exists; nothing is left at the end */
    CHECK_PROGRESS,    /* a grantable request is granted, and its client notified */
    CHECK_ISOLATION,   /* a reply shows only requests of the caller's principal */
    CHECK_FENCE,       /* a client that is certainly inside has the highest token */
    CHECK_ORACLE,      /* the kernel confirms that no other client is inside */
    CHECK_ANSWERED,    /* each call is answered, without an error caused by the service's death */
    CHECK_FINAL_STEAL, /* a request sent before its client's end takes effect before the end */
    CHECK_ALIVE,       /* the service dies only if it is killed */
    N_CHECKS,
} CheckId;

typedef struct {
    guint n;      /* number of violations */
    guint64 from; /* the shortest window */
    guint64 to;
    guint32 principal;
    guint name; /* HISTORY_N_NAMES: of none */
    char *text;
} CheckViolation;

/* The events of the storm. A storm without these events has tested nothing. */
typedef struct {
    guint n_requests;
    guint n_grants;
    guint n_queries;
    guint n_clients;
    guint n_steals;
    guint service_kills;
    guint service_kills_at_call;      /* at a chosen system call */
    guint service_kills_before_send;  /* on entering a call that sends a message */
    guint service_kills_with_held;    /* with a client inside */
    guint service_kills_with_waiting; /* with a waiting client */
    guint service_kills_unanswered;   /* with an unanswered call */
    guint held_over_kills;            /* locks held before and after */
    guint granted_after_kills;        /* requests that waited before, and were granted */
    guint client_kills;
    guint client_kills_inside;
    guint client_kills_waiting;
    guint client_kills_unanswered;
    guint stops;
    guint quiet_points;
    guint unreachable;  /* calls that the bus refused because there was no service */
    guint refused;      /* requests, for lack of space */
    guint final_steals; /* steals whose client ended before the reply */
    guint faults;       /* of a cluster */
    guint partitions;   /* of these */
    guint kills;        /* of these: without those of clients */
    guint losses;       /* locks that were lost because of them */
    guint hand_overs;   /* of one host's lock to another host */
} CheckPower;

typedef struct {
    const Story *story;
    CheckViolation violations[N_CHECKS];
    CheckPower power;
} Checker;

typedef enum {
    CHECK_PASS,
    CHECK_VIOLATION,
    CHECK_VOID,
} CheckVerdict;

Checker *checker_new(const Story *story);
void checker_free(Checker *self);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(Checker, checker_free)

/* `least`: the required numbers of events, 0 for those that aren't required. */
CheckVerdict checker_judge(const Checker *self, const CheckPower *least, GString *missing);
char *checker_to_string(const Checker *self);

const char *check_id_to_string(CheckId id);

/* The fields of CheckPower, by name. */
typedef struct {
    const char *name;
    const char *meaning;
    gsize offset;
} CheckPowerField;
extern const CheckPowerField check_power_fields[];
extern const guint n_check_power_fields;

/* For the checks. `a` and `b` are the requests concerned; either may be NULL. */
void checker_report(Checker *self,
                    CheckId id,
                    guint64 from,
                    guint64 to,
                    const StoryRequest *a,
                    const StoryRequest *b,
                    const char *format,
                    ...) G_GNUC_PRINTF(7, 8);

void check_lock(Checker *self, const StoryLock *lock);
/* Without the order of requests, which is only guaranteed on each host. */
void check_lock_of_cluster(Checker *self, const StoryLock *lock);
/* All checks of a cluster. */
void check_cluster(Checker *self);
/* Checks of the resource and of the kernel's lock. */
void check_record(Checker *self, const StoryClient *client, const HistoryRecord *record);
void check_queries(Checker *self, const StoryLock *lock);
void check_progress(Checker *self, const StoryLock *lock);
void check_strangers(Checker *self);
void check_clients(Checker *self);
void check_supervisor(Checker *self);
void check_power(Checker *self);

G_END_DECLS
