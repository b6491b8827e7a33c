/* SPDX-FileCopyrightText: 2026 The WebLocks for D-Bus authors
 * SPDX-License-Identifier: LGPL-2.1-or-later */

/* The descriptors that this process has inherited. */

#pragma once

/* Closes all but the standard streams, for a process that runs on without a use for them: somebody
 * may wait until they are closed, as for the end of a pipe, or for a lock of flock(1). */
void inherited_close(void);
