/* SPDX-FileCopyrightText: 2026 The WebLocks for D-Bus authors
 * SPDX-License-Identifier: LGPL-2.1-or-later */

/* weblocksd: options, connection, signals, exit status; everything else is in server/ and the
 * libraries below it.
 *
 * Exit status: 0 after a clean shutdown, 1 if there is no connection to the bus, it is lost, or the
 * name is taken, 2 for invalid usage. */

#include <errno.h>
#include <glib-unix.h>
#include <locale.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include "bus-names.h"
#include "cluster-calls.h"
#include "cluster-config.h"
#include "config.h"
#include "descriptors.h"
#include "lifecycle.h"
#include "name-hash.h"
#include "server.h"
#include "vanished.h"

#define EXIT_USAGE               2
#define IDLE_EXIT_SECS_ACTIVATED 60
#define IDLE_EXIT_SECS_MAX       1e6

typedef struct {
    gboolean session;
    gboolean system;
    char *address;
    char **limits;
    double idle_exit_secs;
    gboolean replace;
    char *state_dir;
    gboolean no_state;
    gboolean no_cells;
    char *cluster_config;
    char *cluster_socket;
    gboolean verbose;
    gboolean version;
} CommandLine;

/* How long the bus may take to reply to a call of the service. A reply that is lost, for lack of
 * memory, delays the start by this time at most. */
#define BUS_REPLY_TIMEOUT_US (10 * (uint64_t)G_USEC_PER_SEC)

/* A bus sets this variable in the environment of a service that it starts. */
static gboolean
is_bus_activated(void)
{
    return g_getenv("DBUS_STARTER_ADDRESS") != NULL || g_getenv("DBUS_STARTER_BUS_TYPE") != NULL;
}

static gboolean
parse_command_line(int *argc, char ***argv, CommandLine *line, GError **error)
{
    const GOptionEntry entries[] = {
        {"session", 0, 0, G_OPTION_ARG_NONE, &line->session, "Connect to the session bus (default)",
         NULL},
        {"system", 0, 0, G_OPTION_ARG_NONE, &line->system, "Connect to the system bus", NULL},
        {"address", 0, 0, G_OPTION_ARG_STRING, &line->address, "Connect to the bus at ADDR",
         "ADDR"},
        {"replace", 0, 0, G_OPTION_ARG_NONE, &line->replace,
         "Take over from an instance that was started with --replace", NULL},
        {"state-dir", 0, 0, G_OPTION_ARG_FILENAME, &line->state_dir,
         "Directory of the stored state "
         "(default: $RUNTIME_DIRECTORY or $XDG_RUNTIME_DIR/weblocks)",
         "DIR"},
        {"no-state", 0, 0, G_OPTION_ARG_NONE, &line->no_state,
         "Don't store the state: locks end with the service", NULL},
        {"no-cells", 0, 0, G_OPTION_ARG_NONE, &line->no_cells,
         "Let clients take no lock again without a message", NULL},
        {"cluster-config", 0, 0, G_OPTION_ARG_FILENAME, &line->cluster_config,
         "Configuration of a cluster (default with --system: " CLUSTER_CONFIG_PATH ")", "FILE"},
        {"cluster-socket", 0, 0, G_OPTION_ARG_FILENAME, &line->cluster_socket,
         "Socket of weblocks-clusterd (default: " CLUSTER_SOCKET_PATH ")", "PATH"},
        {"idle-exit", 0, 0, G_OPTION_ARG_DOUBLE, &line->idle_exit_secs,
         "Exit after that time without locks, requests, watches and calls; 0: never "
         "(default: 60 if started by the bus, otherwise 0)",
         "SECONDS"},
        {"limit", 0, 0, G_OPTION_ARG_STRING_ARRAY, &line->limits, "Set a limit; may be repeated",
         "NAME=N"},
        {"verbose", 'v', 0, G_OPTION_ARG_NONE, &line->verbose, "Log each call", NULL},
        {"version", 0, 0, G_OPTION_ARG_NONE, &line->version, "Print the version and exit", NULL},
        {NULL}};
    g_autoptr(GOptionContext) context = g_option_context_new("- Web Locks for D-Bus");
    const char *problem = NULL;

    g_option_context_add_main_entries(context, entries, NULL);
    if (!g_option_context_parse(context, argc, argv, error))
        return FALSE;
    if (*argc > 1) {
        g_set_error(error, G_OPTION_ERROR, G_OPTION_ERROR_FAILED, "unexpected argument '%s'",
                    (*argv)[1]);
        return FALSE;
    }
    if (line->session + line->system + (line->address != NULL) > 1)
        problem = "only one of --session, --system and --address can be given";
    else if (line->session && line->cluster_config != NULL)
        problem = "--cluster-config: a cluster is for the system bus";
    else if (line->no_state && line->state_dir != NULL)
        problem = "only one of --state-dir and --no-state can be given";
    else if (!(line->idle_exit_secs >= 0 && line->idle_exit_secs <= IDLE_EXIT_SECS_MAX))
        problem = "--idle-exit: not between 0 and 1000000";
    if (problem != NULL)
        g_set_error_literal(error, G_OPTION_ERROR, G_OPTION_ERROR_BAD_VALUE, problem);
    return problem == NULL;
}

static gboolean
parse_limits(char **assignments, Limits *limits, GError **error)
{
    limits_init(limits);
    for (guint i = 0; assignments != NULL && assignments[i] != NULL; i++) {
        g_autoptr(GString) names = NULL;

        if (limits_set_from_string(limits, assignments[i]))
            continue;
        names = g_string_new(NULL);
        for (guint j = 0; j < N_LIMITS; j++)
            g_string_append_printf(names, " %s", limit_id_get_name(j));
        g_set_error(error, G_OPTION_ERROR, G_OPTION_ERROR_BAD_VALUE,
                    "--limit %s: not NAME=N with N from 1 to 2147483647 and NAME one of%s",
                    assignments[i], names->str);
        return FALSE;
    }
    return TRUE;
}

/* Returns the state directory, owned; NULL if no state is stored. */
static char *
find_state_directory(const CommandLine *line)
{
    const char *directories = g_getenv("RUNTIME_DIRECTORY"); /* systemd's, separated by colons */
    const char *runtime_dir = g_getenv("XDG_RUNTIME_DIR");

    if (line->no_state)
        return NULL;
    if (line->state_dir != NULL)
        return g_strdup(line->state_dir);
    if (directories != NULL && directories[0] == '/')
        return g_strndup(directories, strcspn(directories, ":"));
    if (!line->system && runtime_dir != NULL && runtime_dir[0] == '/')
        return g_build_filename(runtime_dir, "weblocks", NULL);
    g_message("no state directory: locks end with the service");
    return NULL;
}

/* Configures the cluster, if this machine belongs to one. With a configuration that is not valid,
 * only the buckets of the cluster are not served. */
static void
set_cluster(Server *server, const CommandLine *line)
{
    const char *path = line->cluster_config;
    g_autoptr(GError) error = NULL;
    ClusterConfig *config;

    if (path == NULL && line->system)
        path = CLUSTER_CONFIG_PATH;
    if (path == NULL)
        return;
    config = cluster_config_load(path, &error);
    if (config != NULL)
        cluster_calls_init(server, config,
                           line->cluster_socket != NULL ? line->cluster_socket
                                                        : CLUSTER_SOCKET_PATH);
    else if (line->cluster_config != NULL ||
             !g_error_matches(error, G_FILE_ERROR, G_FILE_ERROR_NOENT))
        g_warning("buckets of a cluster are not served: %s", error->message);
}

static int
open_bus_at(const char *address, sd_bus **out_bus)
{
    int r;

    if ((r = sd_bus_new(out_bus)) < 0 || (r = sd_bus_set_address(*out_bus, address)) < 0 ||
        (r = sd_bus_set_bus_client(*out_bus, TRUE)) < 0)
        return r;
    return sd_bus_start(*out_bus);
}

static int
open_bus(const CommandLine *line, sd_bus **out_bus)
{
    sd_bus *bus = NULL;
    int r;

    if (line->address != NULL)
        r = open_bus_at(line->address, &bus);
    else
        r = line->system ? sd_bus_open_system(&bus) : sd_bus_open_user(&bus);
    if (r < 0 || (r = sd_bus_set_method_call_timeout(bus, BUS_REPLY_TIMEOUT_US)) < 0) {
        sd_bus_unref(bus);
        return r;
    }
    *out_bus = bus;
    return 0;
}

/* SIGTERM and SIGINT can be read from the descriptor. Not g_unix_signal_add(): its worker thread
 * makes system calls and memory allocation slower in the whole process. */
static int
open_stop_signals(void)
{
    sigset_t signals;
    int fd;

    sigemptyset(&signals);
    sigaddset(&signals, SIGTERM);
    sigaddset(&signals, SIGINT);
    sigprocmask(SIG_BLOCK, &signals, NULL);
    fd = signalfd(-1, &signals, SFD_CLOEXEC | SFD_NONBLOCK);
    if (fd < 0)
        g_error("could not create a signal descriptor: %s", g_strerror(errno));
    return fd;
}

static gboolean
on_stop_signal(int fd, GIOCondition condition, gpointer data)
{
    struct signalfd_siginfo info;

    if (read(fd, &info, sizeof info) == sizeof info)
        lifecycle_stop(data);
    return G_SOURCE_CONTINUE;
}

static void
choose_hash_key(void)
{
    NameHashKey key;

    if (getrandom(&key, sizeof key, 0) != sizeof key)
        g_error("getrandom() failed: %s", g_strerror(errno));
    name_hash_set_key(&key);
}

static int
serve(const CommandLine *line, const Limits *limits)
{
    g_autofree char *state_directory = find_state_directory(line);
    const ServerOptions options = {
        .replace = line->replace,
        .state_directory = state_directory,
        .offers_cells = !line->no_cells,
        .idle_exit_secs = line->idle_exit_secs,
        .serves_groups = line->system,
    };
    Server *server;
    sd_bus *bus = NULL;
    int r, signals_fd, status;
    guint signals_id;

    if (state_directory != NULL)
        vanished_open();
    r = open_bus(line, &bus);
    if (r < 0) {
        g_warning("cannot connect to the bus: %s", g_strerror(-r));
        return EXIT_FAILURE;
    }

    server = server_new(bus, limits, &options);
    set_cluster(server, line);
    signals_fd = open_stop_signals();
    signals_id = g_unix_fd_add(signals_fd, G_IO_IN, on_stop_signal, server);
    server_start(server);
    status = server_run(server);
    g_source_remove(signals_id);
    close(signals_fd);
    server_free(server);
    return status;
}

int
main(int argc, char **argv)
{
    CommandLine line = {.idle_exit_secs = is_bus_activated() ? IDLE_EXIT_SECS_ACTIVATED : 0};
    g_autoptr(GError) error = NULL;
    Limits limits;
    int status = EXIT_USAGE;

    /* The categories that are used; each may be a file to open. */
    setlocale(LC_CTYPE, "");
    setlocale(LC_MESSAGES, "");
    g_log_writer_default_set_use_stderr(TRUE);
    if (!parse_command_line(&argc, &argv, &line, &error) ||
        !parse_limits(line.limits, &limits, &error)) {
        g_printerr("weblocksd: %s\n", error->message);
    } else if (line.version) {
        g_print("weblocksd %s\n", WEBLOCKS_VERSION);
        status = EXIT_SUCCESS;
    } else {
        g_log_set_debug_enabled(line.verbose);
        choose_hash_key();
        descriptors_set_limit();
        signal(SIGXFSZ, SIG_IGN); /* a limit on the size of files is an error like a full disk */
        signal(SIGPIPE, SIG_IGN); /* nobody reads the log any more */
        status = serve(&line, &limits);
    }
    g_free(line.address);
    g_free(line.state_dir);
    g_free(line.cluster_config);
    g_free(line.cluster_socket);
    g_strfreev(line.limits);
    return status;
}
