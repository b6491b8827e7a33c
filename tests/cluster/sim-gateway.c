/* SPDX-FileCopyrightText: 2026 The WebLocks for D-Bus authors
 * SPDX-License-Identifier: LGPL-2.1-or-later */

#include "sim-gateway.h"

#include <errno.h>
#include <glib-unix.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

#include "gateway.h"
#include "sim-claims.h"
#include "sim-servers.h"

#define DIRECTORY_PREFIX "/sim/"
#define FIRST_LISTEN_FD  10000000

struct SimGateway {
    guint host;
    ClusterConfig config;
    ClusterBucketConfig bucket;
    GatewayOptions options;
    GHashTable *files; /* path -> contents */
    Gateway *process;  /* NULL: it doesn't run */
    GUnixFDSourceFunc on_connection;
    gpointer data;
    int accepted_fd;
};

static SimGateway *gateways[SIM_HOSTS_MAX];
static guint starting; /* the host whose gateway is being started */
static gboolean is_killing;

/* ---- files of the state directories, by --wrap */

/* Nobody calls these functions by their names. */
#pragma GCC diagnostic ignored "-Wmissing-prototypes"

/* NULL: of the system. */
static GHashTable *
find_files(const char *path)
{
    gboolean is_ours = g_str_has_prefix(path, DIRECTORY_PREFIX);

    return is_ours ? gateways[atoi(path + strlen(DIRECTORY_PREFIX))]->files : NULL;
}

gboolean
__wrap_g_file_get_contents(const char *path, char **text, gsize *size, GError **error)
{
    GHashTable *files = find_files(path);
    const char *found = files != NULL ? g_hash_table_lookup(files, path) : "boot";

    if (found == NULL) {
        g_set_error(error, G_FILE_ERROR, G_FILE_ERROR_NOENT, "%s: is not there", path);
        return FALSE;
    }
    *text = g_strdup(found);
    if (size != NULL)
        *size = strlen(found);
    return TRUE;
}

gboolean
__wrap_g_file_set_contents_full(const char *path,
                                const char *text,
                                G_GNUC_UNUSED gssize size,
                                G_GNUC_UNUSED GFileSetContentsFlags flags,
                                G_GNUC_UNUSED int mode,
                                G_GNUC_UNUSED GError **error)
{
    if (!is_killing)
        g_hash_table_replace(find_files(path), g_strdup(path), g_strdup(text));
    return TRUE;
}

gboolean
__wrap_g_key_file_load_from_file(GKeyFile *file,
                                 const char *path,
                                 GKeyFileFlags flags,
                                 GError **error)
{
    g_autofree char *text = NULL;

    return __wrap_g_file_get_contents(path, &text, NULL, error) &&
           g_key_file_load_from_data(file, text, (gsize)-1, flags, error);
}

int
__wrap_g_unlink(const char *path)
{
    if (!is_killing)
        g_hash_table_remove(find_files(path), path);
    return 0;
}

int
__wrap_rename(const char *old, const char *path)
{
    g_autofree char *text = NULL;

    if (!is_killing && __wrap_g_file_get_contents(old, &text, NULL, NULL))
        g_hash_table_replace(find_files(path), g_strdup(path), g_steal_pointer(&text));
    return 0;
}

/* Threads only write files: it is as if they were done immediately. */
GThread *
__wrap_g_thread_new(G_GNUC_UNUSED const char *name, GThreadFunc func, gpointer data)
{
    func(data);
    return data;
}

gpointer
__wrap_g_thread_join(G_GNUC_UNUSED GThread *thread)
{
    return NULL;
}

/* ---- the socket on which the gateway listens, by --wrap */

int
__wrap_socket(G_GNUC_UNUSED int domain, G_GNUC_UNUSED int type, G_GNUC_UNUSED int protocol)
{
    return FIRST_LISTEN_FD + (int)starting;
}

int
__wrap_bind(G_GNUC_UNUSED int fd,
            G_GNUC_UNUSED const struct sockaddr *address,
            G_GNUC_UNUSED socklen_t size)
{
    return 0;
}

int
__wrap_listen(G_GNUC_UNUSED int fd, G_GNUC_UNUSED int backlog)
{
    return 0;
}

int
__wrap_accept4(int fd,
               G_GNUC_UNUSED struct sockaddr *address,
               G_GNUC_UNUSED socklen_t *size,
               G_GNUC_UNUSED int flags)
{
    return gateways[fd - FIRST_LISTEN_FD]->accepted_fd;
}

int
__wrap_getsockopt(G_GNUC_UNUSED int fd,
                  G_GNUC_UNUSED int level,
                  G_GNUC_UNUSED int name,
                  void *value,
                  socklen_t *size)
{
    const struct ucred peer = {0};

    g_assert_cmpuint(*size, ==, sizeof peer);
    memcpy(value, &peer, sizeof peer);
    return 0;
}

int
__wrap_close(G_GNUC_UNUSED int fd)
{
    return 0;
}

int
__wrap_unlink(G_GNUC_UNUSED const char *path)
{
    return 0;
}

guint
__wrap_g_unix_fd_add(int fd,
                     G_GNUC_UNUSED GIOCondition condition,
                     GUnixFDSourceFunc func,
                     gpointer data)
{
    SimGateway *gateway = gateways[fd - FIRST_LISTEN_FD];

    gateway->on_connection = func;
    gateway->data = data;
    return sim_loop_new_id();
}

void
sim_gateway_accept(SimGateway *gateway, int fd)
{
    gateway->accepted_fd = fd;
    gateway->on_connection(FIRST_LISTEN_FD + (int)gateway->host, G_IO_IN, gateway->data);
}

/* ---- the process */

static char *
get_servers(guint host)
{
    GString *text = g_string_new(NULL);

    for (guint i = 0; i < SIM_SERVERS; i++)
        g_string_append_printf(text, "%s127.%u.%u.%u:1", i > 0 ? "," : "", host >> 8, host & 255,
                               i + 1);
    return g_string_free(text, FALSE);
}

SimGateway *
sim_gateway_new(guint host, guint timeout_secs, guint turn_secs, const char *socket_path)
{
    static char root[] = SIM_ROOT, bucket[] = SIM_BUCKET;
    SimGateway *gateway = g_new0(SimGateway, 1);

    gateways[host] = gateway;
    gateway->host = host;
    gateway->files = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, g_free);
    gateway->bucket = (ClusterBucketConfig){.name = bucket, .turn_secs = turn_secs};
    gateway->config = (ClusterConfig){
        .servers = get_servers(host),
        .root = root,
        .session_timeout_secs = timeout_secs,
        .buckets = g_ptr_array_new(),
    };
    g_ptr_array_add(gateway->config.buckets, &gateway->bucket);
    gateway->options = (GatewayOptions){
        .config = &gateway->config,
        .host = g_strdup_printf("host%u", host),
        .state_directory = g_strdup_printf(DIRECTORY_PREFIX "%u", host),
        .socket_path = socket_path,
    };
    return gateway;
}

void
sim_gateway_free(SimGateway *gateway)
{
    sim_gateway_end(gateway, TRUE);
    gateways[gateway->host] = NULL;
    g_hash_table_unref(gateway->files);
    g_ptr_array_unref(gateway->config.buckets);
    g_free(gateway->config.servers);
    g_free((char *)gateway->options.host);
    g_free((char *)gateway->options.state_directory);
    g_free(gateway);
}

void
sim_gateway_start(SimGateway *gateway)
{
    g_autoptr(GError) error = NULL;

    starting = gateway->host;
    gateway->options.seen = seen_new(gateway->options.state_directory, &error);
    g_assert_no_error(error);
    gateway->process = gateway_new(&gateway->options, &error);
    g_assert_no_error(error);
}

gboolean
sim_gateway_is_running(const SimGateway *gateway)
{
    return gateway->process != NULL;
}

gboolean
sim_gateway_is_being_killed(void)
{
    return is_killing;
}

/* A process that is killed frees its memory, too, but nothing of that gets out of it. */
void
sim_gateway_end(SimGateway *gateway, gboolean is_killed)
{
    if (gateway->process == NULL)
        return;
    is_killing = is_killed;
    g_clear_pointer(&gateway->process, gateway_free);
    g_clear_pointer(&gateway->options.seen, seen_free);
    is_killing = FALSE;
}
