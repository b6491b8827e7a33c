/* SPDX-FileCopyrightText: 2026 The WebLocks for D-Bus authors
 * SPDX-License-Identifier: LGPL-2.1-or-later */

#include "sleep.h"

#include <fcntl.h>
#include <unistd.h>

#include "bus-names.h"
#include "cluster.h"
#include "operations.h"

#define LOGIND_NAME      "org.freedesktop.login1"
#define LOGIND_PATH      "/org/freedesktop/login1"
#define LOGIND_INTERFACE "org.freedesktop.login1.Manager"
#define LOGIND_SIGNAL    "PrepareForSleep"

struct Sleep {
    char *logind; /* its unique name; NULL: it has given no inhibitor lock */
    int fd;       /* the inhibitor lock; -1: none */
    sd_bus_slot *inhibit;
    sd_bus_slot *signal;
    sd_bus_slot *owner_changed;
};

/* The machine may be suspended, as far as this service is concerned. */
static void
allow(Sleep *self)
{
    if (self->fd >= 0)
        close(self->fd);
    self->fd = -1;
}

static int
on_inhibited(sd_bus_message *reply, void *userdata, sd_bus_error *error)
{
    Sleep *self = ((Server *)userdata)->sleep;
    int fd;

    g_clear_pointer(&self->inhibit, sd_bus_slot_unref);
    if (sd_bus_message_is_method_error(reply, NULL) ||
        sd_bus_message_read_basic(reply, 'h', &fd) <= 0) {
        g_debug("no inhibitor lock for the suspend of the machine");
        return 1;
    }
    allow(self);
    self->fd = fcntl(fd, F_DUPFD_CLOEXEC, 0); /* `fd` belongs to the message */
    g_free(self->logind);
    self->logind = g_strdup(sd_bus_message_get_sender(reply));
    return 1;
}

static void
inhibit(Server *server)
{
    Sleep *self = server->sleep;

    g_clear_pointer(&self->inhibit, sd_bus_slot_unref);
    sd_bus_call_method_async(server->bus->connection, &self->inhibit, LOGIND_NAME, LOGIND_PATH,
                             LOGIND_INTERFACE, "Inhibit", on_inhibited, server, "ssss", "sleep",
                             "weblocksd", "locks that are shared with other machines end before",
                             "delay");
}

static int
on_owner_changed(sd_bus_message *message, void *userdata, sd_bus_error *error)
{
    Server *server = userdata;
    const char *name, *old_owner, *new_owner;

    if (sd_bus_message_read(message, "sss", &name, &old_owner, &new_owner) < 0 ||
        !g_str_equal(name, LOGIND_NAME))
        return 0;
    g_clear_pointer(&server->sleep->logind, g_free);
    allow(server->sleep);
    cluster_set_asleep(server->cluster, FALSE); /* nobody will tell */
    if (new_owner[0] != '\0')
        inhibit(server);
    return 0;
}

void
sleep_on_signal(Server *server, sd_bus_message *signal)
{
    Sleep *self = server->sleep;
    int begins;

    if (self == NULL || self->logind == NULL ||
        !g_str_equal(self->logind, sd_bus_message_get_sender(signal)) ||
        sd_bus_message_is_signal(signal, LOGIND_INTERFACE, LOGIND_SIGNAL) <= 0 ||
        sd_bus_message_read_basic(signal, 'b', &begins) <= 0)
        return;
    clock_tick(server);
    cluster_set_asleep(server->cluster, begins);
    if (!begins) {
        inhibit(server);
        return;
    }
    turn_flush(&server->turn); /* before the machine is suspended */
    allow(self);
}

/* Without a match, only the suspend is not announced: that must not end the connection. */
static int
on_match_installed(sd_bus_message *reply, void *userdata, sd_bus_error *error)
{
    return 1;
}

void
sleep_watch(Server *server)
{
    Sleep *self = g_new0(Sleep, 1);
    sd_bus *bus = server->bus->connection;

    self->fd = -1;
    server->sleep = self;
    /* The signals themselves get to sleep_on_signal(): what they match here is only for the bus. */
    if (sd_bus_add_match_async(bus, &self->signal,
                               "type='signal',"
                               "sender='" LOGIND_NAME "',"
                               "path='" LOGIND_PATH "',"
                               "interface='" LOGIND_INTERFACE "',"
                               "member='" LOGIND_SIGNAL "'",
                               NULL, on_match_installed, server) < 0 ||
        sd_bus_add_match_async(bus, &self->owner_changed,
                               "type='signal',"
                               "sender='" BUS_DRIVER_NAME "',"
                               "path='" BUS_DRIVER_PATH "',"
                               "interface='" BUS_DRIVER_INTERFACE "',"
                               "member='NameOwnerChanged',"
                               "arg0='" LOGIND_NAME "'",
                               on_owner_changed, on_match_installed, server) < 0)
        return;
    inhibit(server);
}

void
sleep_free(Server *server)
{
    Sleep *self = server->sleep;

    if (self == NULL)
        return;
    server->sleep = NULL;
    allow(self);
    sd_bus_slot_unref(self->inhibit);
    sd_bus_slot_unref(self->signal);
    sd_bus_slot_unref(self->owner_changed);
    g_free(self->logind);
    g_free(self);
}
