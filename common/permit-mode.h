/* SPDX-FileCopyrightText: 2026 The WebLocks for D-Bus authors
 * SPDX-License-Identifier: LGPL-2.1-or-later */

/* What the service and its gateway to a cluster share about a name of a bucket that several hosts
 * share. */

#pragma once

/* What a host may grant under the name. A greater value includes the smaller ones. */
typedef enum {
    PERMIT_NONE,
    PERMIT_SHARED,    /* shared locks */
    PERMIT_EXCLUSIVE, /* locks of both modes */
} PermitMode;

/* Why a pending request waits for the decision of the cluster: see service/core/permit.h. */
typedef enum {
    UNDECIDED_NONE,
    UNDECIDED_IF_AVAILABLE,
    UNDECIDED_STEAL,
} Undecided;
