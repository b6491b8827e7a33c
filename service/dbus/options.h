/* SPDX-FileCopyrightText: 2026 The WebLocks for D-Bus authors
 * SPDX-License-Identifier: LGPL-2.1-or-later */

/* Decoding of the a{sv} dictionaries that calls carry.
 *
 * Strict: a key that is not known, has another type than it should, or comes twice is an error that
 * names the key. Nothing of the message is kept but what points into it, so `message` must outlive
 * what is decoded. */

#pragma once

#include "inspect.h"
#include "lock-request.h"
#include "sd-bus.h"

/* The options of Request, or of Steal if `steal` is TRUE: then 'steal' is implied, and saying that
 * it is false is an error. Negative, with `error` set, if they are not well-formed. */
int options_read_lock(sd_bus_message *message,
                      gboolean steal,
                      LockOptions *out_options,
                      sd_bus_error *error);

/* The filter of Inspect. */
int options_read_inspect(sd_bus_message *message, InspectFilter *out_filter, sd_bus_error *error);

/* The options of Break, which become a filter of locks; its name is not set. */
int options_read_break(sd_bus_message *message, InspectFilter *out_filter, sd_bus_error *error);

/* The options of OpenSocket. */
int options_read_open_socket(sd_bus_message *message, guint32 *out_version, sd_bus_error *error);
