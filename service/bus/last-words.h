/* SPDX-FileCopyrightText: 2026 The WebLocks for D-Bus authors
 * SPDX-License-Identifier: LGPL-2.1-or-later */

/* What a client sent on a private socket that sd-bus has given up.
 *
 * sd-bus gives up a connection as soon as it can't write, with all that it could still read. Yet
 * what a client sent before it died takes effect. So the bytes that are left in the socket are put
 * into a file in memory, after a handshake of our own, and read from there by sd-bus. */

#pragma once

#include "common/sd-bus.h"

/* A connection that reads what is left in `fd`, from the beginning of a message, and writes
 * nowhere; it isn't started. NULL if nothing is left. */
sd_bus *last_words_new(int fd);
