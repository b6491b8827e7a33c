// SPDX-FileCopyrightText: 2026 The WebLocks for D-Bus authors
// SPDX-License-Identifier: LGPL-2.1-or-later

// Types of the module weblocks.js for TypeScript. They need no other declarations: objects of the
// library (WebLocks.Agent, WebLocks.Manager) are of type `object` here.

import type {LockManager, StorageBucket} from '../js/interfaces.js';

export * from '../js/abort.js';
export * from '../js/interfaces.js';

/** The lock manager of the application's bucket: the id of the default Gio.Application, or `default`. */
export const locks: LockManager;

/** A storage bucket by its name, 1 to 255 bytes of UTF-8. */
export function bucket(name: string): StorageBucket;

/** `locks` and `bucket` of another WebLocks.Agent. */
export function forAgent(agent: object): Readonly<{
    locks: LockManager;
    bucket: (name: string) => StorageBucket;
}>;

/** A LockManager on a WebLocks.Manager. */
export function forManager(manager: object): LockManager;

/** The platform's where GJS has one, else of the same shape. */
export class DOMException extends Error {
    constructor(message?: string, name?: string);
    readonly name: string;
    readonly code: number;
}
