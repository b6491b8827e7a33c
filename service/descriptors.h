/* SPDX-FileCopyrightText: 2026 The WebLocks for D-Bus authors
 * SPDX-License-Identifier: LGPL-2.1-or-later */

/* File descriptors, which clients can use up: by private sockets, by attaching some to calls that
 * the service keeps for a while, and by being many who are not identified yet.
 *
 * When sd-bus can't receive a message for want of descriptors it gives up the connection, and that
 * is the service's end. So private sockets stop when half of them are in use; and when three
 * quarters are, so does finding out who somebody is, and keeping calls meanwhile. */

#pragma once

#include <glib.h>

/* As many as the system lets us have. Once, at the start. */
void descriptors_raise_limit(void);

/* Whether half of them are in use. */
gboolean descriptors_are_scarce(void);

/* Whether three quarters are. */
gboolean descriptors_are_very_scarce(void);
