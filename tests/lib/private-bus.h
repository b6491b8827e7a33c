/* SPDX-FileCopyrightText: 2026 The WebLocks for D-Bus authors
 * SPDX-License-Identifier: LGPL-2.1-or-later */

/* A private message bus, optionally with weblocksd. The program that uses it is run by
 * run-on-bus.py, which starts and stops the buses. Environment:
 *
 *     WEBLOCKSD                 the service's program
 *     WEBLOCKS_TEST_BUS         dbus-daemon or dbus-broker
 *     WEBLOCKS_TEST_WRAPPER     put before weblocksd, such as valgrind and its options
 *     WEBLOCKS_TEST_SERVICE_OPTION  one more option for it
 *     WEBLOCKS_TEST_TIMEOUT_FACTOR  for slow machines and instrumented programs */

#pragma once

#include <gio/gio.h>

typedef struct {
    char *directory; /* goes with the bus */
    char *address;
    GDBusConnection *observer; /* ours, of no agent */
    GSubprocess *service;
    char *service_owner; /* unique name of the service; NULL if it isn't there */
} PrivateBus;

PrivateBus *private_bus_new(void);
void private_bus_free(PrivateBus *bus);

/* One service at a time. Stopping asserts that it has exited successfully. */
void private_bus_start_service(PrivateBus *bus, const char *const *limits);
void private_bus_stop_service(PrivateBus *bus);

/* Starts another service with one more option, such as `--replace`, with which it takes over the
 * name; the previous one has exited successfully on return. */
void private_bus_replace_service(PrivateBus *bus, const char *option);

GDBusConnection *private_bus_connect(PrivateBus *bus);

/* Runs the main context until the condition is true; returns FALSE if it isn't after 20 seconds. */
typedef gboolean (*PrivateBusCondition)(gpointer data);
gboolean private_bus_wait(PrivateBusCondition condition, gpointer data);
