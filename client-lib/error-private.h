/* SPDX-FileCopyrightText: 2026 The WebLocks for D-Bus authors
 * SPDX-License-Identifier: LGPL-2.1-or-later */

/* Conversion of D-Bus errors, packet errors and reasons of loss to GErrors. All functions return an
 * owned error. */

#pragma once

#include <weblocks/weblocks.h>

#include "common/packet.h"

/* Converts the D-Bus error `name`; this is the inverse of the table in service/dbus/encode.c.
 * `message` may be NULL. */
GError *error_new_from_dbus(const char *name, const char *message);

/* Returns WEB_LOCKS_ERROR_UNAVAILABLE: the service can't be reached. */
GError *error_new_unavailable(const char *why);

/* Returns NULL if the answer is not an error. */
GError *error_new_from_answer(const PacketAnswer *answer);

/* The error of a lock that was lost for this reason. */
GError *error_new_from_loss(PacketReason reason);

/* The error of a pending request that has ended with this reason. */
GError *error_new_from_end(PacketReason reason);

/* The error for a reply that does not have the documented type. */
GError *error_new_unreadable(void);
