/* SPDX-FileCopyrightText: 2026 The WebLocks for D-Bus authors
 * SPDX-License-Identifier: LGPL-2.1-or-later */

/* Calls on the bus: which of them are refused, and those that are not lock operations. */

#pragma once

#include "client.h"
#include "lock-call.h"

/* Serves a call, and replies to it. Its client has been identified if the call needs an agent. */
void bus_calls_serve(Client *client, const LockCall *call);
