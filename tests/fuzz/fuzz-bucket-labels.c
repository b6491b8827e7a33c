/* SPDX-FileCopyrightText: 2026 The WebLocks for D-Bus authors
 * SPDX-License-Identifier: LGPL-2.1-or-later */

/* Object paths of buckets, and names of buckets.
 *
 * An input is one or more lines. Each is used as the part of an object path behind the buckets'
 * prefix, as an application, as a uid, as the rest of the path, and as a name; the results are
 * compared with a second implementation of the contract's rule. */

#include <stdio.h>
#include <string.h>

#include "common/bus-names.h"
#include "service/dbus/bucket-path.h"
#include "tests/fuzz/fuzz.h"

static gboolean
is_letter(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
}

static gboolean
is_digit(char c)
{
    return c >= '0' && c <= '9';
}

/* Encodes a name: a digit may not be first, and an underscore begins the code of a byte that is not
 * allowed. */
static GString *
encode(const char *name)
{
    GString *label = g_string_new(NULL);

    if (name[0] == '\0')
        g_string_append_c(label, '_');
    for (const char *p = name; *p != '\0'; p++) {
        if (is_letter(*p) || (is_digit(*p) && p != name))
            g_string_append_c(label, *p);
        else
            g_string_append_printf(label, "_%02x", (unsigned char)*p);
    }
    return label;
}

/* Whether it is a valid D-Bus string without the characters that only libsystemd refuses. */
static gboolean
is_legal_name(const char *name)
{
    gsize n_bytes = strlen(name);

    if (n_bytes == 0 || n_bytes > 255 || !g_utf8_validate(name, (gssize)n_bytes, NULL))
        return FALSE;
    for (const char *p = name; *p != '\0'; p = g_utf8_next_char(p)) {
        gunichar c = g_utf8_get_char(p);

        if ((c >= 0xfdd0 && c <= 0xfdef) || c % 0x10000 == 0xfffe || c % 0x10000 == 0xffff)
            return FALSE;
    }
    return TRUE;
}

/* Valid until the next call of this. */
static const BucketPath *
find(const char *path)
{
    static BucketPath bucket;

    bucket_path_clear(&bucket);
    return bucket_path_decode(path, &bucket) ? &bucket : NULL;
}

static void
try_name(const char *name)
{
    const PrincipalIdentity root = {0, PRINCIPAL_UNSANDBOXED, ""};
    const PrincipalIdentity application = {G_MAXUINT32 - 1, PRINCIPAL_SNAP, name};
    g_autofree char *path = NULL;
    g_autofree char *of_application = NULL;
    g_autoptr(GString) label = NULL;
    const BucketPath *again;

    if (!is_legal_name(name))
        return;
    label = encode(name);
    path = bucket_path_encode(name);
    g_assert(g_str_has_prefix(path, BUS_BUCKET_PREFIX "/"));
    g_assert_cmpstr(path + strlen(BUS_BUCKET_PREFIX "/"), ==, label->str);
    again = find(path);
    g_assert_nonnull(again);
    g_assert_cmpstr(again->name, ==, name);
    g_assert_false(again->owner.is_other);

    of_application = bucket_path_encode_for(&root, &application, name);
    again = find(of_application);
    g_assert_nonnull(again);
    g_assert_cmpstr(again->name, ==, name);
    g_assert_true(again->owner.is_other && again->owner.has_uid);
    g_assert_true(principal_identity_equal(&again->owner.identity, &application));
}

/* sd-bus transmits no other paths. */
static gboolean
is_path(const char *path)
{
    return g_variant_is_object_path(path);
}

static void
try_label(const char *label)
{
    g_autofree char *path = g_strconcat(BUS_BUCKET_PREFIX, "/", label, NULL);
    g_autofree char *of_application =
        g_strconcat(BUS_SERVICE_PATH "/flatpak/", label, "/bucket/b", NULL);
    g_autoptr(GString) canonical = NULL, application = NULL;
    const BucketPath *bucket;

    if (!is_path(path) || strchr(label, '/') != NULL)
        return;
    bucket = find(path);
    if (bucket == NULL) {
        g_assert_null(find(of_application));
        return;
    }
    /* It is valid, and there is no other path of that name. */
    g_assert(is_legal_name(bucket->name));
    canonical = encode(bucket->name);
    g_assert_cmpstr(canonical->str, ==, label);
    /* The same holds for an application. */
    bucket = find(of_application);
    g_assert_nonnull(bucket);
    g_assert_true(bucket->owner.is_other && !bucket->owner.has_uid);
    application = encode(bucket->owner.identity.app_id);
    g_assert_cmpstr(application->str, ==, label);
}

/* A uid is written in digits without a leading zero, and -1 is invalid. */
static void
try_uid(const char *label)
{
    g_autofree char *path = g_strconcat(BUS_USER_PREFIX, "/", label, "/bucket/b", NULL);
    const BucketPath *bucket;
    gboolean is_canonical;
    guint64 uid = 0;

    if (!is_path(path) || strchr(label, '/') != NULL)
        return;
    is_canonical = label[strspn(label, "0123456789")] == '\0' &&
                   (label[0] != '0' || label[1] == '\0') &&
                   g_ascii_string_to_unsigned(label, 10, 0, G_MAXUINT32 - 1, &uid, NULL);
    bucket = find(path);
    g_assert_cmpint(bucket != NULL, ==, is_canonical);
    if (bucket != NULL)
        g_assert_cmpuint(bucket->owner.identity.uid, ==, uid);
}

/* Any other rest of a path. */
static void
try_path(const char *rest)
{
    g_autofree char *path = g_strconcat(BUS_SERVICE_PATH, "/", rest, NULL);
    const BucketPath *bucket = is_path(path) ? find(path) : NULL;

    if (bucket == NULL)
        return;
    g_assert_true(is_legal_name(bucket->name));
    if (bucket->owner.is_other && bucket->owner.identity.kind != PRINCIPAL_UNSANDBOXED)
        g_assert_true(is_legal_name(bucket->owner.identity.app_id));
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    g_autofree char *text = g_strndup((const char *)data, size);
    g_auto(GStrv) lines = g_strsplit(text, "\n", -1);

    for (guint i = 0; lines[i] != NULL; i++) {
        try_label(lines[i]);
        try_name(lines[i]);
        try_uid(lines[i]);
        try_path(lines[i]);
    }
    return 0;
}
