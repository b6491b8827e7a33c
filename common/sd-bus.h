/* SPDX-FileCopyrightText: 2026 The WebLocks for D-Bus authors
 * SPDX-License-Identifier: LGPL-2.1-or-later */

/* Includes sd-bus from the library that the build was configured for (libsystemd or basu), with
 * an autoptr cleanup function and a predicate for its error codes. */

#pragma once

#include "config.h"

#if WEBLOCKS_SD_BUS_IS_BASU
#include <basu/sd-bus.h>
#else
#include <systemd/sd-bus.h>
#endif

#include <errno.h>
#include <glib.h>

typedef sd_bus_message SdBusMessage;
G_DEFINE_AUTOPTR_CLEANUP_FUNC(SdBusMessage, sd_bus_message_unref)

/* Whether a negative errno from sd-bus is a temporary lack of resources, after which the connection
 * can still be used. */
static inline gboolean
sd_bus_is_transient(int r)
{
    return r == -ENOBUFS || r == -ENOMEM || r == -EAGAIN || r == -EINTR;
}
