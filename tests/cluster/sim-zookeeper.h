/* SPDX-FileCopyrightText: 2026 The WebLocks for D-Bus authors
 * SPDX-License-Identifier: LGPL-2.1-or-later */

/* ZooKeeper's C library, as far as cluster/engine uses it, on the simulated servers. The program is
 * linked with it in place of libzookeeper_st, of which only the functions without a handle are
 * used. The address of server M for host N is 127.0.N.M+1:1. */

#pragma once

#include "sim-servers.h"

/* All handles are of these servers until the next call. */
void sim_zookeeper_init(SimServers *servers);

/* Whether there is something to read from a descriptor: see SimPoll. */
GIOCondition sim_zookeeper_poll(int fd);

/* Until this time, the watched lists of a host fail, and nothing else does: as for a gateway that
 * has very many names, it takes long until the last one is listed. */
void sim_zookeeper_fail_lists(guint host, gint64 until_us);
