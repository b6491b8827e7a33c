/* SPDX-FileCopyrightText: 2026 The WebLocks for D-Bus authors
 * SPDX-License-Identifier: LGPL-2.1-or-later */

/* The evidence about a held lock: see WebLocksEvidence for the rules. */

#pragma once

#include <weblocks/weblocks.h>

#include "client-lib/wait-graph.h"

/* Updates the properties of a held lock. `graph` is of the list that it is in. */
void evidence_update(WebLocksLockInfo *info, const WaitGraph *graph);
