// SPDX-FileCopyrightText: 2026 The WebLocks for D-Bus authors
// SPDX-License-Identifier: LGPL-2.1-or-later

import type {LockManager, StorageBucket} from './lib/interfaces.js';

export * from './lib/interfaces.js';

/** The lock manager of the default bucket, `default`, on the session bus. */
export const locks: LockManager;

/** A storage bucket by its name, 1 to 255 bytes of UTF-8: an application uses its application id. */
export function bucket(name: string): StorageBucket;
