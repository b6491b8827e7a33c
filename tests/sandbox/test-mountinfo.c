/* SPDX-FileCopyrightText: 2026 The WebLocks for D-Bus authors
 * SPDX-License-Identifier: LGPL-2.1-or-later */

/* identity/mountinfo and identity/process: the kernel's list of mounts, and pids of no process.
 * Processes that exit, and pidfds, are in test_lookup.py and test_credentials.py. */

#include <fcntl.h>
#include <glib.h>
#include <string.h>
#include <unistd.h>

#include "service/identity/mountinfo.h"
#include "service/identity/process.h"
#include "tests/lib/case.h"

#define DISK      "27 1 254:0 / / rw,relatime shared:1 - ext4 /dev/vda rw\n"
#define BIND      "127 1 254:0 / / ro,nosuid shared:1 master:2 - ext4 /dev/vda rw\n"
#define SUBVOLUME "27 1 0:30 /@ / rw - btrfs /dev/vda rw,subvol=/@\n"
#define CHROOT    "27 1 254:0 /srv/root / rw - ext4 /dev/vda rw\n"
#define SANDBOX   "66 43 0:39 /newroot / rw,nosuid,nodev - tmpfs tmpfs rw\n"
#define PROC      "22 27 0:21 / /proc rw,relatime - proc proc rw\n"
#define INFO      "71 66 0:39 /bindfile//deleted /.flatpak-info ro - tmpfs tmpfs rw\n"
#define FUSE_ROOT "66 43 0:50 / / rw - fuse.weird weird rw,user_id=1000\n"
#define FUSE_INFO "72 66 0:51 / /.flatpak-info ro - fuse weird rw,user_id=1000\n"

typedef struct {
    const char *text;
    guint n_root, n_info;
    gboolean root_may_hang, info_may_hang;
} MountRow;

static const MountRow rows[] = {
    {DISK PROC, 1, 0, FALSE, FALSE},
    {PROC SANDBOX INFO, 1, 1, FALSE, FALSE},
    {SANDBOX PROC, 1, 0, FALSE, FALSE},
    {PROC, 0, 0, FALSE, FALSE},
    {"", 0, 0, FALSE, FALSE},
    {FUSE_ROOT PROC, 1, 0, TRUE, FALSE},
    {SANDBOX INFO FUSE_INFO, 1, 2, FALSE, TRUE},
    {SANDBOX FUSE_INFO INFO, 1, 2, FALSE, TRUE},
    {DISK SANDBOX, 2, 0, FALSE, FALSE},
    {FUSE_ROOT DISK, 2, 0, TRUE, FALSE},
    {DISK "30 27 0:50 / /home/x rw - fuse.sshfs x rw\n", 1, 0, FALSE, FALSE},
    {DISK "30 27 8:1 / /mnt rw - fuseblk /dev/sda1 rw\n", 1, 0, FALSE, FALSE},
    {"27 1 8:1 / / rw - fuseblk /dev/sda1 rw\n", 1, 0, TRUE, FALSE},
    {DISK "30 27 0:50 / /.flatpak-info\\040 rw - fuse x rw\n", 1, 0, FALSE, FALSE},
    {DISK "30 27 0:50 / /home/.flatpak-info rw - fuse x rw\n", 1, 0, FALSE, FALSE},
};

TEST("/mountinfo/find", test_find)
{
    for (guint i = 0; i < G_N_ELEMENTS(rows); i++) {
        g_auto(MountPoint) root = {0};
        g_auto(MountPoint) info = {0};

        g_test_message("row %u", i);
        g_assert_true(mountinfo_find(rows[i].text, "/", &root));
        g_assert_true(mountinfo_find(rows[i].text, "/.flatpak-info", &info));
        g_assert_cmpuint(root.n, ==, rows[i].n_root);
        g_assert_cmpuint(info.n, ==, rows[i].n_info);
        g_assert_cmpint(root.may_hang, ==, rows[i].root_may_hang);
        g_assert_cmpint(info.may_hang, ==, rows[i].info_may_hang);
    }
}

TEST("/mountinfo/find-id", test_find_id)
{
    const char *text = DISK PROC SANDBOX "271 27 0:50 / /home/x rw - fuse.sshfs x rw\n";
    g_auto(MountPoint) sandbox = {0};
    g_auto(MountPoint) served = {0};
    g_auto(MountPoint) none = {0};

    g_assert_true(mountinfo_find_id(text, "66", &sandbox));
    g_assert_cmpuint(sandbox.n, ==, 1);
    g_assert_cmpstr(sandbox.directory, ==, "/newroot");
    g_assert_false(sandbox.may_hang);
    g_assert_true(mountinfo_find_id(text, "271", &served));
    g_assert_cmpuint(served.n, ==, 1);
    g_assert_true(served.may_hang);
    /* Neither a prefix of a number nor the id of a parent mount matches. */
    g_assert_true(mountinfo_find_id(text, "43", &none));
    g_assert_true(mountinfo_find_id(text, "2", &none));
    g_assert_cmpuint(none.n, ==, 0);
}

static const char *const bad_texts[] = {
    DISK "27",
    DISK "27 1 254:0 / / rw,relatime shared:1 ext4 /dev/vda rw\n",
    DISK "27 1 254:0 / / rw -\n",
    DISK "27 1 254:0 /\n",
    "x\n",
};

TEST("/mountinfo/bad", test_bad)
{
    for (guint i = 0; i < G_N_ELEMENTS(bad_texts); i++) {
        g_auto(MountPoint) root = {0};

        g_test_message("%s", bad_texts[i]);
        g_assert_false(mountinfo_find(bad_texts[i], "/", &root));
    }
}

static gboolean
is_same(const char *a, const char *b)
{
    g_auto(MountPoint) x = {0};
    g_auto(MountPoint) y = {0};

    g_assert_true(mountinfo_find(a, "/", &x));
    g_assert_true(mountinfo_find(b, "/", &y));
    g_assert_cmpint(mount_point_is_same(&x, &y), ==, mount_point_is_same(&y, &x));
    return mount_point_is_same(&x, &y);
}

TEST("/mountinfo/same", test_same)
{
    g_assert_true(is_same(DISK PROC, PROC BIND));
    g_assert_true(is_same(SUBVOLUME, SUBVOLUME));
    g_assert_false(is_same(DISK, CHROOT));
    g_assert_false(is_same(DISK, SANDBOX));
    g_assert_false(is_same(DISK, SUBVOLUME));
    g_assert_false(is_same(DISK, PROC));
    g_assert_false(is_same(PROC, PROC));
    g_assert_false(is_same(DISK, DISK SANDBOX));
    g_assert_false(is_same(DISK, DISK BIND));
}

/* The file of this kernel. */
TEST("/mountinfo/real", test_real)
{
    g_autofree char *own = process_read_own_mounts();
    g_autofree char *text = NULL;
    Process process;

    g_assert_nonnull(own);
    g_assert_true(process_open(&process, (guint32)getpid(), -1));
    text = process_read_mounts(&process);
    g_assert_cmpstr(text, ==, own);
    g_assert_true(is_same(text, own));
    process_close(&process);
}

TEST("/mountinfo/real-id", test_real_id)
{
    g_autofree char *text = process_read_own_mounts();
    int fd = open("/proc", O_PATH | O_CLOEXEC);
    g_autofree char *id = process_read_mount_id(fd);
    g_auto(MountPoint) by_id = {0};
    g_auto(MountPoint) by_path = {0};

    g_assert_nonnull(id);
    g_assert_true(mountinfo_find_id(text, id, &by_id));
    g_assert_true(mountinfo_find(text, "/proc", &by_path));
    g_assert_cmpstr(by_id.device, ==, by_path.device);
    g_assert_cmpuint(by_id.n, ==, 1);
    close(fd);
    g_assert_null(process_read_mount_id(fd));
}

TEST("/process/no-process", test_no_process)
{
    const guint32 pids[] = {0, G_MAXINT32, (guint32)G_MAXINT32 + 1, G_MAXUINT32};
    Process process;

    for (guint i = 0; i < G_N_ELEMENTS(pids); i++)
        g_assert_false(process_open(&process, pids[i], -1));
    /* A descriptor of another kind. */
    g_assert_false(process_open(&process, (guint32)getpid(), dup(STDERR_FILENO)));
}

TEST_MAIN(g_test_run())
