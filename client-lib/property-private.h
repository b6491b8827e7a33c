/* SPDX-FileCopyrightText: 2026 The WebLocks for D-Bus authors
 * SPDX-License-Identifier: LGPL-2.1-or-later */

/* Properties that are members of an object's struct. The id of each is the place of its member,
 * which has the C type of its GParamSpec: a string, boolean, number, enumeration, object or boxed
 * value. Members that can be set own their values. */

#pragma once

#include <glib-object.h>

/* Installs the property, with the place of the member as its id. `object_class` is a variable;
 * `type` is that of g_param_spec_TYPE(), and the rest its arguments after the name. */
#define PROPERTY_INSTALL(Object, member, type, name, ...)                          \
    g_object_class_install_property(object_class, G_STRUCT_OFFSET(Object, member), \
                                    g_param_spec_##type(name, NULL, NULL, __VA_ARGS__))

/* For GObjectClass.get_property and set_property, or to be called there. A boxed value can't be
 * set. */
void property_get(GObject *object, guint id, GValue *value, GParamSpec *spec);
void property_set(GObject *object, guint id, const GValue *value, GParamSpec *spec);

/* Sets the member to `*value`, of the same C type. If that is a change, "notify" is emitted for a
 * property with G_PARAM_EXPLICIT_NOTIFY. */
void property_change(gpointer object, const char *name, gconstpointer value);

/* Defines a public function that returns a member: PREFIX_get_NAME().
 * NOLINTBEGIN(bugprone-macro-parentheses): a type can't have these. */
#define PROPERTY_GETTER(Object, prefix, IS_OBJECT, Type, name, member, if_fail) \
    Type prefix##_get_##name(Object *self)                                      \
    {                                                                           \
        g_return_val_if_fail(IS_OBJECT(self), if_fail);                         \
        return self->member;                                                    \
    }
/* Likewise one that changes a property: PREFIX_set_NAME(). */
#define PROPERTY_SETTER(Object, prefix, IS_OBJECT, Type, name, property) \
    void prefix##_set_##name(Object *self, Type value)                   \
    {                                                                    \
        g_return_if_fail(IS_OBJECT(self));                               \
        property_change(self, property, &value);                         \
    }
/* NOLINTEND(bugprone-macro-parentheses) */
