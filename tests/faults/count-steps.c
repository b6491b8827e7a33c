/* SPDX-FileCopyrightText: 2026 The WebLocks for D-Bus authors
 * SPDX-License-Identifier: LGPL-2.1-or-later */

/* Counts the steps of searches in the service that it is linked with: comparisons of strings, and
 * entries of hash tables that are visited. Linked with --wrap for each function below. The count is
 * a guint64 at the beginning of the file that WEBLOCKS_STEPS_FILE names. */

#include <fcntl.h>
#include <glib.h>
#include <sys/mman.h>
#include <unistd.h>

int __real_strcmp(const char *a, const char *b);
int __wrap_strcmp(const char *a, const char *b);
gboolean __real_g_str_equal(gconstpointer a, gconstpointer b);
gboolean __wrap_g_str_equal(gconstpointer a, gconstpointer b);
gboolean __real_g_hash_table_iter_next(GHashTableIter *iter, gpointer *key, gpointer *value);
gboolean __wrap_g_hash_table_iter_next(GHashTableIter *iter, gpointer *key, gpointer *value);

static guint64 unread;
static guint64 *n_steps = &unread;

__attribute__((constructor)) static void
share_count(void)
{
    const char *path = g_getenv("WEBLOCKS_STEPS_FILE");
    int fd = path != NULL ? open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0600) : -1;

    if (fd < 0)
        return;
    if (ftruncate(fd, sizeof(*n_steps)) != 0)
        g_error("%s: no room", path);
    n_steps = mmap(NULL, sizeof(*n_steps), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    close(fd);
    if (n_steps == MAP_FAILED)
        g_error("%s: not mapped", path);
}

int
__wrap_strcmp(const char *a, const char *b)
{
    ++*n_steps;
    return __real_strcmp(a, b);
}

gboolean
__wrap_g_str_equal(gconstpointer a, gconstpointer b)
{
    ++*n_steps;
    return __real_g_str_equal(a, b);
}

gboolean
__wrap_g_hash_table_iter_next(GHashTableIter *iter, gpointer *key, gpointer *value)
{
    ++*n_steps;
    return __real_g_hash_table_iter_next(iter, key, value);
}
