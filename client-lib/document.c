/* SPDX-FileCopyrightText: 2026 The WebLocks for D-Bus authors
 * SPDX-License-Identifier: LGPL-2.1-or-later */

/* Opening a document, which is how different editors get one lock for it: outside of sandboxes by a
 * convention for its name, in a sandbox with the help of the service, to which the application
 * proves that it may write the document. */

#include "config.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <unistd.h>

#include "client-lib/agent-private.h"
#include "client-lib/error-private.h"
#include "common/bus-names.h"
#include "common/document-name.h"

typedef struct {
    GFile *file;
    char *name; /* in the bucket `documents` of this process */
    gboolean is_sandboxed;
    /* In a sandbox, the proof: one of both; neither if there is none. */
    GUnixFDList *descriptors;
    char *component; /* of a document that doesn't exist, in the directory of the descriptor */
    char *portal;
    /* The result. */
    char *bucket;
    gboolean excludes_all;
} Opening;

static void
opening_free(gpointer data)
{
    Opening *self = data;

    g_object_unref(self->file);
    g_clear_object(&self->descriptors);
    g_free(self->name);
    g_free(self->component);
    g_free(self->portal);
    g_free(self->bucket);
    g_free(self);
}

/* ---- looking at the file, in another thread */

/* Returns the path without symbolic links; also if the file itself doesn't exist yet. */
static char *
resolve(const char *path)
{
    g_autofree char *directory = g_path_get_dirname(path);
    g_autofree char *name = g_path_get_basename(path);
    char *resolved = realpath(path, NULL);
    g_autofree char *parent = resolved == NULL ? realpath(directory, NULL) : NULL;

    if (parent != NULL)
        resolved = g_build_filename(parent, name, NULL);
    return resolved != NULL ? resolved : g_strdup(path);
}

static gboolean
is_in_sandbox(void)
{
    return access("/.flatpak-info", F_OK) == 0 || g_getenv("SNAP_INSTANCE_NAME") != NULL;
}

/* Returns `ID/NAME...`, owned, if the path is one of the document portal's; otherwise NULL. */
static char *
get_portal_document(const char *path)
{
    g_autofree char *of_user = g_build_filename(g_get_user_runtime_dir(), "doc/", NULL);
    const char *const prefixes[] = {of_user, "/run/flatpak/doc/"};

    for (guint i = 0; i < G_N_ELEMENTS(prefixes); i++)
        if (g_str_has_prefix(path, prefixes[i]))
            return g_strdup(path + strlen(prefixes[i]));
    return NULL;
}

static void
take_descriptor(Opening *self, const char *path)
{
    g_autofree char *directory = g_path_get_dirname(path);
    int fd = open(path, O_PATH | O_CLOEXEC);

    if (fd < 0 && errno == ENOENT) {
        fd = open(directory, O_PATH | O_DIRECTORY | O_CLOEXEC);
        self->component = g_path_get_basename(path);
    }
    if (fd >= 0)
        self->descriptors = g_unix_fd_list_new_from_array(&fd, 1);
}

static void
look(GTask *task, gpointer source, gpointer data, GCancellable *cancellable)
{
    Opening *self = data;
    g_autofree char *path = g_file_is_native(self->file) ? g_file_get_path(self->file) : NULL;
    g_autofree char *resolved = path != NULL ? resolve(path) : NULL;
    g_autofree char *uri = resolved == NULL ? g_file_get_uri(self->file) : NULL;

    self->name = resolved != NULL ? document_name_from_path(resolved) : document_name_from_uri(uri);
    self->is_sandboxed = is_in_sandbox();
    if (self->is_sandboxed && resolved != NULL) {
        self->portal = get_portal_document(resolved);
        if (self->portal == NULL)
            take_descriptor(self, resolved);
    }
    g_task_return_boolean(task, TRUE);
}

/* ---- asking the service */

static BusMessage
build_open(gpointer data)
{
    const Opening *self = data;
    GVariantBuilder options;

    g_variant_builder_init(&options, G_VARIANT_TYPE_VARDICT);
    if (self->portal != NULL)
        g_variant_builder_add(&options, "{sv}", BUS_OPTION_PORTAL,
                              g_variant_new_string(self->portal));
    else
        g_variant_builder_add(&options, "{sv}", BUS_OPTION_FILE, g_variant_new_handle(0));
    if (self->component != NULL)
        g_variant_builder_add(&options, "{sv}", BUS_OPTION_NAME,
                              g_variant_new_string(self->component));
    return (BusMessage){BUS_SERVICE_PATH, BUS_SERVICE_INTERFACE, "OpenDocument",
                        g_variant_new("(a{sv})", &options), self->descriptors};
}

static gpointer
read_open(GVariant *body, gpointer data, GError **error)
{
    Opening *self = data;

    if (!g_variant_is_of_type(body, G_VARIANT_TYPE("(ss)"))) {
        g_propagate_error(error, error_new_unreadable());
        return NULL;
    }
    g_clear_pointer(&self->name, g_free);
    g_variant_get(body, "(ss)", &self->bucket, &self->name);
    return self;
}

static const MethodCallKind open_kind = {.build = build_open, .read = read_open};

/* Whether the application has only a lock of its own then. */
static gboolean
is_not_shared(const GError *error)
{
    return g_error_matches(error, WEB_LOCKS_ERROR, WEB_LOCKS_ERROR_SECURITY) ||
           g_error_matches(error, WEB_LOCKS_ERROR, WEB_LOCKS_ERROR_NOT_SUPPORTED);
}

static void
on_asked(GObject *source, GAsyncResult *result, gpointer data)
{
    AsyncResult *opened = data;
    Opening *self = async_result_get_data(opened);
    GError *error = NULL;

    self->excludes_all = async_result_take(result, &error) != NULL;
    if (is_not_shared(error))
        g_clear_error(&error);
    async_result_return(opened, error == NULL ? self : NULL, NULL, error);
}

static void
on_looked(GObject *source, GAsyncResult *result, gpointer data)
{
    AsyncResult *opened = data;
    Opening *self = async_result_get_data(opened);
    GError *error = NULL;

    if (!g_task_propagate_boolean(G_TASK(result), &error)) {
        async_result_return(opened, NULL, NULL, error);
    } else if (self->portal == NULL && self->descriptors == NULL) {
        self->excludes_all = !self->is_sandboxed;
        async_result_return(opened, self, NULL, NULL);
    } else {
        connection_call(
            web_locks_agent_get_connection(WEB_LOCKS_AGENT(source)), &open_kind, self,
            caller_async(source, on_asked, async_result_get_cancellable(opened), on_asked, opened));
    }
}

/**
 * web_locks_agent_open_document_async:
 * @self: an agent
 * @file: a document, which need not exist
 * @cancellable: (nullable): cancels the operation
 * @callback: (scope async) (nullable): called when the operation has finished
 * @user_data: for @callback
 *
 * Finds out by which lock the editors of a document exclude each other. Nothing is requested yet;
 * [class@WebLocks.Claim] does both.
 *
 * Outside of sandboxes, the lock is in the bucket [const@WebLocks.DOCUMENTS_BUCKET], and its name
 * is the URI of the file, for a local file without symbolic links; if that is longer than 1,024
 * bytes, `sha256:` and the hexadecimal SHA-256 hash of the URI.
 *
 * A Flatpak or Snap application proves to the lock service that it may write the document, by a
 * descriptor or by the document portal. Then it gets the same lock, by another name, with which it
 * can be requested until the service ends; so open the document again before each request. If it
 * can't prove that, or the service can't find out without waiting, as for a file on a server, the
 * lock is in a bucket of the application alone.
 *
 * The file system is looked at in another thread, so this does not block.
 *
 * Since: 0.1
 */
void
web_locks_agent_open_document_async(WebLocksAgent *self,
                                    GFile *file,
                                    GCancellable *cancellable,
                                    GAsyncReadyCallback callback,
                                    gpointer user_data)
{
    Opening *opening;
    g_autoptr(GTask) looking = NULL;
    AsyncResult *opened;

    g_return_if_fail(WEB_LOCKS_IS_AGENT(self));
    g_return_if_fail(G_IS_FILE(file));
    g_return_if_fail(cancellable == NULL || G_IS_CANCELLABLE(cancellable));

    opened = async_result_new(self, web_locks_agent_open_document_async, cancellable, callback,
                              user_data);
    opening = g_new0(Opening, 1);
    opening->file = g_object_ref(file);
    async_result_set_data(opened, opening, opening_free);
    looking = g_task_new(self, cancellable, on_looked, opened);
    g_task_set_task_data(looking, opening, NULL);
    g_task_run_in_thread(looking, look);
}

/**
 * web_locks_agent_open_document_finish:
 * @self: an agent
 * @result: the result of web_locks_agent_open_document_async()
 * @name: (out) (transfer full): return location for the name of the lock
 * @excludes_all: (out) (optional): return location for whether the lock excludes all editors of
 *   the user that do the same; %FALSE: only those of this application
 * @error: return location for an error
 *
 * Finishes an operation started with web_locks_agent_open_document_async().
 *
 * Errors: `G_IO_ERROR_CANCELLED`; in a sandbox also [error@WebLocks.Error.UNAVAILABLE] if the
 * service or the document portal can't be reached, [error@WebLocks.Error.LIMITS] and
 * [error@WebLocks.Error.CLOSED].
 *
 * Returns: (transfer full): the manager of the lock's bucket
 * Since: 0.1
 */
WebLocksManager *
web_locks_agent_open_document_finish(
    WebLocksAgent *self, GAsyncResult *result, char **name, gboolean *excludes_all, GError **error)
{
    Opening *opening;

    g_return_val_if_fail(async_result_is_valid(result, self, web_locks_agent_open_document_async),
                         NULL);
    g_return_val_if_fail(name != NULL, NULL);
    g_return_val_if_fail(error == NULL || *error == NULL, NULL);

    opening = async_result_take(result, error);
    if (opening == NULL)
        return NULL;
    *name = g_strdup(opening->name);
    if (excludes_all != NULL)
        *excludes_all = opening->excludes_all;
    return web_locks_manager_new(self, opening->bucket != NULL ? opening->bucket
                                                               : WEB_LOCKS_DOCUMENTS_BUCKET);
}
