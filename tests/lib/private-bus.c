/* SPDX-FileCopyrightText: 2026 The WebLocks for D-Bus authors
 * SPDX-License-Identifier: LGPL-2.1-or-later */

#include "tests/lib/private-bus.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/socket.h>

#include "common/bus-names.h"

#define WAIT_SECONDS 60

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

static GSubprocess *
spawn(const PrivateBus *bus, const char *const *arguments)
{
    g_autoptr(GSubprocessLauncher) launcher = g_subprocess_launcher_new(G_SUBPROCESS_FLAGS_NONE);
    g_autoptr(GError) error = NULL;
    GSubprocess *process;

    g_subprocess_launcher_set_child_setup(launcher, die_with_parent, NULL, NULL);
    g_subprocess_launcher_setenv(launcher, "XDG_RUNTIME_DIR", bus->directory, TRUE);
    g_subprocess_launcher_unsetenv(launcher, "DBUS_SESSION_BUS_ADDRESS");
    process = g_subprocess_launcher_spawnv(launcher, arguments, &error);
    g_assert_no_error(error);
    return process;
}

/* ---- the launcher */

/* Sends a request to run-on-bus.py. */
static char *
ask_launcher(const char *question)
{
    static int fd = -1;
    char answer[4096];
    ssize_t size;

    if (fd < 0) {
        const char *number = g_getenv("WEBLOCKS_TEST_LAUNCHER");

        if (number == NULL)
            g_error("Buses come from tests/lib/run-on-bus.py: run this program by it");
        fd = (int)g_ascii_strtoll(number, NULL, 10);
        g_assert_cmpint(fcntl(fd, F_SETFD, FD_CLOEXEC), ==, 0);
    }
    g_assert_cmpint(send(fd, question, strlen(question), MSG_NOSIGNAL), >, 0);
    size = recv(fd, answer, sizeof answer, 0);
    if (size <= 0)
        g_error("No answer of run-on-bus.py to: %s", question);
    return g_strndup(answer, (gsize)size);
}

static void
start_bus(PrivateBus *bus)
{
    g_autofree char *answer = ask_launcher("start");
    g_auto(GStrv) words = g_strsplit(answer, " ", 2);

    g_assert_cmpuint(g_strv_length(words), ==, 2);
    bus->address = g_strdup(words[0]);
    bus->directory = g_strdup(words[1]);
}

/* ---- names on the bus */

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

/* When this returns, the match rule is active, so no later signal is missed. */
static void
observe_service(PrivateBus *bus)
{
    g_autoptr(GError) error = NULL;
    g_autoptr(GVariant) reply = NULL;

    g_dbus_connection_signal_subscribe(bus->observer, BUS_DRIVER_NAME, BUS_DRIVER_INTERFACE,
                                       "NameOwnerChanged", BUS_DRIVER_PATH, BUS_SERVICE_NAME,
                                       G_DBUS_SIGNAL_FLAGS_NONE, on_name_owner_changed, bus, NULL);
    reply = g_dbus_connection_call_sync(bus->observer, BUS_DRIVER_NAME, BUS_DRIVER_PATH,
                                        BUS_DRIVER_INTERFACE, "GetId", NULL, NULL,
                                        G_DBUS_CALL_FLAGS_NONE, -1, NULL, &error);
    g_assert_no_error(error);
    g_assert_nonnull(reply);
}

PrivateBus *
private_bus_new(void)
{
    PrivateBus *bus = g_new0(PrivateBus, 1);

    start_bus(bus);
    bus->observer = private_bus_connect(bus);
    observe_service(bus);
    return bus;
}

void
private_bus_free(PrivateBus *bus)
{
    g_autofree char *question = g_strdup_printf("stop %s", bus->address);
    g_autofree char *answer = NULL;

    g_dbus_connection_close_sync(bus->observer, NULL, NULL);
    g_clear_object(&bus->observer);
    answer = ask_launcher(question);
    g_assert_cmpstr(answer, ==, "done");
    g_free(bus->service_owner);
    g_free(bus->directory);
    g_free(bus->address);
    g_free(bus);
}

/* ---- the service */

/* `option` may be NULL. */
static GSubprocess *
spawn_service(const PrivateBus *bus, const char *const *limits, const char *option)
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
    for (guint i = 0; limits != NULL && limits[i] != NULL; i++)
        g_ptr_array_add(arguments, g_strdup_printf("--limit=%s", limits[i]));
    if (g_getenv("WEBLOCKS_TEST_SERVICE_OPTION") != NULL)
        g_ptr_array_add(arguments, g_strdup(g_getenv("WEBLOCKS_TEST_SERVICE_OPTION")));
    if (option != NULL)
        g_ptr_array_add(arguments, g_strdup(option));
    g_ptr_array_add(arguments, NULL);
    return spawn(bus, (const char *const *)arguments->pdata);
}

void
private_bus_start_service(PrivateBus *bus, const char *const *limits)
{
    bus->service = spawn_service(bus, limits, NULL);
    if (!private_bus_wait(is_service_there, bus))
        g_error("weblocksd does not come");
}

typedef struct {
    const PrivateBus *bus;
    const char *old_owner;
} Replacement;

static gboolean
has_other_owner(gpointer data)
{
    const Replacement *replacement = data;
    const char *owner = replacement->bus->service_owner;

    return owner != NULL && g_strcmp0(owner, replacement->old_owner) != 0;
}

void
private_bus_replace_service(PrivateBus *bus, const char *option)
{
    g_autofree char *old_owner = g_strdup(bus->service_owner);
    g_autoptr(GSubprocess) old = g_steal_pointer(&bus->service);
    Replacement replacement = {bus, old_owner};
    g_autoptr(GError) error = NULL;

    bus->service = spawn_service(bus, NULL, option);
    g_assert_true(private_bus_wait(has_other_owner, &replacement));
    if (old != NULL)
        g_assert_true(g_subprocess_wait_check(old, NULL, &error));
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
