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

test('both modes are accepted, and seen on the lock; the default is exclusive', async t => {
    for (const [options, mode] of [[{mode: 'shared'}, 'shared'], [{mode: 'exclusive'}, 'exclusive'],
        [{}, 'exclusive'], [{mode: undefined}, 'exclusive']])
        await locks.request(t.name(), options, lock => assert.equal(lock.mode, mode));
    await locks.request(t.name(), lock => assert.equal(lock.mode, 'exclusive'));
});

const {signal} = new AbortController();
for (const [what, options] of Object.entries({
    'steal and ifAvailable exclude each other': {steal: true, ifAvailable: true},
    'only exclusive locks can be stolen': {steal: true, mode: 'shared'},
    'signal excludes steal': {signal, steal: true},
    'signal excludes ifAvailable': {signal, ifAvailable: true},
}))
    test(what, async t => assert.rejects(locks.request(t.name(), options, unused), 'NotSupportedError'));

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

test('an exception of the callback, or the reason of its promise, is that of the rejection', async t => {
    const reason = new Error('thrown');
    await assert.rejectsWith(locks.request(t.name(), () => {
        throw reason;
    }), reason);
    for (const other of [reason, undefined, null, 0, ''])
        await assert.rejectsWith(locks.request(t.name(), () => Promise.reject(other)), other);
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

await run();
