/* SPDX-FileCopyrightText: 2026 The WebLocks for D-Bus authors
 * SPDX-License-Identifier: LGPL-2.1-or-later */

/* A principal, which corresponds to an origin in a browser: a uid and, for a sandboxed application,
 * its application id. Two clients share locks if and only if they have the same principal.
 *
 * Identities are compared field by field, never as one concatenated string, so that no application
 * id can be chosen to equal another principal. A principal has the lock managers of its storage
 * buckets. It is referenced by its agents and lock managers, and is in its user agent's table as
 * long as it exists. */

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
    UserAgent *user_agent; /* borrowed */
    PrincipalIdentity identity;
    LimitsAccount *account; /* of its uid or, if sandboxed, of the application; owned reference */
    GHashTable *managers;   /* bucket name -> LockManager, weak */
    guint64 retired_token;  /* the highest token of buckets that don't exist any more */
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
const LimitsAccount *principal_get_scope(const Principal *principal);
gboolean principal_may_observe(const Principal *observer, const Principal *observed);

/* principal_first_token() returns where the tokens of a new bucket start. principal_retire_token()
 * records the last token of a bucket that is freed. Neither depends on other principals. */
guint64 principal_first_token(const Principal *principal);
void principal_retire_token(Principal *principal, guint64 token);

/* For the user agent's table, whose keys are the identities inside the principals. */
guint principal_identity_hash(gconstpointer identity);
gboolean principal_identity_equal(gconstpointer a, gconstpointer b);
