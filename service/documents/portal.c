/* SPDX-FileCopyrightText: 2026 The WebLocks for D-Bus authors
 * SPDX-License-Identifier: LGPL-2.1-or-later */

#include "portal.h"

#include <limits.h>
#include <string.h>

#include "bus-names.h"
#include "document-name.h"

#define PORTAL_NAME      "org.freedesktop.portal.Documents"
#define PORTAL_PATH      "/org/freedesktop/portal/documents"
#define PORTAL_INTERFACE "org.freedesktop.portal.Documents"
#define PERMISSION_WRITE "write"
/* What the portal's own errors begin with: there is no such document, or it is not for the caller.
 */
#define PORTAL_ERROR_PREFIX "org.freedesktop.portal.Error."
/* What the portal's ids of Snaps begin with. */
#define SNAP_PREFIX "snap."

#define PATIENCE_US (UINT64_C(2) * G_USEC_PER_SEC)

struct PortalCall {
    sd_bus_slot *slot;
    char **elements; /* of the document */
    char *app;
    PortalDone done;
    gpointer data;
};

gboolean
portal_can_have(const char *document)
{
    g_auto(GStrv) elements = g_strsplit(document, "/", -1);

    for (guint i = 0; elements[i] != NULL; i++)
        if (elements[i][0] == '\0' || g_str_equal(elements[i], ".") ||
            g_str_equal(elements[i], ".."))
            return FALSE;
    return g_strv_length(elements) >= 2 && strlen(document) < PATH_MAX;
}

/* ---- the reply: where the document is on the host, and who may do what with it */

/* Returns the lock's name, owned; NULL: the path is not that of the document. */
static char *
make_name(char *const *elements, const char *bytes, gsize size)
{
    g_autofree char *path = g_strndup(bytes, size);
    g_autofree char *name = g_path_get_basename(path);
    g_autofree char *rest = g_strjoinv("/", (char **)elements + 2);
    g_autofree char *full = rest[0] != '\0' ? g_build_filename(path, rest, NULL) : g_strdup(path);

    return g_str_equal(name, elements[1]) ? document_name_from_path(full) : NULL;
}

static int
read_permissions(sd_bus_message *reply, const char *app, gboolean *may_write)
{
    const char *id, *permission;
    int r;

    if ((r = sd_bus_message_read_basic(reply, 's', &id)) < 0 ||
        (r = sd_bus_message_enter_container(reply, 'a', "s")) < 0)
        return r;
    while ((r = sd_bus_message_read_basic(reply, 's', &permission)) > 0)
        if (g_str_equal(id, app) && g_str_equal(permission, PERMISSION_WRITE))
            *may_write = TRUE;
    return r < 0 ? r : sd_bus_message_exit_container(reply);
}

/* Returns the name of the lock, owned; NULL: the application may not write the document. */
static char *
read_info(const PortalCall *self, sd_bus_message *reply)
{
    gboolean may_write = FALSE;
    const void *path;
    gsize size;
    int r;

    if (sd_bus_message_read_array(reply, 'y', &path, &size) < 0 ||
        sd_bus_message_enter_container(reply, 'a', "{sas}") < 0)
        return NULL;
    while ((r = sd_bus_message_enter_container(reply, 'e', "sas")) > 0)
        if (read_permissions(reply, self->app, &may_write) < 0 ||
            sd_bus_message_exit_container(reply) < 0)
            return NULL;
    return r == 0 && may_write ? make_name(self->elements, path, size) : NULL;
}

static LockResult
get_result_of_error(const sd_bus_error *error)
{
    if (sd_bus_error_has_name(error, BUS_ERROR_SERVICE_UNKNOWN) ||
        sd_bus_error_has_name(error, BUS_ERROR_NAME_HAS_NO_OWNER) ||
        sd_bus_error_has_name(error, BUS_ERROR_UNKNOWN_METHOD) ||
        sd_bus_error_has_name(error, BUS_ERROR_UNKNOWN_OBJECT))
        return LOCK_RESULT_NOT_LOCAL;
    if (g_str_has_prefix(error->name, PORTAL_ERROR_PREFIX))
        return LOCK_RESULT_NOT_PROVED;
    return LOCK_RESULT_NOT_NOW;
}

static int
on_reply(sd_bus_message *reply, void *userdata, sd_bus_error *unused)
{
    PortalCall *self = userdata;
    const sd_bus_error *error = sd_bus_message_get_error(reply);
    g_autofree char *document = error == NULL ? read_info(self, reply) : NULL;
    LockResult result = document != NULL ? LOCK_RESULT_OK : LOCK_RESULT_NOT_PROVED;

    self->done(error != NULL ? get_result_of_error(error) : result, document, self->data);
    return 1;
}

/* ---- the call */

static int
send_call(PortalCall *self, sd_bus *bus)
{
    g_autoptr(SdBusMessage) message = NULL;
    int r;

    if ((r = sd_bus_message_new_method_call(bus, &message, PORTAL_NAME, PORTAL_PATH,
                                            PORTAL_INTERFACE, "Info")) < 0 ||
        (r = sd_bus_message_append_basic(message, 's', self->elements[0])) < 0 ||
        (r = sd_bus_message_set_auto_start(message, 0)) < 0)
        return r;
    return sd_bus_call_async(bus, &self->slot, message, on_reply, self, PATIENCE_US);
}

PortalCall *
portal_ask(
    sd_bus *bus, const PrincipalIdentity *app, const char *document, PortalDone done, gpointer data)
{
    PortalCall *self = g_new0(PortalCall, 1);

    self->elements = g_strsplit(document, "/", -1);
    self->app = app->kind == PRINCIPAL_SNAP ? g_strconcat(SNAP_PREFIX, app->app_id, NULL)
                                            : g_strdup(app->app_id);
    self->done = done;
    self->data = data;
    if (send_call(self, bus) >= 0)
        return self;
    portal_call_free(self);
    return NULL;
}

void
portal_call_free(PortalCall *self)
{
    sd_bus_slot_unref(self->slot);
    g_strfreev(self->elements);
    g_free(self->app);
    g_free(self);
}
