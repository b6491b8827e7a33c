/* SPDX-FileCopyrightText: 2026 The WebLocks for D-Bus authors
 * SPDX-License-Identifier: LGPL-2.1-or-later */

/* What lock-world.c (operations), lock-world-permits.c (operations of the cluster),
 * lock-world-wanted.c (notified holders) and lock-world-checks.c (comparisons) share. */

#pragma once

#include "service/core/cell.h"
#include "service/core/permit.h"
#include "service/core/principal.h"
#include "service/core/user-agent.h"
#include "tests/unit/lock-model.h"
#include "tests/unit/lock-world.h"

#define N_AGENTS     LOCK_WORLD_AGENTS
#define N_PRINCIPALS 5
#define N_BUCKETS    4
#define N_NAMES      6

/* Those who have buckets and no agents. */
#define GROUP_PRINCIPAL  3
#define SHARED_PRINCIPAL 4

/* The bucket of the group, that of the documents of each uid, which the sandboxed application
 * shares, and that of a cluster, which is there instead of these in a world with a cluster. The
 * other bucket is a private session. */
#define GROUP_BUCKET     1
#define DOCUMENTS_BUCKET 2
#define CLUSTER_BUCKET   3

/* A request or an event of the core or of the model, in a common representation. */
typedef struct {
    guint principal;
    guint bucket;
    guint name;
    guint what; /* EffectKind, or LockRequestState */
    guint agent;
    guint mode;
    guint slots;
    guint64 id;
} Line;

/* A cell of an agent, and what its client has made of it. */
typedef struct {
    Cell cell;
    LockCell memory;
    LockRequest *parked;  /* borrowed; NULL: none is */
    LockRequest *entered; /* likewise; until it is left or the cell is closed */
    ModelRequest left;    /* the parked one in the model */
} WorldCell;

#define N_CELLS 2

typedef LockWorld World;

struct LockWorld {
    char *seed;
    gboolean is_loud;
    LockWorldKind kind;
    guint step;
    char operation[200];
    UserAgent *core; /* allocated: principals point to it */
    LockModel model;
    Agent *agents[N_AGENTS];     /* NULL: no agent */
    guint model_agent[N_AGENTS]; /* its number in the model */
    WorldCell cells[N_AGENTS][N_CELLS];
    guint n_effects_seen;
    guint64 last_token[N_PRINCIPALS][N_BUCKETS];
    guint64 last_of_cluster[N_PRINCIPALS][N_NAMES]; /* tokens in the bucket of a cluster */
    LockManager *cluster[N_PRINCIPALS];             /* owned references; NULL: not used yet */
    LockQueue *permitted[N_PRINCIPALS][N_NAMES];    /* owned references; NULL: no permit */
    Demand reported[N_PRINCIPALS][N_NAMES];         /* as last reported */
    gboolean is_restored[N_PRINCIPALS][N_NAMES];    /* or suspended: held without a permit */
    guint64 last_block;                             /* the highest token granted so far */
    GHashTable *wanted;                             /* keys of locks whose holders know it, owned */
    GArray *expected;                               /* of Line */
    GArray *actual;                                 /* of Line */
};

extern const PrincipalIdentity lock_world_identities[N_PRINCIPALS];
extern const char *const lock_world_buckets[N_BUCKETS];
extern const char *const lock_world_names[N_NAMES];

/* Aborts with both sides in text form if the condition is false. */
void lock_world_check(const World *world, gboolean is_true, const char *what);

guint lock_world_find_principal(const PrincipalIdentity *identity);
guint lock_world_find_name(const char *name);

/* Called before the operation: if that crashes, this is the last text printed. */
void lock_world_describe(World *world, const char *format, ...) G_GNUC_PRINTF(2, 3);

/* How strictly the order of effects is compared. */
typedef enum {
    ORDER_EXACT,
    ORDER_ENDS_FIRST, /* the order within each name; all ends come before any grant */
} EffectsOrder;

/* Compares the effects since the last call. */
void lock_world_check_effects(World *world, EffectsOrder order);

/* Compares held locks and pending requests of each bucket, and checks the core's lists and
 * accounts. */
void lock_world_check_state(World *world);

/* Visits some holders, or all of them; then compares with the model. */
void lock_world_notify_holders(World *world, guint n_visits, gboolean is_all);

/* ---- cells: lock-world-cells.c */

/* A client leaves or enters its lock by its cell; or somebody looks. */
void lock_world_do_cell(World *world, guint slot, const LockOperation *operation);

/* Whether the client has left the lock. */
gboolean lock_world_is_parked(const World *world, const LockRequest *request);

/* Closes the cell of a request of a service that has ended. Returns FALSE if the lock was parked;
 * otherwise the token and time of `stored` are those that it had. */
gboolean lock_world_restore_cell(World *world, const LockRequest *request, LockRequest *stored);

/* ---- the cluster: lock-world-permits.c */

void lock_world_do_permit(World *world, guint principal, const LockOperation *operation);

void lock_world_take_demands(World *world);
void lock_world_check_permits(World *world);

/* Drops all references; the other is called when the service has been restarted. */
void lock_world_drop_permits(World *world);
void lock_world_restart_cluster(World *world);
