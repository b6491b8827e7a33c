// SPDX-FileCopyrightText: 2026 The WebLocks for D-Bus authors
// SPDX-License-Identifier: LGPL-2.1-or-later

// How long a lock is held.

import {locks} from '../../client-lib/gjs/weblocks.js';
import {assert, deferred, run, test} from './testing.js';

const isFree = name => locks.request(name, {ifAvailable: true}, lock => lock !== null);
const reason = new Error('the reason');

// What the callback returns, until when the lock is held, and how the promise settles then.
const RESULTS = {
    'the promise of its callback is fulfilled': ({promise}) => promise,
    'the promise of its callback is rejected': ({promise}) => promise.then(() => {
        throw reason;
    }),
    'the thenable of its callback is resolved': ({promise}) => ({then: resolve => promise.then(resolve)}),
};
for (const [what, result] of Object.entries(RESULTS)) {
    test(`a lock is held until ${what}`, async t => {
        const name = t.name();
        const end = deferred();
        const granted = deferred();
        const done = locks.request(name, lock => {
            granted.resolve(lock);
            return result(end);
        });
        done.catch(() => {});
        await granted.promise;
        assert.equal(await isFree(name), false, 'free while held');
        end.resolve('done');
        if (what.endsWith('rejected'))
            await assert.rejectsWith(done, reason);
        else
            assert.equal(await done, 'done');
        assert.true(await isFree(name), 'free afterwards');
    });
}

test('the lock is free after a result that is not a promise', async t => {
    const name = t.name();
    assert.equal(await locks.request(name, () => 123), 123);
    assert.true(await isFree(name), 'free');
});

test('the lock is free after an exception of the callback, or of the conversion of its result', async t => {
    const name = t.name();
    const thrower = () => {
        throw reason;
    };
    for (const callback of [thrower, () => Object.defineProperty({}, 'then', {get: thrower})]) {
        await assert.rejectsWith(locks.request(name, callback), reason);
        assert.true(await isFree(name), 'free');
    }
});

await run();
