/* SPDX-FileCopyrightText: 2026 The WebLocks for D-Bus authors
 * SPDX-License-Identifier: LGPL-2.1-or-later */

/* A principal, which corresponds to an origin in a browser: a uid and, for a sandboxed application,
 * its application id. Two clients share the locks of their own buckets if and only if they have the
 * same principal. A Unix group is a principal without clients: the members share its buckets. So is
 * a bucket of a cluster whose users share it.
 *
 * Identities are compared field by field, never as one concatenated string, so that no application
 * id can be chosen to equal another principal. A principal has the lock managers of its storage
 * buckets, and an account of what it has; a request is charged to the principal of its agent,
 * whoever the bucket belongs to. It is referenced by its agents, its lock managers and, if
 * it is that of a uid, the principals of its applications, and is in its user agent's table as long
 * as it exists. */

#pragma once

#include <glib.h>

#include "core-limits.h"
#include "core-types.h"

typedef enum {
    PRINCIPAL_UNSANDBOXED,
    PRINCIPAL_FLATPAK,
    PRINCIPAL_SNAP,
    /* Without clients. */
    PRINCIPAL_GROUP,
    PRINCIPAL_CLUSTER,
} PrincipalKind;

/* The uid of a shared bucket of a cluster, which belongs to no user. */
#define PRINCIPAL_NO_UID G_MAXUINT32

typedef struct {
    guint32 uid; /* of a group: its gid */
    PrincipalKind kind;
    const char *app_id; /* "" if it is no sandboxed application; of a shared bucket: its name */
} PrincipalIdentity;

static inline gboolean
principal_has_members(const PrincipalIdentity *identity)
{
    return identity->kind >= PRINCIPAL_GROUP;
}

/* The owner of the bucket that clients of `caller` address by this name: the group of a bucket
 * `group:GID`, itself if it is one of UserAgent.shared_buckets, the user of a sandboxed application
 * if it is `user:documents`, otherwise the caller. `*bucket` becomes the name that the owner has
 * for it. Whether they may do so is not decided here. The texts are those of the arguments. */
PrincipalIdentity principal_identity_of_bucket(const UserAgent *user_agent,
                                               const PrincipalIdentity *caller,
                                               const char **bucket);

/* ---- accounts: what is counted of a principal
 *
 * Accounts form a tree: the total, below it those of the principals of uids, below these those of
 * their sandboxed applications. A charge is added to one account and all its ancestors when the
 * counted object is created, and discharged when the object ends; an account must be at zero when
 * its principal is freed.
 *
 * The last quarter of a limit is shared fairly: when no more than that is left, a child account
 * gets more only while it has less than an equal share, which is the limit divided by one more than
 * the number of children that have any. So a uid that uses all it can get leaves a quarter of the
 * total to the others, and an application leaves a quarter of its uid's limit to the rest of its
 * user. */

/* The kinds of counted objects. */
typedef enum {
    CHARGE_CLIENT,
    CHARGE_REQUEST,   /* held or pending */
    CHARGE_TEXT_BYTE, /* of the requests' names, buckets, `why` and `for` */
    CHARGE_WATCH,
    CHARGE_DEMAND, /* names for which the gateway to a cluster has a handle; limited as requests */
    N_CHARGES,
} ChargeKind;

typedef enum {
    SCOPE_APP,
    SCOPE_UID,
    SCOPE_TOTAL,
    N_SCOPES,
} LimitsScope;

struct LimitsAccount {
    LimitsScope scope;
    LimitsAccount *parent; /* borrowed; NULL for the total */
    guint32 n[N_CHARGES];
    guint32 n_sharers[N_CHARGES]; /* number of direct children that have any */
    GQueue watches;               /* for the server; not used by the core */
};

/* Asserts that nothing is charged. */
void limits_account_fini(const LimitsAccount *account);

/* Whether `n` more may be charged. If not, `*out_limit` is the narrowest limit that prevents it. */
gboolean limits_admit(const Limits *limits,
                      const LimitsAccount *account,
                      ChargeKind kind,
                      guint32 n,
                      LimitId *out_limit);

/* Charges `n`, whatever the limits are: restored requests are kept in any case. */
void limits_charge(LimitsAccount *account, ChargeKind kind, guint32 n);
void limits_discharge(LimitsAccount *account, ChargeKind kind, guint32 n);

/* ---- principals */

struct Principal {
    guint refs;
    UserAgent *user_agent; /* borrowed */
    PrincipalIdentity identity;
    Principal *of_uid;     /* of an application: that of its uid; owned reference */
    LimitsAccount account; /* its own, which includes those of its applications */
    GHashTable *managers;  /* bucket name -> LockManager, weak */
    GHashTable *sessions;  /* public name of a private session -> LockManager, weak */
    guint64 retired_token; /* the highest token of buckets that don't exist any more */
};

/* Gets the principal of `identity`, or creates it. Returns a new reference. */
Principal *principal_get(UserAgent *user_agent, const PrincipalIdentity *identity);
Principal *principal_ref(Principal *principal);
void principal_unref(Principal *principal);

/* The principal of `identity`, if there is one; borrowed. */
Principal *principal_find(const UserAgent *user_agent, const PrincipalIdentity *identity);

/* A principal may observe all principals whose accounts are in one subtree; this returns the root
 * of that: for uid 0 the account of all users, for another uid its own account, which has those of
 * its sandboxed applications below it, and for a sandboxed application its own account. */
LimitsAccount *principal_get_scope(Principal *principal);
gboolean principal_may_observe(Principal *observer, const Principal *observed);

/* principal_first_token() returns where the tokens of a new bucket start. principal_retire_token()
 * records the last token of a bucket that is freed. Neither depends on other principals. */
guint64 principal_first_token(const Principal *principal);
void principal_retire_token(Principal *principal, guint64 token);

/* For the user agent's table, whose keys are the identities inside the principals. */
guint principal_identity_hash(gconstpointer identity);
gboolean principal_identity_equal(gconstpointer a, gconstpointer b);
