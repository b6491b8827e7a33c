// SPDX-FileCopyrightText: 2026 The WebLocks for D-Bus authors
// SPDX-License-Identifier: LGPL-2.1-or-later

// Web Locks for GJS. `locks` has the interface of navigator.locks, and `bucket(name).locks` is the
// lock manager of a storage bucket. Both use one agent on the session bus.
//
// The bucket of `locks` is the default one of the library. It is determined when `locks` is first
// used, and doesn't change afterwards.

import Gio from 'gi://Gio';
import WebLocks from 'gi://WebLocks?version=1';

import {newLockManager} from '../js/lock-manager.js';
import {newStorageBucket} from '../js/storage-bucket.js';
import {Backend} from './platform.js';

export {AbortController, AbortSignal} from '../js/abort.js';
export {DOMException} from '../js/dom-exception.js';
export {Lock, LockManager} from '../js/lock-manager.js';
export {StorageBucket} from '../js/storage-bucket.js';

function newManager(agent, name) {
    return new Backend(WebLocks.Manager.new(agent, name));
}

export const locks = newLockManager(() => newManager(null, null));

export function bucket(name) {
    const agent = WebLocks.Agent.dup_default(Gio.BusType.SESSION);
    return newStorageBucket(name, string => newManager(agent, string));
}

// Returns `locks` and `bucket` of another agent, such as one on the system bus:
// forAgent(WebLocks.Agent.dup_default(Gio.BusType.SYSTEM)).locks
export function forAgent(agent) {
    if (!(agent instanceof WebLocks.Agent))
        throw new TypeError('The agent is not a WebLocks.Agent.');
    return Object.freeze({
        locks: newLockManager(() => newManager(agent, null)),
        bucket: name => newStorageBucket(name, string => newManager(agent, string)),
    });
}

// Returns a LockManager for a manager of the library, such as that of
// agent.create_private_manager().
export function forManager(manager) {
    if (!(manager instanceof WebLocks.Manager))
        throw new TypeError('The manager is not a WebLocks.Manager.');
    return newLockManager(() => new Backend(manager));
}
