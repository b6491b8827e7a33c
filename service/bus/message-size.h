/* SPDX-FileCopyrightText: 2026 The WebLocks for D-Bus authors
 * SPDX-License-Identifier: LGPL-2.1-or-later */

/* About how many bytes a message that is kept takes. sd-bus doesn't tell. */

#pragma once

#include "common/sd-bus.h"

/* Looks at no more than it needs to see that there are more than `max`. The message can be read
 * from its beginning afterwards. */
gsize message_size_estimate(sd_bus_message *message, gsize max);
