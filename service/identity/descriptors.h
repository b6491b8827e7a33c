/* SPDX-FileCopyrightText: 2026 The WebLocks for D-Bus authors
 * SPDX-License-Identifier: LGPL-2.1-or-later */

/* The limit of open file descriptors, which clients can use up by lock sockets and by look-ups of
 * unidentified clients. (Descriptors attached to a call or packet are closed with it.)
 *
 * If sd-bus cannot receive a message for lack of descriptors, it closes the connection, which ends
 * the service. So each use of descriptors has a threshold of its own, above which some are left
 * for the others. */

#pragma once

#include <glib.h>

/* Raises the limit of open files to what the service can use or the system allows. Called once at
 * the start. */
void descriptors_set_limit(void);

/* A use of descriptors. The value is its threshold, in eighths of the limit of open files. */
typedef enum {
    DESCRIPTORS_FOR_SOCKETS = 5,
    DESCRIPTORS_FOR_LOOKUPS = 6, /* of unidentified clients */
} DescriptorsUse;

/* Whether so many descriptors are open that this use has to wait or to be refused. */
gboolean descriptors_are_scarce(DescriptorsUse use);
