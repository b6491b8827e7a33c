// SPDX-FileCopyrightText: 2026 The WebLocks for D-Bus authors
// SPDX-License-Identifier: LGPL-2.1-or-later

// What TypeScript has to accept, and after @ts-expect-error what it has to refuse.

import {
    AbortController, AbortSignal, DOMException, Lock, LockManager, StorageBucket, bucket, forAgent,
    forManager, locks,
} from 'file:///usr/share/weblocks-1/gjs/weblocks.js';
import type {LockManagerSnapshot} from 'file:///usr/share/weblocks-1/gjs/weblocks.js';

const text: string = await locks.request('name', async lock => `${lock.name} ${lock.token + 1}`);
const length: number = await locks.request('name', {mode: 'shared', why: text}, () => text.length);
await locks.request('name', {ifAvailable: true, timeout: 0}, lock => lock?.mode === 'exclusive');

const controller = new AbortController();
controller.signal.addEventListener('abort', event => event.target.throwIfAborted(), {once: true});
controller.abort(new DOMException('Enough.', 'AbortError'));
await locks.request('name', {signal: controller.signal}, lock => lock.name).catch(
    (error: unknown) => error instanceof DOMException && error.name === 'AbortError');
const either = AbortSignal.any([controller.signal, AbortSignal.timeout(length)]);
await locks.request('name', {signal: either}, () => either.dispatchEvent({type: 'abort'}));
await locks.request('name', {slots: 2, command: 'rsync (pid 123)'}, async lock => lock.downgrade());

const snapshot: LockManagerSnapshot = await locks.query();
const clientIds: string[] = snapshot.held.concat(snapshot.pending).map(info => info.clientId);
const store: StorageBucket = bucket('org.example.Editor');
const managers: LockManager[] = [store.locks, forAgent({}).locks, forManager({})];
await forAgent({}).bucket(store.name).locks.request('name', {steal: true}, lock => clientIds);
await locks.request('name', lock => lock.lost.addEventListener('abort', () => lock.lost.reason));

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
await locks.request('name', {mode: 'exclusive-ish'}, () => managers);
// @ts-expect-error: no such option
await locks.request('name', {ifAvailible: true}, () => {});
// @ts-expect-error: no callback
await locks.request('name');
// @ts-expect-error: not a name
await locks.request(7, () => {});
// @ts-expect-error: only the service makes locks
new Lock();
// @ts-expect-error: read-only
snapshot.held[0].mode = store.name = 'shared';
