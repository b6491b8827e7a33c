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

static void
test_parse(void)
{
    for (guint i = 0; i < G_N_ELEMENTS(parse_rows); i++) {
        const ParseRow *row = &parse_rows[i];
        gsize size = row->size > 0 ? row->size : strlen(row->text);
        g_autofree char *id = flatpak_info_parse(row->text, size);

        if (g_strcmp0(id, row->id) != 0)
            g_error("row %u (%s): expected %s, got %s", i, row->text, row->id, id);
    }
}

static void
test_length(void)
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

/* Random bytes, and modified files: never anything but a valid id. */
static void
test_random(void)
{
    const char *whole = "[Application]\nname=" APP "\nruntime=x\n[Instance]\ninstance-id=12\n";
    gsize size = strlen(whole);

    for (guint round = 0; round < 20000; round++) {
        g_autofree char *text = g_memdup2(whole, size);
        g_autofree char *id = NULL;

        for (gint n = g_test_rand_int_range(0, 6); n > 0; n--)
            text[g_test_rand_int_range(0, (gint32)size)] = (char)g_test_rand_int_range(0, 256);
        id = flatpak_info_parse(text, (gsize)g_test_rand_int_range(0, (gint32)size + 1));
        if (id == NULL)
            continue;
        g_assert_nonnull(strchr(id, '.'));
        g_assert_cmpuint(strspn(id, G_CSET_a_2_z G_CSET_A_2_Z G_CSET_DIGITS "._-"), ==, strlen(id));
    }
}

/* ---- the object at the file's path */

typedef struct {
    char *path;
    int root;
} Root;

static void
root_set_up(Root *root, gconstpointer data)
{
    root->path = g_dir_make_tmp("weblocks-root-XXXXXX", NULL);
    root->root = open(root->path, O_PATH | O_DIRECTORY | O_CLOEXEC);
    g_assert_cmpint(root->root, >=, 0);
}

static void
root_tear_down(Root *root, gconstpointer data)
{
    const char *names[] = {FLATPAK_INFO_NAME, "good"};

    for (guint i = 0; i < G_N_ELEMENTS(names); i++) {
        g_autofree char *path = g_build_filename(root->path, names[i], NULL);

        if (g_remove(path) < 0)
            g_assert_cmpint(errno, ==, ENOENT);
    }
    close(root->root);
    g_assert_cmpint(g_rmdir(root->path), ==, 0);
    g_free(root->path);
}

static char *
root_write(Root *root, const char *name, const char *text)
{
    char *path = g_build_filename(root->path, name, NULL);

    g_assert_true(g_file_set_contents(path, text, -1, NULL));
    return path;
}

/* The result is immediate: no kind of file blocks. */
static void
assert_read(Root *root, FlatpakInfo expected, const char *expected_id)
{
    gint64 begin = g_get_monotonic_time();
    g_autofree char *id = NULL;

    alarm(20);
    g_assert_cmpint(flatpak_info_read(root->root, &id), ==, expected);
    alarm(0);
    g_assert_cmpstr(id, ==, expected_id);
    g_assert_cmpint(g_get_monotonic_time() - begin, <, 5 * G_USEC_PER_SEC);
}

static void
test_none(Root *root, gconstpointer data)
{
    assert_read(root, FLATPAK_INFO_NONE, NULL);
}

static void
test_app(Root *root, gconstpointer data)
{
    g_free(root_write(root, FLATPAK_INFO_NAME, NAMED(APP)));
    assert_read(root, FLATPAK_INFO_APP, APP);
}

static void
test_empty(Root *root, gconstpointer data)
{
    g_free(root_write(root, FLATPAK_INFO_NAME, ""));
    assert_read(root, FLATPAK_INFO_BAD, NULL);
}

static void
test_no_id(Root *root, gconstpointer data)
{
    g_free(root_write(root, FLATPAK_INFO_NAME, "[Application]\nruntime=x\n"));
    assert_read(root, FLATPAK_INFO_BAD, NULL);
}

static void
test_hostile_id(Root *root, gconstpointer data)
{
    g_free(root_write(root, FLATPAK_INFO_NAME, NAMED("../..")));
    assert_read(root, FLATPAK_INFO_BAD, NULL);
}

/* The maximum size that is read, and one byte more. */
static void
test_size(Root *root, gconstpointer data)
{
    g_autoptr(GString) text = g_string_new(NAMED(APP) "# ");

    while (text->len < FLATPAK_INFO_MAX)
        g_string_append_c(text, 'x');
    g_free(root_write(root, FLATPAK_INFO_NAME, text->str));
    assert_read(root, FLATPAK_INFO_APP, APP);
    g_string_append_c(text, 'x');
    g_free(root_write(root, FLATPAK_INFO_NAME, text->str));
    assert_read(root, FLATPAK_INFO_BAD, NULL);
}

/* A sparse file of 1 GiB. */
static void
test_huge(Root *root, gconstpointer data)
{
    g_autofree char *path = root_write(root, FLATPAK_INFO_NAME, NAMED(APP));

    g_assert_cmpint(truncate(path, (off_t)1 << 30), ==, 0);
    assert_read(root, FLATPAK_INFO_BAD, NULL);
}

/* Even to a valid file. */
static void
test_symlink(Root *root, gconstpointer data)
{
    g_autofree char *path = g_build_filename(root->path, FLATPAK_INFO_NAME, NULL);

    g_free(root_write(root, "good", NAMED(APP)));
    g_assert_cmpint(symlink("good", path), ==, 0);
    assert_read(root, FLATPAK_INFO_BAD, NULL);
}

/* A dangling link is not the same as "no such file". */
static void
test_dangling_symlink(Root *root, gconstpointer data)
{
    g_autofree char *path = g_build_filename(root->path, FLATPAK_INFO_NAME, NULL);

    g_assert_cmpint(symlink("nowhere", path), ==, 0);
    assert_read(root, FLATPAK_INFO_BAD, NULL);
}

/* A FIFO without a writer. */
static void
test_fifo(Root *root, gconstpointer data)
{
    g_autofree char *path = g_build_filename(root->path, FLATPAK_INFO_NAME, NULL);

    g_assert_cmpint(mkfifo(path, 0666), ==, 0);
    assert_read(root, FLATPAK_INFO_BAD, NULL);
}

static void
test_directory(Root *root, gconstpointer data)
{
    g_autofree char *path = g_build_filename(root->path, FLATPAK_INFO_NAME, NULL);

    g_assert_cmpint(g_mkdir(path, 0755), ==, 0);
    assert_read(root, FLATPAK_INFO_BAD, NULL);
}

static void
test_socket(Root *root, gconstpointer data)
{
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);

    g_snprintf(address.sun_path, sizeof address.sun_path, "%s/" FLATPAK_INFO_NAME, root->path);
    g_assert_cmpint(bind(fd, (struct sockaddr *)&address, sizeof address), ==, 0);
    assert_read(root, FLATPAK_INFO_BAD, NULL);
    close(fd);
}

/* /dev/zero, which has no end. */
static void
test_device(Root *root, gconstpointer data)
{
    g_autofree char *path = g_build_filename(root->path, FLATPAK_INFO_NAME, NULL);

    if (mknod(path, S_IFCHR | 0666, makedev(1, 5)) < 0) {
        g_test_skip("only root can make devices");
        return;
    }
    assert_read(root, FLATPAK_INFO_BAD, NULL);
}

static void
test_unreadable(Root *root, gconstpointer data)
{
    g_autofree char *path = root_write(root, FLATPAK_INFO_NAME, NAMED(APP));

    g_assert_cmpint(chmod(path, 0), ==, 0);
    if (geteuid() == 0) {
        g_test_skip("root can read everything");
        return;
    }
    assert_read(root, FLATPAK_INFO_BAD, NULL);
}

/* Opening it would break the lease, which takes up to 45 seconds. */
static void
test_lease(Root *root, gconstpointer data)
{
    g_autofree char *path = root_write(root, FLATPAK_INFO_NAME, NAMED(APP));
    int fd = open(path, O_RDWR | O_CLOEXEC);

    signal(SIGIO, SIG_IGN);
    if (fcntl(fd, F_SETLEASE, F_WRLCK) < 0)
        g_test_skip("this file system has no leases");
    else
        assert_read(root, FLATPAK_INFO_BAD, NULL);
    close(fd);
}

/* The root is not a directory, or not a descriptor. */
static void
test_no_root(Root *root, gconstpointer data)
{
    g_autofree char *path = root_write(root, "good", NAMED(APP));
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    Root bad = {.root = fd};

    assert_read(&bad, FLATPAK_INFO_BAD, NULL);
    close(fd);
    assert_read(&bad, FLATPAK_INFO_BAD, NULL);
}

#define ROOT_TEST(name, function) \
    g_test_add("/flatpak-info/" name, Root, NULL, root_set_up, function, root_tear_down)

int
main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/flatpak-info/parse", test_parse);
    g_test_add_func("/flatpak-info/length", test_length);
    g_test_add_func("/flatpak-info/random", test_random);
    ROOT_TEST("none", test_none);
    ROOT_TEST("app", test_app);
    ROOT_TEST("empty", test_empty);
    ROOT_TEST("no-id", test_no_id);
    ROOT_TEST("hostile-id", test_hostile_id);
    ROOT_TEST("size", test_size);
    ROOT_TEST("huge", test_huge);
    ROOT_TEST("symlink", test_symlink);
    ROOT_TEST("dangling-symlink", test_dangling_symlink);
    ROOT_TEST("fifo", test_fifo);
    ROOT_TEST("directory", test_directory);
    ROOT_TEST("socket", test_socket);
    ROOT_TEST("device", test_device);
    ROOT_TEST("unreadable", test_unreadable);
    ROOT_TEST("lease", test_lease);
    ROOT_TEST("no-root", test_no_root);
    return g_test_run();
}
