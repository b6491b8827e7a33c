/* SPDX-FileCopyrightText: 2026 The WebLocks for D-Bus authors
 * SPDX-License-Identifier: LGPL-2.1-or-later */

/* Functions of WebLocksAgent that are private to the library. The agent owns its connection, which
 * is valid as long as the agent. */

#pragma once

#include <weblocks/weblocks.h>

#include "client-lib/engine/connection.h"

Connection *web_locks_agent_get_connection(WebLocksAgent *self);
