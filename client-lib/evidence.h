/* SPDX-FileCopyrightText: 2026 The WebLocks for D-Bus authors
 * SPDX-License-Identifier: LGPL-2.1-or-later */

/* Updates the evidence that the holder of a lock is stuck: see WebLocksEvidence for the rules.
 *
 * It combines the state of the process (process-look.h) and which clients wait for each other
 * (wait-graph.h). What was found by earlier updates is stored in the WebLocksLockInfo. */

#pragma once

#include <weblocks/weblocks.h>

#include "client-lib/wait-graph.h"

/* Updates the properties of a held lock. `graph` is of the list that it is in. */
void evidence_update(WebLocksLockInfo *info, const WaitGraph *graph);
