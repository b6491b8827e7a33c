// SPDX-FileCopyrightText: 2026 The WebLocks for D-Bus authors
// SPDX-License-Identifier: LGPL-2.1-or-later

// The option signal: requests that are aborted.

import {AbortController, AbortSignal, DOMException, locks} from '../../client-lib/gjs/weblocks.js';
import {assert, deferred, run, test} from './testing.js';

const unused = () => {
    throw new Error('the callback must not be called');
};

test('the signal must be an AbortSignal', async t => {
    const name = t.name();
    const controller = new AbortController();
    const wrong = ['string', 12.34, false, null, {}, Symbol('s'), () => {}, globalThis, controller,
        {aborted: false, addEventListener() {}}];
    for (const signal of wrong)
        await assert.rejects(locks.request(name, {signal}, unused), 'TypeError', String(signal));
});

test('aborted before the request: its reason', async t => {
    const controller = new AbortController();
    controller.abort();
    const error = await assert.rejects(
        locks.request(t.name(), {signal: controller.signal}, unused), 'AbortError');
    assert.equal([error instanceof DOMException, controller.signal.reason === error], [true, true]);
    await assert.rejectsWith(locks.request(t.name(), {signal: AbortSignal.abort('mine')}, unused), 'mine');
});

test('the options are checked before the signal', async t => {
    const signal = AbortSignal.abort('my reason');
    await assert.rejects(locks.request('-', {signal}, unused), 'NotSupportedError');
    await assert.rejects(locks.request(t.name(), {signal, steal: true}, unused),
        'NotSupportedError');
});

test('aborted while it waits', async t => {
    const name = t.name();
    await t.hold(locks, name);
    const controller = new AbortController();
    const promise = locks.request(name, {signal: controller.signal}, unused);
    const {held, pending} = await locks.query();
    assert.equal([held.length, pending.length], [1, 1], 'before: held and pending');
    controller.abort();
    const error = await assert.rejects(promise, 'AbortError');
    assert.equal(controller.signal.reason === error, true, 'the reason of the signal');
    const after = await locks.query();
    assert.equal([after.held.length, after.pending.length], [1, 0], 'after: held and pending');
});

test('AbortSignal.timeout() ends a wait', async t => {
    const name = t.name();
    await t.hold(locks, name);
    const signal = AbortSignal.timeout(10);
    const error = await assert.rejects(locks.request(name, {signal}, unused), 'TimeoutError');
    assert.equal(signal.reason, error, 'reason');
});

test('AbortSignal.any() ends a wait', async t => {
    if (AbortSignal.any === undefined)
        return; // Node.js 18
    const name = t.name();
    await t.hold(locks, name);
    const controller = new AbortController();
    const signal = AbortSignal.any([controller.signal, AbortSignal.timeout(1e6)]);
    const promise = locks.request(name, {signal}, unused);
    await locks.query();
    controller.abort('one of them');
    await assert.rejectsWith(promise, 'one of them');
    await assert.rejectsWith(locks.request(name, {signal}, unused), 'one of them');
});

test('aborted right after the call: never granted, and blocks no other request', async t => {
    const name = t.name();
    for (let i = 0; i < 20; i++) {
        const controller = new AbortController();
        const promise = locks.request(name, {signal: controller.signal}, unused);
        controller.abort();
        await assert.rejects(promise, 'AbortError');
        assert.equal(await locks.request(name, () => 'next'), 'next');
    }
});

// The abort is at any moment between the release of the lock and the callback of the next request.
test('aborted around the grant: called or aborted, and blocks no other request', async t => {
    const name = t.name();
    for (let i = 0; i < 30; i++) {
        const controller = new AbortController();
        const holder = await t.hold(locks, name);
        let wasCalled = false;
        const promise = locks.request(name, {signal: controller.signal}, () => {
            assert.equal(controller.signal.aborted, false, 'called although aborted');
            wasCalled = true;
        });
        await locks.query();
        const released = holder.release();
        for (let turn = 0; turn < i % 10; turn++)
            await new Promise(resolve => setTimeout(resolve, 0));
        if (i % 3 === 0)
            await released;
        controller.abort();
        const outcome = await promise.then(() => 'granted', error => error.name);
        assert.equal(outcome, wasCalled ? 'granted' : 'AbortError', `round ${i}`);
        assert.equal(await locks.request(name, () => 'next'), 'next');
    }
});

test('an abort after the grant, or after the end of the callback, has no effect', async t => {
    for (const inCallback of [true, false]) {
        const name = t.name();
        const controller = new AbortController();
        const granted = deferred();
        const end = deferred();
        const request = locks.request(name, {signal: controller.signal}, async () => {
            granted.resolve();
            await end.promise;
            return 'result';
        });
        await granted.promise;
        if (!inCallback)
            end.resolve();
        controller.abort();
        if (inCallback)
            await locks.request(name, {ifAvailable: true}, lock => assert.equal(lock, null));
        end.resolve();
        assert.equal(await request, 'result');
    }
});

test('a signal that is never aborted has no effect', async t => {
    const {signal} = new AbortController();
    for (const none of [signal, undefined])
        assert.equal(await locks.request(t.name(), {signal: none}, lock => lock.mode), 'exclusive');
    assert.equal(signal.aborted, false);
});

test('an abort lets the request behind it have the lock', async t => {
    const name = t.name();
    for (const reason of [undefined, 'my reason']) {
        const controller = new AbortController();
        const first = locks.request(name, {signal: controller.signal}, unused);
        const next = locks.request(name, () => 'next');
        controller.abort(reason);
        await assert.rejectsWith(first, controller.signal.reason);
        assert.equal(await next, 'next');
    }
});

test('the reason is passed on', async t => {
    const name = t.name();
    await t.hold(locks, name);
    for (const reason of ['my reason', new Error('mine'), null, 0]) {
        const controller = new AbortController();
        const promise = locks.request(name, {signal: controller.signal}, unused);
        controller.abort(reason);
        await assert.rejectsWith(promise, reason);
    }
});

await run();
