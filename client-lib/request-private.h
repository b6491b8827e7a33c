/* SPDX-FileCopyrightText: 2026 The WebLocks for D-Bus authors
 * SPDX-License-Identifier: LGPL-2.1-or-later */

/* Functions of WebLocksRequest that are private to the library, for WebLocksClaim. */

#pragma once

#include <weblocks/weblocks.h>

/* From now on the request also waits for a service, instead of failing if there is none. */
void web_locks_request_set_patient(WebLocksRequest *self);
