/* SPDX-FileCopyrightText: 2026 The WebLocks for D-Bus authors
 * SPDX-License-Identifier: LGPL-2.1-or-later */

/* Compares the limit accounts with the actual objects. Only in a service that is built for tests.
 */

#pragma once

#include "server.h"

/* For the end of each turn: counts anew now and then. Ends the process if a sum is wrong. */
void accounts_check(const Server *server);
