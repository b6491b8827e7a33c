// SPDX-FileCopyrightText: 2026 The WebLocks for D-Bus authors
// SPDX-License-Identifier: LGPL-2.1-or-later

// How long a lock is held.

import {locks} from '../../client-lib/gjs/weblocks.js';
import {assert, deferred, run, test} from './testing.js';

const isFree = name => locks.request(name, {ifAvailable: true}, lock => lock !== null);

test('the lock is free after a result that is not a promise', async t => {
    const name = t.name();
    assert.equal(await locks.request(name, () => 123), 123);
    assert.true(await isFree(name), 'free');
});

test('a lock is held until the promise of its callback is fulfilled', async t => {
    const name = t.name();
    const {promise, resolve} = deferred();
    const granted = deferred();
    const done = locks.request(name, lock => {
        granted.resolve(lock);
        return promise;
    });
    await granted.promise;
    assert.equal(await isFree(name), false, 'free while held');
    resolve('done');
    assert.equal(await done, 'done');
    assert.true(await isFree(name), 'free afterwards');
});

test('a lock is held until the promise of its callback is rejected', async t => {
    const name = t.name();
    const {promise, reject} = deferred();
    const granted = deferred();
    const done = locks.request(name, lock => {
        granted.resolve(lock);
        return promise;
    });
    done.catch(() => {});
    await granted.promise;
    assert.equal(await isFree(name), false, 'free while held');
    const reason = new Error('done');
    reject(reason);
    await assert.rejectsWith(done, reason);
    assert.true(await isFree(name), 'free afterwards');
});

test('the lock is free after an exception of the callback', async t => {
    const name = t.name();
    const reason = new Error('thrown');
    await assert.rejectsWith(locks.request(name, () => {
        throw reason;
    }), reason);
    assert.true(await isFree(name), 'free');
});

test('a thenable is awaited, and its result is passed on', async t => {
    const name = t.name();
    const then = deferred();
    const done = locks.request(name, () => ({then: resolve => then.resolve(resolve)}));
    const resolve = await then.promise;
    assert.equal(await isFree(name), false, 'free while held');
    resolve('of the thenable');
    assert.equal(await done, 'of the thenable');
    assert.true(await isFree(name), 'free afterwards');
});

test('a result whose conversion throws releases the lock', async t => {
    const name = t.name();
    const reason = new Error('of the getter');
    await assert.rejectsWith(locks.request(name, () => ({
        get then() {
            throw reason;
        },
    })), reason);
    assert.true(await isFree(name), 'free');
});

await run();
