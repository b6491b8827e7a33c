// SPDX-FileCopyrightText: 2026 The WebLocks for D-Bus authors
// SPDX-License-Identifier: LGPL-2.1-or-later

// The option ifAvailable.

import {locks} from '../../client-lib/gjs/weblocks.js';
import {assert, deferred, run, test} from './testing.js';

const ifAvailable = true;

test('a free lock is granted', async t => {
    assert.equal(await locks.request(t.name(), {ifAvailable}, lock => lock.mode), 'exclusive');
});

test('for a held lock the callback gets null, and its result is passed on', async t => {
    const name = t.name();
    await locks.request(name, async () => {
        assert.equal(await locks.request(name, {ifAvailable}, async lock => [lock, 123]), [null, 123]);
    });
});

test('an exception of the callback that got null is passed on', async t => {
    const name = t.name();
    await locks.request(name, async () => {
        const reason = new Error('thrown');
        await assert.rejectsWith(locks.request(name, {ifAvailable}, () => {
            throw reason;
        }), reason);
        await assert.rejectsWith(locks.request(name, {ifAvailable}, async () => {
            throw reason;
        }), reason);
    });
});

test('another name that is held does not matter', async t => {
    await t.hold(locks, t.name());
    await locks.request(t.name(), {ifAvailable}, lock => assert.notEqual(lock, null));
});

const COMBINATIONS = [
    {heldMode: 'shared', mode: 'shared', isGranted: true},
    {heldMode: 'shared', mode: 'exclusive', isGranted: false},
    {heldMode: 'exclusive', mode: 'shared', isGranted: false},
    {heldMode: 'exclusive', mode: 'exclusive', isGranted: false},
];
for (const {heldMode, mode, isGranted} of COMBINATIONS) {
    test(`${mode} while ${heldMode} is held: ${isGranted ? 'granted' : 'null'}`, async t => {
        const name = t.name();
        await locks.request(name, {mode: heldMode}, async () => {
            await locks.request(name, {mode, ifAvailable}, lock => {
                assert.equal(lock !== null, isGranted, 'granted');
            });
        });
    });
}

test('available as soon as the previous promise has settled', async t => {
    const name = t.name();
    for (let i = 0; i < 20; i++) {
        const {promise, resolve} = deferred();
        const done = locks.request(name, {ifAvailable}, async lock => {
            assert.notEqual(lock, null, `round ${i}`);
            await promise;
        });
        resolve();
        await done;
    }
});

await run();
