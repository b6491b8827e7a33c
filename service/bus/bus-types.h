/* SPDX-FileCopyrightText: 2026 The WebLocks for D-Bus authors
 * SPDX-License-Identifier: LGPL-2.1-or-later */

/* The edge's types by name, for headers that only point at each other's objects. */

#pragma once

typedef struct BusService BusService;
typedef struct Client Client;
typedef struct Watch Watch;
