/* SPDX-FileCopyrightText: 2026 The WebLocks for D-Bus authors
 * SPDX-License-Identifier: LGPL-2.1-or-later */

/* Whether the accounts say what there is. Only in the service that is built to be tested. */

#pragma once

#include "server.h"

/* For the end of each turn: counts anew now and then. Ends the process if a sum is wrong. */
void accounts_check(const Server *server);
