/* SPDX-FileCopyrightText: 2026 The WebLocks for D-Bus authors
 * SPDX-License-Identifier: LGPL-2.1-or-later */

#include "bucket-path.h"

#include <stdlib.h>

#include "bus-names.h"
#include "bus-string.h"
#include "sd-bus.h"

/* sd-bus allocates with malloc, and so does GLib since 2.46: g_free frees both. */

/* What follows the prefix of an owner; % is a label. */
static const char *const templates[] = {
    [PRINCIPAL_UNSANDBOXED] = "/bucket/%",
    [PRINCIPAL_FLATPAK] = "/flatpak/%/bucket/%",
    [PRINCIPAL_SNAP] = "/snap/%/bucket/%",
};

/* ---- encoding */

static char *
encode(const BucketOwner *owner, const char *bucket)
{
    const PrincipalIdentity *identity = &owner->identity;
    g_autofree char *prefix = owner->has_uid ? g_strdup_printf(BUS_USER_PREFIX "/%u", identity->uid)
                                             : g_strdup(BUS_SERVICE_PATH);
    g_autofree char *template = g_strconcat(prefix, templates[identity->kind], NULL);
    char *path = NULL;
    int r = identity->kind == PRINCIPAL_UNSANDBOXED
                ? sd_bus_path_encode_many(&path, template, bucket)
                : sd_bus_path_encode_many(&path, template, identity->app_id, bucket);

    g_assert(r >= 0);
    return path;
}

char *
bucket_path_encode(const char *bucket)
{
    const BucketOwner own = {.identity.kind = PRINCIPAL_UNSANDBOXED};

    return encode(&own, bucket);
}

char *
bucket_path_encode_for(const PrincipalIdentity *observer,
                       const PrincipalIdentity *owner,
                       const char *bucket)
{
    const BucketOwner other = {.has_uid = observer->uid != owner->uid, .identity = *owner};

    if (principal_has_members(owner) || principal_identity_equal(observer, owner))
        return bucket_path_encode(bucket);
    return encode(&other, bucket);
}

/* ---- decoding */

static gboolean
is_legal(const char *text, gsize max)
{
    return text[0] != '\0' && strlen(text) <= max && bus_string_is_valid(text);
}

static gboolean
decode_labels(const char *path, const char *prefix, PrincipalKind kind, BucketPath *bucket)
{
    g_autofree char *template = g_strconcat(prefix, templates[kind], NULL);
    char *app_id = NULL;
    int r;

    if (kind == PRINCIPAL_UNSANDBOXED)
        r = sd_bus_path_decode_many(path, template, &bucket->name);
    else
        r = sd_bus_path_decode_many(path, template, &app_id, &bucket->name);
    bucket->owner.identity.kind = kind;
    bucket->owner.identity.app_id = app_id;
    return r > 0 && is_legal(bucket->name, BUS_BUCKET_BYTES_MAX) &&
           (app_id == NULL || is_legal(app_id, BUS_APP_BYTES_MAX));
}

static PrincipalKind
get_kind(const char *rest)
{
    if (g_str_has_prefix(rest, "/flatpak/"))
        return PRINCIPAL_FLATPAK;
    return g_str_has_prefix(rest, "/snap/") ? PRINCIPAL_SNAP : PRINCIPAL_UNSANDBOXED;
}

/* The length of BUS_USER_PREFIX "/UID"; 0: there is none in front. (uid_t)-1 is not a user. */
static gsize
read_uid(const char *path, guint32 *out_uid)
{
    const char *digits = path + strlen(BUS_USER_PREFIX "/");
    char *end;
    guint64 uid;

    if (!g_str_has_prefix(path, BUS_USER_PREFIX "/") || !g_ascii_isdigit(digits[0]))
        return 0;
    uid = g_ascii_strtoull(digits, &end, 10);
    if (uid >= G_MAXUINT32)
        return 0;
    *out_uid = (guint32)uid;
    return (gsize)(end - path);
}

static gboolean
decode(const char *path, BucketPath *bucket)
{
    BucketOwner *owner = &bucket->owner;
    gsize n_prefix = read_uid(path, &owner->identity.uid);
    g_autofree char *prefix = NULL;

    owner->has_uid = n_prefix > 0;
    if (!owner->has_uid)
        n_prefix = strlen(BUS_SERVICE_PATH);
    if (strlen(path) < n_prefix)
        return FALSE;
    prefix = g_strndup(path, n_prefix);
    if (!decode_labels(path, prefix, get_kind(path + n_prefix), bucket))
        return FALSE;
    owner->is_other = owner->has_uid || owner->identity.kind != PRINCIPAL_UNSANDBOXED;
    return TRUE;
}

/* Two paths for one bucket would be two names for one thing. */
static gboolean
is_canonical(const BucketPath *bucket, const char *path)
{
    g_autofree char *canonical = encode(&bucket->owner, bucket->name);

    return g_str_equal(path, canonical);
}

gboolean
bucket_path_decode(const char *path, BucketPath *out_bucket)
{
    BucketPath bucket = {NULL};

    if (!decode(path, &bucket) || !is_canonical(&bucket, path)) {
        bucket_path_clear(&bucket);
        return FALSE;
    }
    if (bucket.owner.identity.app_id == NULL)
        bucket.owner.identity.app_id = g_strdup("");
    *out_bucket = bucket;
    return TRUE;
}

void
bucket_path_clear(BucketPath *bucket)
{
    g_free(bucket->name);
    g_free((char *)bucket->owner.identity.app_id);
    *bucket = (BucketPath){NULL};
}
