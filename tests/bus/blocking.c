/* SPDX-FileCopyrightText: 2026 The WebLocks for D-Bus authors
 * SPDX-License-Identifier: LGPL-2.1-or-later */

/* A program that only makes blocking calls, one after the other, and dispatches nothing meanwhile.
 *
 *     blocking sd-bus|gdbus pairs|queries ADDRESS COUNT
 *
 * Prints the mean time of the first 500 rounds, of the last 500 and of all, and the longest of all,
 * in microseconds. A round is Request and Release, or one Query. */

#include <gio/gio.h>
#include <systemd/sd-bus.h>

#define NAME   "org.w3.WebLocks"
#define BUCKET "/org/w3/WebLocks/bucket/blocking"
/* Rounds of which the mean is taken. */
#define SOME 500

typedef enum { REQUEST, RELEASE, QUERY } Member;

static const char *const members[] = {"Request", "Release", "Query"};
static guint64 id; /* of the last request */

static sd_bus *bus;
static GDBusConnection *connection;

static void
call_by_sd_bus(Member member)
{
    sd_bus_error error = SD_BUS_ERROR_NULL;
    sd_bus_message *reply = NULL;
    int r;

    if (member == REQUEST)
        r = sd_bus_call_method(bus, NAME, BUCKET, NAME, "Request", &error, &reply, "sa{sv}", "x",
                               0);
    else
        r = sd_bus_call_method(bus, NAME, BUCKET, NAME, members[member], &error, &reply,
                               member == RELEASE ? "t" : NULL, id);
    if (r < 0 || (member == REQUEST && sd_bus_message_read(reply, "t", &id) < 0))
        g_error("%s", error.message != NULL ? error.message : g_strerror(-r));
    sd_bus_message_unref(reply);
}

static void
call_by_gdbus(Member member)
{
    g_autoptr(GError) error = NULL;
    GVariant *arguments = member == REQUEST   ? g_variant_new("(sa{sv})", "x", NULL)
                          : member == RELEASE ? g_variant_new("(t)", id)
                                              : NULL;
    g_autoptr(GVariant) result =
        g_dbus_connection_call_sync(connection, NAME, BUCKET, NAME, members[member], arguments,
                                    NULL, G_DBUS_CALL_FLAGS_NONE, -1, NULL, &error);

    g_assert_no_error(error);
    if (member == REQUEST)
        g_variant_get_child(result, 0, "t", &id);
}

static void
run(void (*call)(Member member), gboolean is_pair, guint64 count)
{
    gint64 first = 0, last = 0, all = 0, longest = 0;

    for (guint64 i = 0; i < count; i++) {
        gint64 started = g_get_monotonic_time(), took;

        call(is_pair ? REQUEST : QUERY);
        if (is_pair)
            call(RELEASE);
        took = g_get_monotonic_time() - started;
        first += i < SOME ? took : 0;
        last += i + SOME >= count ? took : 0;
        all += took;
        longest = MAX(longest, took);
    }
    g_print("%.1f %.1f %.1f %" G_GINT64_FORMAT "\n", (double)first / SOME, (double)last / SOME,
            (double)all / (double)count, longest);
}

int
main(int argc, char **argv)
{
    const GDBusConnectionFlags flags = G_DBUS_CONNECTION_FLAGS_AUTHENTICATION_CLIENT |
                                       G_DBUS_CONNECTION_FLAGS_MESSAGE_BUS_CONNECTION;
    g_autoptr(GError) error = NULL;
    gboolean is_sd_bus = argc == 5 && g_str_equal(argv[1], "sd-bus");

    if (argc != 5)
        g_error("usage: blocking sd-bus|gdbus pairs|queries ADDRESS COUNT");
    if (!is_sd_bus)
        connection = g_dbus_connection_new_for_address_sync(argv[3], flags, NULL, NULL, &error);
    else if (sd_bus_new(&bus) < 0 || sd_bus_set_address(bus, argv[3]) < 0 ||
             sd_bus_set_bus_client(bus, TRUE) < 0 || sd_bus_start(bus) < 0)
        g_error("No connection");
    g_assert_no_error(error);
    run(is_sd_bus ? call_by_sd_bus : call_by_gdbus, g_str_equal(argv[2], "pairs"),
        g_ascii_strtoull(argv[4], NULL, 10));
    return 0;
}
