/* SPDX-FileCopyrightText: 2026 The WebLocks for D-Bus authors
 * SPDX-License-Identifier: LGPL-2.1-or-later */

/* A principal: what an origin is to a browser. Two callers see each other's locks exactly if they
 * have the same principal, which is a uid and, for a sandboxed application, its app id.
 *
 * Identities are compared field by field, never as one joined string, so that no app id can be
 * chosen to look like another principal. A principal has the lock managers of its storage buckets.
 * Found in its user agent while anybody refers to it. */

#pragma once

#include <glib.h>

#include "core-types.h"

typedef enum {
    PRINCIPAL_UNSANDBOXED,
    PRINCIPAL_FLATPAK,
    PRINCIPAL_SNAP,
} PrincipalKind;

typedef struct {
    guint32 uid;
    PrincipalKind kind;
    const char *app_id; /* "" if unsandboxed */
} PrincipalIdentity;

struct Principal {
    guint refs;
    UserAgent *user_agent; /* not ours */
    PrincipalIdentity identity;
    LimitsAccount *account; /* its uid's, or its own if it is sandboxed */
    GHashTable *managers;   /* bucket name -> LockManager, weak */
    guint64 retired_token;  /* the highest of the buckets that are gone */
};

/* The principal of `identity`, made if there is none; a new reference. */
Principal *principal_get(UserAgent *user_agent, const PrincipalIdentity *identity);
Principal *principal_ref(Principal *principal);
void principal_unref(Principal *principal);

/* The principal of `identity`, if there is one; borrowed. */
Principal *principal_find(const UserAgent *user_agent, const PrincipalIdentity *identity);

/* Who may look where. What a principal may look at are the accounts below one account: of uid 0,
 * that of everybody; of another uid, its own, which has its sandboxed applications below it; of a
 * sandboxed application, its own. */
const LimitsAccount *principal_get_scope(const Principal *principal);
gboolean principal_may_observe(const Principal *observer, const Principal *observed);

/* Where the tokens of a bucket that comes into being start, and what one that goes had. What others
 * do changes neither. */
guint64 principal_first_token(const Principal *principal);
void principal_retire_token(Principal *principal, guint64 token);

/* For the user agent's table, whose keys are the principals' own identities. */
guint principal_identity_hash(gconstpointer identity);
gboolean principal_identity_equal(gconstpointer a, gconstpointer b);
