/* SPDX-FileCopyrightText: 2026 The WebLocks for D-Bus authors
 * SPDX-License-Identifier: LGPL-2.1-or-later */

/* What a host may grant under one name of a bucket that several hosts share. A greater value
 * includes the smaller ones. */

#pragma once

typedef enum {
    PERMIT_NONE,
    PERMIT_SHARED,    /* shared locks */
    PERMIT_EXCLUSIVE, /* locks of both modes */
} PermitMode;
