/* SPDX-FileCopyrightText: 2026 The WebLocks for D-Bus authors
 * SPDX-License-Identifier: LGPL-2.1-or-later */

#include "cell-pages.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/magic.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <sys/statfs.h>
#include <unistd.h>

struct CellPages {
    int directory_fd;
};

/* The name of a page's file. */
typedef struct {
    char text[17];
} PageName;

static PageName
get_name(guint64 id)
{
    PageName name;

    g_snprintf(name.text, sizeof name.text, "%016" G_GINT64_MODIFIER "x", id);
    return name;
}

static int
open_directory(const char *base)
{
    g_autofree char *path = g_strdup_printf("%s.cells", base);

    return open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
}

static LockCell *
map(int fd)
{
    void *memory = mmap(NULL, LOCK_CELL_PAGE_SIZE, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);

    return memory != MAP_FAILED ? memory : NULL;
}

/* ---- those of this instance */

CellPages *
cell_pages_new(const char *base)
{
    g_autofree char *path = g_strdup_printf("%s.cells", base);
    CellPages *self;
    struct statfs status;
    int fd;

    if (mkdir(path, 0700) < 0 && errno != EEXIST) {
        g_message("no cells: %s: %s", path, g_strerror(errno));
        return NULL;
    }
    fd = open_directory(base);
    if (fd < 0 || fstatfs(fd, &status) < 0 || status.f_type != TMPFS_MAGIC) {
        g_message("no cells: %s is no directory on a tmpfs", path);
        if (fd >= 0)
            close(fd);
        return NULL;
    }
    self = g_new0(CellPages, 1);
    self->directory_fd = fd;
    return self;
}

void
cell_pages_free(CellPages *self)
{
    close(self->directory_fd);
    g_free(self);
}

/* Returns the descriptor of a new file with room for a page, or -1. */
static int
create_file(const CellPages *self, const char *name)
{
    int fd =
        openat(self->directory_fd, name, O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);

    if (fd < 0 || fallocate(fd, 0, 0, LOCK_CELL_PAGE_SIZE) == 0)
        return fd;
    unlinkat(self->directory_fd, name, 0);
    close(fd);
    return -1;
}

CellPage *
cell_page_new(CellPages *pages, int *out_fd)
{
    CellPage *self = g_new0(CellPage, 1);
    int fd = -1;

    self->pages = pages;
    if (getrandom(&self->id, sizeof self->id, 0) == sizeof self->id)
        fd = create_file(pages, get_name(self->id).text);
    if (fd >= 0)
        self->memory = map(fd);
    if (self->memory == NULL) {
        g_debug("no cells for a client: %s", g_strerror(errno));
        if (fd >= 0) {
            unlinkat(pages->directory_fd, get_name(self->id).text, 0);
            close(fd);
        }
        g_free(self);
        return NULL;
    }
    for (guint32 i = 0; i < LOCK_CELLS_PER_PAGE; i++)
        self->cells[i] = (Cell){.memory = &self->memory[i], .page = self->id, .number = i};
    *out_fd = fd;
    return self;
}

void
cell_page_free(CellPage *self)
{
    unlinkat(self->pages->directory_fd, get_name(self->id).text, 0);
    munmap(self->memory, LOCK_CELL_PAGE_SIZE);
    g_free(self);
}

/* ---- those of an earlier instance */

typedef struct {
    guint64 id;
    guint64 keys[LOCK_CELLS_PER_PAGE];
    LockCellClosed cells[LOCK_CELLS_PER_PAGE];
} ClosedPage;

struct ClosedPages {
    char *base;
    char *path;        /* of the directory */
    GHashTable *by_id; /* of &ClosedPage.id, owned */
};

/* NULL: it is no page. */
static ClosedPage *
close_page(int fd, guint64 id)
{
    struct stat status;
    ClosedPage *page;
    LockCell *memory;

    if (fstat(fd, &status) < 0 || !S_ISREG(status.st_mode) || status.st_uid != geteuid() ||
        status.st_size < LOCK_CELL_PAGE_SIZE || (memory = map(fd)) == NULL)
        return NULL;
    page = g_new0(ClosedPage, 1);
    page->id = id;
    for (guint i = 0; i < LOCK_CELLS_PER_PAGE; i++) {
        lock_cell_close(&memory[i], &page->cells[i]);
        page->keys[i] = memory[i].key;
    }
    munmap(memory, LOCK_CELL_PAGE_SIZE);
    return page;
}

static gboolean
read_name(const char *name, guint64 *out_id)
{
    return g_ascii_string_to_unsigned(name, 16, 0, G_MAXUINT64, out_id, NULL) &&
           g_str_equal(get_name(*out_id).text, name);
}

/* Returns FALSE with errno if a page may be there that can't be closed now. */
static gboolean
take_page(ClosedPages *self, int directory_fd, const char *name)
{
    ClosedPage *page = NULL;
    gboolean is_fine = TRUE;
    guint64 id;
    int fd;

    if (!read_name(name, &id))
        return TRUE;
    errno = 0;
    fd = openat(directory_fd, name, O_RDWR | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
    if (fd >= 0)
        page = close_page(fd, id);
    if (page != NULL)
        g_hash_table_add(self->by_id, &page->id);
    else if (errno == EMFILE || errno == ENFILE || errno == ENOMEM)
        is_fine = FALSE;
    else
        g_message("a file in %s is no page of cells; its locks, if any, are taken for held",
                  self->path);
    if (fd >= 0)
        close(fd); /* which leaves errno as it is */
    return is_fine;
}

static void
free_page(gpointer id)
{
    g_free((char *)id - G_STRUCT_OFFSET(ClosedPage, id));
}

/* Calls `visit` for each file until it returns FALSE with errno, which this returns too. */
static gboolean
visit_files(const char *base,
            gboolean (*visit)(ClosedPages *self, int directory_fd, const char *name),
            ClosedPages *self)
{
    int fd = open_directory(base);
    DIR *directory = fd >= 0 ? fdopendir(fd) : NULL;
    const struct dirent *entry;
    gboolean is_fine = directory != NULL || errno == ENOENT || errno == ENOTDIR || errno == ELOOP;
    int saved_errno;

    while (directory != NULL && is_fine && (entry = readdir(directory)) != NULL)
        is_fine = visit(self, fd, entry->d_name);
    saved_errno = errno;
    if (directory != NULL)
        closedir(directory);
    else if (fd >= 0)
        close(fd);
    errno = saved_errno;
    return is_fine;
}

ClosedPages *
closed_pages_new(const char *base, GError **error)
{
    ClosedPages *self = g_new0(ClosedPages, 1);

    self->base = g_strdup(base);
    self->path = g_strdup_printf("%s.cells", base);
    self->by_id = g_hash_table_new_full(g_int64_hash, g_int64_equal, free_page, NULL);
    if (visit_files(base, take_page, self))
        return self;
    g_set_error(error, G_FILE_ERROR, (int)g_file_error_from_errno(errno),
                "could not close the pages in %s: %s", self->path, g_strerror(errno));
    closed_pages_free(self);
    return NULL;
}

gboolean
closed_pages_find(
    const ClosedPages *self, guint64 page, guint32 number, guint64 key, LockCellClosed *out_closed)
{
    const char *found = g_hash_table_lookup(self->by_id, &page);
    const ClosedPage *closed;

    if (found == NULL)
        return FALSE;
    closed = (const ClosedPage *)(found - G_STRUCT_OFFSET(ClosedPage, id));
    if (closed->keys[number] != key)
        return FALSE;
    *out_closed = closed->cells[number];
    return TRUE;
}

static gboolean
remove_page(ClosedPages *self, int directory_fd, const char *name)
{
    guint64 id;

    if (read_name(name, &id))
        unlinkat(directory_fd, name, 0);
    return TRUE;
}

void
closed_pages_remove(ClosedPages *self)
{
    visit_files(self->base, remove_page, self);
}

void
closed_pages_free(ClosedPages *self)
{
    g_hash_table_unref(self->by_id);
    g_free(self->base);
    g_free(self->path);
    g_free(self);
}
