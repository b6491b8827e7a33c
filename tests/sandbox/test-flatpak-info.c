/* SPDX-FileCopyrightText: 2026 The WebLocks for D-Bus authors
 * SPDX-License-Identifier: LGPL-2.1-or-later */

/* identity/flatpak-info: the contents of the file, and other objects in its place. */

#include <errno.h>
#include <fcntl.h>
#include <glib.h>
#include <glib/gstdio.h>
#include <signal.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <sys/un.h>
#include <unistd.h>

#include "service/identity/flatpak-info.h"
#include "tests/lib/case.h"

#define APP "org.example.App"

/* ---- contents */

typedef struct {
    const char *text;
    const char *id; /* NULL: not such a file */
    gsize size;     /* 0: the text contains no NUL */
} ParseRow;

#define ROW(text, id) \
    {                 \
        text, id, 0   \
    }
#define BYTES_ROW(text, id)        \
    {                              \
        text, id, sizeof(text) - 1 \
    }
#define NAMED(name) "[Application]\nname=" name "\nruntime=runtime/org.example.P/x86_64/1\n"

static const ParseRow parse_rows[] = {
    ROW(NAMED(APP), APP),
    ROW("[Application]\nname=" APP, APP),
    ROW("# comment\n\n[Application]\nruntime=x\nname = " APP "\n\n[Context]\nshared=network;\n",
        APP),
    ROW("[Instance]\ninstance-id=1\n[Application]\nname=" APP "\n", APP),
    ROW("[Runtime]\nname=org.example.Platform\nruntime=x\n", "org.example.Platform"),
    ROW(NAMED("a.b"), "a.b"),
    ROW(NAMED("A._1.c-d.e_f"), "A._1.c-d.e_f"),
    ROW(NAMED("org.gnome.Characters-devel"), "org.gnome.Characters-devel"),

    /* not a key file, or without this key */
    ROW("", NULL),
    ROW("\n\n", NULL),
    ROW("name=" APP "\n", NULL),
    ROW("no key file at all", NULL),
    ROW("[Application\nname=" APP "\n", NULL),
    ROW("[Application]\nruntime=x\n", NULL),
    ROW("[application]\nname=" APP "\n", NULL),
    ROW("[Application]\nName=" APP "\n", NULL),
    ROW("[Application]\nname[en]=" APP "\n", NULL),
    ROW("[Context]\nname=" APP "\n", NULL),
    ROW("[Application]\nname=" APP "\n[Runtime]\nname=org.example.Other\n", NULL),
    ROW("[Application]\n[Runtime]\nname=" APP "\n", NULL),

    /* ids that Flatpak does not assign */
    ROW(NAMED(""), NULL),
    ROW(NAMED("App"), NULL),
    ROW(NAMED("."), NULL),
    ROW(NAMED(".."), NULL),
    ROW(NAMED(".org.example"), NULL),
    ROW(NAMED("org.example."), NULL),
    ROW(NAMED("org..example"), NULL),
    ROW(NAMED("../../etc"), NULL),
    ROW(NAMED("org.example/App"), NULL),
    ROW(NAMED("org.example.1App"), NULL),
    ROW(NAMED("1org.example"), NULL),
    ROW(NAMED(":1.42"), NULL),
    ROW(NAMED("org.example.App Two"), NULL),
    ROW(NAMED("org.example.App\\n"), NULL),
    ROW(NAMED("org.example.App\\s"), NULL),
    ROW(NAMED("org.example.App;org.example.B"), NULL),
    ROW(NAMED("org.example.\\x41"), NULL),
    ROW(NAMED("org.ex\xc3\xa4mple.App"), NULL),
    ROW(NAMED("org.example.\xef\xbc\xa1pp"), NULL),
    BYTES_ROW(NAMED("org.example.\xff\xfe"), NULL),
    BYTES_ROW(NAMED("org.example.\xc3"), NULL),
    BYTES_ROW(NAMED(APP "\0.more"), NULL),
    BYTES_ROW(NAMED(APP) "\0", NULL),
    BYTES_ROW("\0", NULL),
};

TEST("/flatpak-info/parse", test_parse)
{
    for (guint i = 0; i < G_N_ELEMENTS(parse_rows); i++) {
        const ParseRow *row = &parse_rows[i];
        gsize size = row->size > 0 ? row->size : strlen(row->text);
        g_autofree char *id = flatpak_info_parse(row->text, size);

        if (g_strcmp0(id, row->id) != 0)
            g_error("row %u (%s): expected %s, got %s", i, row->text, row->id, id);
    }
}

TEST("/flatpak-info/length", test_length)
{
    for (gsize length = 253; length <= 258; length++) {
        g_autofree char *id = g_strnfill(length, 'x');
        g_autofree char *text = NULL;
        g_autofree char *parsed = NULL;

        id[1] = '.';
        text = g_strdup_printf("[Application]\nname=%s\n", id);
        parsed = flatpak_info_parse(text, strlen(text));
        g_assert_cmpstr(parsed, ==, length <= 255 ? id : NULL);
    }
}

/* ---- the object at the file's path */

typedef enum {
    NOTHING,
    TEXT,
    HUGE_FILE,
    SYMLINK,
    FIFO,
    DIRECTORY,
    SOCKET,
    DEVICE,
    UNREADABLE,
    LEASED,
} ObjectKind;

typedef struct {
    const char *name;
    ObjectKind kind;
    const char *text; /* or the target of a link */
    FlatpakInfo expected;
} ObjectRow;

static const ObjectRow object_rows[] = {
    {"none", NOTHING, NULL, FLATPAK_INFO_NONE},
    {"app", TEXT, NAMED(APP), FLATPAK_INFO_APP},
    {"empty", TEXT, "", FLATPAK_INFO_BAD},
    {"no-id", TEXT, "[Application]\nruntime=x\n", FLATPAK_INFO_BAD},
    {"huge", HUGE_FILE, NAMED(APP), FLATPAK_INFO_BAD},
    /* Even to a valid file; a dangling one is not the same as "no such file". */
    {"symlink", SYMLINK, "good", FLATPAK_INFO_BAD},
    {"dangling-symlink", SYMLINK, "nowhere", FLATPAK_INFO_BAD},
    {"fifo", FIFO, NULL, FLATPAK_INFO_BAD}, /* without a writer */
    {"directory", DIRECTORY, NULL, FLATPAK_INFO_BAD},
    {"socket", SOCKET, NULL, FLATPAK_INFO_BAD},
    {"device", DEVICE, NULL, FLATPAK_INFO_BAD},
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

    if (row->text != NULL && row->kind != SYMLINK)
        is_made = g_file_set_contents(path, row->text, -1, NULL);
    switch (row->kind) {
    case NOTHING:
    case TEXT:
        break;
    case HUGE_FILE:
        is_made = truncate(path, (off_t)1 << 30) == 0; /* sparse, of 1 GiB */
        break;
    case SYMLINK:
        is_made = symlink(row->text, path) == 0;
        break;
    case FIFO:
        is_made = mkfifo(path, 0666) == 0;
        break;
    case DIRECTORY:
        is_made = g_mkdir(path, 0755) == 0;
        break;
    case SOCKET:
        fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
        g_strlcpy(address.sun_path, path, sizeof address.sun_path);
        is_made = bind(fd, (struct sockaddr *)&address, sizeof address) == 0;
        break;
    case DEVICE: /* /dev/zero, which has no end */
        if (mknod(path, S_IFCHR | 0666, makedev(1, 5)) < 0)
            *out_why_not = "only root can make devices";
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
    g_autofree char *good = g_build_filename(root_path, "good", NULL);
    int root = open(root_path, O_PATH | O_DIRECTORY | O_CLOEXEC);
    const char *why_not = NULL;
    int fd;

    g_assert_true(g_file_set_contents(good, NAMED(APP), -1, NULL));
    fd = make_object(row, path, &why_not);
    if (why_not != NULL)
        g_test_skip(why_not);
    else
        assert_read(root, row->expected);
    if (fd >= 0)
        close(fd);
    close(root);
    g_assert_true(g_remove(path) == 0 || errno == ENOENT);
    g_assert_cmpint(g_remove(good), ==, 0);
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
