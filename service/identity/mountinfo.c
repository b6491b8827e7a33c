/* SPDX-FileCopyrightText: 2026 The WebLocks for D-Bus authors
 * SPDX-License-Identifier: LGPL-2.1-or-later */

#include "mountinfo.h"

#include <string.h>

/* The format of a line: ID PARENT MAJOR:MINOR DIRECTORY POINT OPTIONS [TAG...] - TYPE SOURCE
 * OPTIONS. Blanks inside fields are escaped. */
typedef enum {
    FIELD_ID = 0,
    FIELD_DEVICE = 2,
    FIELD_DIRECTORY = 3,
    FIELD_POINT = 4,
    N_FIELDS = 6, /* fields before the tags */
} Field;

void
mount_point_clear(MountPoint *point)
{
    g_clear_pointer(&point->device, g_free);
    g_clear_pointer(&point->directory, g_free);
    g_clear_pointer(&point->type, g_free);
}

/* Whether the type is "fuse", "fuseblk", "fuse.sshfs" or similar. */
static gboolean
is_served_by_process(const char *type)
{
    return g_str_has_prefix(type, "fuse");
}

/* Parses a line, in place, and adds it to `point` if its field `key` has this value. */
static gboolean
read_line(char *line, Field key, const char *value, MountPoint *point)
{
    const char *fields[N_FIELDS];
    const char *field, *type;

    for (guint i = 0; i < N_FIELDS; i++)
        if ((fields[i] = strsep(&line, " ")) == NULL)
            return FALSE;
    do
        field = strsep(&line, " ");
    while (field != NULL && strcmp(field, "-") != 0);
    type = strsep(&line, " ");
    if (type == NULL)
        return FALSE;
    if (strcmp(fields[key], value) != 0)
        return TRUE;
    mount_point_clear(point);
    point->n++;
    point->device = g_strdup(fields[FIELD_DEVICE]);
    point->directory = g_strdup(fields[FIELD_DIRECTORY]);
    point->type = g_strdup(type);
    point->may_hang |= is_served_by_process(type);
    return TRUE;
}

static gboolean
find(const char *text, Field key, const char *value, MountPoint *out_point)
{
    g_autofree char *copy = g_strdup(text);
    char *rest = copy;
    char *line;

    *out_point = (MountPoint){0};
    while ((line = strsep(&rest, "\n")) != NULL)
        if (line[0] != '\0' && !read_line(line, key, value, out_point))
            return FALSE;
    return TRUE;
}

gboolean
mountinfo_find(const char *text, const char *path, MountPoint *out_point)
{
    return find(text, FIELD_POINT, path, out_point);
}

gboolean
mountinfo_find_id(const char *text, const char *id, MountPoint *out_point)
{
    return find(text, FIELD_ID, id, out_point);
}

gboolean
mount_point_is_same(const MountPoint *a, const MountPoint *b)
{
    return a->n == 1 && b->n == 1 && strcmp(a->device, b->device) == 0 &&
           strcmp(a->directory, b->directory) == 0;
}
