// SPDX-FileCopyrightText: 2026 The WebLocks for D-Bus authors
// SPDX-License-Identifier: LGPL-2.1-or-later

/// <reference lib="esnext.disposable" />

// The interfaces of the modules for GJS and Node.js. AbortSignal is declared beside it by each of them.

import type {AbortSignal} from './abort.js';

export type LockMode = 'exclusive' | 'shared';

export interface LockOptions {
    /** Default: `exclusive`. */
    mode?: LockMode;
    /** The callback gets null if the lock is not available immediately. */
    ifAvailable?: boolean;
    /** Ends the locks that are held under the name, and takes the lock. */
    steal?: boolean;
    /** Aborts the request while it waits. */
    signal?: AbortSignal;
    /** Milliseconds of waiting until the promise is rejected with TimeoutError; 0: no time-out. Not in the standard. */
    timeout?: number;
    /** Shown to people who look at who holds the lock. Not in the standard. */
    why?: string;
    /** What the lock is for, if that is another process, as in `rsync (pid 123)`; shown in its place. Not in the standard. */
    command?: string;
    /** A counting lock: how many exclusive locks with this number can be held at the same time. Not in the standard. */
    slots?: number;
}

export class Lock {
    private constructor();
    readonly name: string;
    readonly mode: LockMode;
    /** The fencing token: grows with each grant in the bucket. Not in the standard. */
    readonly token: number;
    /**
     * Aborted if the lock is lost while the callback runs; the reason is the exception with which
     * request() is rejected. Not in the standard.
     */
    readonly lost: AbortSignal;
    /** Whether somebody waits for the lock. Not in the standard. */
    readonly wanted: boolean;
    /** Called when `wanted` has changed, or is true after the callback has returned. Not in the standard. */
    onwanted: (() => void) | null;
    /** Makes an exclusive lock shared, without a gap. Not in the standard. */
    downgrade(): Promise<void>;
}

/** The lock of acquire(). Not in the standard. */
export interface AcquiredLock extends Lock {
    /** Rejected if the lock was lost before. A second call returns the same promise. */
    release(): Promise<void>;
    /** release(). Where there is no Symbol.asyncDispose, the name is Symbol.for('Symbol.asyncDispose'). */
    [Symbol.asyncDispose](): Promise<void>;
}

export interface LockInfo {
    name: string;
    mode: LockMode;
    clientId: string;
}

export interface LockManagerSnapshot {
    /** In the order of the grants. */
    held: LockInfo[];
    /** Requests for the same name are in the order in which they were made. */
    pending: LockInfo[];
}

export type LockGrantedCallback<T, L extends Lock | null = Lock> = (lock: L) => T;

export class LockManager {
    private constructor();
    /** Holds the lock until the promise of the callback settles; the promise has its result. */
    request<T>(name: string, callback: LockGrantedCallback<T>): Promise<Awaited<T>>;
    request<T>(name: string, options: LockOptions & {ifAvailable?: false},
               callback: LockGrantedCallback<T>): Promise<Awaited<T>>;
    request<T>(name: string, options: LockOptions,
               callback: LockGrantedCallback<T, Lock | null>): Promise<Awaited<T>>;
    /**
     * Several locks, all or none, which are requested in the same order by all callers. The callback gets them
     * sorted by name, without duplicates. Not in the standard.
     */
    requestMany<T>(names: Iterable<string>, callback: (locks: Lock[]) => T): Promise<Awaited<T>>;
    requestMany<T>(names: Iterable<string>, options: LockOptions & {ifAvailable?: false},
                   callback: (locks: Lock[]) => T): Promise<Awaited<T>>;
    requestMany<T>(names: Iterable<string>, options: LockOptions,
                   callback: (locks: Lock[] | null) => T): Promise<Awaited<T>>;
    /**
     * An experiment, which may change: without a callback. The lock is held until its release(), or the end of the
     * block that begins with `await using`. One that is not reachable any more is released, with a warning; not in
     * GJS 1.74. Not in the standard.
     */
    acquire(name: string, options?: LockOptions & {ifAvailable?: false}): Promise<AcquiredLock>;
    /** The promise has null if the lock was not available. */
    acquire(name: string, options: LockOptions): Promise<AcquiredLock | null>;
    query(): Promise<LockManagerSnapshot>;
}

export class StorageBucket {
    private constructor();
    readonly name: string;
    readonly locks: LockManager;
}
