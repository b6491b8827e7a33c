/* SPDX-FileCopyrightText: 2026 The WebLocks for D-Bus authors
 * SPDX-License-Identifier: LGPL-2.1-or-later */

/* weblocks-clusterd: reads the options and the configuration, and runs the gateway. */

#include <errno.h>
#include <fcntl.h>
#include <glib-unix.h>
#include <glib/gstdio.h>
#include <locale.h>
#include <pwd.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>

#include "config.h"
#include "gateway.h"
#include "paths.h"

/* <sysexits.h>: systemd doesn't start it again after this. */
#define EXIT_CONFIGURATION 78

typedef struct {
    char *config_path;
    char *socket_path;
    char *state_directory;
    char *user;
    char *host;
    gboolean is_version;
} Arguments;

static void
arguments_clear(Arguments *arguments)
{
    g_free(arguments->config_path);
    g_free(arguments->socket_path);
    g_free(arguments->state_directory);
    g_free(arguments->user);
    g_free(arguments->host);
}

G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC(Arguments, arguments_clear)

static gboolean
parse_arguments(Arguments *arguments, int *argc, char ***argv, GError **error)
{
    const GOptionEntry entries[] = {
        {"config", 0, 0, G_OPTION_ARG_FILENAME, &arguments->config_path,
         "Read this configuration instead of " CLUSTER_CONFIG_PATH, "FILE"},
        {"socket", 0, 0, G_OPTION_ARG_FILENAME, &arguments->socket_path,
         "Listen on this socket instead of the one that systemd has passed", "PATH"},
        {"state-directory", 0, 0, G_OPTION_ARG_FILENAME, &arguments->state_directory,
         "Keep the session here instead of in $STATE_DIRECTORY", "DIRECTORY"},
        {"service-user", 0, 0, G_OPTION_ARG_STRING, &arguments->user,
         "The user that weblocksd runs as; a name or a number", "USER"},
        {"host", 0, 0, G_OPTION_ARG_STRING, &arguments->host,
         "The name that other hosts see, instead of the host name", "NAME"},
        {"version", 0, 0, G_OPTION_ARG_NONE, &arguments->is_version, "Print the version", NULL},
        {NULL, 0, 0, 0, NULL, NULL, NULL},
    };
    g_autoptr(GOptionContext) context = g_option_context_new(NULL);

    g_option_context_set_summary(context, "Connects weblocksd to the ZooKeeper servers that keep "
                                          "the locks of several hosts.");
    g_option_context_add_main_entries(context, entries, NULL);
    if (!g_option_context_parse(context, argc, argv, error))
        return FALSE;
    if (*argc > 1) {
        g_set_error(error, G_OPTION_ERROR, G_OPTION_ERROR_FAILED, "unexpected argument '%s'",
                    (*argv)[1]);
        return FALSE;
    }
    return TRUE;
}

static gboolean
find_uid(const char *user, uid_t *out_uid)
{
    const struct passwd *passwd;
    guint64 number;

    if (g_ascii_string_to_unsigned(user, 10, 0, G_MAXUINT32 - 1, &number, NULL)) {
        *out_uid = (uid_t)number;
        return TRUE;
    }
    passwd = getpwnam(user);
    if (passwd == NULL)
        return FALSE;
    *out_uid = passwd->pw_uid;
    return TRUE;
}

/* Returns "user:password" without the end of the line, or NULL if there is none or `*error`. */
static char *
load_credential(const ClusterConfig *config, GError **error)
{
    char *credential = NULL;

    if (config->credential_file == NULL ||
        !g_file_get_contents(config->credential_file, &credential, NULL, error))
        return NULL;
    g_strchomp(credential);
    if (strchr(credential, ':') != NULL)
        return credential;
    g_set_error(error, G_FILE_ERROR, G_FILE_ERROR_INVAL, "%s: is not of the form USER:PASSWORD",
                config->credential_file);
    g_free(credential);
    return NULL;
}

/* Two processes with the same session would both take its claims for theirs. The lock ends with the
 * process. */
static gboolean
lock_directory(const char *directory)
{
    int fd = open(directory, O_RDONLY | O_DIRECTORY | O_CLOEXEC);

    return fd >= 0 && flock(fd, LOCK_EX | LOCK_NB) == 0;
}

static gboolean
on_signal(gpointer loop)
{
    g_main_loop_quit(loop);
    return G_SOURCE_CONTINUE;
}

static int
run(const GatewayOptions *options)
{
    g_autoptr(GMainLoop) loop = g_main_loop_new(NULL, FALSE);
    g_autoptr(GError) error = NULL;
    g_autoptr(Gateway) gateway = NULL;

    /* Before there is a socket, which has to be removed at the end. */
    g_unix_signal_add(SIGTERM, on_signal, loop);
    g_unix_signal_add(SIGINT, on_signal, loop);
    gateway = gateway_new(options, &error);
    if (gateway == NULL) {
        g_printerr("weblocks-clusterd: %s\n", error->message);
        return EXIT_FAILURE;
    }
    g_main_loop_run(loop);
    return EXIT_SUCCESS;
}

static int
refuse(const char *message)
{
    g_printerr("weblocks-clusterd: %s\n", message);
    return EXIT_CONFIGURATION;
}

int
main(int argc, char **argv)
{
    g_auto(Arguments) arguments = {NULL};
    g_autoptr(ClusterConfig) config = NULL;
    g_autofree char *credential = NULL;
    g_autoptr(Seen) seen = NULL;
    g_autoptr(GError) error = NULL;
    GatewayOptions options = {0};
    const char *directory;

    setlocale(LC_ALL, "");
    signal(SIGPIPE, SIG_IGN); /* nobody reads the log any more */
    if (!parse_arguments(&arguments, &argc, &argv, &error)) {
        g_printerr("weblocks-clusterd: %s\n", error->message);
        return EXIT_FAILURE;
    }
    if (arguments.is_version) {
        g_print("weblocks-clusterd %s\n", WEBLOCKS_VERSION);
        return EXIT_SUCCESS;
    }
    config = cluster_config_load(
        arguments.config_path != NULL ? arguments.config_path : CLUSTER_CONFIG_PATH, &error);
    if (config == NULL)
        return refuse(error->message);
    credential = load_credential(config, &error);
    if (error != NULL)
        return refuse(error->message);
    if (!find_uid(arguments.user != NULL ? arguments.user : WEBLOCKS_SYSTEM_USER,
                  &options.service_uid))
        return refuse("the user of weblocksd does not exist");
    options.host = arguments.host != NULL ? arguments.host : g_get_host_name();
    if (!engine_path_is_component(options.host))
        return refuse("the name of this host is not valid: see --host");
    directory =
        arguments.state_directory != NULL ? arguments.state_directory : g_getenv("STATE_DIRECTORY");
    if (directory == NULL)
        return refuse("there is no state directory");
    if (g_mkdir_with_parents(directory, 0700) != 0)
        return refuse(g_strerror(errno));
    if (!lock_directory(directory)) {
        g_printerr("weblocks-clusterd: could not lock %s: %s\n", directory, g_strerror(errno));
        return EXIT_FAILURE;
    }
    seen = seen_new(directory, &error);
    if (seen == NULL)
        return refuse(error->message);

    options.config = config;
    options.credential = credential;
    options.state_directory = directory;
    options.seen = seen;
    options.socket_path = arguments.socket_path;
    return run(&options);
}
