/* SPDX-FileCopyrightText: 2026 The WebLocks for D-Bus authors
 * SPDX-License-Identifier: LGPL-2.1-or-later */

#include "client-lib/property-private.h"

#include <string.h>

void
property_get(GObject *object, guint id, GValue *value, GParamSpec *spec)
{
    gconstpointer member = (const char *)object + id;

    switch (G_TYPE_FUNDAMENTAL(spec->value_type)) {
    case G_TYPE_STRING:
        g_value_set_string(value, *(const char *const *)member);
        break;
    case G_TYPE_BOOLEAN:
        g_value_set_boolean(value, *(const gboolean *)member);
        break;
    case G_TYPE_UINT:
        g_value_set_uint(value, *(const guint *)member);
        break;
    case G_TYPE_INT64:
        g_value_set_int64(value, *(const gint64 *)member);
        break;
    case G_TYPE_UINT64:
        g_value_set_uint64(value, *(const guint64 *)member);
        break;
    case G_TYPE_ENUM:
        g_value_set_enum(value, *(const int *)member);
        break;
    case G_TYPE_OBJECT:
    case G_TYPE_INTERFACE:
        g_value_set_object(value, *(const gpointer *)member);
        break;
    case G_TYPE_BOXED:
        g_value_set_boxed(value, *(const gconstpointer *)member);
        break;
    default:
        g_assert_not_reached();
    }
}

/* Returns whether it is a change. */
static gboolean
set_member(gpointer member, GType type, gconstpointer value)
{
    const gsize size = type == G_TYPE_UINT64 || type == G_TYPE_INT64 ? 8 : sizeof(int);
    gboolean truth;

    if (type == G_TYPE_OBJECT || type == G_TYPE_INTERFACE)
        return g_set_object((GObject **)member, *(GObject *const *)value);
    if (type == G_TYPE_STRING) {
        const char *text = *(const char *const *)value;

        if (g_strcmp0(*(char **)member, text) == 0)
            return FALSE;
        g_free(*(char **)member);
        *(char **)member = g_strdup(text);
        return TRUE;
    }
    if (type == G_TYPE_BOOLEAN) {
        truth = *(const gboolean *)value != FALSE;
        value = &truth;
    }
    if (memcmp(member, value, size) == 0)
        return FALSE;
    memcpy(member, value, size);
    return TRUE;
}

static void
change(gpointer object, GParamSpec *spec, gconstpointer value)
{
    const GType type = G_TYPE_FUNDAMENTAL(spec->value_type);

    if (set_member((char *)object + spec->param_id, type, value) &&
        (spec->flags & G_PARAM_EXPLICIT_NOTIFY) != 0)
        g_object_notify_by_pspec(object, spec);
}

void
property_change(gpointer object, const char *name, gconstpointer value)
{
    change(object, g_object_class_find_property(G_OBJECT_GET_CLASS(object), name), value);
}

void
property_set(GObject *object, guint id, const GValue *value, GParamSpec *spec)
{
    gconstpointer pointer;
    int number;

    switch (G_TYPE_FUNDAMENTAL(spec->value_type)) {
    case G_TYPE_STRING:
        pointer = g_value_get_string(value);
        change(object, spec, &pointer);
        return;
    case G_TYPE_OBJECT:
    case G_TYPE_INTERFACE:
        pointer = g_value_get_object(value);
        change(object, spec, &pointer);
        return;
    case G_TYPE_BOOLEAN:
        number = g_value_get_boolean(value);
        break;
    case G_TYPE_UINT:
        number = (int)g_value_get_uint(value);
        break;
    case G_TYPE_ENUM:
        number = g_value_get_enum(value);
        break;
    default:
        g_assert_not_reached();
    }
    change(object, spec, &number);
}
