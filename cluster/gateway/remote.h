/* SPDX-FileCopyrightText: 2026 The WebLocks for D-Bus authors
 * SPDX-License-Identifier: LGPL-2.1-or-later */

/* The claims of other hosts on a name, which the lock service asks about: lists them, or ends those
 * that hold it. */

#pragma once

#include "service-socket.h"
#include "session.h"

/* Sends the answer, ROWS or BROKEN, unless the process ends before; if the engine can't be reached,
 * with nothing. `session` and `service` are borrowed until then. */
void remote_ask(Session *session, ServiceSocket *service, const ClusterQuestion *question);
