/* SPDX-FileCopyrightText: 2026 The WebLocks for D-Bus authors
 * SPDX-License-Identifier: LGPL-2.1-or-later */

/* File descriptors, which clients can use up: by private sockets, and by being many who are not
 * identified yet. (Those that come with a call are closed with it; none is kept.)
 *
 * When sd-bus can't receive a message for want of descriptors it gives up the connection, and that
 * is the service's end. So what needs them stops one after the other, and whoever takes all that
 * there is for the one leaves some for the next. */

#pragma once

#include <glib.h>

/* As many as the system lets us have, and we could need. Once, at the start. */
void descriptors_set_limit(void);

/* How many eighths of them may be in use before it stops. */
typedef enum {
    DESCRIPTORS_FOR_SOCKETS = 5,
    DESCRIPTORS_FOR_STRANGERS = 6, /* to find out who they are */
} DescriptorsUse;

gboolean descriptors_are_scarce(DescriptorsUse use);
