/* SPDX-FileCopyrightText: 2026 The WebLocks for D-Bus authors
 * SPDX-License-Identifier: LGPL-2.1-or-later */

/* The public header of libweblocks, which includes all others. */

#pragma once

#define WEB_LOCKS_INSIDE

/* The shared library exports all functions of these. */
#pragma GCC visibility push(default)
#include <weblocks/agent.h>
#include <weblocks/claim.h>
#include <weblocks/document.h>
#include <weblocks/enums.h>
#include <weblocks/error.h>
#include <weblocks/group.h>
#include <weblocks/handle.h>
#include <weblocks/lock-info.h>
#include <weblocks/lock.h>
#include <weblocks/manager.h>
#include <weblocks/monitor.h>
#include <weblocks/options.h>
#include <weblocks/request.h>
#include <weblocks/snapshot.h>
#include <weblocks/types.h>
#include <weblocks/version.h>
#pragma GCC visibility pop

#undef WEB_LOCKS_INSIDE
