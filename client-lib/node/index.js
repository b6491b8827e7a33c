// SPDX-FileCopyrightText: 2026 The WebLocks for D-Bus authors
// SPDX-License-Identifier: LGPL-2.1-or-later

// Web Locks for Node.js. `locks` has the interface of navigator.locks, and `bucket(name).locks` is the
// lock manager of a storage bucket. Both use one agent on the session bus; each worker is an agent of
// its own.

'use strict';

const {Lock, LockManager, newLockManager} = require('./lib/lock-manager.js');
const {StorageBucket, newStorageBucket} = require('./lib/storage-bucket.js');
const {Backend} = require('./platform.js');

function bucket(name) {
    return newStorageBucket(name, string => new Backend(string));
}

module.exports = {
    Lock,
    LockManager,
    StorageBucket,
    bucket,
    locks: newLockManager(() => new Backend(null)),
};
