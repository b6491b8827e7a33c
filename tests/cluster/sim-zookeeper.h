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
