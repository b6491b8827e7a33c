/* SPDX-FileCopyrightText: 2026 The WebLocks for D-Bus authors
 * SPDX-License-Identifier: LGPL-2.1-or-later */

#include "tests/lib/private-bus.h"

#include "tests/lib/bus-monitor.h"

#include <signal.h>
#include <sys/prctl.h>
#include <sys/socket.h>

#include "common/bus-names.h"

#define WAIT_SECONDS 20

static const char daemon_config[] =
    "<!DOCTYPE busconfig PUBLIC \"-//freedesktop//DTD D-Bus Bus Configuration 1.0//EN\"\n"
    " \"http://www.freedesktop.org/standards/dbus/1.0/busconfig.dtd\">\n"
    "<busconfig><type>session</type><listen>unix:path=%s/bus</listen><auth>EXTERNAL</auth>\n"
    "<policy context=\"default\"><allow send_destination=\"*\" eavesdrop=\"true\"/>\n"
    "<allow eavesdrop=\"true\"/><allow own=\"*\"/></policy></busconfig>\n";

/* ---- waiting */

static gboolean
set_true(gpointer data)
{
    *(gboolean *)data = TRUE;
    return G_SOURCE_REMOVE;
}

gboolean
private_bus_wait(PrivateBusCondition condition, gpointer data)
{
    const char *factor = g_getenv("WEBLOCKS_TEST_TIMEOUT_FACTOR");
    guint64 times = factor != NULL ? g_ascii_strtoull(factor, NULL, 10) : 1;
    guint seconds = WAIT_SECONDS * (guint)CLAMP(times, 1, 100);
    gboolean too_late = FALSE;
    guint timeout = g_timeout_add_seconds(seconds, set_true, &too_late);
    gboolean good;

    while (!(good = condition(data)) && !too_late)
        g_main_context_iteration(NULL, TRUE);
    if (!too_late)
        g_source_remove(timeout);
    return good;
}

/* ---- processes */

static void
die_with_parent(gpointer data)
{
    prctl(PR_SET_PDEATHSIG, SIGKILL);
}

/* `standard_output` as a pipe tells the address; standard input closes when we end. */
static GSubprocess *
spawn(const PrivateBus *bus, GSubprocessFlags flags, const char *const *arguments)
{
    g_autoptr(GSubprocessLauncher) launcher = g_subprocess_launcher_new(flags);
    g_autoptr(GError) error = NULL;
    GSubprocess *process;

    g_subprocess_launcher_set_child_setup(launcher, die_with_parent, NULL, NULL);
    g_subprocess_launcher_setenv(launcher, "XDG_RUNTIME_DIR", bus->directory, TRUE);
    g_subprocess_launcher_unsetenv(launcher, "DBUS_SESSION_BUS_ADDRESS");
    process = g_subprocess_launcher_spawnv(launcher, arguments, &error);
    g_assert_no_error(error);
    return process;
}

static char *
read_line(GSubprocess *process)
{
    g_autoptr(GDataInputStream) input =
        g_data_input_stream_new(g_subprocess_get_stdout_pipe(process));
    g_autoptr(GError) error = NULL;
    char *line;

    g_filter_input_stream_set_close_base_stream(G_FILTER_INPUT_STREAM(input), FALSE);
    line = g_data_input_stream_read_line(input, NULL, NULL, &error);
    g_assert_no_error(error);
    g_assert_nonnull(line);
    return line;
}

static void
start_bus(PrivateBus *bus)
{
    GSubprocessFlags flags = G_SUBPROCESS_FLAGS_STDIN_PIPE | G_SUBPROCESS_FLAGS_STDOUT_PIPE;
    g_autofree char *socket = g_build_filename(bus->directory, "bus", NULL);

    if (g_strcmp0(g_getenv("WEBLOCKS_TEST_BUS"), "dbus-broker") == 0) {
        const char *launcher = g_getenv("WEBLOCKS_BROKER_LAUNCHER");
        const char *const arguments[] = {launcher, socket, NULL};

        g_assert_nonnull(launcher);
        bus->process = spawn(bus, flags, arguments);
    } else {
        g_autofree char *file = g_build_filename(bus->directory, "bus.conf", NULL);
        g_autofree char *option = g_strdup_printf("--config-file=%s", file);
        g_autofree char *config = g_strdup_printf(daemon_config, bus->directory);
        const char *const arguments[] = {"dbus-daemon",     option, "--nofork", "--nopidfile",
                                         "--print-address", NULL};

        g_assert_true(g_file_set_contents(file, config, -1, NULL));
        bus->process = spawn(bus, flags, arguments);
    }
    bus->address = read_line(bus->process);
}

/* ---- who is there */

static void
on_name_owner_changed(GDBusConnection *connection,
                      const char *sender,
                      const char *path,
                      const char *interface,
                      const char *member,
                      GVariant *parameters,
                      gpointer data)
{
    PrivateBus *bus = data;
    const char *name, *new_owner;

    g_variant_get(parameters, "(&s&s&s)", &name, NULL, &new_owner);
    if (!g_str_equal(name, BUS_SERVICE_NAME))
        return;
    g_free(bus->service_owner);
    bus->service_owner = new_owner[0] != '\0' ? g_strdup(new_owner) : NULL;
}

static gboolean
is_service_there(gpointer data)
{
    const PrivateBus *bus = data;

    return bus->service_owner != NULL;
}

static gboolean
is_service_gone(gpointer data)
{
    return !is_service_there(data);
}

static void
on_gone(GDBusConnection *connection,
        const char *sender,
        const char *path,
        const char *interface,
        const char *member,
        GVariant *parameters,
        gpointer data)
{
    const char *new_owner;

    g_variant_get(parameters, "(&s&s&s)", NULL, NULL, &new_owner);
    g_assert_cmpstr(new_owner, ==, "");
    *(gboolean *)data = TRUE;
}

static gboolean
is_true(gpointer data)
{
    return *(gboolean *)data;
}

/* ---- the bus */

GDBusConnection *
private_bus_connect(PrivateBus *bus)
{
    g_autoptr(GError) error = NULL;
    GDBusConnection *connection =
        g_dbus_connection_new_for_address_sync(bus->address,
                                               G_DBUS_CONNECTION_FLAGS_AUTHENTICATION_CLIENT |
                                                   G_DBUS_CONNECTION_FLAGS_MESSAGE_BUS_CONNECTION,
                                               NULL, NULL, &error);

    g_assert_no_error(error);
    return connection;
}

/* On return the bus has the match rule, so nothing from then on is missed. */
static guint
observe(PrivateBus *bus, const char *name, GDBusSignalCallback callback, gpointer data)
{
    guint subscription = g_dbus_connection_signal_subscribe(
        bus->observer, BUS_DRIVER_NAME, BUS_DRIVER_INTERFACE, "NameOwnerChanged", BUS_DRIVER_PATH,
        name, G_DBUS_SIGNAL_FLAGS_NONE, callback, data, NULL);
    g_autoptr(GError) error = NULL;
    g_autoptr(GVariant) reply = NULL;

    reply = g_dbus_connection_call_sync(bus->observer, BUS_DRIVER_NAME, BUS_DRIVER_PATH,
                                        BUS_DRIVER_INTERFACE, "GetId", NULL, NULL,
                                        G_DBUS_CALL_FLAGS_NONE, -1, NULL, &error);
    g_assert_no_error(error);
    g_assert_nonnull(reply);
    return subscription;
}

PrivateBus *
private_bus_new(void)
{
    PrivateBus *bus = g_new0(PrivateBus, 1);

    bus->directory = g_dir_make_tmp("weblocks-spec-XXXXXX", NULL);
    g_assert_nonnull(bus->directory);
    start_bus(bus);
    bus->observer = private_bus_connect(bus);
    observe(bus, BUS_SERVICE_NAME, on_name_owner_changed, bus);
    bus->monitor = bus_monitor_new(private_bus_connect(bus));
    return bus;
}

void
private_bus_free(PrivateBus *bus)
{
    const char *const remove[] = {"rm", "-r", bus->directory, NULL};

    bus_monitor_free(bus->monitor, bus->observer);
    g_dbus_connection_close_sync(bus->observer, NULL, NULL);
    g_clear_object(&bus->observer);
    /* The broker's launcher ends it when this closes; the daemon needs to be told. */
    g_output_stream_close(g_subprocess_get_stdin_pipe(bus->process), NULL, NULL);
    if (g_strcmp0(g_getenv("WEBLOCKS_TEST_BUS"), "dbus-broker") != 0)
        g_subprocess_send_signal(bus->process, SIGTERM);
    g_subprocess_wait(bus->process, NULL, NULL);
    g_clear_object(&bus->process);
    g_assert_true(g_spawn_sync(NULL, (char **)remove, NULL, G_SPAWN_SEARCH_PATH, NULL, NULL, NULL,
                               NULL, NULL, NULL));
    g_free(bus->directory);
    g_free(bus->address);
    g_free(bus);
}

void
private_bus_kill_connection(PrivateBus *bus, GDBusConnection *connection)
{
    GIOStream *stream = g_dbus_connection_get_stream(connection);
    GSocket *socket = g_socket_connection_get_socket(G_SOCKET_CONNECTION(stream));
    gboolean gone = FALSE;
    guint subscription =
        observe(bus, g_dbus_connection_get_unique_name(connection), on_gone, &gone);

    shutdown(g_socket_get_fd(socket), SHUT_RDWR);
    g_assert_true(private_bus_wait(is_true, &gone));
    g_dbus_connection_signal_unsubscribe(bus->observer, subscription);
}

/* ---- the service */

/* The contract's encoding: a letter stands for itself, a digit too unless it is the first, and any
 * other byte is "_xx". */
char *
private_bus_make_path(const char *bucket)
{
    GString *path = g_string_new(BUS_BUCKET_PREFIX "/");

    for (const char *c = bucket; *c != '\0'; c++) {
        if (g_ascii_isalpha(*c) || (g_ascii_isdigit(*c) && c != bucket))
            g_string_append_c(path, *c);
        else
            g_string_append_printf(path, "_%02x", (guchar)*c);
    }
    return g_string_free(path, FALSE);
}

void
private_bus_ping_service(PrivateBus *bus)
{
    g_autoptr(GVariant) reply = NULL;
    g_autoptr(GError) error = NULL;

    reply = g_dbus_connection_call_sync(bus->observer, BUS_SERVICE_NAME, BUS_SERVICE_PATH,
                                        "org.freedesktop.DBus.Peer", "Ping", NULL, NULL,
                                        G_DBUS_CALL_FLAGS_NO_AUTO_START, -1, NULL, &error);
    g_assert_no_error(error);
    g_assert_nonnull(reply);
}

void
private_bus_start_service(PrivateBus *bus, const char *const *limits)
{
    g_autoptr(GPtrArray) arguments = g_ptr_array_new_with_free_func(g_free);
    const char *wrapper = g_getenv("WEBLOCKS_TEST_WRAPPER");
    g_auto(GStrv) wrapper_words = NULL;

    g_assert_nonnull(g_getenv("WEBLOCKSD"));
    if (wrapper != NULL && g_shell_parse_argv(wrapper, NULL, &wrapper_words, NULL))
        for (guint i = 0; wrapper_words[i] != NULL; i++)
            g_ptr_array_add(arguments, g_strdup(wrapper_words[i]));
    g_ptr_array_add(arguments, g_strdup(g_getenv("WEBLOCKSD")));
    g_ptr_array_add(arguments, g_strdup_printf("--address=%s", bus->address));
    for (guint i = 0; limits[i] != NULL; i++)
        g_ptr_array_add(arguments, g_strdup_printf("--limit=%s", limits[i]));
    g_ptr_array_add(arguments, NULL);

    bus->service = spawn(bus, G_SUBPROCESS_FLAGS_NONE, (const char *const *)arguments->pdata);
    if (!private_bus_wait(is_service_there, bus))
        g_error("weblocksd does not come");
}

void
private_bus_stop_service(PrivateBus *bus)
{
    g_autoptr(GError) error = NULL;

    g_subprocess_send_signal(bus->service, SIGTERM);
    g_subprocess_wait_check(bus->service, NULL, &error);
    g_assert_no_error(error);
    g_assert_true(private_bus_wait(is_service_gone, bus));
    g_clear_object(&bus->service);
}
