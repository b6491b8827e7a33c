/* SPDX-FileCopyrightText: 2026 The WebLocks for D-Bus authors
 * SPDX-License-Identifier: LGPL-2.1-or-later */

/* identity/flatpak-info: objects in the place of the file. Those that a sandbox can have without
 * privileges are in test_apps.py, the contents of the file in the fuzz target. */

#include <errno.h>
#include <fcntl.h>
#include <glib.h>
#include <glib/gstdio.h>
#include <signal.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "service/identity/flatpak-info.h"
#include "tests/lib/case.h"

#define APP "org.example.App"

#define NAMED(name) "[Application]\nname=" name "\nruntime=runtime/org.example.P/x86_64/1\n"

typedef enum {
    NOTHING,
    TEXT,
    HUGE_FILE,
    SOCKET,
    UNREADABLE,
    LEASED,
} ObjectKind;

typedef struct {
    const char *name;
    ObjectKind kind;
    const char *text;
    FlatpakInfo expected;
} ObjectRow;

static const ObjectRow object_rows[] = {
    {"none", NOTHING, NULL, FLATPAK_INFO_NONE},
    {"app", TEXT, NAMED(APP), FLATPAK_INFO_APP},
    {"empty", TEXT, "", FLATPAK_INFO_BAD},
    {"no-id", TEXT, "[Application]\nruntime=x\n", FLATPAK_INFO_BAD},
    {"huge", HUGE_FILE, NAMED(APP), FLATPAK_INFO_BAD},
    {"socket", SOCKET, NULL, FLATPAK_INFO_BAD},
    {"unreadable", UNREADABLE, NAMED(APP), FLATPAK_INFO_BAD},
    {"lease", LEASED, NAMED(APP), FLATPAK_INFO_BAD},
};

/* Returns a descriptor that has to stay open, or -1; `*out_why_not` if there can be no such object.
 */
static int
make_object(const ObjectRow *row, const char *path, const char **out_why_not)
{
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    gboolean is_made = TRUE;
    int fd = -1;

    if (row->text != NULL)
        is_made = g_file_set_contents(path, row->text, -1, NULL);
    switch (row->kind) {
    case NOTHING:
    case TEXT:
        break;
    case HUGE_FILE:
        is_made = truncate(path, (off_t)1 << 30) == 0; /* sparse, of 1 GiB */
        break;
    case SOCKET:
        fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
        g_strlcpy(address.sun_path, path, sizeof address.sun_path);
        is_made = bind(fd, (struct sockaddr *)&address, sizeof address) == 0;
        break;
    case UNREADABLE:
        is_made = chmod(path, 0) == 0;
        if (geteuid() == 0)
            *out_why_not = "root can read everything";
        break;
    case LEASED: /* opening it would break the lease, which takes up to 45 seconds */
        fd = open(path, O_RDWR | O_CLOEXEC);
        signal(SIGIO, SIG_IGN);
        if (fcntl(fd, F_SETLEASE, F_WRLCK) < 0)
            *out_why_not = "this file system has no leases";
        break;
    }
    g_assert_true(is_made);
    return fd;
}

/* The result is immediate: no kind of file blocks. */
static void
assert_read(int root, FlatpakInfo expected)
{
    gint64 begin = g_get_monotonic_time();
    g_autofree char *id = NULL;

    alarm(20);
    g_assert_cmpint(flatpak_info_read(root, &id), ==, expected);
    alarm(0);
    g_assert_cmpstr(id, ==, expected == FLATPAK_INFO_APP ? APP : NULL);
    g_assert_cmpint(g_get_monotonic_time() - begin, <, 5 * G_USEC_PER_SEC);
}

static void
test_object(gconstpointer data)
{
    const ObjectRow *row = data;
    g_autofree char *root_path = g_dir_make_tmp("weblocks-root-XXXXXX", NULL);
    g_autofree char *path = g_build_filename(root_path, FLATPAK_INFO_NAME, NULL);
    int root = open(root_path, O_PATH | O_DIRECTORY | O_CLOEXEC);
    const char *why_not = NULL;
    int fd;

    fd = make_object(row, path, &why_not);
    if (why_not != NULL)
        g_test_skip(why_not);
    else
        assert_read(root, row->expected);
    if (fd >= 0)
        close(fd);
    close(root);
    g_assert_true(g_remove(path) == 0 || errno == ENOENT);
    g_assert_cmpint(g_rmdir(root_path), ==, 0);
}

/* The maximum size that is read, and one byte more. */
TEST("/flatpak-info/size", test_size)
{
    g_autoptr(GString) text = g_string_new(NAMED(APP) "# ");
    ObjectRow row = {"size", TEXT, NULL, FLATPAK_INFO_APP};

    while (text->len < FLATPAK_INFO_MAX)
        g_string_append_c(text, 'x');
    row.text = text->str;
    test_object(&row);
    g_string_append_c(text, 'x');
    row = (ObjectRow){"size", TEXT, text->str, FLATPAK_INFO_BAD};
    test_object(&row);
}

/* The root is not a directory, or not a descriptor. */
TEST("/flatpak-info/no-root", test_no_root)
{
    int fd = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);

    assert_read(fd, FLATPAK_INFO_BAD);
    close(fd);
    assert_read(fd, FLATPAK_INFO_BAD);
}

int
main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    test_cases_add();
    for (guint i = 0; i < G_N_ELEMENTS(object_rows); i++) {
        g_autofree char *name = g_strdup_printf("/flatpak-info/%s", object_rows[i].name);

        g_test_add_data_func(name, &object_rows[i], test_object);
    }
    return g_test_run();
}
