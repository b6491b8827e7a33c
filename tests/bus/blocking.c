/* SPDX-FileCopyrightText: 2026 The WebLocks for D-Bus authors
 * SPDX-License-Identifier: LGPL-2.1-or-later */

/* A program that only makes blocking calls, one after the other, and dispatches nothing meanwhile.
 *
 *     blocking sd-bus|gdbus pairs|queries ADDRESS COUNT
 *
 * Prints the mean time of the first 500 rounds, of the last 500 and of all, and the longest of all,
 * in microseconds. A round is Request and Release, or one Query. */

#include <gio/gio.h>
#include <string.h>
#include <systemd/sd-bus.h>

#define NAME   "org.w3.WebLocks"
#define BUCKET "/org/w3/WebLocks/bucket/blocking"
/* Rounds of which the mean is taken. */
#define SOME 500

typedef struct {
    const char *binding;
    void (*connect)(const char *address);
    void (*pair)(void);
    void (*query)(void);
} Binding;

/* ---- sd_bus_call() */

static sd_bus *bus;

static void
check(int r, const sd_bus_error *error)
{
    if (r < 0)
        g_error("%s", error != NULL && error->message != NULL ? error->message : g_strerror(-r));
}

static void
connect_sd_bus(const char *address)
{
    check(sd_bus_new(&bus), NULL);
    check(sd_bus_set_address(bus, address), NULL);
    check(sd_bus_set_bus_client(bus, TRUE), NULL);
    check(sd_bus_start(bus), NULL);
}

static void
pair_by_sd_bus(void)
{
    sd_bus_error error = SD_BUS_ERROR_NULL;
    sd_bus_message *reply = NULL;
    guint64 id, token;

    check(sd_bus_call_method(bus, NAME, BUCKET, NAME, "Request", &error, &reply, "sa{sv}", "x", 0),
          &error);
    check(sd_bus_message_read(reply, "tt", &id, &token), NULL);
    sd_bus_message_unref(reply);
    check(sd_bus_call_method(bus, NAME, BUCKET, NAME, "Release", &error, NULL, "t", id), &error);
}

static void
query_by_sd_bus(void)
{
    sd_bus_error error = SD_BUS_ERROR_NULL;

    check(sd_bus_call_method(bus, NAME, BUCKET, NAME, "Query", &error, NULL, NULL), &error);
}

/* ---- g_dbus_connection_call_sync() */

static GDBusConnection *connection;

static void
connect_gdbus(const char *address)
{
    g_autoptr(GError) error = NULL;

    connection =
        g_dbus_connection_new_for_address_sync(address,
                                               G_DBUS_CONNECTION_FLAGS_AUTHENTICATION_CLIENT |
                                                   G_DBUS_CONNECTION_FLAGS_MESSAGE_BUS_CONNECTION,
                                               NULL, NULL, &error);
    g_assert_no_error(error);
}

static GVariant *
call_by_gdbus(const char *method, GVariant *arguments)
{
    g_autoptr(GError) error = NULL;
    GVariant *result =
        g_dbus_connection_call_sync(connection, NAME, BUCKET, NAME, method, arguments, NULL,
                                    G_DBUS_CALL_FLAGS_NONE, -1, NULL, &error);

    g_assert_no_error(error);
    return result;
}

static void
pair_by_gdbus(void)
{
    g_autoptr(GVariant) result = call_by_gdbus("Request", g_variant_new("(sa{sv})", "x", NULL));
    guint64 id;

    g_variant_get_child(result, 0, "t", &id);
    g_variant_unref(call_by_gdbus("Release", g_variant_new("(t)", id)));
}

static void
query_by_gdbus(void)
{
    g_variant_unref(call_by_gdbus("Query", NULL));
}

/* ---- both */

static const Binding bindings[] = {
    {"sd-bus", connect_sd_bus, pair_by_sd_bus, query_by_sd_bus},
    {"gdbus", connect_gdbus, pair_by_gdbus, query_by_gdbus},
};

static void
run(void (*round)(void), guint64 count)
{
    gint64 first = 0, last = 0, all = 0, longest = 0;

    for (guint64 i = 0; i < count; i++) {
        gint64 started = g_get_monotonic_time(), took;

        round();
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
    if (argc != 5)
        g_error("usage: blocking sd-bus|gdbus pairs|queries ADDRESS COUNT");
    for (gsize i = 0; i < G_N_ELEMENTS(bindings); i++) {
        if (!g_str_equal(bindings[i].binding, argv[1]))
            continue;
        bindings[i].connect(argv[3]);
        run(g_str_equal(argv[2], "pairs") ? bindings[i].pair : bindings[i].query,
            g_ascii_strtoull(argv[4], NULL, 10));
        return 0;
    }
    g_error("No binding %s", argv[1]);
}
