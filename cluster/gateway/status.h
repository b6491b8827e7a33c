/* SPDX-FileCopyrightText: 2026 The WebLocks for D-Bus authors
 * SPDX-License-Identifier: LGPL-2.1-or-later */

/* What `weblocks cluster` shows of this process and of the session. */

#pragma once

#include "service-socket.h"
#include "session.h"

/* Sends STATUS with this serial number, unless the process ends before; if the engine can't be
 * reached, without hosts. Both are borrowed until then. */
void status_send(Session *session, ServiceSocket *service, guint64 serial);
