/* SPDX-FileCopyrightText: 2026 The WebLocks for D-Bus authors
 * SPDX-License-Identifier: LGPL-2.1-or-later */

/* A call that is kept for later.
 *
 * What came may have anything in it that is not looked at: fields of the header that nobody knows,
 * or whatever is behind what sd-bus can't read. So a copy is kept, of what can be read and needed;
 * its size is known, and that is what counts. */

#pragma once

#include <glib.h>

#include "common/sd-bus.h"

/* About how many bytes a copy takes. Looks at no more than it needs to see that there are more than
 * `max`. `*out_is_readable` says whether its body can be read to the end, and has no descriptors:
 * otherwise there is no call of ours that it could be. The call can be read from its beginning
 * afterwards. */
gsize kept_call_measure(sd_bus_message *call, gsize max, gboolean *out_is_readable);

/* A message that can be served and answered as the call could; without its body, unless
 * `with_body`. NULL: no memory. */
sd_bus_message *kept_call_copy(sd_bus_message *call, gboolean with_body);
