// SPDX-FileCopyrightText: 2026 The WebLocks for D-Bus authors
// SPDX-License-Identifier: LGPL-2.1-or-later

// What code for web pages expects as globals.

import {AbortController, AbortSignal} from './abort.js';
import {DOMException} from './dom-exception.js';
import {Lock, LockManager} from './lock-manager.js';

// Defines navigator.locks, and the classes that belong to it, where there are none.
export function defineGlobals(locks) {
    for (const [name, value] of Object.entries({AbortController, AbortSignal, DOMException, Lock, LockManager}))
        define(globalThis, name, value);
    define(globalThis, 'navigator', {});
    define(globalThis.navigator, 'locks', locks);
}

function define(object, name, value) {
    if (!(name in object))
        Object.defineProperty(object, name, {value, configurable: true, writable: true});
}
