/* SPDX-FileCopyrightText: 2026 The WebLocks for D-Bus authors
 * SPDX-License-Identifier: LGPL-2.1-or-later */

/* Changes of the owners of names on the bus (NameOwnerChanged), each passed to the part of the
 * server that it concerns: connections that leave the bus, and other instances of the service that
 * take or release its name. */

#pragma once

#include "client.h"

/* Subscribes, before the service can be called by its name. Blocks, so it is for the start only.
 * Returns a negative errno on failure. */
int name_owner_changes_subscribe(Server *server);
