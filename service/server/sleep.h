/* SPDX-FileCopyrightText: 2026 The WebLocks for D-Bus authors
 * SPDX-License-Identifier: LGPL-2.1-or-later */

/* Suspend of the machine, for buckets of a cluster: a suspended machine can't renew its lease, so
 * what it holds ends before, and nothing is granted until it continues. systemd-logind announces a
 * suspend and, while this service has an inhibitor lock, waits for a moment. Without logind,
 * holders are notified when the machine resumes, before anything else happens, since the lease is
 * over then.
 */

#pragma once

#include "bus.h"
#include "client.h"

typedef struct Sleep Sleep;

/* For a service with a cluster: asks logind for an inhibitor lock, now and when it is restarted. */
void sleep_watch(Server *server);
void sleep_free(Server *server);

/* Handles a signal that is not from the bus itself. Others than logind's PrepareForSleep, which
 * anybody could send, are ignored. */
void sleep_on_signal(Server *server, sd_bus_message *signal);
