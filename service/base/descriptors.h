/* SPDX-FileCopyrightText: 2026 The WebLocks for D-Bus authors
 * SPDX-License-Identifier: LGPL-2.1-or-later */

/* File descriptors, which clients can use up: by lock sockets, and by being many that are not
 * identified yet. (Those that come with a call or a packet are closed with it; none is kept.)
 *
 * When sd-bus cannot receive a message for lack of descriptors it closes the connection, and that
 * is the end of the service. So the uses of descriptors are refused one after the other, and a
 * client that takes all there is for one use leaves some for the next. */

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
