// SPDX-FileCopyrightText: 2026 The WebLocks for D-Bus authors
// SPDX-License-Identifier: LGPL-2.1-or-later

// What TypeScript has to accept, and after @ts-expect-error what it has to refuse.

import {Lock, LockManager, StorageBucket, bucket, locks} from 'weblocks';
import type {LockInfo, LockManagerSnapshot, LockOptions} from 'weblocks';

const text: string = await locks.request('name', async lock => `${lock.name} ${lock.token + 1}`);
const options: LockOptions = {mode: 'shared', why: text, timeout: 10, signal: AbortSignal.timeout(10)};
const length: number = await locks.request('name', {mode: 'shared'}, () => text.length);
await locks.request('name', options, lock => lock?.mode === 'exclusive');
await locks.request('name', lock => fetch('file:///', {signal: lock.lost}));

const snapshot: LockManagerSnapshot = await locks.query();
const infos: LockInfo[] = snapshot.held.concat(snapshot.pending);
const store: StorageBucket = bucket('org.example.Editor');
const managers: LockManager[] = [store.locks, locks];
await store.locks.request('name', {steal: true}, lock => [lock instanceof Lock, infos, managers, length]);

const tokens: number[] = await locks.requestMany(['a', 'b'], all => all.map(lock => lock.token));
await locks.requestMany(new Set(['a']), {ifAvailable: true}, all => all?.length ?? tokens.length);

await using acquired = await locks.acquire('name', {mode: 'shared'});
const released: void = await acquired.release();
const maybe = await locks.acquire(acquired.name, {ifAvailable: true});
const disposed: void = await maybe?.[Symbol.asyncDispose]();

// @ts-expect-error: the lock may be missing
maybe.release();
// @ts-expect-error: no callback
await locks.acquire('name', () => [released, disposed]);
// @ts-expect-error: the lock of a callback is not released
await locks.request('name', lock => lock.release());
// @ts-expect-error: a lock may be missing here
await locks.request('name', {ifAvailable: true}, lock => lock.name);
// @ts-expect-error: no such mode
await locks.request('name', {mode: 'exclusive-ish'}, () => {});
// @ts-expect-error: no such option
await locks.request('name', {ifAvailible: true}, () => {});
// @ts-expect-error: no callback
await locks.request('name');
// @ts-expect-error: not a name
await locks.request(7, () => {});
// @ts-expect-error: only the service makes locks
new Lock();
// @ts-expect-error: read-only
store.name = 'other';
