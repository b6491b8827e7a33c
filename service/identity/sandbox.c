/* SPDX-FileCopyrightText: 2026 The WebLocks for D-Bus authors
 * SPDX-License-Identifier: LGPL-2.1-or-later */

#include "sandbox.h"

#include <errno.h>
#include <fcntl.h>
#include <unistd.h>

#include "flatpak-info.h"
#include "mountinfo.h"
#include "security-label.h"

#define ROOT_PATH "/"
#define INFO_PATH "/" FLATPAK_INFO_NAME

/* Whether it is the root of the service itself. */
static gboolean
is_own_root(const MountPoint *root)
{
    g_autofree char *text = process_read_own_mounts();
    g_auto(MountPoint) own_root = {0};

    return text != NULL && mountinfo_find(text, ROOT_PATH, &own_root) &&
           mount_point_is_same(root, &own_root);
}

/* Whether the service's own root has no file .flatpak-info, so that it is not that of a sandbox. */
static gboolean
is_own_root_without_info(void)
{
    g_autofree char *app_id = NULL;
    int root = open(ROOT_PATH, O_PATH | O_DIRECTORY | O_CLOEXEC);
    gboolean is_bare = root >= 0 && flatpak_info_read(root, &app_id) == FLATPAK_INFO_NONE;

    if (root >= 0)
        close(root);
    return is_bare;
}

/* The result for a root that the service may not open: see sandbox.h. */
static FlatpakInfo
conclude(const MountPoint *root, const MountPoint *info, gboolean is_snap)
{
    if (info->n > 0)
        return FLATPAK_INFO_BAD;
    return is_snap || (is_own_root(root) && is_own_root_without_info()) ? FLATPAK_INFO_NONE
                                                                        : FLATPAK_INFO_BAD;
}

/* The kernel lists only mounts that are reachable from the process's root. After a chroot to a
 * directory that is not a mount point, the mount of the root itself is not listed. */
static gboolean
is_in_own_mount(const char *mount_id)
{
    g_autofree char *text = process_read_own_mounts();
    g_auto(MountPoint) mount = {0};

    return text != NULL && mountinfo_find_id(text, mount_id, &mount) && mount.n == 1 &&
           !mount.may_hang;
}

/* Whether the root can be accessed without the risk of blocking. `text` is the process's mount
 * list. */
static gboolean
may_look_into(int root, const char *text)
{
    g_autofree char *mount_id = process_read_mount_id(root);
    g_auto(MountPoint) mount = {0};

    if (mount_id == NULL || !mountinfo_find_id(text, mount_id, &mount))
        return FALSE;
    if (mount.n == 0)
        return is_in_own_mount(mount_id);
    return !mount.may_hang || is_own_root(&mount);
}

static FlatpakInfo
look(const Process *process, gboolean is_snap, char **out_app_id)
{
    g_autofree char *text = process_read_mounts(process);
    g_auto(MountPoint) root_mount = {0};
    g_auto(MountPoint) info_mount = {0};
    FlatpakInfo info;
    int root;

    if (text == NULL || !mountinfo_find(text, ROOT_PATH, &root_mount) ||
        !mountinfo_find(text, INFO_PATH, &info_mount) || info_mount.may_hang)
        return FLATPAK_INFO_BAD;
    root = process_open_root(process);
    if (root == -EACCES || root == -EPERM)
        return conclude(&root_mount, &info_mount, is_snap);
    if (root < 0)
        return FLATPAK_INFO_BAD;
    info = may_look_into(root, text) ? flatpak_info_read(root, out_app_id) : FLATPAK_INFO_BAD;
    close(root);
    return info;
}

gboolean
sandbox_identify(const Process *process,
                 const char *label,
                 gsize label_size,
                 PrincipalKind *out_kind,
                 char **out_app_id)
{
    g_autofree char *snap = NULL;
    g_autofree char *app_id = NULL;
    FlatpakInfo info;

    if (!security_label_parse(label, label_size, &snap))
        return FALSE;
    info = look(process, snap != NULL, &app_id);
    if (info == FLATPAK_INFO_BAD || (info == FLATPAK_INFO_APP && snap != NULL))
        return FALSE;
    if (info == FLATPAK_INFO_APP) {
        *out_kind = PRINCIPAL_FLATPAK;
        *out_app_id = g_steal_pointer(&app_id);
    } else {
        *out_kind = snap != NULL ? PRINCIPAL_SNAP : PRINCIPAL_UNSANDBOXED;
        *out_app_id = snap != NULL ? g_steal_pointer(&snap) : g_strdup("");
    }
    return TRUE;
}
