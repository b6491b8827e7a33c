// SPDX-FileCopyrightText: 2026 The WebLocks for D-Bus authors
// SPDX-License-Identifier: LGPL-2.1-or-later

// The option steal.

import {DOMException, locks} from '../../client-lib/gjs/weblocks.js';
import {assert, deferred, run, test} from './testing.js';

const steal = true;

test('a free lock is granted, and a held one', async t => {
    const name = t.name();
    assert.equal(await locks.request(name, {steal}, lock => lock.mode), 'exclusive');
    await t.hold(locks, name);
    assert.equal(await locks.request(name, {steal}, lock => lock.name), name);
});

test('the promise of the broken holder is rejected, and its callback continues', async t => {
    const name = t.name();
    const granted = deferred();
    const goOn = deferred();
    const events = [];
    const broken = locks.request(name, async lock => {
        granted.resolve();
        await goOn.promise;
        events.push(`still here, with ${lock.mode}`);
        throw new Error('not reported');
    });
    broken.catch(() => events.push('broken'));
    await granted.promise;
    const stealer = await t.hold(locks, name, {steal});
    const error = await assert.rejects(broken, 'AbortError');
    assert.instance(error, DOMException);
    assert.equal(error.code, 20);
    goOn.resolve();
    await locks.query();
    assert.equal(events, ['broken', 'still here, with exclusive']);
    // The end of its callback must not release the stolen lock.
    const {held} = await locks.query();
    assert.equal(held.length, 1, 'held');
    assert.equal(await stealer.release('result'), 'result');
});

test('the broken holder is notified before the stealer is', async t => {
    const name = t.name();
    const events = [];
    const broken = await t.hold(locks, name);
    broken.done.catch(() => events.push('broken'));
    await locks.request(name, {steal}, () => events.push('stolen'));
    assert.equal(events, ['broken', 'stolen']);
});

test('a request that waits is granted after the stealer', async t => {
    const name = t.name();
    const broken = await t.hold(locks, name);
    const waiting = t.request(locks, name);
    await locks.request(name, {steal}, async () => {
        await locks.query();
        assert.equal(waiting.wasCalled, false, 'granted before the stealer has released');
    });
    await assert.rejects(broken.done, 'AbortError');
    await waiting.granted;
});

test('a lock that was stolen can be stolen again', async t => {
    const name = t.name();
    const first = await t.hold(locks, name);
    const second = await t.hold(locks, name, {steal});
    assert.equal(await locks.request(name, {steal}, () => 'last'), 'last');
    await assert.rejects(first.done, 'AbortError');
    await assert.rejects(second.done, 'AbortError');
});

test('a lock that was stolen before its callback could run', async t => {
    const name = t.name();
    const holder = t.request(locks, name);
    const stealer = t.request(locks, name, {steal});
    await assert.rejects(holder.done, 'AbortError');
    await stealer.granted;
    assert.equal(await stealer.release('mine'), 'mine');
});

await run();
