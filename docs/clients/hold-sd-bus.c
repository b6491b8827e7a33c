/* SPDX-FileCopyrightText: 2026 The WebLocks for D-Bus authors
 * SPDX-License-Identifier: LGPL-2.1-or-later */

/* Holds a lock until the end of its standard input: plain D-Bus with sd-bus.
 *
 *     cc -o hold-sd-bus hold-sd-bus.c $(pkg-config --cflags --libs libsystemd)
 *     hold-sd-bus BUCKET NAME
 *
 * Prints `waiting`, `held TOKEN`, `lost REASON` and `released`. */

#include <inttypes.h>
#include <poll.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <systemd/sd-bus.h>
#include <unistd.h>

#define SERVICE "org.w3.WebLocks"
#define ROOT    "/org/w3/WebLocks"

/* A number of our own: a request with this key can be repeated without becoming two. */
#define KEY UINT64_C(1)

static sd_bus *bus;
static const char *name;
static char *path;
static char *owner; /* the unique name of the service */
static uint64_t id;
static uint64_t token;
static bool is_ending;

static void
end(int status, const char *what, const char *reason)
{
    printf("%s%s%s\n", what, *reason != '\0' ? " " : "", reason);
    fflush(stdout);
    sd_bus_flush_close_unref(bus);
    exit(status);
}

static void
check(int r, const char *what)
{
    if (r < 0)
        end(1, what, strerror(-r));
}

/* Whether the call was served. If the service is gone, on_owner() is called later. */
static bool
is_served(sd_bus_message *reply)
{
    const sd_bus_error *error = sd_bus_message_get_error(reply);

    if (error == NULL || sd_bus_error_has_name(error, SERVICE ".Error.NotHeld")) {
        /* NotHeld, of a release: it has been released before. */
        free(owner);
        owner = strdup(sd_bus_message_get_sender(reply));
        return true;
    }
    if (!sd_bus_error_has_names(error, SD_BUS_ERROR_NO_REPLY, SD_BUS_ERROR_SERVICE_UNKNOWN,
                                SD_BUS_ERROR_NAME_HAS_NO_OWNER))
        end(1, "failed", error->name);
    return false;
}

static void
update(uint64_t new_token)
{
    if (new_token == 0 || token != 0)
        return;
    token = new_token;
    printf("held %" PRIu64 "\n", token);
    fflush(stdout);
}

static int
on_requested(sd_bus_message *reply, void *data, sd_bus_error *error)
{
    uint64_t new_id;
    uint64_t new_token;

    if (!is_served(reply))
        return 0;
    check(sd_bus_message_read(reply, "tt", &new_id, &new_token), "Request");
    if (new_token == 0 && new_id != id) {
        printf("waiting\n");
        fflush(stdout);
    }
    id = new_id;
    update(new_token);
    return 0;
}

static void
request(void)
{
    check(sd_bus_call_method_async(bus, NULL, SERVICE, path, SERVICE, "Request", on_requested, NULL,
                                   "sa{sv}", name, 1, "key", "t", KEY),
          "Request");
}

static int
on_released(sd_bus_message *reply, void *data, sd_bus_error *error)
{
    if (is_served(reply))
        end(0, "released", "");
    return 0;
}

/* A request that still waits ends with the connection. */
static void
release(void)
{
    is_ending = true;
    if (token == 0)
        end(0, "released", "");
    check(sd_bus_call_method_async(bus, NULL, SERVICE, path, SERVICE, "Release", on_released, NULL,
                                   "t", id),
          "Release");
}

static int
on_resynced(sd_bus_message *reply, void *data, sd_bus_error *error)
{
    uint64_t its_id;
    uint64_t its_key;
    uint64_t its_token;
    bool is_live = false;
    int r;

    if (!is_served(reply))
        return 0;
    check(sd_bus_message_enter_container(reply, 'a', "(sttssttb)"), "Resync");
    while ((r = sd_bus_message_read(reply, "(sttssttb)", NULL, &its_id, &its_key, NULL, NULL,
                                    &its_token, NULL, NULL)) > 0) {
        if (its_key == KEY) {
            is_live = true;
            id = its_id;
            if (!is_ending)
                update(its_token);
        }
    }
    check(r, "Resync");
    if (is_ending && is_live)
        release();
    else if (is_ending)
        end(0, "released", "");
    else if (!is_live && token != 0)
        end(1, "lost", "lost");
    else if (!is_live)
        request();
    return 0;
}

/* The service was restarted: Resync lists our requests that it has. Without a new owner no
 * service is running, and the call starts it. */
static int
on_owner(sd_bus_message *message, void *data, sd_bus_error *error)
{
    return sd_bus_call_method_async(bus, NULL, SERVICE, ROOT, "org.w3.WebLocks.Service", "Resync",
                                    on_resynced, NULL, NULL);
}

/* Signals for this client come without a match rule. Those of other programs have another sender.
 */
static int
on_signal(sd_bus_message *message, void *data, sd_bus_error *error)
{
    bool is_granted = sd_bus_message_is_signal(message, SERVICE, "Granted") > 0;
    uint64_t its_id;
    uint64_t its_token;
    const char *reason;

    if ((!is_granted && sd_bus_message_is_signal(message, SERVICE, "Released") <= 0) ||
        owner == NULL || strcmp(sd_bus_message_get_sender(message), owner) != 0 ||
        strcmp(sd_bus_message_get_path(message), path) != 0)
        return 0;
    check(sd_bus_message_read(message, "tsss", &its_id, NULL, NULL, NULL), "signal");
    if (its_id != id)
        return 0;
    if (is_granted) {
        check(sd_bus_message_read(message, "t", &its_token), "Granted");
        update(its_token);
    } else {
        check(sd_bus_message_read(message, "s", &reason), "Released");
        end(1, "lost", reason);
    }
    return 0;
}

/* Waits for the bus or for standard input. */
static void
wait_for_either(void)
{
    struct pollfd fds[] = {{.fd = sd_bus_get_fd(bus), .events = (short)sd_bus_get_events(bus)},
                           {.fd = is_ending ? -1 : STDIN_FILENO, .events = POLLIN}};
    char buffer[4096];

    poll(fds, 2, -1);
    if (fds[1].revents != 0 && read(STDIN_FILENO, buffer, sizeof buffer) <= 0)
        release();
}

int
main(int argc, char **argv)
{
    int r;

    if (argc != 3) {
        fprintf(stderr, "usage: %s BUCKET NAME\n", argv[0]);
        return 2;
    }
    name = argv[2];
    check(sd_bus_path_encode(ROOT "/bucket", argv[1], &path), "bucket");
    check(sd_bus_open_user(&bus), "bus");
    check(sd_bus_add_filter(bus, NULL, on_signal, NULL), "filter");
    check(sd_bus_add_match(bus, NULL,
                           "type='signal',sender='org.freedesktop.DBus',"
                           "member='NameOwnerChanged',arg0='" SERVICE "'",
                           on_owner, NULL),
          "match");
    request();
    while ((r = sd_bus_process(bus, NULL)) >= 0)
        if (r == 0)
            wait_for_either();
    end(1, "failed", strerror(-r));
}
