// SPDX-FileCopyrightText: 2026 The WebLocks for D-Bus authors
// SPDX-License-Identifier: LGPL-2.1-or-later

// A storage bucket: a name, and the lock manager of that name.

import {newLockManager} from './lock-manager.js';
import {isCarriable} from './names.js';
import {defineInterface, toDOMString} from './webidl.js';

// Only this module can construct these objects.
const KEY = Symbol('StorageBucket');

// The maximum length of a bucket name in bytes. Longer strings are refused without being converted
// completely.
const BUCKET_MAX = 255;

// Throws a TypeError if the name is not 1 to 255 bytes of UTF-8.
function checkName(name) {
    if (!isCarriable(name))
        throw new TypeError('The name of a storage bucket must be Unicode text without U+0000.');
    const length = new TextEncoder().encode(name.slice(0, BUCKET_MAX + 1)).length;
    if (length === 0 || length > BUCKET_MAX)
        throw new TypeError(`The name of a storage bucket must be 1 to ${BUCKET_MAX} bytes.`);
}

export class StorageBucket {
    #name;
    #locks;

    constructor(key, name, open) {
        if (key !== KEY)
            throw new TypeError('Illegal constructor.');
        this.#name = name;
        this.#locks = newLockManager(open);
    }

    get name() {
        return this.#name;
    }

    get locks() {
        return this.#locks;
    }
}

defineInterface(StorageBucket, ['name', 'locks']);

// `open` returns the backend of the lock manager for a bucket name (lock-manager.js).
export function newStorageBucket(name, open) {
    const string = toDOMString(name, 'The name');
    checkName(string);
    return new StorageBucket(KEY, string, () => open(string));
}
