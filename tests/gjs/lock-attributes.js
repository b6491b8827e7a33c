// SPDX-FileCopyrightText: 2026 The WebLocks for D-Bus authors
// SPDX-License-Identifier: LGPL-2.1-or-later

// The attributes of the lock in the callback.

import {Lock, locks} from '../../client-lib/gjs/weblocks.js';
import {assert, run, test} from './testing.js';

for (const mode of ['exclusive', 'shared']) {
    test(`name and mode of a lock that is ${mode}`, async t => {
        const name = t.name();
        await locks.request(name, {mode}, lock => {
            assert.instance(lock, Lock);
            assert.equal(lock.name, name);
            assert.equal(lock.mode, mode);
        });
    });
}

test('they can be read when the lock is no longer held', async t => {
    const name = t.name();
    const lock = await locks.request(name, {mode: 'shared'}, given => given);
    assert.equal([lock.name, lock.mode], [name, 'shared']);
});

test('they cannot be set', async t => {
    await locks.request(t.name(), lock => {
        assert.throws(() => (lock.name = 'other'), TypeError);
        assert.throws(() => (lock.mode = 'shared'), TypeError);
        assert.equal(lock.mode, 'exclusive');
    });
});

await run();
