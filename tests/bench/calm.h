/* SPDX-FileCopyrightText: 2026 The WebLocks for D-Bus authors
 * SPDX-License-Identifier: LGPL-2.1-or-later */

/* A client that does something now and then, and how long it takes each time. */

#pragma once

#include "bench.h"

typedef void (*CalmOperation)(gpointer data);

/* Prints PREFIXmean, PREFIXp50, and so on, of `count` operations, or of as many as there were in a
 * while. */
void calm_measure(CalmOperation operation, gpointer data, guint count, const char *prefix);
