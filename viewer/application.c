/* SPDX-FileCopyrightText: 2026 The WebLocks for D-Bus authors
 * SPDX-License-Identifier: LGPL-2.1-or-later */

#include "application.h"

#include <gio/gdesktopappinfo.h>
#include <glib/gi18n.h>
#include <pwd.h>
#include <string.h>
#include <unistd.h>

#include "common/program-name.h"

G_DEFINE_FINAL_TYPE(ViewerApplication, viewer_application, G_TYPE_OBJECT)

/* All that exist, by key: agent (one for each bus), user and id. It holds no references. */
static GHashTable *applications;

/* ---- recognition */

static GDesktopAppInfo *
find_desktop_entry(const char *id)
{
    g_autofree char *file = g_strconcat(id, ".desktop", NULL);

    return g_desktop_app_info_new(file);
}

static char *
describe_user(guint uid)
{
    const struct passwd *user = getpwuid(uid);

    return user != NULL ? g_strdup(user->pw_name) : g_strdup_printf("%u", uid);
}

static char *
build_detail(WebLocksLockInfo *info)
{
    const gboolean is_sandboxed = *web_locks_lock_info_get_application(info) != '\0';
    g_autofree char *user = NULL;

    if (web_locks_lock_info_get_uid(info) == getuid())
        return g_strdup(is_sandboxed ? _("Sandboxed") : "");
    user = describe_user(web_locks_lock_info_get_uid(info));
    /* Translators: %s is the login name of a user. */
    return g_strdup_printf(is_sandboxed ? _("Sandboxed, of user %s") : _("Of user %s"), user);
}

static ViewerApplication *
viewer_application_new(WebLocksLockInfo *info, const char *key, GDesktopAppInfo *entry)
{
    ViewerApplication *self = g_object_new(VIEWER_TYPE_APPLICATION, NULL);

    self->key = g_strdup(key);
    self->detail = build_detail(info);
    self->name = g_strdup(web_locks_lock_info_get_who(info));
    if (entry != NULL)
        g_set_object(&self->icon, g_app_info_get_icon(G_APP_INFO(entry)));
    if (self->icon == NULL)
        self->icon = g_themed_icon_new("application-x-executable");
    g_hash_table_insert(applications, self->key, self);
    return self;
}

static char *
build_key(WebLocksLockInfo *info, const char *kind, const char *id)
{
    WebLocksAgent *agent = web_locks_manager_get_agent(web_locks_lock_info_get_manager(info));

    return g_strdup_printf("%p %u %s %s", agent, web_locks_lock_info_get_uid(info), kind, id);
}

/* Returns an owned reference, or NULL if there is none yet. */
static ViewerApplication *
find(const char *key)
{
    ViewerApplication *known;

    if (applications == NULL)
        applications = g_hash_table_new(g_str_hash, g_str_equal);
    known = g_hash_table_lookup(applications, key);
    return known != NULL ? g_object_ref(known) : NULL;
}

/* An application in a sandbox, or one that is known by the name in its desktop entry; otherwise
 * NULL: a terminal or a service manager gives its own unit's name to what it starts. The entry is
 * only read for the first lock. */
static ViewerApplication *
find_by_id(WebLocksLockInfo *info)
{
    const char *sandboxed = web_locks_lock_info_get_application(info);
    const gboolean is_sandboxed = *sandboxed != '\0';
    const char *who = web_locks_lock_info_get_who(info);
    g_autofree char *id = is_sandboxed
                              ? g_strdup(sandboxed)
                              : program_name_get_application_id(web_locks_lock_info_get_pid(info));
    g_autoptr(GDesktopAppInfo) entry = NULL;
    g_autofree char *key = NULL;
    g_autoptr(ViewerApplication) known = NULL;

    if (id == NULL)
        return NULL;
    key = build_key(info, is_sandboxed ? "sandbox" : "desktop", id);
    known = find(key);
    if (known != NULL)
        return g_str_equal(known->name, who) ? g_steal_pointer(&known) : NULL;
    entry = find_desktop_entry(id);
    if (!is_sandboxed &&
        (entry == NULL || !g_str_equal(g_app_info_get_name(G_APP_INFO(entry)), who)))
        return NULL;
    return viewer_application_new(info, key, entry);
}

ViewerApplication *
viewer_application_of(WebLocksLockInfo *info)
{
    ViewerApplication *self = find_by_id(info);
    g_autofree char *key = NULL;

    if (self != NULL)
        return self;
    key = build_key(info, "process", web_locks_lock_info_get_who(info));
    self = find(key);
    return self != NULL ? self : viewer_application_new(info, key, NULL);
}

/* ---- order */

int
viewer_application_compare(gpointer first, gpointer second)
{
    const ViewerApplication *a = first, *b = second;
    int order = g_utf8_collate(a->name, b->name);

    return order != 0 ? order : strcmp(a->key, b->key);
}

/* ---- GObject */

static void
viewer_application_finalize(GObject *object)
{
    ViewerApplication *self = VIEWER_APPLICATION(object);

    if (self->key != NULL)
        g_hash_table_remove(applications, self->key);
    g_free(self->key);
    g_free(self->name);
    g_free(self->detail);
    g_clear_object(&self->icon);
    g_object_unref(self->entries);
    G_OBJECT_CLASS(viewer_application_parent_class)->finalize(object);
}

static void
viewer_application_class_init(ViewerApplicationClass *class)
{
    G_OBJECT_CLASS(class)->finalize = viewer_application_finalize;
}

static void
viewer_application_init(ViewerApplication *self)
{
    self->entries = g_list_store_new(G_TYPE_OBJECT);
}
