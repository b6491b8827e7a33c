// SPDX-FileCopyrightText: 2026 The WebLocks for D-Bus authors
// SPDX-License-Identifier: LGPL-2.1-or-later

// Arguments and options of request(), and how its promise settles.

import {AbortController, locks} from '../../client-lib/gjs/weblocks.js';
import {assert, run, test} from './testing.js';

const unused = () => {
    throw new Error('the callback must not be called');
};

test('name and callback are required', async t => {
    await assert.rejects(locks.request(), 'TypeError');
    await assert.rejects(locks.request(t.name()), 'TypeError');
});

test('an unknown mode is a TypeError', async t => {
    for (const mode of ['foo', null, '', 'Shared', 0])
        await assert.rejects(locks.request(t.name(), {mode}, unused), 'TypeError', String(mode));
});

test('both modes are accepted, and seen on the lock', async t => {
    for (const mode of ['shared', 'exclusive'])
        await locks.request(t.name(), {mode}, lock => assert.equal(lock.mode, mode));
});

test('the default mode is exclusive', async t => {
    await locks.request(t.name(), lock => assert.equal(lock.mode, 'exclusive'));
    await locks.request(t.name(), {}, lock => assert.equal(lock.mode, 'exclusive'));
    await locks.request(t.name(), {mode: undefined}, lock => assert.equal(lock.mode, 'exclusive'));
});

test('steal and ifAvailable exclude each other', async t => {
    await assert.rejects(locks.request(t.name(), {steal: true, ifAvailable: true}, unused),
        'NotSupportedError');
});

test('only exclusive locks can be stolen', async t => {
    await assert.rejects(locks.request(t.name(), {steal: true, mode: 'shared'}, unused),
        'NotSupportedError');
});

test('signal excludes steal', async t => {
    const {signal} = new AbortController();
    await assert.rejects(locks.request(t.name(), {signal, steal: true}, unused),
        'NotSupportedError');
});

test('signal excludes ifAvailable', async t => {
    const {signal} = new AbortController();
    await assert.rejects(locks.request(t.name(), {signal, ifAvailable: true}, unused),
        'NotSupportedError');
});

test('the callback must be callable', async t => {
    const wrong = [undefined, null, 123, 'abc', {}, [], Symbol('s'), Promise.resolve()];
    for (const callback of wrong) {
        await assert.rejects(locks.request(t.name(), callback), 'TypeError', 'short form');
        await assert.rejects(locks.request(t.name(), {}, callback), 'TypeError', 'long form');
    }
});

test('the promise settles after the release', async t => {
    const name = t.name();
    const events = [];
    const promise = locks.request(name, async lock => {
        events.push('granted');
        assert.equal(lock.name, name);
        const {held} = await locks.query();
        events.push(`held ${held.length}`);
        return 'result';
    });
    promise.then(() => events.push('settled'));
    assert.equal(await promise, 'result');
    const {held} = await locks.query();
    events.push(`held ${held.length}`);
    assert.equal(events, ['granted', 'held 1', 'settled', 'held 0']);
});

test('an exception of the callback is the reason of the rejection', async t => {
    const reason = new Error('thrown');
    await assert.rejectsWith(locks.request(t.name(), () => {
        throw reason;
    }), reason);
});

test('the reason of the callback\'s rejected promise is passed on', async t => {
    const reason = new Error('rejected');
    await assert.rejectsWith(locks.request(t.name(), async () => {
        await null;
        throw reason;
    }), reason);
});

test('a thrown thenable is not waited for', async t => {
    let wasCalled = false;
    const thenable = {
        then() {
            wasCalled = true;
        },
    };
    await assert.rejectsWith(locks.request(t.name(), () => {
        throw thenable;
    }), thenable);
    assert.equal(wasCalled, false, 'then() was called');
});

test('reasons that are not errors are passed on too', async t => {
    for (const reason of [undefined, null, 0, ''])
        await assert.rejectsWith(locks.request(t.name(), () => Promise.reject(reason)), reason);
});

await run();
