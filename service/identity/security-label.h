/* SPDX-FileCopyrightText: 2026 The WebLocks for D-Bus authors
 * SPDX-License-Identifier: LGPL-2.1-or-later */

/* The security label that the kernel noted when a connection was made, as the bus passes it on. Of
 * all labels only those that snapd gives mean something here: AppArmor's "snap.NAME.APP (MODE)",
 * and "snap.NAME.hook.HOOK (MODE)". */

#pragma once

#include <glib.h>

/* FALSE: it is like a Snap's and isn't one, or isn't whole; nobody can say then who that is. Else
 * *out_snap is the Snap's instance name (owned), and NULL if it is no Snap. `label` is what came:
 * bytes, of which the last is NUL; a size of 0 is no label. */
gboolean security_label_parse(const char *label, gsize size, char **out_snap);
