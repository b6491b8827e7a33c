/* SPDX-FileCopyrightText: 2026 The WebLocks for D-Bus authors
 * SPDX-License-Identifier: LGPL-2.1-or-later */

/* Which strings an sd-bus message can carry: UTF-8 without Unicode's noncharacters, such as U+FFFF.
 * Strings that came in a message are such; this is for those that come another way (from a path, or
 * from the kernel). */

#pragma once

#include <glib.h>

gboolean bus_string_is_valid(const char *string);
