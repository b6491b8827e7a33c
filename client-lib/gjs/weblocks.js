// SPDX-FileCopyrightText: 2026 The WebLocks for D-Bus authors
// SPDX-License-Identifier: LGPL-2.1-or-later

// Web Locks for GJS. `locks` has the interface of navigator.locks, and `bucket(name).locks` is the
// lock manager of a storage bucket. Both use one agent on the session bus.
//
// The bucket of `locks` is the default one of the library. It is determined when `locks` is first
// used, and doesn't change afterwards.

import Gio from 'gi://Gio';
import WebLocks from 'gi://WebLocks?version=1';

import {newLockManager} from './lock-manager.js';
import {isCarriable} from './names.js';
import {defineInterface, toDOMString} from './webidl.js';

export {AbortController, AbortSignal} from './abort.js';
export {DOMException} from './dom-exception.js';
export {Lock, LockManager} from './lock-manager.js';

const KEY = Symbol('StorageBucket');

// The maximum length of a bucket name in bytes. Longer strings are refused without being converted
// completely.
const BUCKET_MAX = 255;

function sessionAgent() {
    return WebLocks.Agent.dup_default(Gio.BusType.SESSION);
}

// Throws a TypeError if the name is not 1 to 255 bytes of UTF-8.
function checkBucketName(name) {
    if (!isCarriable(name))
        throw new TypeError('The name of a storage bucket must be Unicode text without U+0000.');
    const length = new TextEncoder().encode(name.slice(0, BUCKET_MAX + 1)).length;
    if (length === 0 || length > BUCKET_MAX)
        throw new TypeError(`The name of a storage bucket must be 1 to ${BUCKET_MAX} bytes.`);
}

export class StorageBucket {
    #name;
    #locks;

    constructor(key, agent, name) {
        if (key !== KEY)
            throw new TypeError('Illegal constructor.');
        checkBucketName(name);
        const manager = WebLocks.Manager.new(agent, name);
        this.#name = name;
        this.#locks = newLockManager(() => manager);
    }

    get name() {
        return this.#name;
    }

    get locks() {
        return this.#locks;
    }
}

defineInterface(StorageBucket, ['name', 'locks']);

export const locks = newLockManager(() => WebLocks.Manager.new(null, null));

export function bucket(name) {
    return new StorageBucket(KEY, sessionAgent(), toDOMString(name, 'The name'));
}

// Returns `locks` and `bucket` of another agent, such as one on the system bus:
// forAgent(WebLocks.Agent.dup_default(Gio.BusType.SYSTEM)).locks
export function forAgent(agent) {
    if (!(agent instanceof WebLocks.Agent))
        throw new TypeError('The agent is not a WebLocks.Agent.');
    return Object.freeze({
        locks: newLockManager(() => WebLocks.Manager.new(agent, null)),
        bucket: name => new StorageBucket(KEY, agent, toDOMString(name, 'The name')),
    });
}

// Returns a LockManager for a manager of the library, such as that of
// agent.create_private_manager().
export function forManager(manager) {
    if (!(manager instanceof WebLocks.Manager))
        throw new TypeError('The manager is not a WebLocks.Manager.');
    return newLockManager(() => manager);
}
