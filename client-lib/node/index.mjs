// SPDX-FileCopyrightText: 2026 The WebLocks for D-Bus authors
// SPDX-License-Identifier: LGPL-2.1-or-later

// The same objects for `import` as for `require()`.

import weblocks from './index.js';

export const {Lock, LockManager, StorageBucket, bucket, locks} = weblocks;
