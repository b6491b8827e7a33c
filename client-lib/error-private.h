/* SPDX-FileCopyrightText: 2026 The WebLocks for D-Bus authors
 * SPDX-License-Identifier: LGPL-2.1-or-later */

/* Errors of the library: what an error on D-Bus, an answer or a lost lock is to the application. */

#pragma once

#include <weblocks/weblocks.h>

#include "common/packet.h"

/* The D-Bus error `name`; the inverse of the service's table. `message` may be NULL. */
GError *error_new_from_wire(const char *name, const char *message);

/* There is no way to the service: UNAVAILABLE. */
GError *error_new_unavailable(const char *why);

/* NULL if the answer is not an error. */
GError *error_new_from_answer(const PacketAnswer *answer);

/* What releasing a lock, or waiting for one, results in after it has ended for this reason. */
GError *error_new_from_reason(PacketReason reason);

/* An answer that can't be read: not of this contract. */
GError *error_new_unreadable(void);
