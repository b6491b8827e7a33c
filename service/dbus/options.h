/* SPDX-FileCopyrightText: 2026 The WebLocks for D-Bus authors
 * SPDX-License-Identifier: LGPL-2.1-or-later */

/* Decoding of the a{sv} arguments of calls.
 *
 * Decoding is strict: an unknown key, a value of the wrong type, and a duplicate key are errors
 * that contain the key. Decoded strings point into the message. */

#pragma once

#include "lock-call.h"
#include "sd-bus.h"

/* Reads the options of Request, or those of Steal if `steal` is TRUE: then the option 'steal' is
 * implied, and the value false is an error. Returns a negative errno and sets `error` on failure.
 */
int options_read_lock(sd_bus_message *message,
                      gboolean steal,
                      LockOptions *out_options,
                      sd_bus_error *error);

/* Reads the filter of Inspect. */
int options_read_inspect(sd_bus_message *message, LockCall *call, sd_bus_error *error);

/* Reads the options of Break, which become a filter of the locks of the call's name. */
int options_read_break(sd_bus_message *message, LockCall *call, sd_bus_error *error);

/* Reads the options of OpenDocument: a descriptor of the message, or what the portal has (NULL: it
 * is a descriptor). `*out_name` may be NULL. */
int options_read_open_document(sd_bus_message *message,
                               int *out_fd,
                               const char **out_name,
                               const char **out_portal,
                               sd_bus_error *error);

/* Reads the options of OpenSocket. */
int options_read_open_socket(sd_bus_message *message, LockCall *call, sd_bus_error *error);
