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

/* All that exist, by key: agent (one for each bus), user, sandbox and name. It holds no references.
 */
static GHashTable *applications;

/* ---- recognition */

static char *
build_detail(WebLocksLockInfo *info)
{
    const gboolean is_sandboxed = *web_locks_lock_info_get_application(info) != '\0';
    const guint uid = web_locks_lock_info_get_uid(info);
    const struct passwd *user = getpwuid(uid);
    g_autofree char *name = NULL;

    if (uid == getuid())
        return g_strdup(is_sandboxed ? _("Sandboxed") : "");
    name = user != NULL ? g_strdup(user->pw_name) : g_strdup_printf("%u", uid);
    /* Translators: %s is the login name of a user. */
    return g_strdup_printf(is_sandboxed ? _("Sandboxed, of user %s") : _("Of user %s"), name);
}

/* Returns the owned icon of the application: in a sandbox, or if its process has the name that is
 * in the desktop entry; a terminal or a service manager gives its own unit's name to what it
 * starts. */
static GIcon *
find_icon(WebLocksLockInfo *info)
{
    const char *sandboxed = web_locks_lock_info_get_application(info);
    const gboolean is_sandboxed = *sandboxed != '\0';
    g_autofree char *id = is_sandboxed
                              ? g_strdup(sandboxed)
                              : program_name_get_application_id(web_locks_lock_info_get_pid(info));
    g_autofree char *file = id != NULL ? g_strconcat(id, ".desktop", NULL) : NULL;
    g_autoptr(GDesktopAppInfo) entry = file != NULL ? g_desktop_app_info_new(file) : NULL;
    GIcon *icon = NULL;

    if (entry != NULL && (is_sandboxed || g_str_equal(g_app_info_get_name(G_APP_INFO(entry)),
                                                      web_locks_lock_info_get_who(info))))
        icon = g_app_info_get_icon(G_APP_INFO(entry));
    return icon != NULL ? g_object_ref(icon) : g_themed_icon_new("application-x-executable");
}

/* Takes the key. */
static ViewerApplication *
viewer_application_new(WebLocksLockInfo *info, char *key)
{
    ViewerApplication *self = g_object_new(VIEWER_TYPE_APPLICATION, NULL);

    self->key = key;
    self->detail = build_detail(info);
    self->name = g_strdup(web_locks_lock_info_get_who(info));
    self->icon = find_icon(info);
    g_hash_table_insert(applications, self->key, self);
    return self;
}

ViewerApplication *
viewer_application_of(WebLocksLockInfo *info)
{
    WebLocksAgent *agent = web_locks_manager_get_agent(web_locks_lock_info_get_manager(info));
    g_autofree char *key = g_strdup_printf("%p %u %s %s", agent, web_locks_lock_info_get_uid(info),
                                           web_locks_lock_info_get_application(info),
                                           web_locks_lock_info_get_who(info));
    ViewerApplication *known;

    if (applications == NULL)
        applications = g_hash_table_new(g_str_hash, g_str_equal);
    known = g_hash_table_lookup(applications, key);
    return known != NULL ? g_object_ref(known)
                         : viewer_application_new(info, g_steal_pointer(&key));
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
