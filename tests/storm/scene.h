/* SPDX-FileCopyrightText: 2026 The WebLocks for D-Bus authors
 * SPDX-License-Identifier: LGPL-2.1-or-later */

/* Histories written by hand, one record a line: TIME CLIENT KIND ..., times in ms.
 *
 * Clients are A to D, with the unique names :1.1 to :1.4; S is the supervisor. All lines are about
 * lock 0 of one principal, unless a line ends with `lock N`.
 *
 *   A request N [shared] [if] [steal] [timeout MS]   A enter N TOKEN   A end N OUTCOME
 *   A abort N   A leave N   A release N [OUTCOME]    A lost N OUTCOME
 *   A sent N
 *   A oracle N OUTCOME   A fence N OUTCOME HIGHEST   A exit
 *   A query Q   A row Q CLIENT held|pending [shared] [token T] [position P]   A rows Q [OUTCOME]
 *   S kill A   S reaped A   S stop A   S continue A   S unsettled A   S barrier SINCE   S bus N
 *   S service-kill   S service-dead   S service-ready   S left WHAT NUMBER RIGHT   S end
 *
 * If the first line is `cluster`, A and B are on host 1, C and D on host 2, and there are
 *
 *   S fault N HOST [loses]   S fault-end N */

#pragma once

#include "tests/storm/checker.h"

G_BEGIN_DECLS

/* What a checker with a patience of one second finds wrong with it, as words in the order of
 * CheckId; `power` may be NULL. Clients E and F are those of another principal. */
char *scene_judge(const char *text, CheckPower *power);

G_END_DECLS
