/* SPDX-FileCopyrightText: 2026 The WebLocks for D-Bus authors
 * SPDX-License-Identifier: LGPL-2.1-or-later */

#include "cell-pages.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/magic.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/statfs.h>
#include <unistd.h>

#include "writer-lock.h"

struct CellPages {
    char *path;
    int directory_fd;
    guint64 last_number;
    GArray *ended; /* of guint64: the numbers of pages whose files are still there */
};

/* Whether there are no resources now, after which a page may be left that was not found. */
static gboolean
is_scarce(int error)
{
    return error == EMFILE || error == ENFILE || error == ENOMEM;
}

/* NULL: with errno. */
static DIR *
open_directory(const char *path)
{
    const int fd = open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    DIR *directory = fd >= 0 ? fdopendir(fd) : NULL;

    if (directory == NULL && fd >= 0)
        close(fd);
    return directory;
}

/* Returns the name of the next file that is named like a page, or NULL. */
static const char *
read_name(DIR *directory)
{
    const struct dirent *entry;

    while (directory != NULL && (entry = readdir(directory)) != NULL)
        if (g_ascii_isdigit(entry->d_name[0]))
            return entry->d_name;
    return NULL;
}

gboolean
cell_pages_remove(const char *path, GError **error)
{
    DIR *directory = open_directory(path);
    const char *name;

    if (directory == NULL && is_scarce(errno)) {
        writer_lock_set_error(error, path);
        return FALSE;
    }
    while ((name = read_name(directory)) != NULL)
        unlinkat(dirfd(directory), name, 0);
    if (directory != NULL)
        closedir(directory);
    rmdir(path);
    return TRUE;
}

static LockCell *
map(int fd)
{
    void *memory = mmap(NULL, LOCK_CELL_PAGE_SIZE, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);

    return memory != MAP_FAILED ? memory : NULL;
}

/* ---- those of this instance */

CellPages *
cell_pages_new(const char *path)
{
    const gboolean is_made = mkdir(path, 0700) == 0;
    const int fd = is_made ? open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC) : -1;
    struct statfs status;
    CellPages *self;

    if (fd < 0 || fstatfs(fd, &status) < 0 || status.f_type != TMPFS_MAGIC) {
        g_info("no cells: %s: %s", path, fd < 0 ? g_strerror(errno) : "it is on no tmpfs");
        if (fd >= 0)
            close(fd);
        if (is_made)
            rmdir(path);
        return NULL;
    }
    self = g_new0(CellPages, 1);
    self->path = g_strdup(path);
    self->directory_fd = fd;
    self->ended = g_array_new(FALSE, FALSE, sizeof(guint64));
    return self;
}

void
cell_pages_free(CellPages *self)
{
    cell_pages_remove_ended(self);
    g_array_unref(self->ended);
    close(self->directory_fd);
    rmdir(self->path);
    g_free(self->path);
    g_free(self);
}

gboolean
cell_pages_are_in_place(const CellPages *self)
{
    return writer_lock_is_at(self->directory_fd, self->path);
}

typedef struct {
    char text[24];
} FileName;

static FileName
get_file_name(guint64 number)
{
    FileName name;

    g_snprintf(name.text, sizeof name.text, "%" G_GUINT64_FORMAT, number);
    return name;
}

static void
remove_file(const CellPages *self, guint64 number)
{
    unlinkat(self->directory_fd, get_file_name(number).text, 0);
}

void
cell_pages_remove_ended(CellPages *self)
{
    for (guint i = 0; i < self->ended->len; i++)
        remove_file(self, g_array_index(self->ended, guint64, i));
    g_array_set_size(self->ended, 0);
}

/* Returns the descriptor of a new file with room for a page, or -1. */
static int
create_file(const CellPage *self)
{
    const int fd = openat(self->pages->directory_fd, get_file_name(self->number).text,
                          O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);

    if (fd < 0 || fallocate(fd, 0, 0, LOCK_CELL_PAGE_SIZE) == 0)
        return fd;
    close(fd);
    return -1;
}

CellPage *
cell_page_new(CellPages *pages, int *out_fd)
{
    CellPage *self = g_new0(CellPage, 1);
    int fd;

    self->pages = pages;
    self->number = ++pages->last_number;
    fd = create_file(self);
    if (fd >= 0)
        self->memory = map(fd);
    if (self->memory == NULL) {
        g_debug("no cells for a client: %s", g_strerror(errno));
        if (fd >= 0)
            close(fd);
        remove_file(pages, self->number);
        g_free(self);
        return NULL;
    }
    for (guint i = 0; i < LOCK_CELLS_PER_PAGE; i++)
        self->cells[i].memory = &self->memory[i];
    *out_fd = fd;
    return self;
}

void
cell_page_free(CellPage *self)
{
    g_array_append_val(self->pages->ended, self->number);
    munmap(self->memory, LOCK_CELL_PAGE_SIZE);
    g_free(self);
}

/* ---- those of an earlier instance */

typedef struct {
    guint64 agent, request, key;
    LockCellClosed closed;
} ClosedCell;

static guint
hash(gconstpointer key)
{
    const ClosedCell *cell = key;

    return (guint)(cell->agent * 0x9e3779b1u + cell->request);
}

static gboolean
is_same(gconstpointer a, gconstpointer b)
{
    const ClosedCell *x = a, *y = b;

    return x->agent == y->agent && x->request == y->request && x->key == y->key;
}

static gboolean
close_page(ClosedCells *self, int fd)
{
    LockCell *memory = map(fd);

    if (memory == NULL)
        return FALSE;
    for (guint i = 0; i < LOCK_CELLS_PER_PAGE; i++) {
        ClosedCell *cell = g_new(ClosedCell, 1);

        lock_cell_close(&memory[i], &cell->closed);
        cell->agent = memory[i].agent;
        cell->request = memory[i].request;
        cell->key = memory[i].key;
        g_hash_table_add(self, cell);
    }
    munmap(memory, LOCK_CELL_PAGE_SIZE);
    return TRUE;
}

/* FALSE: with errno. */
static gboolean
close_file(ClosedCells *self, int fd, gboolean may_read)
{
    struct stat status;

    if (fd < 0 || fstat(fd, &status) < 0)
        return FALSE;
    errno = EINVAL;
    if (!S_ISREG(status.st_mode) || status.st_uid != geteuid() ||
        status.st_size < LOCK_CELL_PAGE_SIZE)
        return FALSE;
    return may_read ? close_page(self, fd)
                    : fallocate(fd, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, 0,
                                LOCK_CELL_PAGE_SIZE) == 0;
}

/* FALSE: with errno. */
static gboolean
close_files(ClosedCells *self, DIR *directory, gboolean may_read)
{
    gboolean is_closed = TRUE;
    const char *name;

    while (is_closed && (name = read_name(directory)) != NULL) {
        const int fd = openat(dirfd(directory), name, O_RDWR | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);

        if (!close_file(self, fd, may_read)) {
            is_closed = !is_scarce(errno);
            if (is_closed)
                g_message("a page of cells can't be closed (%s): its locks, if any, are held",
                          g_strerror(errno));
        }
        if (fd >= 0)
            close(fd);
    }
    return is_closed;
}

ClosedCells *
closed_cells_new(const char *path, gboolean may_read, GError **error)
{
    ClosedCells *self = g_hash_table_new_full(hash, is_same, g_free, NULL);
    DIR *directory = open_directory(path);

    if (directory == NULL ? is_scarce(errno) : !close_files(self, directory, may_read)) {
        writer_lock_set_error(error, path);
        g_clear_pointer(&self, g_hash_table_unref);
    }
    if (directory != NULL)
        closedir(directory);
    return self;
}

const LockCellClosed *
closed_cells_find(ClosedCells *self, guint64 agent, guint64 id, guint64 key)
{
    const ClosedCell wanted = {.agent = agent, .request = id, .key = key};
    const ClosedCell *found = g_hash_table_lookup(self, &wanted);

    return found != NULL ? &found->closed : NULL;
}
