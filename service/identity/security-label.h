/* SPDX-FileCopyrightText: 2026 The WebLocks for D-Bus authors
 * SPDX-License-Identifier: LGPL-2.1-or-later */

/* Parsing of the security label that the kernel recorded when a connection was made. Only labels
 * assigned by snapd are used: AppArmor's "snap.NAME.APP (MODE)" and
 * "snap.NAME.hook.HOOK (MODE)". */

#pragma once

#include <glib.h>

/* Returns FALSE if the label resembles that of a Snap but is not one, or is truncated: then the
 * client can't be identified. Otherwise *out_snap is the Snap's instance name, owned by the caller,
 * or NULL if it is not a Snap. The last byte of `label` has to be NUL; a size of 0 means no label.
 */
gboolean security_label_parse(const char *label, gsize size, char **out_snap);
