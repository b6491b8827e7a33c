/* SPDX-FileCopyrightText: 2026 The WebLocks for D-Bus authors
 * SPDX-License-Identifier: LGPL-2.1-or-later */

/* Validation of strings for D-Bus messages: sd-bus accepts UTF-8 without Unicode noncharacters such
 * as U+FFFF. Strings from a received message have been validated already; this is for strings from
 * other sources, such as an object path or the kernel. */

#pragma once

#include <glib.h>

gboolean bus_string_is_valid(const char *string);
