/* SPDX-FileCopyrightText: 2026 The WebLocks for D-Bus authors
 * SPDX-License-Identifier: LGPL-2.1-or-later */

#include "flatpak-info.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "process.h"
#include "sd-bus.h"

#define GROUP_APPLICATION "Application"
#define GROUP_RUNTIME     "Runtime"
#define KEY_NAME          "name"

/* Flatpak's application ids are well-known bus names of at least two elements. */
static gboolean
is_app_id(const char *id)
{
    return id[0] != ':' && sd_bus_service_name_is_valid(id) > 0;
}

char *
flatpak_info_parse(const char *data, gsize size)
{
    g_autoptr(GKeyFile) file = g_key_file_new();
    g_autofree char *id = NULL;
    gboolean is_runtime;

    if (memchr(data, '\0', size) != NULL || !g_utf8_validate(data, (gssize)size, NULL) ||
        !g_key_file_load_from_data(file, data, size, G_KEY_FILE_NONE, NULL))
        return NULL;
    /* The group is Runtime for a runtime that is run without an application. Files with both groups
     * or none are invalid. */
    is_runtime = g_key_file_has_group(file, GROUP_RUNTIME);
    if (is_runtime == g_key_file_has_group(file, GROUP_APPLICATION))
        return NULL;
    id =
        g_key_file_get_string(file, is_runtime ? GROUP_RUNTIME : GROUP_APPLICATION, KEY_NAME, NULL);
    return id != NULL && is_app_id(id) ? g_steal_pointer(&id) : NULL;
}

static char *
read_app_id(int fd)
{
    g_autofree char *data = NULL;
    struct stat status;
    gsize size;

    if (fstat(fd, &status) < 0 || !S_ISREG(status.st_mode) ||
        status.st_size > (off_t)FLATPAK_INFO_MAX)
        return NULL;
    data = process_read_fd(fd, FLATPAK_INFO_MAX, &size);
    return data != NULL ? flatpak_info_parse(data, size) : NULL;
}

FlatpakInfo
flatpak_info_read(int root, char **out_app_id)
{
    /* O_NONBLOCK: don't wait for the writer of a FIFO, for a device, or for the holder of a lease.
     */
    int fd =
        openat(root, FLATPAK_INFO_NAME, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);

    *out_app_id = NULL;
    if (fd < 0)
        return errno == ENOENT ? FLATPAK_INFO_NONE : FLATPAK_INFO_BAD;
    *out_app_id = read_app_id(fd);
    close(fd);
    return *out_app_id != NULL ? FLATPAK_INFO_APP : FLATPAK_INFO_BAD;
}
